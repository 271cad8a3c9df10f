//! The client: has the data, writes when and where it is told, and says when it is durable.

use std::collections::VecDeque;

use super::lossy::Retry;
use super::settings::RoleSettings;
use crate::{ActorId, Attempt, AttemptId, Closed, Input, Machine, Message, Outputs, TargetId};
use crate::{Refusal, RefusalReason, TimerId, WriteId};

/// A process that writes (P in the paper).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Client {
    settings: RoleSettings,
    writer: u32,
    /// Submissions that are not settled in full, the first has number `first_sequence`.
    blocks: VecDeque<Block>,
    first_sequence: u32,
    /// Their parts, the first has number `first_part`.
    parts: VecDeque<BlockPart>,
    first_part: u32,
    open_parts: u32,
    /// What the sub-coordinator is known to have, where messages get lost.
    acknowledged: u32,
    unacknowledged_commits: u32,
    /// Grants that ended badly, where messages get lost: they may arrive again late.
    refused: Vec<Refused>,
    committed_bytes: u64,
    lost_bytes: u64,
    is_closed: bool,
    is_reported: bool,
    retry: Retry,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Block {
    length_bytes: u64,
    first_part: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct BlockPart {
    state: State,
    target: TargetId,
    request: u32,
    generation: u32,
}

/// A grant whose target did not take the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Refused {
    write: WriteId,
    target: TargetId,
    request: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum State {
    Waiting,
    Writing,
    /// Durable, but its own sub-coordinator may not know.
    Committed,
    Settled,
}

impl Client {
    /// The client of `writer`.
    pub fn new(settings: RoleSettings, writer: u32) -> Self {
        Client {
            settings,
            writer,
            blocks: VecDeque::new(),
            first_sequence: 0,
            parts: VecDeque::new(),
            first_part: 0,
            open_parts: 0,
            acknowledged: 0,
            unacknowledged_commits: 0,
            refused: Vec::new(),
            committed_bytes: 0,
            lost_bytes: 0,
            is_closed: false,
            is_reported: false,
            retry: Retry::default(),
        }
    }

    fn home(&self) -> ActorId {
        self.settings.layout.sub(self.settings.layout.home(self.writer))
    }

    fn submitted(&self) -> u32 {
        self.first_sequence + self.blocks.len() as u32
    }

    fn submit<O: Outputs>(&mut self, writer: u32, length_bytes: u64, out: &mut O) {
        if writer != self.writer || self.is_closed {
            let reason = match writer == self.writer {
                true => RefusalReason::Closed,
                false => RefusalReason::UnknownWriter,
            };
            return out.refused(Refusal { writer, length_bytes, reason });
        }
        if length_bytes == 0 {
            return;
        }
        let sequence = self.submitted();
        let parts = self.settings.parts(length_bytes);
        let first_part = self.first_part + self.parts.len() as u32;
        self.blocks.push_back(Block { length_bytes, first_part });
        let part =
            BlockPart { state: State::Waiting, target: TargetId(0), request: 0, generation: 0 };
        self.parts.extend(std::iter::repeat_n(part, parts as usize));
        self.open_parts += parts;
        self.say_submission(sequence, out);
    }

    fn say_submission<O: Outputs>(&self, sequence: u32, out: &mut O) {
        let writer = self.writer;
        let known = sequence.checked_sub(self.first_sequence);
        let block = known.and_then(|index| self.blocks.get(index as usize));
        if let Some(block) = block {
            let write = WriteId { writer, sequence, part: 0 };
            let length_bytes = block.length_bytes;
            out.send(self.home(), Message::WriteSubmission { write, length_bytes });
        }
    }

    fn close<O: Outputs>(&mut self, out: &mut O) {
        if !self.is_closed {
            self.is_closed = true;
            self.say_close(out);
        }
    }

    fn say_close<O: Outputs>(&self, out: &mut O) {
        let (writer, count) = (self.writer, self.submitted());
        out.send(self.home(), Message::WriterClose { writer, count });
    }

    /// Where a part is in `parts`; `None` if it is settled and forgotten, or never was.
    fn place_of(&self, write: WriteId) -> Option<(usize, u64, u64)> {
        let block = *self.blocks.get(write.sequence.checked_sub(self.first_sequence)? as usize)?;
        if write.part >= self.settings.parts(block.length_bytes) {
            return None;
        }
        let offset_bytes = u64::from(write.part) * self.settings.part_bytes;
        let length_bytes = self.settings.part_length(block.length_bytes - offset_bytes);
        let place = (block.first_part + write.part).checked_sub(self.first_part)? as usize;
        Some((place, offset_bytes, length_bytes))
    }

    fn do_write<O: Outputs>(
        &mut self,
        write: WriteId,
        target: TargetId,
        request: u32,
        length_bytes: u64,
        out: &mut O,
    ) {
        let granter = self.settings.layout.sub(target);
        let Some((place, offset_bytes, known_bytes)) = self.place_of(write) else {
            if write.writer == self.writer && write.sequence < self.first_sequence {
                let done = Message::WriteComplete { write, target, request, length_bytes };
                out.send(granter, done);
            }
            return;
        };
        let part = &mut self.parts[place];
        match part.state {
            // A repeated message; the answer comes when there is one.
            State::Writing => {}
            State::Committed | State::Settled => {
                let done = Message::WriteComplete { write, target, request, length_bytes };
                out.send(granter, done);
            }
            State::Waiting if self.refused.contains(&Refused { write, target, request }) => {
                out.send(granter, Message::WriteFailed { write, target, request, length_bytes });
            }
            State::Waiting => {
                let generation = part.generation + 1;
                *part = BlockPart { state: State::Writing, target, request, generation };
                let slot = self.first_part + place as u32;
                let attempt = AttemptId { slot, generation };
                let length_bytes = known_bytes;
                out.start(Attempt { attempt, write, target, offset_bytes, length_bytes });
            }
        }
    }

    /// The identity of the part at `place`.
    fn write_at(&self, place: usize) -> WriteId {
        let number = self.first_part + place as u32;
        let block = self.blocks.partition_point(|block| block.first_part <= number) - 1;
        let sequence = self.first_sequence + block as u32;
        WriteId { writer: self.writer, sequence, part: number - self.blocks[block].first_part }
    }

    fn writing(&self, attempt: AttemptId) -> Option<usize> {
        let place = attempt.slot.checked_sub(self.first_part)? as usize;
        let part = self.parts.get(place)?;
        let is_it = part.state == State::Writing && part.generation == attempt.generation;
        is_it.then_some(place)
    }

    fn done<O: Outputs>(&mut self, attempt: AttemptId, out: &mut O) {
        let Some(place) = self.writing(attempt) else { return };
        let write = self.write_at(place);
        let Some((_, offset_bytes, length_bytes)) = self.place_of(write) else { return };
        let BlockPart { target, request, .. } = self.parts[place];
        self.open_parts -= 1;
        self.refused.retain(|refused| refused.write != write);
        self.committed_bytes += length_bytes;
        out.committed(Attempt { attempt, write, target, offset_bytes, length_bytes });
        let granter = self.settings.layout.sub(target);
        out.send(granter, Message::WriteComplete { write, target, request, length_bytes });
        let is_moved = granter != self.home();
        if is_moved {
            let said = Message::WriteCommitted { write, target, request, length_bytes };
            out.send(self.home(), said);
        }
        let must_wait = is_moved && self.settings.is_lossy();
        self.parts[place].state = if must_wait { State::Committed } else { State::Settled };
        self.unacknowledged_commits += u32::from(must_wait);
        self.forget_settled();
    }

    fn failed<O: Outputs>(&mut self, attempt: AttemptId, out: &mut O) {
        let Some(place) = self.writing(attempt) else { return };
        let write = self.write_at(place);
        let Some((_, _, length_bytes)) = self.place_of(write) else { return };
        let part = &mut self.parts[place];
        part.state = State::Waiting;
        let (target, request) = (part.target, part.request);
        if self.settings.is_lossy() {
            self.refused.push(Refused { write, target, request });
        }
        let granter = self.settings.layout.sub(target);
        out.send(granter, Message::WriteFailed { write, target, request, length_bytes });
    }

    fn commit_acknowledged(&mut self, write: WriteId) {
        let Some((place, ..)) = self.place_of(write) else { return };
        if self.parts[place].state == State::Committed {
            self.parts[place].state = State::Settled;
            self.unacknowledged_commits -= 1;
            self.forget_settled();
        }
    }

    /// Blocks are forgotten from the front when all their parts are settled.
    fn forget_settled(&mut self) {
        while let Some(block) = self.blocks.front() {
            let parts = self.settings.parts(block.length_bytes) as usize;
            if self.parts.range(..parts).any(|part| part.state != State::Settled) {
                return;
            }
            self.parts.drain(..parts);
            self.first_part += parts as u32;
            self.first_sequence += 1;
            self.blocks.pop_front();
        }
    }

    /// No target takes data. What is being written may still end well, but is not waited for.
    fn give_up(&mut self) {
        for place in 0..self.parts.len() {
            if !matches!(self.parts[place].state, State::Committed | State::Settled) {
                let write = self.write_at(place);
                let length_bytes = self.place_of(write).map_or(0, |(_, _, length)| length);
                self.parts[place].state = State::Settled;
                self.lost_bytes += length_bytes;
                self.open_parts -= 1;
            }
        }
        self.refused.clear();
        self.forget_settled();
    }

    fn report<O: Outputs>(&mut self, out: &mut O) {
        if self.is_closed && self.open_parts == 0 && !self.is_reported {
            self.is_reported = true;
            let (writer, committed_bytes) = (self.writer, self.committed_bytes);
            out.closed(Closed::Writer { writer, committed_bytes, lost_bytes: self.lost_bytes });
        }
    }

    /// Everything that was not answered, at most this many at a time.
    fn say_again<O: Outputs>(&mut self, out: &mut O) {
        const AT_A_TIME: u32 = 16;
        // What is committed was known, even if the acknowledgement was lost.
        self.acknowledged = self.acknowledged.max(self.first_sequence);
        let submitted = self.submitted();
        for sequence in self.acknowledged..submitted.min(self.acknowledged + AT_A_TIME) {
            self.say_submission(sequence, out);
        }
        if self.is_closed && self.acknowledged >= submitted {
            self.say_close(out);
        }
        let is_committed = |place: &usize| self.parts[*place].state == State::Committed;
        let places = (0..self.parts.len()).filter(is_committed).take(AT_A_TIME as usize);
        for place in places {
            let write = self.write_at(place);
            let BlockPart { target, request, .. } = self.parts[place];
            let length_bytes = self.place_of(write).map_or(0, |(_, _, length)| length);
            let said = Message::WriteCommitted { write, target, request, length_bytes };
            out.send(self.home(), said);
        }
    }

    fn is_waiting_for_answer(&self) -> bool {
        let expected = self.submitted() + u32::from(self.is_closed);
        // A closed client also asks while it waits for a grant: the one GIVE_UP may be lost.
        let is_waiting = self.is_closed && self.open_parts > 0;
        self.acknowledged < expected || self.unacknowledged_commits > 0 || is_waiting
    }

    fn hear<O: Outputs>(&mut self, message: Message, out: &mut O) {
        match message {
            Message::DoWrite { write, target, request, length_bytes } => {
                self.do_write(write, target, request, length_bytes, out);
            }
            Message::SubmissionAck { writer, next } if writer == self.writer => {
                let expected = self.submitted() + u32::from(self.is_closed);
                self.acknowledged = self.acknowledged.max(next.min(expected));
            }
            Message::CommitAck { write } => self.commit_acknowledged(write),
            Message::GiveUp { writer } if writer == self.writer => self.give_up(),
            _ => {}
        }
    }
}

impl Machine for Client {
    fn step<O: Outputs>(&mut self, now_ns: u64, input: Input, out: &mut O) {
        match input {
            Input::Submit { writer, length_bytes } => self.submit(writer, length_bytes, out),
            Input::Close { writer } if writer == self.writer => self.close(out),
            Input::Message { message, .. } => self.hear(message, out),
            Input::AttemptDone { attempt, .. } => self.done(attempt, out),
            Input::AttemptFailed { attempt, .. } => self.failed(attempt, out),
            Input::Timer { id: TimerId::Retry, generation } if self.retry.rang(generation) => {
                self.say_again(out);
            }
            _ => {}
        }
        self.report(out);
        if self.settings.is_lossy() && self.is_waiting_for_answer() {
            self.retry.set(now_ns, self.settings.retry_ns, out);
        }
    }
}
