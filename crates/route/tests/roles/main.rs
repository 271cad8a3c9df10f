//! Each role of policy `coordinator` by itself: what it says to every message, on a transport that loses
//! nothing and on one that does.

#[path = "../model/mod.rs"]
mod model;

mod client;
mod coordinator;
mod sub;

use model::Effects;
use plimsoll_route::coordinated::{Layout, RoleSettings};
use plimsoll_route::{ActorId, Factor, Input, Machine, Message, TargetId, Timer, TimerId, WriteId};

/// Writers 0 and 1 belong to the first target, 2 and 3 to the second.
const LAYOUT: Layout = Layout { targets: 2, writers: 4 };
const FIRST: TargetId = TargetId(0);
const SECOND: TargetId = TargetId(1);
const RETRY_NS: u64 = 100;

/// Parts of four bytes, nothing throttled, nobody inquires, nothing gets lost.
fn settings() -> RoleSettings {
    RoleSettings {
        status_inquiry: false,
        factor: Factor::NONE,
        part_bytes: 4,
        ..RoleSettings::new(LAYOUT)
    }
}

/// The same where messages get lost.
fn lossy() -> RoleSettings {
    RoleSettings { retry_ns: RETRY_NS, ..settings() }
}

fn id(writer: u32, sequence: u32, part: u32) -> WriteId {
    WriteId { writer, sequence, part }
}

fn at<M: Machine>(machine: &mut M, now_ns: u64, input: Input) -> Effects {
    let mut effects = Effects::default();
    machine.step(now_ns, input, &mut effects);
    effects
}

fn hear<M: Machine>(machine: &mut M, from: ActorId, message: Message) -> Effects {
    at(machine, 0, Input::Message { from, message })
}

/// What a machine says when its timer rings, and the timer that it sets then.
fn ring<M: Machine>(machine: &mut M, timer: Timer) -> (Vec<(ActorId, Message)>, Option<Timer>) {
    assert_eq!(timer.id, TimerId::Retry);
    let input = Input::Timer { id: timer.id, generation: timer.generation };
    let effects = at(machine, timer.at_ns, input);
    (effects.messages, effects.timers.first().copied())
}
