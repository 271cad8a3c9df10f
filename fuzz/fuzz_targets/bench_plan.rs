//! Plans of any content: no crash, and what is accepted can be written, read again and scheduled.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_bench::estimate::estimate;
use plimsoll_bench::plan::Plan;
use plimsoll_bench::schedule::{Schedule, Step};

fuzz_target!(|bytes: &[u8]| {
    let Ok(plan) = Plan::from_bytes(bytes) else { return };
    let again = Plan::parse(&plan.to_toml()).expect("what was read can be written");
    assert_eq!(again, plan);
    let estimate = estimate(&plan, &[]);
    let schedule = Schedule::new(&plan);
    assert_eq!(schedule.instances(), estimate.instances.most);
    let first = schedule.clone().next().expect("an accepted plan has instances");
    let Step::Instance(first) = first else { panic!("a schedule begins with an instance") };
    let targets = |process: &plimsoll_bench::schedule::ProcessPlan| process.targets.len();
    assert!(first.processes.iter().all(|it| targets(it) == first.setting.stripe_count as usize));
    let last = schedule.instance(schedule.instances() - 1).expect("the last can be had");
    assert!(last.processes.iter().all(|it| (it.client) < plan.clients.count));
});
