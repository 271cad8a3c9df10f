//! What a file consists of: which record each byte comes from.
//!
//! Pieces may be laid down in any order: of two that overlap, the one with the later stamp is seen. So a reader may find
//! the segments of many writers in any order, and later ones again, and the answer is the same.

mod sweep;

pub use sweep::Layer;

use std::collections::BTreeMap;
use std::ops::Range;

use sweep::sweep;

/// So many are laid down one by one, each in the time of what it covers; more of them all at once, in the time of all there is.
const FEW: usize = 16;

/// When something was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// Rises with each write.
    pub sequence: u64,
    /// Which node wrote it: those that write at the same time may take the same number.
    pub seat: u32,
}

/// Where the bytes of a piece come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A record, by its place in the reader's list.
    Record(u32),
    /// A hole: they are zeros.
    Hole,
}

/// A part of the file that comes from one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Where it ends.
    pub end: u64,
    /// When it got there.
    pub stamp: Stamp,
    /// Where it comes from.
    pub source: Source,
    /// The last time at which any of its bytes was written, even if a hole came later: a hole leaves the size as it is.
    written: Stamp,
}

impl Piece {
    fn layer(&self, start: u64) -> Layer {
        let Piece { end, stamp, source, written } = *self;
        Layer { range: start..end, stamp, source, written }
    }
}

/// The pieces of a file.
#[derive(Debug, Default)]
pub struct Pieces {
    by_start: BTreeMap<u64, Piece>,
    /// The last truncation, and the size that it gave.
    truncated: (Stamp, u64),
    /// The size of the file.
    size: u64,
}

impl Pieces {
    /// Has this size from then on, as far as is known: what is below is elsewhere.
    pub fn begin_with_size(&mut self, size: u64, stamp: Stamp) {
        (self.truncated, self.size) = ((stamp, size), size);
    }

    /// Lays down so many records and holes, and the last of some truncations with the size that it gave; what these cut off are
    /// layers as well. Of two of the same stamp, the one behind is seen, and all are in front of what is there.
    pub fn add(
        &mut self,
        count: usize,
        layer: impl Fn(usize) -> Layer,
        truncated: Option<(Stamp, u64)>,
    ) {
        if count == 0 && truncated.is_none() {
            // To find out its size again would take a look at each piece of a file that a truncation made longer.
            return;
        }
        if count <= FEW {
            (0..count).map(layer).for_each(|it| self.lay(it));
        } else {
            let before: Vec<(u64, Piece)> =
                std::mem::take(&mut self.by_start).into_iter().collect();
            let pieces = sweep(before.len() + count, |number| match before.get(number) {
                Some((start, piece)) => piece.layer(*start),
                None => layer(number - before.len()),
            });
            self.by_start = pieces.into_iter().collect();
        }
        self.truncated = self.truncated.max(truncated.unwrap_or_default());
        let (when, size) = self.truncated;
        let last = self.by_start.values().rev().find(|it| it.written > when);
        self.size = size.max(last.map_or(0, |it| it.end));
    }

    /// Returns the size of the file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the last truncation, and the size that it gave.
    pub fn truncated(&self) -> (Stamp, u64) {
        self.truncated
    }

    /// Returns the pieces of a range, each cut to it, with the gaps between them, which nobody wrote to.
    pub fn of(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, Option<Piece>)> {
        let before = self.by_start.range(..range.start).next_back();
        let before = before.filter(|(_, piece)| piece.end > range.start && !range.is_empty());
        let inside = self.by_start.range(range.start..range.end.max(range.start));
        let mut next = range.start;
        let mut gap = move |start: u64, end: u64| {
            let gap = (next < start).then_some((next..start, None));
            next = end;
            gap
        };
        let end = range.end;
        let ends = [(range.end, None)];
        before
            .into_iter()
            .chain(inside)
            .map(move |(start, piece)| ((*start).max(range.start), Some(*piece)))
            .chain(ends)
            .flat_map(move |(start, piece)| {
                let stop = piece.map_or(start, |it| it.end.min(end));
                let gap = gap(start, stop);
                let cut = piece.map(|piece| (start..stop, Some(piece)));
                gap.into_iter().chain(cut)
            })
    }

    /// Returns the piece that has all bytes of a range that is not empty, if there is one.
    pub fn around(&self, range: &Range<u64>) -> Option<Piece> {
        let (_, piece) = self.by_start.range(..=range.start).next_back()?;
        (range.end <= piece.end).then_some(*piece)
    }

    /// Returns whether nobody wrote to any byte of a range.
    pub fn is_gap(&self, range: &Range<u64>) -> bool {
        let before = self.by_start.range(..range.end).next_back();
        before.is_none_or(|(_, piece)| piece.end <= range.start)
    }

    /// Returns how many pieces there are.
    pub fn count(&self) -> usize {
        self.by_start.len()
    }

    fn lay(&mut self, Layer { range, stamp, source, written }: Layer) {
        if range.is_empty() {
            return;
        }
        let new = Piece { end: range.end, stamp, source, written };
        self.split_at(range.start);
        self.split_at(range.end);
        let mut old = self.by_start.range(range.clone()).map(|(start, piece)| (*start, *piece));
        let Some(first) = old.next() else {
            self.by_start.insert(range.start, new);
            return;
        };
        let old: Vec<(u64, Piece)> = std::iter::once(first).chain(old).collect();
        let mut laid = Joined::default();
        let mut next = range.start;
        for (start, piece) in old {
            self.by_start.remove(&start);
            laid.push(next, Piece { end: start, ..new });
            let seen = if piece.stamp > stamp { piece } else { Piece { end: piece.end, ..new } };
            laid.push(start, Piece { written: piece.written.max(written), ..seen });
            next = piece.end;
        }
        laid.push(next, new);
        self.by_start.extend(laid.pieces);
    }

