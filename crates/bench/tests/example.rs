//! The example in plans/ is a plan.

use plimsoll_bench::describe::{describe, first_round};
use plimsoll_bench::plan::{Plan, Value};
use plimsoll_bench::schedule::{Schedule, Step};

const EXAMPLE: &str = include_str!("../../../plans/many-pairs.toml");

#[test]
fn the_example_is_read_and_its_full_form_is_the_same_plan() {
    let plan = Plan::parse(EXAMPLE).unwrap();
    assert_eq!(plan.vary.values, [1, 2, 4].map(Value::Count));
    let full = plan.to_toml();
    assert_eq!(Plan::parse(&full).as_ref(), Ok(&plan), "{full}");
    assert_eq!(Schedule::new(&plan).instances(), 180);
}

#[test]
fn its_first_round_can_be_told() {
    let plan = Plan::parse(EXAMPLE).unwrap();
    let lines: Vec<String> = first_round(&plan).map(|it| describe(&plan, &it)).collect();
    assert_eq!(lines.len(), 3, "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("pairs = 1: each process writes 16MiB of")));
    assert!(lines.iter().all(|line| line.contains(" -> t")), "{lines:#?}");
    let steps: Vec<Step> = Schedule::new(&plan).take(7).collect();
    assert!(matches!(steps[1], Step::Pause(_)) && matches!(steps[5], Step::EndOfRound { .. }));
}
