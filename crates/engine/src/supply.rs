//! Memory for each transfer in flight: where its data comes from, or goes to.

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::Operation;

use crate::content::Content;
use crate::memory::Memory;
use crate::transfers::Transfer;
use crate::{Burst, EngineError, Mismatch};

/// Memory of all transfers in flight.
#[derive(Debug)]
pub(crate) enum Supply {
    /// Writes without stamps take their bytes from the tape, all from the same one.
    Tape(Content),
    /// Writes with stamps, each in a slot of its own.
    Stamped(Content, Slots),
    /// Reads; with the content that they are compared with.
    Read(Option<Content>, Slots),
}

/// Equal pieces of memory, one for each transfer in flight.
#[derive(Debug)]
pub(crate) struct Slots {
    memory: Memory,
    stride: usize,
    /// Which place of the tape a slot holds, and how many bytes: it is not copied twice.
    holds: Vec<(usize, u32)>,
}

impl Supply {
    /// Returns what a burst needs with `in_flight` transfers at once.
    pub fn new(burst: &Burst, in_flight: u32) -> Result<Self, EngineError> {
        let transfer = burst.transfer.get() as usize;
        let refused = |wanted: u64| {
            move |reason: String| EngineError::Buffers {
                wanted: Bytes::new(wanted),
                depth: in_flight,
                transfer: burst.transfer,
                reason,
            }
        };
        let content = || Content::new(burst.seed, transfer).map_err(refused(transfer as u64));
        let slots = || {
            let slots = Slots::new(transfer, in_flight as usize);
            slots.map_err(refused(transfer as u64 * u64::from(in_flight)))
        };
        Ok(match (burst.operation, burst.verify) {
            (Operation::Write, false) => Self::Tape(content()?),
            (Operation::Write, true) => Self::Stamped(content()?, slots()?),
            (Operation::Read, false) => Self::Read(None, slots()?),
            (Operation::Read, true) => Self::Read(Some(content()?), slots()?),
        })
    }

    /// Returns where the bytes of a transfer in this slot are (a write) or go to (a read).
    pub fn memory_for(&mut self, slot: usize, transfer: &Transfer) -> *mut u8 {
        match self {
            Self::Tape(content) => content.tape().at(Content::place_on_tape(transfer.offset)),
            Self::Stamped(content, slots) => {
                slots.fill(slot, transfer, content);
                slots.start_of(slot)
            }
            Self::Read(_, slots) => slots.start_of(slot),
        }
    }

    /// Looks at what a completed read brought, if that is to be done.
    pub fn check(&self, slot: usize, transfer: &Transfer) -> Result<(), (u64, Mismatch)> {
        match self {
            Self::Read(Some(content), slots) => {
                content.compare(transfer, slots.bytes(slot, transfer.length))
            }
            _ => Ok(()),
        }
    }

    /// Keeps the memory until the process ends.
    pub fn never_give_back(&mut self) {
        match self {
            Self::Tape(content) => content.tape_mut().never_give_back(),
            Self::Stamped(_, slots) | Self::Read(_, slots) => slots.memory.never_give_back(),
        }
    }

    /// Returns the pieces of memory that transfers use, for registration with the kernel. A transfer in
    /// slot s uses piece s, or the only one.
    pub fn pieces(&self) -> Vec<(*mut u8, usize)> {
        match self {
            Self::Tape(content) => vec![(content.tape().at(0), content.tape().length())],
            Self::Stamped(_, slots) | Self::Read(_, slots) => slots.pieces(),
        }
    }
}

impl Slots {
    fn new(transfer: usize, count: usize) -> Result<Self, String> {
        let stride = transfer.next_multiple_of(rustix::param::page_size());
        let memory = Memory::new(stride.checked_mul(count).ok_or("more than there can be")?)?;
        Ok(Self { memory, stride, holds: vec![(usize::MAX, 0); count] })
    }

    fn fill(&mut self, slot: usize, transfer: &Transfer, content: &Content) {
        let holds = (Content::place_on_tape(transfer.offset), transfer.length);
        let start = slot * self.stride;
        let memory = &mut self.memory.bytes_mut()[start..start + transfer.length as usize];
        if self.holds[slot] != holds {
            content.copy(transfer, memory);
            self.holds[slot] = holds;
        }
        content.stamp(transfer, memory);
    }

    fn bytes(&self, slot: usize, length: u32) -> &[u8] {
        &self.memory.bytes()[slot * self.stride..][..length as usize]
    }

    fn start_of(&self, slot: usize) -> *mut u8 {
        self.memory.at(slot * self.stride)
    }

    fn pieces(&self) -> Vec<(*mut u8, usize)> {
        (0..self.holds.len()).map(|slot| (self.start_of(slot), self.stride)).collect()
    }
}
