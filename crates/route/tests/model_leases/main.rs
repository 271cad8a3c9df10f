//! The table of leases under a policy that may say anything: every order in which processes reserve, fill, publish,
//! seal, flush, look, leave, stop and die, also in the middle of a transition, between any two stores.
//!
//! `cargo test --release -p plimsoll-route -- --ignored` checks larger systems.

mod policy;
mod state;
mod system;
mod words;

use plimsoll_route::Factor;
use state::Bounds;
use stateright::{Checker, Model};
use system::System;

/// Checks every state, says how many there were, and fails with the shortest trace.
fn check(name: &str, bounds: Bounds) {
    let checker = System { bounds }.checker().threads(2).spawn_bfs().join();
    println!("{name}: {} states, depth {}", checker.unique_state_count(), checker.max_depth());
    checker.assert_properties();
}

const ONE: Bounds = Bounds {
    writes: &[2],
    lanes: 2,
    leases: 2,
    factor: Factor::NONE,
    deaths: 0,
    stops: 0,
    lane_failures: 0,
    copies: false,
    reservations: 2,
};

#[test]
fn processes_share_a_table() {
    check("1 process, 3 writes", Bounds { writes: &[3], reservations: 4, ..ONE });
    check("2 processes", Bounds { writes: &[1, 1], ..ONE });
}

#[test]
fn copies_are_made() {
    check("1 process, copies", Bounds { writes: &[2], copies: true, leases: 3, ..ONE });
    check("2 processes, copies", Bounds { writes: &[1, 1], copies: true, ..ONE });
}

#[test]
fn a_process_dies_between_any_two_stores() {
    check("1 process dies and another takes its place", Bounds { deaths: 1, ..ONE });
    check("1 of 2 dies", Bounds { writes: &[1, 1], deaths: 1, ..ONE });
    check("1 dies, copies", Bounds { writes: &[1], deaths: 1, copies: true, ..ONE });
}

#[test]
fn a_process_is_stopped_and_the_other_goes_on() {
    check("1 of 2 stops", Bounds { writes: &[1, 1], stops: 1, ..ONE });
}

#[test]
fn the_fair_share_is_kept_and_never_blocks() {
    check("TF 0", Bounds { writes: &[1, 1], factor: Factor::ZERO, ..ONE });
    let factor = Factor::from_millionths(250_000);
    check("TF 0.25, 1 dies", Bounds { writes: &[1, 1], factor, deaths: 1, ..ONE });
}

#[test]
fn a_target_fails() {
    check("a target fails", Bounds { writes: &[1, 1], lane_failures: 1, ..ONE });
}

#[test]
#[ignore = "minutes; run in release"]
fn larger() {
    check(
        "2 processes, copies, 1 dies",
        Bounds { writes: &[1, 1], deaths: 1, copies: true, leases: 3, ..ONE },
    );
    check("1 of 2 stops", Bounds { writes: &[2, 1], stops: 1, reservations: 3, ..ONE });
    check("TF 0", Bounds { writes: &[2, 1], factor: Factor::ZERO, reservations: 3, ..ONE });
    check("2 processes, 2 die", Bounds { writes: &[1, 1], deaths: 2, ..ONE });
    // With fewer reservations than processes it could not end.
    check("3 processes", Bounds { writes: &[1, 1, 1], leases: 3, reservations: 3, ..ONE });
}
