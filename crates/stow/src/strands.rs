//! Short parts of the file that lie in runs, as writers leave them who take turns: each run is read as a whole and spread over the
//! buffer, with nothing to look up for each part.

use std::ops::Range;

use crate::index_entry::{Extent, IndexRun};

/// Longer parts are quicker to read to where they belong at once.
pub const PART_BYTES_MAX: u64 = 2 << 10;

/// Bytes that are read at once: they are still in the processor's cache when they are spread.
const SCRATCH_BYTES: u64 = 64 << 10;

/// Most runs: each is compared with each.
const STRANDS_MAX: usize = 32;

/// Runs that have parts in a range.
pub struct Strands {
    range: Range<u64>,
    strands: Vec<Strand>,
    /// Bytes of the range that they have.
    bytes: u64,
    /// Whether they are all short, and no byte is in two of them.
    are_apart: bool,
}

/// The parts of a run that are in the range, those at its ends included.
struct Strand {
    run: IndexRun,
    steps: Range<u64>,
}

impl Strands {
    /// Begins with none.
    pub fn new(range: Range<u64>) -> Self {
        Strands { range, strands: Vec::new(), bytes: 0, are_apart: true }
    }

    /// Adds a run; returns whether they can still be read together.
    pub fn add(&mut self, run: &IndexRun) -> bool {
        let Some(strand) = Strand::of(run, &self.range) else { return true };
        self.are_apart = self.are_apart
            && run.first.length <= PART_BYTES_MAX
            && self.strands.len() < STRANDS_MAX
            && self.strands.iter().all(|it| it.is_apart_from(&strand));
        self.bytes = self.bytes.saturating_add(strand.bytes_in(&self.range));
        self.strands.push(strand);
        self.are_apart
    }

    /// Returns whether they have every byte of the range, and each once.
    pub fn are_whole(&self) -> bool {
        self.are_apart && self.range.end.checked_sub(self.range.start) == Some(self.bytes)
    }

    /// Fills the bytes of the range, of which there must be as many. `read` fills its second argument with what is in the log
    /// from the first one on, the bytes of many parts one behind the other; its length in the file is that of all of them there.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn fill<E>(
        &self,
        bytes: &mut [u8],
        mut read: impl FnMut(Extent, &mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut scratch = vec![0; SCRATCH_BYTES.min(self.bytes) as usize];
        for strand in &self.strands {
            let (run, mut step) = (&strand.run, strand.steps.start);
            while step < strand.steps.end {
                let count = strand.side_by_side(step).min(SCRATCH_BYTES / run.first.length);
                let cut = Strand { run: *run, steps: step..step + count };
                let side_by_side = &mut scratch[..cut.bytes_in(&self.range) as usize];
                let span = cut.span();
                let into = self.range.start.saturating_sub(span.start);
                let Extent { log, position, .. } = run.part(step);
                let (start, length) = (span.start, span.end - span.start);
                read(Extent { start, length, log, position: position + into }, side_by_side)?;
                self.spread(&cut, side_by_side, bytes);
                step += count;
            }
        }
        Ok(())
    }

    fn spread(&self, strand: &Strand, mut from: &[u8], bytes: &mut [u8]) {
        let Extent { mut start, length, .. } = strand.run.part(strand.steps.start);
        for _ in strand.steps.clone() {
            let end = (start + length).min(self.range.end);
            let begin = start.max(self.range.start);
            let (part, behind) = from.split_at((end - begin) as usize);
            bytes[(begin - self.range.start) as usize..(end - self.range.start) as usize]
                .copy_from_slice(part);
            (from, start) = (behind, start + strand.run.stride);
        }
    }
}

impl Strand {
    fn of(run: &IndexRun, range: &Range<u64>) -> Option<Self> {
        let Extent { start, length, .. } = run.first;
        let before = range.start.saturating_sub(start);
        let is_behind_part = before % run.stride >= length;
        let first = before / run.stride + u64::from(is_behind_part);
        let end = range.end.checked_sub(start)?.div_ceil(run.stride).min(u64::from(run.count));
        (first < end).then_some(Strand { run: *run, steps: first..end })
    }

