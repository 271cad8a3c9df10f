//! Times of rows, of which most are those of other rows.

use std::io;
use std::ops::Range;

/// Fewer times than this are not compared with those before.
const COMPARED_MIN: usize = 64;

/// Times that are handed over at once.
const AT_A_TIME: usize = 1 << 12;

/// The times of rows in their order, in milliseconds since 1970. Series that were sampled at the same times share them in memory.
#[derive(Debug, Default)]
pub(crate) struct Times {
    held: Vec<u64>,
    /// Parts of what is held, one after the other.
    parts: Vec<Range<usize>>,
}

impl Times {
    /// Appends times: if there are enough of them, and the last ones are the same, these once more.
    pub fn append(&mut self, times: &[u64]) {
        let held = self.held.len();
        match self.parts.last_mut() {
            Some(last) if times.len() >= COMPARED_MIN => {
                let again = (self.held[last.clone()] == *times).then(|| last.clone());
                if again.is_none() {
                    self.held.extend_from_slice(times);
                }
                self.parts.push(again.unwrap_or(held..held + times.len()));
            }
            Some(last) if last.end == held => {
                last.end += times.len();
                self.held.extend_from_slice(times);
            }
            _ => {
                self.held.extend_from_slice(times);
                self.parts.push(held..held + times.len());
            }
        }
    }

    pub fn clear(&mut self) {
        self.held.clear();
        self.parts.clear();
    }

    /// Returns whether these are others' times, as far as that is seen at once: the same that were appended otherwise are not recognised.
    pub fn is_as(&self, other: &Times) -> bool {
        self.parts == other.parts && self.held == other.held
    }

    /// Hands over all times as they are stored, some at a time.
    pub fn pieces(&self, mut take: impl FnMut(&[i64]) -> io::Result<()>) -> io::Result<()> {
        let mut some = Vec::with_capacity(AT_A_TIME);
        for part in &self.parts {
            for times in self.held[part.clone()].chunks(AT_A_TIME) {
                some.clear();
                some.extend(times.iter().map(|it| *it as i64));
                take(&some)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(times: &Times) -> Vec<u64> {
        let mut all = Vec::new();
        times
            .pieces(|some| {
                all.extend(some.iter().map(|it| *it as u64));
                Ok(())
            })
            .unwrap();
        all
    }

    fn appended(parts: &[Range<u64>]) -> Times {
        let mut times = Times::default();
        parts.iter().for_each(|it| times.append(&it.clone().collect::<Vec<_>>()));
        times
    }

    #[test]
    fn times_are_those_that_were_appended_in_their_order() {
        for parts in [
            vec![],
            vec![5..6, 6..7, 0..1],
            vec![0..9_000, 0..9_000, 0..9_000],
            vec![0..100, 0..100, 100..101, 101..102, 0..100, 0..100, 3..4],
            vec![0..1, 0..100, 0..100, 0..99, 1..100],
        ] {
            let expected: Vec<u64> = parts.iter().cloned().flatten().collect();
            assert_eq!(all(&appended(&parts)), expected);
        }
    }

    #[test]
    fn the_same_times_are_held_once() {
        let times = appended(&[0..9_000, 0..9_000, 0..9_000]);
        assert_eq!((times.held.len(), times.parts.len()), (9_000, 3));
        assert!(times.is_as(&appended(&[0..9_000, 0..9_000, 0..9_000])));
        assert!(!times.is_as(&appended(&[0..9_000, 0..9_000])));
        assert!(!times.is_as(&appended(&[1..9_001, 1..9_001, 1..9_001])));
        assert!(!times.is_as(&Times::default()));
    }
}
