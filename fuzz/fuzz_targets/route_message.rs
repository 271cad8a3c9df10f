//! Any bytes as a routing message, and any message to every machine: no crash.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_route::coordinated::{ByQueue, Client, Coordinator, Layout, RoleSettings, Sub};
use plimsoll_route::{ActorId, Attempt, AttemptId, Closed, Commit, Input, Machine, Message};
use plimsoll_route::{Outputs, Refusal, TargetId, Timer};

struct Nowhere;

impl Outputs for Nowhere {
    fn send(&mut self, _: ActorId, _: Message) {}
    fn timer(&mut self, _: Timer) {}
    fn start(&mut self, _: Attempt) {}
    fn committed(&mut self, _: Commit) {}
    fn superseded(&mut self, _: AttemptId) {}
    fn refused(&mut self, _: Refusal) {}
    fn closed(&mut self, _: Closed) {}
}

/// The checksum is made good, or a fuzzer would never get past it.
fn message(bytes: &[u8]) -> Option<Message> {
    let mut sealed: [u8; 32] = bytes.try_into().ok()?;
    sealed[0] = 1;
    let sum = crc32c::crc32c(&sealed[..28]);
    sealed[28..].copy_from_slice(&sum.to_le_bytes());
    let message = Message::decode(&sealed).ok()?;
    assert_eq!(message.encode(), sealed);
    Some(message)
}

fuzz_target!(|bytes: &[u8]| {
    let _ = Message::decode(bytes);
    let layout = Layout { targets: 3, writers: 5 };
    let settings = RoleSettings { retry_ns: 1, part_bytes: 1 << 40, ..RoleSettings::new(layout) };
    let mut coordinator = Coordinator::new(settings, ByQueue);
    let mut sub = Sub::new(settings, TargetId(1));
    let mut client = Client::new(settings, 2);
    client.step(0, Input::Submit { writer: 2, length_bytes: 7 }, &mut Nowhere);
    for chunk in bytes.chunks(32) {
        let Some(message) = message(chunk) else { continue };
        let input = Input::Message { from: ActorId(u32::from(chunk[0]) % layout.actors()), message };
        coordinator.step(0, input, &mut Nowhere);
        sub.step(0, input, &mut Nowhere);
        client.step(0, input, &mut Nowhere);
    }
});
