//! The calls that a burst is made of, as the kernel sees them.

use std::fs;
use std::process::Command;

use crate::support::command::{Outcome, binary};
use crate::support::storage::Storage;

/// Lines of strace of all processes, by system call.
struct Calls(String);

impl Calls {
    /// Traces a benchmark; `None` where there is no strace that may trace.
    fn of(storage: &Storage, arguments: &str) -> Option<Self> {
        let log = storage.folder.path().join("calls");
        let mut command = Command::new("strace");
        command.args(["-f", "-y", "-e", "trace=openat,pwrite64,fsync", "-o"]).arg(&log);
        command.arg(binary().get_program()).env("NO_COLOR", "1");
        storage.complete_bench(&mut command, arguments);
        let Ok(output) = command.output() else {
            eprintln!("SKIPPED: needs strace");
            return None;
        };
        let outcome = Outcome::from(output);
        if outcome.stderr.contains("Operation not permitted") {
            eprintln!("SKIPPED: needs the right to trace");
            return None;
        }
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        Some(Calls(fs::read_to_string(log).unwrap()))
    }

    /// Lines of a call on a burst's file: those are named by instance, client and process.
    fn on_bursts(&self, call: &str) -> Vec<&str> {
        let of_burst = |line: &&str| line.contains(call) && line.contains(".0.0>");
        self.0.lines().filter(of_burst).collect()
    }
}

#[test]
fn a_burst_can_be_one_buffered_write_and_an_fsync() {
    let storage = Storage::with_targets(1);
    let arguments = "pipeline --caching synced --transfer burst --burst 3MiB,5MiB --rounds 2 \
                     --rounds-max 2 --seed 1";
    let Some(calls) = Calls::of(&storage, arguments) else { return };
    let (writes, syncs) = (calls.on_bursts("pwrite64("), calls.on_bursts("fsync("));
    assert_eq!((writes.len(), syncs.len()), (4, 4), "{}", calls.0);
    for bytes in [3 << 20, 5 << 20] {
        let whole = format!(", {bytes}, 0) = {bytes}");
        let times = writes.iter().filter(|line| line.ends_with(&whole)).count();
        assert_eq!(times, 2, "{writes:?}");
    }
    assert!(!calls.on_bursts("openat(").iter().any(|line| line.contains("O_DIRECT")));
    for instance in storage.instances() {
        assert_eq!(instance.setting.transfer, instance.setting.burst);
    }
    storage.assert_nothing_left();
}

#[test]
fn a_plan_may_say_so_and_is_kept_that_way() {
    let storage = Storage::with_targets(2);
    let arguments = "many-pairs --caching synced --transfer burst --burst 64KiB,1MiB";
    let plan = storage.bench(&format!("{arguments} --print-plan")).stdout;
    assert!(plan.contains("transfer = \"burst\"\n"), "{plan}");
    let file = storage.folder.path().join("plan.toml");
    fs::write(&file, &plan).unwrap();
    let again = binary().arg("bench").arg(&file).arg("--print-plan").output().unwrap();
    assert_eq!(Outcome::from(again).stdout, plan);
    let refused = storage.bench("many-pairs --transfer bust");
    assert_eq!(refused.status, Some(2));
    assert!(refused.stderr.contains("or \"burst\" for all of it"), "{}", refused.stderr);
}
