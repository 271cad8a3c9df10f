//! What a writer wrote beyond the window: it is in the kernel's memory, and nobody has had it written out.

use std::collections::VecDeque;

/// A part of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeldPart {
    /// The place of its target in the shared memory.
    pub lane: usize,
    pub log: u32,
    pub position: u64,
    pub bytes: u32,
}

/// Such parts, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Held {
    parts: VecDeque<HeldPart>,
    bytes: u64,
}

impl Held {
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn on(&self, lane: usize) -> u64 {
        let parts = self.parts.iter().filter(|it| it.lane == lane);
        parts.map(|it| u64::from(it.bytes)).sum()
    }

    pub fn add(&mut self, part: HeldPart) {
        if part.bytes > 0 {
            self.bytes += u64::from(part.bytes);
            self.parts.push_back(part);
        }
    }

    /// Takes the oldest part of a target, or as much of it as there is room for.
    pub fn take(&mut self, lane: usize, most_bytes: u32) -> Option<HeldPart> {
        let at = self.parts.iter().position(|it| it.lane == lane)?;
        let oldest = self.parts.get_mut(at)?;
        let taken = HeldPart { bytes: oldest.bytes.min(most_bytes), ..*oldest };
        oldest.bytes -= taken.bytes;
        oldest.position += u64::from(taken.bytes);
        if oldest.bytes == 0 {
            self.parts.remove(at);
        }
        self.bytes -= u64::from(taken.bytes);
        (taken.bytes > 0).then_some(taken)
    }

    /// All of it was written out.
    pub fn clear(&mut self) {
        *self = Held::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_taken_by_target_oldest_first_and_no_more_than_there_is_room_for() {
        let part = |lane, position, bytes| HeldPart { lane, log: 7, position, bytes };
        let mut held = Held::default();
        let parts = [part(0, 0, 10), part(1, 0, 20), part(0, 100, 30), part(1, 9, 0)];
        parts.into_iter().for_each(|it| held.add(it));
        assert_eq!((held.bytes(), held.on(0), held.on(1), held.on(2)), (60, 40, 20, 0));
        assert_eq!(held.take(1, 15), Some(part(1, 0, 15)));
        assert_eq!(held.take(0, 15), Some(part(0, 0, 10)));
        assert_eq!(held.take(1, 15), Some(part(1, 15, 5)));
        assert_eq!((held.take(1, 15), held.take(0, 0), held.bytes()), (None, None, 30));
        assert_eq!(held.take(0, 30), Some(part(0, 100, 30)));
        assert_eq!((held.take(0, 30), held.bytes()), (None, 0));
    }
}
