//! Numbers by their size in powers of two.

use crate::add_all::add_all;
use plimsoll_stored::{Malformed, Reader, Stored, get_sparse, put_sparse, stored};

/// Classes of a [`SizeHistogram`] or a jump histogram: zero, then one for each bit.
pub const CLASSES: usize = 65;

/// Returns the class of a value: 0 for 0, otherwise k with `2^(k-1) <= value < 2^k`.
#[inline]
pub const fn class_of(value: u64) -> usize {
    (u64::BITS - value.leading_zeros()) as usize
}

/// Returns the smallest value of a class.
pub const fn class_start(class: usize) -> u64 {
    match class {
        0 => 0,
        _ => 1 << ((if class > 64 { 64 } else { class }) - 1),
    }
}

/// Calls with their bytes and time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Volume {
    /// Number of calls.
    pub calls: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Sum of their durations.
    pub nanos: u64,
}

impl Volume {
    /// Bytes over the sum of durations; `None` without bytes or without time.
    pub fn bytes_per_second(&self) -> Option<f64> {
        (self.bytes > 0 && self.nanos > 0).then(|| self.bytes as f64 / self.seconds())
    }

    /// Returns the sum of durations in seconds.
    pub fn seconds(&self) -> f64 {
        self.nanos as f64 * 1e-9
    }

    #[inline]
    pub(crate) fn add(&mut self, bytes: u64, nanos: u64) {
        self.calls += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.nanos = self.nanos.saturating_add(nanos);
    }

    pub(crate) fn merge(&mut self, other: &Volume) {
        self.calls = self.calls.saturating_add(other.calls);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.nanos = self.nanos.saturating_add(other.nanos);
    }

    /// Takes back what was added.
    #[inline]
    pub(crate) fn remove(&mut self, other: &Volume) {
        self.calls = self.calls.saturating_sub(other.calls);
        self.bytes = self.bytes.saturating_sub(other.bytes);
        self.nanos = self.nanos.saturating_sub(other.nanos);
    }
}

/// Requests by the bytes that they asked for, in classes of [`class_of`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeHistogram {
    classes: Vec<Volume>,
}

impl Default for SizeHistogram {
    fn default() -> Self {
        SizeHistogram { classes: vec![Volume::default(); CLASSES] }
    }
}

stored! { Volume { calls, bytes, nanos } }

impl Stored for SizeHistogram {
    fn put(&self, out: &mut Vec<u8>) {
        put_sparse(&self.classes, out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(SizeHistogram { classes: get_sparse(from, CLASSES)? })
    }
}

impl SizeHistogram {
    #[inline]
    pub(crate) fn add(&mut self, length: u64, bytes: u64, nanos: u64) {
        if let Some(class) = self.classes.get_mut(class_of(length)) {
            class.add(bytes, nanos);
        }
    }

    pub(crate) fn merge(&mut self, other: &SizeHistogram) {
        self.classes.iter_mut().zip(&other.classes).for_each(|(own, other)| own.merge(other));
    }

    /// Returns the calls of each class, [`CLASSES`] of them.
    pub fn classes(&self) -> &[Volume] {
        &self.classes
    }

    /// Returns the smallest request of a class and its calls, for classes that have any.
    pub fn non_empty(&self) -> impl Iterator<Item = (u64, &Volume)> {
        let classes = self.classes.iter().enumerate();
        classes.filter(|(_, v)| v.calls > 0).map(|(class, v)| (class_start(class), v))
    }

    /// Returns the calls of all classes.
    pub fn total(&self) -> Volume {
        self.sum(|_| true)
    }

    /// Returns the calls of the classes whose smallest request passes.
    pub fn sum(&self, mut passes: impl FnMut(u64) -> bool) -> Volume {
        let mut sum = Volume::default();
        self.non_empty().filter(|(start, _)| passes(*start)).for_each(|(_, v)| sum.merge(v));
        sum
    }
}

/// How far requests lie from the end of the one before, by the same thread in the same file and
/// direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JumpHistogram {
    forward: Vec<u64>,
    backward: Vec<u64>,
}

impl Default for JumpHistogram {
    fn default() -> Self {
        JumpHistogram { forward: vec![0; CLASSES], backward: vec![0; CLASSES] }
    }
}

impl Stored for JumpHistogram {
    fn put(&self, out: &mut Vec<u8>) {
        put_sparse(&self.forward, out);
        put_sparse(&self.backward, out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let forward = get_sparse(from, CLASSES)?;
        Ok(JumpHistogram { forward, backward: get_sparse(from, CLASSES)? })
    }
}

impl JumpHistogram {
    #[inline]
    pub(crate) fn add(&mut self, previous_end: u64, offset: u64) {
        let (side, distance) = if offset >= previous_end {
            (&mut self.forward, offset - previous_end)
        } else {
            (&mut self.backward, previous_end - offset)
        };
        if let Some(count) = side.get_mut(class_of(distance)) {
            *count += 1;
        }
    }

    pub(crate) fn merge(&mut self, other: &JumpHistogram) {
        add_all(&mut self.forward, &other.forward);
        add_all(&mut self.backward, &other.backward);
    }

    /// Jumps towards the end of the file, in classes of [`class_of`]; class 0 are requests that
    /// go on where the last one ended.
    pub fn forward(&self) -> &[u64] {
        &self.forward
    }

    /// Jumps back.
    pub fn backward(&self) -> &[u64] {
        &self.backward
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_begin_at_powers_of_two() {
        for (value, class) in [(0, 0), (1, 1), (2, 2), (3, 2), (4096, 13), (u64::MAX, 64)] {
            assert_eq!(class_of(value), class);
            assert!(class_start(class) <= value);
        }
        assert!((1..CLASSES).all(|class| class_of(class_start(class)) == class));
    }

    #[test]
    fn jumps_have_a_side() {
        let mut jumps = JumpHistogram::default();
        jumps.add(100, 100);
        jumps.add(100, 4196);
        jumps.add(u64::MAX, 0);
        jumps.add(5000, 4000);
        assert_eq!((jumps.forward()[0], jumps.forward()[13]), (1, 1));
        assert_eq!((jumps.backward()[64], jumps.backward()[10]), (1, 1));
    }
}
