//! Runs that end late, that only seem to be stuck, and that never end.

use plimsoll_simulate::scenario::Scenario;
use plimsoll_simulate::{Outcome, SimulateError, run};

/// Two targets of 1 MB/s, a process for each, and noise that changes every 10 ms: so something happens all the
/// time, whether anything is written or not.
fn simulate(policy: &str, application: &str, rest: &str) -> Result<Outcome, SimulateError> {
    let text = format!(
        "version = 1\ntitle = \"\"\npolicies = [\"static\"]\n[storage]\ntargets = 2\n\
         rate = \"1MB/s\"\n[application]\nprocesses = 2\n{application}\n\
         [[noise]]\nkind = \"on-off\"\nslowdown = 2\nstart = \"normal\"\n\
         slow = {{ mean = \"10ms\", distribution = \"fixed\" }}\n\
         normal = {{ mean = \"10ms\", distribution = \"fixed\" }}\n{rest}"
    );
    run(&Scenario::parse("test", &text).unwrap(), &policy.parse().unwrap(), 1)
}

#[track_caller]
fn takes(outcome: Result<Outcome, SimulateError>, seconds: f64) {
    let outcome = outcome.unwrap();
    assert_eq!(outcome.lost_bytes, 0);
    let makespan = outcome.makespan.unwrap();
    // Three quarters of the rate are left; where in a phase a write begins and ends is not looked at.
    assert!((makespan - seconds).abs() < 1.0, "{makespan}");
}

#[test]
fn a_program_that_computes_for_long_is_not_stuck() {
    for policy in ["static", "window", "coordinator"] {
        let bursts = "block = \"3MB\"\ncompute = \"1500s\"\nbursts = 2";
        takes(simulate(policy, bursts, ""), 2.0 * (1500.0 + 4.0));
    }
}

#[test]
fn a_write_that_takes_long_is_not_stuck() {
    takes(simulate("static", "block = \"1500MB\"", ""), 2000.0);
}

#[test]
fn what_is_under_way_on_a_target_that_stopped_is_given_up_after_a_while() {
    let stops = "[[fault]]\nat = \"500ms\"\nwhat = \"target-stops\"\nwhich = 0\n";
    takes(simulate("coordinator", "block = \"3MB\"", stops), 100.5 + 4.0);
    let back = "[[fault]]\nat = \"60500ms\"\nwhat = \"target-back\"\nwhich = 0\n";
    takes(simulate("coordinator", "block = \"3MB\"", &format!("{stops}{back}")), 60.0 + 4.0);
    for failure in ["target-fills", "target-read-only"] {
        let fails = format!("[[fault]]\nat = \"500ms\"\nwhat = \"{failure}\"\nwhich = 0\n");
        takes(simulate("coordinator", "block = \"3MB\"", &fails), 4.0 + 4.0);
    }
    // Others try at once elsewhere what is under way there.
    takes(simulate("static", "block = \"3MB\"", stops), 4.0 + 4.0);
}

#[test]
fn a_run_of_more_than_two_years_is_too_long() {
    let text = "version = 1\ntitle = \"\"\npolicies = [\"static\"]\n[storage]\ntargets = 1\n\
                rate = \"1MB/s\"\n[application]\nprocesses = 1\nblock = \"3000MB\"\n\
                [[noise]]\nkind = \"streams\"\nstreams = 100000000\n";
    let found = run(&Scenario::parse("test", text).unwrap(), &"static".parse().unwrap(), 1);
    assert_eq!(found.unwrap_err(), SimulateError::TooLong { seed: 1 });
}
