//! Minutes of a series that are worked out: what is known of them, also in wider windows.

use std::borrow::Cow;

use plimsoll_stored::{Malformed, Reader, Stored};

use crate::sums::Known;

/// Widths of windows in minutes (Patel, section 5).
pub const WINDOWS: [usize; 3] = [1, 5, 25];

/// Consecutive minutes of a series.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Minutes {
    /// 0 where it is not known.
    values: Vec<u64>,
    known: Vec<bool>,
}

impl Stored for Minutes {
    fn put(&self, out: &mut Vec<u8>) {
        let minutes: Vec<Option<u64>> = (0..self.len()).map(|place| self.get(place)).collect();
        minutes.put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Minutes::new(Vec::<Option<u64>>::get(from)?.into_iter()))
    }
}

impl Minutes {
    /// Returns so many minutes of which none is known.
    pub fn unknown(count: usize) -> Self {
        Minutes { values: vec![0; count], known: vec![false; count] }
    }

    /// Returns minutes in their order.
    pub fn new(minutes: impl Iterator<Item = Option<u64>>) -> Self {
        let (values, known) = minutes.map(|it| (it.unwrap_or(0), it.is_some())).unzip();
        Minutes { values, known }
    }

    /// Returns a minute.
    pub fn get(&self, place: usize) -> Option<u64> {
        (*self.known.get(place)?).then(|| self.values[place])
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns the minutes that are known.
    pub fn known(&self) -> impl Iterator<Item = u64> {
        self.values.iter().zip(&self.known).filter(|it| *it.1).map(|it| *it.0)
    }

    /// Returns whether none is known.
    pub fn is_unknown(&self) -> bool {
        !self.known.contains(&true)
    }

    /// Forgets minutes.
    pub fn forget(&mut self, places: std::ops::Range<usize>) {
        self.values[places.clone()].fill(0);
        self.known[places].fill(false);
    }

    /// Returns the first ones.
    pub fn first(&self, count: usize) -> Self {
        let count = count.min(self.len());
        Minutes { values: self.values[..count].to_vec(), known: self.known[..count].to_vec() }
    }

    /// Returns the last ones.
    pub fn last(&self, count: usize) -> Self {
        let from = self.len() - count.min(self.len());
        Minutes { values: self.values[from..].to_vec(), known: self.known[from..].to_vec() }
    }

    /// Returns these and those that follow.
    pub fn join(mut self, next: &Minutes) -> Self {
        self.values.extend(&next.values);
        self.known.extend(&next.known);
        self
    }

    /// Returns the sums of windows that lie within. Windows are counted from 1970 on; one of which a minute is missing is missing.
    pub fn windows(&self, first_minute: u64, width: usize) -> Cow<'_, Minutes> {
        if width == 1 {
            return Cow::Borrowed(self);
        }
        let into = (first_minute % width as u64) as usize;
        let skipped = if into == 0 { 0 } else { (width - into).min(self.len()) };
        let (values, known) = (&self.values[skipped..], &self.known[skipped..]);
        let windows = Minutes {
            values: values.chunks_exact(width).map(|some| some.iter().sum()).collect(),
            known: known.chunks_exact(width).map(|some| some.iter().all(|it| *it)).collect(),
        };
        Cow::Owned(windows.without_unknown())
    }

    fn without_unknown(mut self) -> Self {
        for (value, known) in self.values.iter_mut().zip(&self.known) {
            *value = if *known { *value } else { 0 };
        }
        self
    }

    /// Returns them for sums of pairs.
    pub fn as_known(&self) -> Known<'_> {
        Known::of(&self.values, &self.known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_whole_and_begin_with_the_clock() {
        let minutes = Minutes::new((0..12).map(|it| (it != 8).then_some(it)));
        let five = minutes.windows(3, 5);
        assert_eq!(five.len(), 2);
        assert_eq!((five.get(0), five.get(1)), (Some(2 + 3 + 4 + 5 + 6), None));
        assert_eq!(*minutes.windows(0, 1), minutes);
        assert_eq!(minutes.windows(1, 25).len(), 0);
        assert_eq!(minutes.windows(13, 25).len(), 0);
    }
}
