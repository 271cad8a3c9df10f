//! Writers that route themselves, on a table of leases that they share.

use crate::support::storage::Storage;

#[test]
fn writers_that_share_leases_commit_everything_exactly_once_and_leave_nothing() {
    for (targets, writers, block, think) in
        [(3, 4, "700KiB", 0), (1, 3, "4MiB", 2), (4, 1, "10001B", 0), (2, 8, "64KiB", 5)]
    {
        let storage = Storage::with_targets(targets);
        let arguments = format!(
            "--policy window --shared --writers {writers} --blocks 5 --block-size {block} --think {think} \
             --rounds 2 --verify"
        );
        let Some(result) = storage.race_fine(&arguments) else { return };
        let runs = result["runs"].as_array().unwrap();
        let shared = runs.iter().filter(|run| run["policy"] == "window (shared)");
        let total = result["total_bytes"].as_u64().unwrap();
        let mut count = 0;
        for run in shared {
            assert_eq!(run["lost_bytes"], 0, "{run}");
            assert_eq!(run["wrong_pages"], 0, "{run}");
            assert_eq!(run["read_back_bytes"], total, "{run}");
            assert!(run["worst_latency"].as_f64().unwrap() > 0.0, "{run}");
            count += 1;
        }
        assert_eq!(count, 2, "{runs:?}");
        storage.assert_nothing_left();
    }
}
