//! What a plan will cost, from what its targets can do and what it may take.

use plimsoll_bench::estimate::{Estimate, estimate};
use plimsoll_bench::job::Job;
use plimsoll_bench::plan::Plan;
use plimsoll_bench::preflight::{TooMuch, check_machine};
use plimsoll_domain::BytesPerSec;
use plimsoll_domain::burst::Engine;
use plimsoll_machine::Machine;

const MIB: u64 = 1 << 20;

/// One process that writes 20 MiB to one of two targets in turn, thirty times at least, as no precision is known to
/// be reached before, and a million times at most.
fn plan(more: &str) -> Plan {
    let text = format!(
        "version = 1\nname = \"x\"\n[[target]]\nname = \"slow\"\npath = \"/slow\"\n[[target]]\nname = \"fast\"\n\
         path = \"/fast\"\n[placement]\ntargets = 1\norder = \"round-robin\"\n[burst]\nsizes = [\"20MiB\"]\n\
         [repeat]\nrounds = 10\nrounds_max = 1000000\nprecision = 0.1\n{more}"
    );
    Plan::parse(&text).unwrap()
}

fn known(plan: &Plan, mib_per_second: [Option<u64>; 2]) -> Estimate {
    estimate(plan, &mib_per_second.map(|rate| rate.map(|rate| BytesPerSec::new(rate * MIB))))
}

#[track_caller]
fn close(found: Option<f64>, seconds: f64) {
    assert!(found.is_some_and(|it| (it / seconds - 1.0).abs() < 1e-9), "{found:?} {seconds}");
}

#[test]
fn each_target_takes_the_time_that_it_takes() {
    // Every other instance takes a second, the others a tenth of it.
    let cost = known(&plan(""), [Some(20), Some(200)]);
    close(cost.seconds.least, 16.5);
    close(cost.seconds.most, 550_000.0);
    assert_eq!((cost.instances.least, cost.instances.most), (30, 1_000_000));
}

#[test]
fn what_is_not_known_takes_no_time_and_has_no_most() {
    let cost = known(&plan(""), [Some(20), None]);
    close(cost.seconds.least, 15.0);
    assert_eq!(cost.seconds.most, None);
    let nothing = estimate(&plan(""), &[]);
    assert_eq!((nothing.seconds.least, nothing.seconds.most), (None, None));
}

#[test]
fn a_budget_of_time_bounds_the_most_of_everything() {
    let plan = plan("[budget]\ntime = \"55s\"\n");
    let cost = known(&plan, [Some(20), Some(200)]);
    close(cost.seconds.least, 16.5);
    close(cost.seconds.most, 55.0);
    assert_eq!((cost.instances.least, cost.instances.most), (30, 100));
    assert_eq!(cost.bytes.most.get(), 100 * 20 * MIB);
    // The budget is known whatever the targets can do.
    assert_eq!(estimate(&plan, &[]).seconds.most, Some(55.0));
    let short = known(&self::plan("[budget]\ntime = \"1.1s\"\n"), [Some(20), Some(200)]);
    assert_eq!(short.instances.least, 2);
    close(short.seconds.least, 1.1);
}

#[test]
fn a_budget_of_bytes_bounds_instances_and_time() {
    let cost = known(&plan("[budget]\nbytes = \"800MiB\"\n"), [Some(20), Some(20)]);
    assert_eq!((cost.instances.least, cost.instances.most), (30, 40));
    assert_eq!(cost.bytes.most.get(), 800 * MIB);
    close(cost.seconds.most, 40.0);
}

#[test]
fn a_machine_is_left_to_others() {
    let check = |clients: u32, burst: &str| {
        let mut plan = plan(&format!("[clients]\ncount = {clients}\nused = 1\n"));
        plan.burst.sizes = vec![burst.parse().unwrap()];
        (plan.burst.transfer, plan.burst.depth) = ("1GiB".parse().unwrap(), 4096);
        plan.burst.engine = Engine::Uring;
        let machine = tempfile::tempdir().unwrap();
        std::fs::create_dir(machine.path().join("proc")).unwrap();
        let memory = "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n";
        std::fs::write(machine.path().join("proc/meminfo"), memory).unwrap();
        let machine = Machine::at(machine.path(), "");
        check_machine(&plan, &estimate(&plan, &[]), &Job::Alone, &machine)
    };
    assert_eq!(check(1, "1GiB"), Ok(()), "one transfer, and one to compare with");
    assert!(matches!(check(2, "1GiB"), Err(TooMuch::Memory { processes: 2, .. })));
    assert!(matches!(check(1, "4GiB"), Err(TooMuch::Memory { processes: 1, .. })));
    assert_eq!(check(1001, "1MiB"), Err(TooMuch::Processes { processes: 1001 }));
}
