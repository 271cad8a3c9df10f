//! One lease: what a single word says of it, and what is written beside that word.

use super::{TableShape, Word};

/// A lease, as long as it lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LeaseId {
    /// Where it is in the table.
    pub slot: u32,
    /// Tells it from others that were there before; never 0.
    pub generation: u32,
}

impl LeaseId {
    /// Returns it as one number other than 0.
    pub fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.slot)
    }

    /// Returns the lease that this number stands for, if any.
    pub fn from_bits(bits: u64) -> Option<Self> {
        (bits >> 32 > 0).then_some(LeaseId { slot: bits as u32, generation: (bits >> 32) as u32 })
    }
}

/// A process among the holders, as long as it takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Holder {
    pub(super) place: u16,
    pub(super) generation: u32,
}

impl Holder {
    /// Returns its place among the holders.
    pub fn place(self) -> usize {
        usize::from(self.place)
    }

    /// Returns what tells it from others that had the place before.
    pub fn generation(self) -> u32 {
        self.generation
    }
}

/// Where a lease's data lies: numbers that mean something to the processes only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Place {
    /// Which log.
    pub log: u64,
    /// Where in it.
    pub offset_bytes: u64,
}

/// A lease to be filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reserved {
    /// Its name.
    pub id: LeaseId,
    /// The place of its target in the list of targets.
    pub lane: usize,
    /// The most that it may hold.
    pub length_bytes: u32,
}

/// A lease whose data is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SealedLease {
    /// Its name.
    pub id: LeaseId,
    /// The place of its target in the list of targets.
    pub lane: usize,
    /// What it holds.
    pub length_bytes: u32,
    /// Where.
    pub place: Place,
    /// Since when.
    pub started_ns: u64,
    /// Its data is durable elsewhere already.
    pub is_superseded: bool,
}

/// What becomes of a lease, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LeaseState {
    /// Nobody has it.
    Free,
    /// Its holder may write, and does not just now: anybody may seal it.
    Open,
    /// Its holder is writing: only the holder may seal it, or anybody once the holder is dead.
    Filling,
    /// Its data is on its way to the target.
    Sealed,
    /// The same, but the data is durable elsewhere already.
    Superseded,
}

/// The one word that decides what a lease is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Status {
    pub state: LeaseState,
    pub generation: u32,
    pub filled_bytes: u32,
}

const GENERATION_BITS: u32 = 24;
const GENERATION_MAX: u32 = (1 << GENERATION_BITS) - 1;

impl Status {
    /// Nonsense is free.
    pub fn from_bits(bits: u64) -> Self {
        let state = match bits & 0xff {
            1 => LeaseState::Open,
            2 => LeaseState::Filling,
            3 => LeaseState::Sealed,
            4 => LeaseState::Superseded,
            _ => LeaseState::Free,
        };
        let generation = (bits >> 8) as u32 & GENERATION_MAX;
        Status { state, generation, filled_bytes: (bits >> 32) as u32 }
    }

    pub fn to_bits(self) -> u64 {
        let state = match self.state {
            LeaseState::Free => 0,
            LeaseState::Open => 1,
            LeaseState::Filling => 2,
            LeaseState::Sealed => 3,
            LeaseState::Superseded => 4,
        };
        u64::from(self.filled_bytes) << 32 | u64::from(self.generation) << 8 | state
    }

    pub fn next_generation(self) -> u32 {
        if self.generation >= GENERATION_MAX { 1 } else { self.generation + 1 }
    }
}

/// Words of a lease that are read at each transition, and those that are not.
pub(super) const HOT_WORDS: usize = 2;
pub(super) const COLD_WORDS: usize = 7;

/// How often a policy may react to one lease that is late.
const REACTIONS_MAX: u64 = 32;

/// A lease where it lies.
pub(super) struct LeaseRecord<'a, W> {
    pub slot: u32,
    hot: &'a [W],
    cold: &'a [W],
    /// As it was when it was looked at.
    pub status: Status,
    what: What,
}

/// What does not change while a lease lasts.
#[derive(Debug, Clone, Copy)]
struct What {
    length_bytes: u32,
    lane: u16,
    holder_place: u16,
}

impl What {
    fn from_bits(bits: u64) -> Self {
        What {
            length_bytes: (bits >> 32) as u32,
            lane: (bits >> 16) as u16,
            holder_place: bits as u16,
        }
    }

    fn to_bits(self) -> u64 {
        u64::from(self.length_bytes) << 32
            | u64::from(self.lane) << 16
            | u64::from(self.holder_place)
    }
}