    /// Makes sure that no piece goes across this place.
    fn split_at(&mut self, place: u64) {
        let Some((_, piece)) = self.by_start.range_mut(..place).next_back() else { return };
        if piece.end > place {
            let behind = *piece;
            piece.end = place;
            self.by_start.insert(place, behind);
        }
    }
}

/// Pieces one behind the other, joined where they are one.
#[derive(Default)]
struct Joined {
    pieces: Vec<(u64, Piece)>,
}

impl Joined {
    fn push(&mut self, start: u64, piece: Piece) {
        if start >= piece.end {
            return;
        }
        match self.pieces.last_mut() {
            Some((_, last)) if (Piece { end: last.end, ..piece }) == *last && last.end == start => {
                last.end = piece.end;
            }
            _ => self.pieces.push((start, piece)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone)]
    enum Change {
        Write(u64, u64),
        Punch(u64, u64),
        Truncate(u64),
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            4 => (0u64..40, 1u64..20).prop_map(|(start, length)| Change::Write(start, length)),
            1 => (0u64..40, 1u64..30).prop_map(|(start, length)| Change::Punch(start, length)),
            1 => (0u64..50).prop_map(Change::Truncate),
        ]
    }

    /// Each byte is the number of the write that it comes from; 0 is a hole.
    fn by_hand(changes: &[Change]) -> Vec<u32> {
        let mut file: Vec<u32> = Vec::new();
        for (number, change) in changes.iter().enumerate() {
            match *change {
                Change::Write(start, length) => {
                    let end = (start + length) as usize;
                    file.resize(file.len().max(end), 0);
                    file[start as usize..end].fill(number as u32 + 1);
                }
                Change::Punch(start, length) => {
                    let (start, end) = (start as usize, (start + length) as usize);
                    let (start, end) = (start.min(file.len()), end.min(file.len()));
                    file[start..end].fill(0);
                }
                Change::Truncate(size) => file.resize(size as usize, 0),
            }
        }
        file
    }

    /// Lays down changes in an order, so many at a time.
    fn laid(changes: &[Change], order: &[usize], at_once: usize) -> Pieces {
        let mut pieces = Pieces::default();
        for some in order.chunks(at_once) {
            let stamp = |number: usize| Stamp { sequence: number as u64 + 1, seat: 1 };
            let layer = |at: usize| {
                let (range, source) = match changes[some[at]] {
                    Change::Write(start, length) => {
                        (start..start + length, Source::Record(some[at] as u32 + 1))
                    }
                    Change::Punch(start, length) => (start..start + length, Source::Hole),
                    Change::Truncate(size) => (size..u64::MAX, Source::Hole),
                };
                Layer::new(range, stamp(some[at]), source)
            };
            let truncated = some.iter().filter_map(|number| match changes[*number] {
                Change::Truncate(size) => Some((stamp(*number), size)),
                _ => None,
            });
            pieces.add(some.len(), layer, truncated.max());
        }
        pieces
    }

    fn content(pieces: &Pieces) -> Vec<u32> {
        let mut file = Vec::new();
        for (range, piece) in pieces.of(0..pieces.size()) {
            assert_eq!(range.start, file.len() as u64, "no gap and no overlap");
            let number = match piece.map(|it| it.source) {
                Some(Source::Record(number)) => number,
                _ => 0,
            };
            file.resize(range.end as usize, number);
        }
        file
    }

    proptest! {
        #[test]
        fn any_order_gives_the_same_file(
            (changes, order) in prop::collection::vec(change(), 0..60).prop_flat_map(|changes| {
                let order: Vec<usize> = (0..changes.len()).collect();
                (Just(changes), Just(order).prop_shuffle())
            }),
            start in 0u64..60,
            length in 0u64..30,
            at_once in prop_oneof![Just(1), Just(7), FEW + 1..60],
        ) {
            let pieces = laid(&changes, &order, at_once);
            let file = by_hand(&changes);
            prop_assert_eq!(content(&pieces), file.clone());
            let ranges: Vec<_> = pieces.of(start..start + length).map(|(range, _)| range).collect();
            prop_assert!(ranges.iter().all(|it| it.start < it.end));
            prop_assert_eq!(ranges.iter().map(|it| it.end - it.start).sum::<u64>(), length);
        }
    }

    #[test]
    fn a_file_that_is_written_over_does_not_grow_in_pieces() {
        let mut pieces = Pieces::default();
        for round in 0..100 {
            for block in 0..64 {
                let stamp = Stamp { sequence: 1 + round * 64 + block, seat: 1 };
                let record = Layer::new(block * 10..block * 10 + 10, stamp, Source::Record(0));
                pieces.add(1, |_| record.clone(), None);
            }
        }
        assert_eq!(pieces.count(), 64);
        let last = Stamp { sequence: 10_000, seat: 1 };
        pieces.add(1, |_| Layer::new(0..640, last, Source::Record(1)), None);
        assert_eq!(pieces.count(), 1);
    }
}
