//! What a sub-coordinator does when its target or a client fails.

use super::sub::{Entry, Sub, Told};
use crate::{Failure, Outputs, WriteId};

impl Sub {
    /// A client could not write to our target: someone else must take it.
    pub(super) fn write_failed<O: Outputs>(&mut self, write: WriteId, request: u32, out: &mut O) {
        let Some(grant) = self.end_grant(write, request) else { return };
        let (left_bytes, is_charged) = (grant.length_bytes, grant.is_charged);
        self.queue.push_front(Entry { write, left_bytes, is_part: true, is_charged });
        if grant.request > self.grants_before {
            self.target_failed(Failure::Stopped, out);
        }
    }

    /// From now on everything that waits here is to be given away.
    ///
    /// A write that is under way is waited for: the host ends it, well or badly, also on a
    /// target that stopped.
    pub(super) fn target_failed<O: Outputs>(&mut self, failure: Failure, out: &mut O) {
        if self.failure.is_none() && !self.is_closed {
            self.failure = Some(failure);
            self.turns = self.turns.wrapping_add(1);
            self.told = Told::Busy;
            self.say_health(out);
        }
    }

    /// Said at once: the coordinator gives everything up when all targets have failed.
    pub(super) fn target_back<O: Outputs>(&mut self, out: &mut O) {
        // What is being written may have failed already, and its client not been heard.
        self.grants_before = self.grants;
        if self.failure.is_some() && !self.is_closed {
            self.failure = None;
            self.turns = self.turns.wrapping_add(1);
            self.told = Told::Empty;
            self.say_health(out);
        }
    }

    /// Its data is gone: nothing of it waits, is written or is counted any more.
    pub(super) fn writer_died(&mut self, writer: u32) {
        if self.dead.contains(&writer) {
            return;
        }
        self.dead.push(writer);
        let grant = self.active.take_if(|grant| grant.write.writer == writer);
        if let Some(grant) = grant.filter(|grant| grant.is_charged) {
            self.throttle.take_back(grant.length_bytes);
        }
        let gone = |entry: &&Entry| entry.write.writer == writer && entry.is_charged;
        for entry in self.queue.iter().filter(gone) {
            self.throttle.take_back(entry.left_bytes);
        }
        self.queue.retain(|entry| entry.write.writer != writer);
        self.moved_out.retain(|moved| moved.writer != writer);
        let Some(member) = self.member(writer) else { return };
        let (open_parts, was_closed) = (member.open_parts, member.is_closed);
        member.open_parts = 0;
        member.is_closed = true;
        self.open_parts = self.open_parts.saturating_sub(open_parts);
        self.open_members -= u32::from(!was_closed);
    }
}
