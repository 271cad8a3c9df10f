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

/// Half a cache line, because one is read and written for every attempt of every node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Slot {
    aloft: Aloft,
    /// Odd while an attempt is under way here, so that a late answer never fits.
    generation: u32,
    /// The next free slot, while this one is free.
    next_free: u32,
}

const IDLE: Aloft = Aloft { part: 0, lane: 0, reactions: 0, started_ns: 0, length_bytes: 0 };

/// The end of a list of free places.
const NONE_FREE: u32 = u32::MAX;

/// Parts that are not settled, and attempts that have not ended. Free places are lists that
/// go through the places themselves.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Flights {
    parts: Vec<Part>,
    slots: Vec<Slot>,
    free_part: u32,
    free_slot: u32,
    under_way: u32,
}

impl Default for Flights {
    fn default() -> Self {
        Flights {
            parts: Vec::new(),
            slots: Vec::new(),
            free_part: NONE_FREE,
            free_slot: NONE_FREE,
            under_way: 0,
        }
    }
}

impl Flights {
    pub fn open_part(&mut self, write: WriteId, offset_bytes: u64, length_bytes: u64) -> u32 {
        let state = PartState::Open;
        let part = Part { write, offset_bytes, length_bytes, slots: [0; 3], attempts: 0, state };
        let free = self.free_part;
        if let Some(place) = self.parts.get_mut(free as usize) {
            self.free_part = place.slots[0];
            *place = part;
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
        let part = &mut self.parts[index as usize];
        let settled = matches!(part.state, PartState::Committed | PartState::Lost);
        if settled && part.attempts == 0 {
            part.slots[0] = self.free_part;
            self.free_part = index;
        }
    }

    pub fn take_off(&mut self, part: u32, lane: usize, now_ns: u64) -> AttemptId {
        let index = part;
        let part = &mut self.parts[index as usize];
        let (length_bytes, started_ns, lane) = (part.length_bytes, now_ns, lane as u16);
        let aloft = Aloft { part: index, lane, reactions: 0, started_ns, length_bytes };
        let mut slot = self.free_slot;
        match self.slots.get_mut(slot as usize) {
            Some(place) => {
                self.free_slot = place.next_free;
                (place.aloft, place.next_free) = (aloft, NONE_FREE);
                place.generation = place.generation.wrapping_add(1);
            }
            None => {
                slot = self.slots.len() as u32;
                self.slots.push(Slot { aloft, generation: 1, next_free: NONE_FREE });
            }
        }
        part.slots[usize::from(part.attempts)] = slot;
        part.attempts += 1;
        self.under_way += 1;
        self.attempt_at(slot)
    }

    /// The attempt ended: its slot is free. `None` for one that is not under way.
    pub fn land(&mut self, attempt: AttemptId) -> Option<Aloft> {
        let slot = self.slots.get_mut(attempt.slot as usize)?;
        if !slot.is_aloft() || slot.generation / 2 != attempt.generation {
            return None;
        }
        let aloft = slot.aloft;
        (slot.aloft, slot.next_free) = (IDLE, self.free_slot);
        slot.generation = slot.generation.wrapping_add(1);
        self.free_slot = attempt.slot;
        self.under_way -= 1;
        self.parts[aloft.part as usize].forget(attempt.slot);
        Some(aloft)
    }

    pub fn attempt_at(&self, slot: u32) -> AttemptId {
        AttemptId { slot, generation: self.slots[slot as usize].generation / 2 }
    }

    pub fn aloft(&self, slot: u32) -> Option<Aloft> {
        let slot = &self.slots[slot as usize];
        slot.is_aloft().then_some(slot.aloft)
    }

    /// What is or was in a slot.
    pub fn aloft_was(&self, slot: u32) -> Option<Aloft> {
        self.slots.get(slot as usize).map(|slot| slot.aloft)
    }

    pub fn set_reactions(&mut self, slot: u32, reactions: u8) {
        let slot = &mut self.slots[slot as usize];
        if slot.is_aloft() {
            slot.aloft.reactions = reactions;
        }
    }

    /// Number of slots: attempts are in `0..slots()`, with gaps.
    pub fn slots(&self) -> u32 {
        self.slots.len() as u32
    }

    pub fn under_way(&self) -> usize {
        self.under_way as usize
    }
}

impl Slot {
    fn is_aloft(&self) -> bool {
        self.generation % 2 == 1
    }
}
