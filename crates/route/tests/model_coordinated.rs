//! The paper's router under a coordinator that may ask anyone: every interleaving.
//!
//! `cargo test --release -p plimsoll-route -- --ignored` checks larger systems.

mod model;

use model::Bounds;
use model::roles::Roles;
use model::run::check;
use plimsoll_route::coordinated::{Layout, RoleSettings};
use plimsoll_route::{Factor, Failure, TargetId};

fn settings(targets: u16, writers: u32) -> RoleSettings {
    let layout = Layout { targets, writers };
    RoleSettings { factor: Factor::NONE, ..RoleSettings::new(layout) }
}

#[test]
fn two_groups_finish_together() {
    let roles = Roles::new(settings(2, 2), 4);
    check("2 targets, 2 writers, 1 block", roles, Bounds::new(2, &[4], 1));
    let roles = Roles::new(settings(2, 1), 4);
    check("2 targets, 1 writer, 3 blocks", roles, Bounds::new(1, &[4, 4, 4], 1));
}

#[test]
fn without_the_inquiry() {
    let settings = RoleSettings { status_inquiry: false, ..settings(2, 2) };
    check("no inquiry", Roles::new(settings, 4), Bounds::new(2, &[4], 1));
}

/// A coordinator that knows "busy or idle" and no more asks again who rejected before.
fn unaware(targets: u16, writers: u32) -> RoleSettings {
    let settings = settings(targets, writers);
    RoleSettings { status_inquiry: false, remembers_rejects: false, ..settings }
}

#[test]
fn rejections_are_not_remembered() {
    check("unaware", Roles::new(unaware(2, 2), 4), Bounds::new(2, &[4], 1));
    check("unaware, 3 targets", Roles::new(unaware(3, 1), 4), Bounds::new(1, &[4, 4], 2));
    let inquiring = RoleSettings { status_inquiry: true, ..unaware(2, 2) };
    check("not remembered after the inquiry", Roles::new(inquiring, 4), Bounds::new(2, &[4], 1));
    let fails = vec![(TargetId(0), Failure::Full)];
    let bounds = Bounds { target_failures: fails, ..Bounds::new(2, &[4], 1) };
    check("unaware, a target fails", Roles::new(unaware(2, 2), 4), bounds);
    let lossy = RoleSettings { retry_ns: 1, ..unaware(2, 1) };
    let bounds = Bounds { is_fifo: false, losses: 1, ..Bounds::new(1, &[4], 1) };
    check("unaware, 1 lost", Roles::new(lossy, 4), bounds);
}

#[test]
fn split_blocks_under_a_throttle() {
    let factor = Factor::from_millionths(500_000);
    let settings = RoleSettings { part_bytes: 2, factor, ..settings(2, 2) };
    check("parts, TF 0.5", Roles::new(settings, 2), Bounds::new(2, &[4], 1));
}

#[test]
fn three_groups_and_any_source() {
    let settings = RoleSettings { status_inquiry: false, ..settings(3, 1) };
    check("3 targets, any source", Roles::new(settings, 4), Bounds::new(1, &[4, 4], 2));
}

#[test]
fn a_writer_dies() {
    let settings = RoleSettings { status_inquiry: false, ..settings(2, 2) };
    let bounds = Bounds { writer_deaths: 1, ..Bounds::new(2, &[4], 1) };
    check("a writer dies", Roles::new(settings, 4), bounds);
}

#[test]
fn a_target_fails() {
    let fails = vec![(TargetId(0), Failure::Full)];
    let quick = RoleSettings { status_inquiry: false, ..settings(2, 2) };
    let bounds = Bounds { target_failures: fails, ..Bounds::new(2, &[4], 1) };
    check("a target fails", Roles::new(quick, 4), bounds);
    let settings = RoleSettings { factor: Factor::ZERO, ..settings(2, 2) };
    let bounds = Bounds { attempt_failures: 1, ..Bounds::new(2, &[4], 1) };
    check("an attempt fails, TF 0", Roles::new(settings, 4), bounds);
}

