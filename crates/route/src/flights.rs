//! The books of a node: parts, and the attempts that are under way for them.
//!
//! Both are kept in slots that are reused, so that memory follows what is in flight and
//! nothing is allocated once a node has seen its largest number of attempts.

use crate::{AttemptId, WriteId};

/// Attempts that one part may have under way at the same time.
pub(crate) const ATTEMPTS_MAX: usize = 3;

/// A piece of a submission: an identity with its length.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Part {
    pub write: WriteId,
    pub offset_bytes: u64,
    pub length_bytes: u64,
    /// Slots of attempts under way; only the first `attempts` count.
    slots: [u32; ATTEMPTS_MAX],
    pub attempts: u8,
    pub state: PartState,
}

/// What became of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum PartState {
    /// Not durable yet; an attempt is under way.
    Open,
    /// Not durable yet; waits to be tried again.
    Again,
    /// Durable. Attempts that still run are of no use.
    Committed,
    /// Given up.
    Lost,
}

impl Part {
    /// Slots of the attempts that are under way.
    pub fn slots(&self) -> &[u32] {
        &self.slots[..usize::from(self.attempts)]
    }

    pub fn has_room(&self) -> bool {
        usize::from(self.attempts) < ATTEMPTS_MAX
    }

    fn forget(&mut self, slot: u32) {
        if let Some(place) = self.slots().iter().position(|known| *known == slot) {
            self.attempts -= 1;
            self.slots.swap(place, usize::from(self.attempts));
            self.slots[usize::from(self.attempts)] = 0;
        }
    }
}

/// An attempt under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Aloft {
    pub part: u32,
    pub lane: u16,
    /// The policy's count of its reactions to this attempt being late.
    pub reactions: u8,
    pub started_ns: u64,
    /// Of the part; here too, because looking at all attempts is frequent.
    pub length_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Slot {
    generation: u32,
    aloft: Option<Aloft>,
}

/// Parts that are not settled, and attempts that have not ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Flights {
    parts: Vec<Part>,
    free_parts: Vec<u32>,
    slots: Vec<Slot>,
    free_slots: Vec<u32>,
}

impl Flights {
    pub fn open_part(&mut self, write: WriteId, offset_bytes: u64, length_bytes: u64) -> u32 {
        let state = PartState::Open;
        let part = Part { write, offset_bytes, length_bytes, slots: [0; 3], attempts: 0, state };
        if let Some(free) = self.free_parts.pop() {
            self.parts[free as usize] = part;
            return free;
        }
        self.parts.push(part);
        self.parts.len() as u32 - 1
    }

    pub fn part(&self, index: u32) -> &Part {
        &self.parts[index as usize]
    }

    pub fn set_state(&mut self, index: u32, state: PartState) {
        self.parts[index as usize].state = state;
    }

    /// A part whose last attempt ended and that is settled is forgotten.
    pub fn forget_if_settled(&mut self, index: u32) {
        let part = &self.parts[index as usize];
        let settled = matches!(part.state, PartState::Committed | PartState::Lost);
        if settled && part.attempts == 0 {
            self.free_parts.push(index);
        }
    }

    pub fn take_off(&mut self, part: u32, lane: usize, now_ns: u64) -> AttemptId {
        let (length_bytes, started_ns) = (self.parts[part as usize].length_bytes, now_ns);
        let aloft = Aloft { part, lane: lane as u16, reactions: 0, started_ns, length_bytes };
        let slot = match self.free_slots.pop() {
            Some(slot) => slot,
            None => {
                self.slots.push(Slot { generation: 0, aloft: None });
                self.slots.len() as u32 - 1
            }
        };
        self.slots[slot as usize].aloft = Some(aloft);
        let part = &mut self.parts[part as usize];
        part.slots[usize::from(part.attempts)] = slot;
        part.attempts += 1;
        AttemptId { slot, generation: self.slots[slot as usize].generation }
    }

    /// The attempt ended: its slot is free. `None` for one that is not under way.
    pub fn land(&mut self, attempt: AttemptId) -> Option<Aloft> {
        let slot = self.slots.get_mut(attempt.slot as usize)?;
        if slot.generation != attempt.generation {
            return None;
        }
        let aloft = slot.aloft.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free_slots.push(attempt.slot);
        self.parts[aloft.part as usize].forget(attempt.slot);
        Some(aloft)
    }

    pub fn attempt_at(&self, slot: u32) -> AttemptId {
        AttemptId { slot, generation: self.slots[slot as usize].generation }
    }

    pub fn aloft(&self, slot: u32) -> Option<Aloft> {
        self.slots[slot as usize].aloft
    }

    pub fn set_reactions(&mut self, slot: u32, reactions: u8) {
        if let Some(aloft) = &mut self.slots[slot as usize].aloft {
            aloft.reactions = reactions;
        }
    }

    /// Number of slots: attempts are in `0..slots()`, with gaps.
    pub fn slots(&self) -> u32 {
        self.slots.len() as u32
    }

    pub fn under_way(&self) -> usize {
        self.slots.len() - self.free_slots.len()
    }
}