impl<'a, W: Word> LeaseRecord<'a, W> {
    /// Returns the record in a slot. One on a target that does not exist is free.
    pub fn at(shape: &TableShape, words: &'a [W], slot: u32) -> Self {
        let (hot, cold) = shape.lease_words(words, slot);
        let mut status = Status::from_bits(hot[0].get());
        let mut what = What::from_bits(hot[1].get());
        if usize::from(what.lane) >= shape.lanes() {
            (status.state, what.lane) = (LeaseState::Free, 0);
        }
        status.filled_bytes = status.filled_bytes.min(what.length_bytes);
        LeaseRecord { slot, hot, cold, status, what }
    }

    /// Returns all records, also free ones.
    pub fn all(shape: &'a TableShape, words: &'a [W]) -> impl Iterator<Item = Self> {
        (0..shape.leases() as u32).map(move |slot| Self::at(shape, words, slot))
    }

    /// Returns the record of a lease, if it still lasts.
    pub fn of(shape: &TableShape, words: &'a [W], id: LeaseId) -> Option<Self> {
        if id.slot as usize >= shape.leases() {
            return None;
        }
        let record = Self::at(shape, words, id.slot);
        let is_it = record.state() != LeaseState::Free && record.status.generation == id.generation;
        is_it.then_some(record)
    }

    pub fn id(&self) -> LeaseId {
        LeaseId { slot: self.slot, generation: self.status.generation }
    }

    pub fn state(&self) -> LeaseState {
        self.status.state
    }

    pub fn lane(&self) -> usize {
        usize::from(self.what.lane)
    }

    pub fn holder_place(&self) -> usize {
        usize::from(self.what.holder_place)
    }

    pub fn length_bytes(&self) -> u32 {
        self.what.length_bytes
    }

    /// What it takes on its target.
    pub fn bytes(&self) -> u32 {
        match self.status.state {
            LeaseState::Free => 0,
            LeaseState::Open | LeaseState::Filling => self.what.length_bytes,
            LeaseState::Sealed | LeaseState::Superseded => self.status.filled_bytes,
        }
    }

    /// When it was sealed; before that, when it was reserved.
    pub fn started_ns(&self) -> u64 {
        self.cold[0].get()
    }

    /// When it was last seen under way.
    pub fn pending_ns(&self) -> u64 {
        self.cold[1].get()
    }

    pub fn reactions(&self) -> u8 {
        self.cold[2].get().min(REACTIONS_MAX) as u8
    }

    pub fn place(&self) -> Place {
        Place { log: self.cold[3].get(), offset_bytes: self.cold[4].get() }
    }

    /// The other lease with the same data.
    pub fn twin(&self) -> Option<LeaseId> {
        LeaseId::from_bits(self.cold[5].get())
    }

    /// Whether it is the later one of the two.
    pub fn is_copy(&self) -> bool {
        self.cold[6].get() != 0
    }

    pub fn sealed(&self) -> SealedLease {
        let (id, lane, length_bytes) = (self.id(), self.lane(), self.bytes());
        SealedLease {
            id,
            lane,
            length_bytes,
            place: self.place(),
            started_ns: self.started_ns(),
            is_superseded: self.state() == LeaseState::Superseded,
        }
    }

    pub fn set_started(&self, now_ns: u64) {
        self.cold[0].set(now_ns);
        self.cold[1].set(now_ns);
        self.cold[2].set(0);
    }

    pub fn set_pending(&self, now_ns: u64) {
        self.cold[1].set(now_ns);
    }

    pub fn set_reactions(&self, reactions: u8) {
        self.cold[2].set(u64::from(reactions));
    }

    pub fn set_place(&self, place: Place) {
        self.cold[3].set(place.log);
        self.cold[4].set(place.offset_bytes);
    }

    pub fn set_twin(&self, twin: LeaseId) {
        self.cold[5].set(twin.to_bits());
    }

    /// Gives a free slot to a holder; nobody else can before the last word is written.
    pub fn open(&mut self, lane: usize, length_bytes: u32, holder: Holder, of: Option<LeaseId>) {
        self.what = What { length_bytes, lane: lane as u16, holder_place: holder.place };
        self.hot[1].set(self.what.to_bits());
        self.set_place(Place::default());
        self.cold[5].set(of.map_or(0, LeaseId::to_bits));
        self.cold[6].set(u64::from(of.is_some()));
        let generation = self.status.next_generation();
        self.status = Status { state: LeaseState::Open, generation, filled_bytes: 0 };
        self.hot[0].set(self.status.to_bits());
    }

    /// Makes it something else, if it is as it was when it was looked at.
    pub fn change(&mut self, state: LeaseState, filled_bytes: u32) -> bool {
        let new = Status { state, filled_bytes, ..self.status };
        let is_changed = self.hot[0].replace(self.status.to_bits(), new.to_bits());
        if is_changed {
            self.status = new;
        }
        is_changed
    }
}