#[test]
#[ignore = "minutes; run in release"]
fn a_target_fails_and_comes_back() {
    let bounds = Bounds {
        target_failures: vec![(TargetId(0), Failure::Full)],
        target_returns: 1,
        ..Bounds::new(2, &[4], 1)
    };
    check("fails and comes back", Roles::new(settings(2, 2), 4), bounds);
}

fn one_writer_lossy(losses: u8, repeats: u8) {
    let settings = RoleSettings { retry_ns: 1, ..settings(2, 1) };
    let bounds = Bounds { is_fifo: false, losses, repeats, ..Bounds::new(1, &[4], 1) };
    let name = format!("1 writer, any order, {losses} lost, {repeats} repeated");
    check(&name, Roles::new(settings, 4), bounds);
}

#[test]
fn lost_repeated_and_overtaken_messages() {
    one_writer_lossy(1, 0);
    one_writer_lossy(0, 1);
}

/// Messages get lost and targets fail at once.
fn lossy_and_failing(name: &str, targets: u16, bounds: Bounds) {
    let settings = settings(targets, bounds.writers);
    let settings = RoleSettings { retry_ns: 1, part_bytes: 4, status_inquiry: false, ..settings };
    check(name, Roles::new(settings, 4), bounds);
}

fn one_lost(failing: &[u16], submissions: &[u64]) -> Bounds {
    let target_failures = failing.iter().map(|target| (TargetId(*target), Failure::Full));
    let target_failures = target_failures.collect();
    Bounds { losses: 1, target_failures, ..Bounds::new(1, submissions, 1) }
}

#[test]
fn messages_are_lost_and_a_target_fails() {
    // GROUP_CLOSE_ACK and GIVE_UP are said once and must be asked for.
    let twice = Bounds { losses: 2, ..one_lost(&[0], &[4, 4]) };
    lossy_and_failing("2 lost, the only target fails", 1, twice);
    let back = Bounds { target_returns: 1, ..one_lost(&[0], &[4]) };
    lossy_and_failing("1 lost, the only target fails and comes back", 1, back);
    lossy_and_failing("1 lost, the writer's target fails", 2, one_lost(&[0], &[4]));
    let attempt = Bounds { attempt_failures: 1, ..one_lost(&[], &[4]) };
    lossy_and_failing("1 lost, an attempt fails", 2, attempt);
}

#[test]
#[ignore = "minutes; run in release"]
fn losses_and_failures_larger() {
    // WRITE_MORE is lost, and its taker does not offer again.
    lossy_and_failing("1 lost, the other target fails", 2, one_lost(&[1], &[8]));
    lossy_and_failing("1 lost, both targets fail", 2, one_lost(&[0, 1], &[4]));
    let back = Bounds { target_returns: 1, ..one_lost(&[0], &[4]) };
    lossy_and_failing("1 lost, a target fails and comes back", 2, back);
    let any_order = Bounds { is_fifo: false, ..one_lost(&[0], &[4]) };
    lossy_and_failing("1 lost, any order, a target fails", 2, any_order);
    let repeated = Bounds { is_fifo: false, losses: 0, repeats: 1, ..one_lost(&[0], &[4]) };
    lossy_and_failing("1 repeated, any order, a target fails", 2, repeated);
}

#[test]
#[ignore = "minutes; run in release"]
fn lossy_larger() {
    one_writer_lossy(1, 1);
    one_writer_lossy(2, 0);
}

#[test]
#[ignore = "minutes; run in release"]
fn larger() {
    let two = settings(2, 2);
    check("2 blocks", Roles::new(two, 4), Bounds::new(2, &[4, 4], 1));
    let three = RoleSettings { status_inquiry: false, ..settings(3, 2) };
    check("3 targets, 2 writers", Roles::new(three, 4), Bounds::new(2, &[4], 2));
    check("unaware, 3 targets, 2 writers", Roles::new(unaware(3, 2), 4), Bounds::new(2, &[4], 2));
    let bounds = Bounds { attempt_failures: 1, writer_deaths: 1, ..Bounds::new(2, &[4], 1) };
    check("a failure and a death", Roles::new(two, 4), bounds);
}
