//! The parts of a node, and the attempts that are under way for them.
//!
//! Both are kept in places that are reused, so that memory follows what is in flight and
//! nothing is allocated once a node has seen its largest number of parts.

use crate::prefetch::prefetch;
use crate::{AttemptId, WriteId};

/// Attempts that one part may have under way at the same time.
pub(crate) const ATTEMPTS_MAX: usize = 2;

/// A piece of a submission: an identity with its length, and what is tried for it. One cache
/// line, because one is read and written for every attempt of every node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[repr(align(64))]
pub(crate) struct Part {
    /// While the place is free, the next free one.
    pub offset_bytes: u64,
    pub length_bytes: u64,
    pub write: WriteId,
    pub state: PartState,
    tries: [Try; ATTEMPTS_MAX],
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

/// A place for an attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Try {
    started_ns: u64,
    /// Odd while an attempt is under way here, so that a late answer never fits.
    generation: u32,
    lane: u16,
    reactions: u8,
}

impl Try {
    fn is_under_way(self) -> bool {
        self.generation % 2 == 1
    }
}

impl Part {
    /// Attempts that are under way.
    #[inline]
    pub fn attempts(&self) -> usize {
        self.tries.iter().filter(|one| one.is_under_way()).count()
    }

    /// Lanes of the attempts that are under way.
    pub fn lanes(&self) -> impl Iterator<Item = usize> + '_ {
        self.tries.iter().filter(|one| one.is_under_way()).map(|one| usize::from(one.lane))
    }
}

/// An attempt under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct UnderWay {
    pub part: u32,
    pub lane: u16,
    /// The policy's count of its reactions to this attempt being late.
    pub reactions: u8,
    pub started_ns: u64,
    /// Of the part.
    pub length_bytes: u64,
}

/// The end of the list of free places.
const NONE_FREE: u32 = u32::MAX;

/// Parts that are not settled, and attempts that have not ended. The free places are a list
/// that goes through the places themselves.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Attempts {
    parts: Vec<Part>,
    free: u32,
    count: u32,
}

impl Default for Attempts {
    fn default() -> Self {
        Attempts { parts: Vec::new(), free: NONE_FREE, count: 0 }
    }
}

impl Attempts {
    #[inline]
    pub fn open_part(&mut self, write: WriteId, offset_bytes: u64, length_bytes: u64) -> u32 {
        let mut part = Part {
            write,
            offset_bytes,
            length_bytes,
            state: PartState::Open,
            tries: [Try::default(); ATTEMPTS_MAX],
        };
        let free = self.free;
        if let Some(place) = self.parts.get_mut(free as usize) {
            self.free = place.offset_bytes as u32;
            part.tries = place.tries;
            *place = part;
            return free;
        }
        self.parts.push(part);
        self.parts.len() as u32 - 1
    }

    #[inline]
    pub fn part(&self, index: u32) -> &Part {
        &self.parts[index as usize]
    }

    #[inline]
    pub fn set_state(&mut self, index: u32, state: PartState) {
        self.parts[index as usize].state = state;
    }

    /// A part whose last attempt ended and that is settled is forgotten.
    #[inline]
    pub fn forget_if_settled(&mut self, index: u32) {
        let part = &mut self.parts[index as usize];
        let settled = matches!(part.state, PartState::Committed | PartState::Lost);
        if settled && part.attempts() == 0 {
            part.offset_bytes = u64::from(self.free);
            self.free = index;
        }
    }

    /// An attempt begins. There must be a place for it: see [`Attempts::is_full`].
    #[inline]
    pub fn begin(&mut self, index: u32, lane: usize, now_ns: u64) -> AttemptId {
        let part = &mut self.parts[index as usize];
        let nth = usize::from(part.tries[0].is_under_way());
        let place = &mut part.tries[nth];
        assert!(!place.is_under_way(), "a part has too many attempts");
        self.count += 1;
        let generation = place.generation.wrapping_add(1);
        *place = Try { started_ns: now_ns, generation, lane: lane as u16, reactions: 0 };
        AttemptId { slot: index * ATTEMPTS_MAX as u32 + nth as u32, generation: generation / 2 }
    }

    /// The attempt ended: its place is free. `None` for one that is not under way.
    #[inline]
    pub fn end(&mut self, attempt: AttemptId) -> Option<UnderWay> {
        let (part, nth) = place_of(attempt.slot);
        let holder = self.parts.get_mut(part)?;
        let place = &mut holder.tries[nth];
        if !place.is_under_way() || place.generation / 2 != attempt.generation {
            return None;
        }
        let was = *place;
        *place = Try { generation: was.generation.wrapping_add(1), ..Try::default() };
        self.count -= 1;
        Some(was.of(part, holder.length_bytes))
    }

    /// The attempts of a part that are under way, the oldest first.
    pub fn attempts_of(&self, index: u32) -> impl Iterator<Item = AttemptId> + use<> {
        let tries = self.parts[index as usize].tries;
        let first =
            usize::from(tries[1].is_under_way() && tries[1].started_ns < tries[0].started_ns);
        let slot = index * ATTEMPTS_MAX as u32;
        [first, 1 - first].into_iter().filter(move |nth| tries[*nth].is_under_way()).map(
            move |nth| AttemptId { slot: slot + nth as u32, generation: tries[nth].generation / 2 },
        )
    }

    pub fn is_full(&self, index: u32) -> bool {
        self.parts[index as usize].attempts() == ATTEMPTS_MAX
    }

    /// See [`Node::prefetch`](crate::Node::prefetch).
    #[inline]
    pub fn prefetch(&self, slot: u32) {
        self.parts.get(place_of(slot).0).map(prefetch);
    }

    pub fn attempt_at(&self, slot: u32) -> AttemptId {
        let (part, nth) = place_of(slot);
        AttemptId { slot, generation: self.parts[part].tries[nth].generation / 2 }
    }

    #[inline]
    pub fn under_way(&self, slot: u32) -> Option<UnderWay> {
        let (part, nth) = place_of(slot);
        let holder = &self.parts[part];
        let place = holder.tries[nth];
        place.is_under_way().then(|| place.of(part, holder.length_bytes))
    }

    pub fn set_reactions(&mut self, slot: u32, reactions: u8) {
        let (part, nth) = place_of(slot);
        self.parts[part].tries[nth].reactions = reactions;
    }

    /// Number of slots: attempts are in `0..slots()`, with gaps.
    pub fn slots(&self) -> u32 {
        (self.parts.len() * ATTEMPTS_MAX) as u32
    }

    #[inline]
    pub fn count(&self) -> usize {
        self.count as usize
    }
}

impl Try {
    fn of(self, part: usize, length_bytes: u64) -> UnderWay {
        let Try { started_ns, lane, reactions, .. } = self;
        UnderWay { part: part as u32, lane, reactions, started_ns, length_bytes }
    }
}

/// Part and place of a slot.
fn place_of(slot: u32) -> (usize, usize) {
    (slot as usize / ATTEMPTS_MAX, slot as usize % ATTEMPTS_MAX)
}