    /// Returns where its first part begins and its last one ends in the file.
    fn span(&self) -> Range<u64> {
        let Extent { start, length, .. } = self.run.first;
        let place = |step: u64| start + step * self.run.stride;
        place(self.steps.start)..place(self.steps.end - 1) + length
    }

    fn bytes_in(&self, range: &Range<u64>) -> u64 {
        let span = self.span();
        let all = (self.steps.end - self.steps.start) * self.run.first.length;
        all - range.start.saturating_sub(span.start) - span.end.saturating_sub(range.end)
    }

    /// Returns how many parts lie side by side in the log from a step on.
    fn side_by_side(&self, step: u64) -> u64 {
        let left = self.steps.end - step;
        match u64::from(self.run.every) {
            0 => left,
            every => left.min(every - step % every),
        }
    }

    /// Returns whether no byte is in both; false also if that is not easily told.
    fn is_apart_from(&self, other: &Strand) -> bool {
        let (here, there) = (self.span(), other.span());
        if here.end <= there.start || there.end <= here.start {
            return true;
        }
        let stride = self.run.stride;
        let [first, second] = [self, other].map(|it| it.run.first.start % stride);
        let behind = (second + stride - first) % stride;
        other.run.stride == stride
            && self.run.first.length <= behind
            && other.run.first.length <= stride - behind
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run() -> impl Strategy<Value = IndexRun> {
        let numbers = (0u64..200, 1u64..12, 0u64..20, 1u32..12, 0u16..4, 0u64..3);
        numbers.prop_map(|(start, length, more, count, every, at)| {
            let first = Extent { start, length, log: 0, position: at * 10_000 };
            // Strides that are often the same.
            IndexRun { first, stride: (length + more).next_multiple_of(8), count, every }
        })
    }

    /// The position in the log that each byte of a file of 600 comes from; those in two parts are none's.
    fn by_hand(runs: &[IndexRun]) -> Option<Vec<Option<u64>>> {
        let mut file = vec![None; 600];
        for run in runs {
            for part in (0..u64::from(run.count)).map(|step| run.part(step)) {
                for byte in 0..part.length {
                    let place = &mut file[(part.start + byte) as usize];
                    if place.replace(part.position + byte).is_some() {
                        return None;
                    }
                }
            }
        }
        Some(file)
    }

    proptest! {
        #[test]
        fn what_they_fill_is_what_each_byte_says(
            runs in prop::collection::vec(run(), 1..5), start in 0u64..250, length in 1u64..60,
        ) {
            let range = start..start + length;
            let mut strands = Strands::new(range.clone());
            for run in &runs {
                if !strands.add(run) {
                    break;
                }
            }
            if strands.are_whole() {
                let mut bytes = vec![0; length as usize];
                let mut taken = Vec::new();
                // What is in the log is where it is.
                strands.fill(&mut bytes, |from, bytes| {
                    for (byte, position) in bytes.iter_mut().zip(from.position..) {
                        *byte = position as u8;
                        taken.push(position);
                    }
                    Ok::<(), ()>(())
                }).unwrap();
                prop_assert_eq!(taken.len(), bytes.len());
                if let Some(file) = by_hand(&runs) {
                    let file = &file[start as usize..range.end as usize];
                    let by_hand: Vec<u8> = file.iter().map(|it| it.unwrap() as u8).collect();
                    prop_assert_eq!(bytes, by_hand);
                }
            }
        }
    }

    #[test]
    fn writers_that_take_turns_fill_a_range() {
        let run = |writer: u64| {
            let first =
                Extent { start: writer * 256, length: 256, log: writer as u32, position: 0 };
            IndexRun { first, stride: 1024, count: 1000, every: 100 }
        };
        let whole = |range: Range<u64>, writers: &[u64]| {
            let mut strands = Strands::new(range);
            writers.iter().for_each(|it| assert!(strands.add(&run(*it))));
            strands.are_whole()
        };
        assert!(whole(0..1024, &[0, 1, 2, 3]));
        assert!(whole(5000..100_001, &[3, 1, 2, 0]));
        assert!(!whole(0..1024, &[0, 1, 3]), "a hole");
        assert!(whole(0..767, &[0, 1, 2]));
        let mut twice = Strands::new(0..1024);
        assert!(twice.add(&run(0)));
        assert!(!twice.add(&run(0)));
        assert!(!twice.are_whole());
    }
}
