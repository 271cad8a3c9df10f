//! What the preload library asks of the programs that it is loaded into. Where a host or container
//! has less, the dynamic linker ends them before their first instruction.

use std::process::Command;

use crate::support::command::Outcome;
use crate::support::recording::{has, library, root};

/// `scripts/check-library LIBRARY ARGUMENTS`
fn check(arguments: &[&str]) -> Outcome {
    let mut command = Command::new(root().join("scripts/check-library"));
    command.arg(library()).args(arguments).output().unwrap().into()
}

#[test]
fn it_needs_the_c_library_only() {
    if !has(&["readelf", "nm"]) {
        return;
    }
    let outcome = check(&[]);
    assert_eq!(outcome.status, Some(0), "{}{}", outcome.stdout, outcome.stderr);
}

#[test]
fn one_that_asks_for_a_newer_c_library_than_it_may_is_refused() {
    if !has(&["readelf", "nm"]) {
        return;
    }
    let said = check(&[]).stdout;
    let asked = said.lines().find_map(|line| line.trim().strip_prefix("C library")).unwrap();
    let asked = asked.trim().strip_prefix("GLIBC_").unwrap();
    assert_eq!(check(&[asked]).status, Some(0), "exactly as much as it may");
    assert_eq!(check(&["9.99"]).status, Some(0));
    let refused = check(&["2.2.4"]);
    assert_eq!(refused.status, Some(1), "{}", refused.stdout);
    let expected = format!("asks for GLIBC_{asked} and may ask for GLIBC_2.2.4 at most");
    assert!(refused.stderr.contains(&expected), "{}", refused.stderr);
}
