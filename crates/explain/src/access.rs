//! Where requests go: patterns, alignment, small ones.

use crate::histogram::Volume;
use plimsoll_stored::stored;

/// Requests below this many bytes are small: a system call, a lock and a message cost about as
/// much as moving 64 KiB on the storage of EVIDENCE.md.
pub const SMALL_BYTES: u64 = 64 << 10;

/// Memory pages, and the smallest block that file systems write.
pub const PAGE_BYTES: u64 = 4096;

/// How a request follows the one before it, by the same thread in the same file and direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// There is none before it.
    First,
    /// It begins where the last one ended.
    Sequential,
    /// It is as far from the last one as another neighbour in a row: a constant stride.
    Strided,
    /// It is anywhere else.
    Random,
}

/// Requests of one direction: how they follow each other and how they are aligned. POSIX and
/// stdio requests whose offset is known; MPI offsets count in units of the view and are left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AccessCounts {
    /// Requests without one before them.
    pub first: Volume,
    /// Sequential requests.
    pub sequential: Volume,
    /// Strided requests.
    pub strided: Volume,
    /// Random requests.
    pub random: Volume,
    /// Small POSIX requests of the program itself that move data and follow another one in order,
    /// so that one larger request could replace both.
    pub small_mergeable: Volume,
    /// POSIX requests whose beginning or end is not on a page boundary.
    pub unaligned_page: Volume,
    /// POSIX requests whose beginning or end is not on a stripe boundary.
    pub unaligned_stripe: Volume,
    /// POSIX requests of at least a page that begin and end on page boundaries.
    pub aligned_large: Volume,
    /// POSIX requests of at least a page that do not.
    pub unaligned_large: Volume,
    /// Bytes of the pages that unaligned requests of at least a page touch and do not fill.
    pub unaligned_large_excess: u64,
    /// POSIX requests with a known offset.
    pub posix: Volume,
}

stored! { AccessCounts {
    first, sequential, strided, random, small_mergeable, unaligned_page, unaligned_stripe,
    aligned_large, unaligned_large, unaligned_large_excess, posix,
} }

impl AccessCounts {
    /// Shares of sequential, strided and random requests, by number of requests that have one
    /// before them; `None` if there is none.
    pub fn shares(&self) -> Option<PatternShares> {
        let [sequential, strided, random] =
            [self.sequential.calls, self.strided.calls, self.random.calls].map(|n| n as f64);
        let total = sequential + strided + random;
        (total > 0.0).then(|| PatternShares {
            sequential: sequential / total,
            strided: strided / total,
            random: random / total,
        })
    }

    /// Returns the share of POSIX requests that do not begin and end on page boundaries.
    pub fn unaligned_page_share(&self) -> Option<f64> {
        share(self.unaligned_page.calls, self.posix.calls)
    }

    /// Returns the share of POSIX requests that do not begin and end on stripe boundaries.
    pub fn unaligned_stripe_share(&self) -> Option<f64> {
        share(self.unaligned_stripe.calls, self.posix.calls)
    }

    pub(crate) fn merge(&mut self, other: &AccessCounts) {
        self.first.merge(&other.first);
        self.sequential.merge(&other.sequential);
        self.strided.merge(&other.strided);
        self.random.merge(&other.random);
        self.small_mergeable.merge(&other.small_mergeable);
        self.unaligned_page.merge(&other.unaligned_page);
        self.unaligned_stripe.merge(&other.unaligned_stripe);
        self.aligned_large.merge(&other.aligned_large);
        self.unaligned_large.merge(&other.unaligned_large);
        self.unaligned_large_excess =
            self.unaligned_large_excess.saturating_add(other.unaligned_large_excess);
        self.posix.merge(&other.posix);
    }

    /// Counts the alignment of a POSIX request.
    #[inline]
    pub(crate) fn align(&mut self, request: &Request, stripe_bytes: u64) {
        let (offset, end) = (request.offset, request.end());
        self.posix.add(request.bytes, request.nanos);
        if !is_multiple(offset, stripe_bytes) || !is_multiple(end, stripe_bytes) {
            self.unaligned_stripe.add(request.bytes, request.nanos);
        }
        let head = offset % PAGE_BYTES;
        let tail = end.wrapping_neg() % PAGE_BYTES;
        let is_large = request.length >= PAGE_BYTES;
        if head == 0 && tail == 0 {
            if is_large {
                self.aligned_large.add(request.bytes, request.nanos);
            }
            return;
        }
        self.unaligned_page.add(request.bytes, request.nanos);
        if is_large {
            self.unaligned_large.add(request.bytes, request.nanos);
            self.unaligned_large_excess = self.unaligned_large_excess.saturating_add(head + tail);
        }
    }
}

/// Stripes are powers of two nearly always, which saves a division in the inner loop.
#[inline]
fn is_multiple(value: u64, unit: u64) -> bool {
    if unit.is_power_of_two() { value & (unit - 1) == 0 } else { value.is_multiple_of(unit) }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Shares that add up to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PatternShares {
    /// Of requests that begin where the last one ended.
    pub sequential: f64,
    /// Of requests at a constant stride.
    pub strided: f64,
    /// Of all others.
    pub random: f64,
}

/// A data call with a known offset.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub offset: u64,
    pub length: u64,
    pub bytes: u64,
    pub nanos: u64,
    /// A POSIX request of the program itself: not from within another recorded call, and not
    /// buffered by the C library.
    pub is_own_posix: bool,
}

impl Request {
    /// Where it ends in the file: behind what it moved.
    #[inline]
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }

    fn volume(&self) -> Volume {
        Volume { calls: 1, bytes: self.bytes, nanos: self.nanos }
    }
}

/// The last requests of one thread in one file and direction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Trail {
    previous: Option<Request>,
    /// From the request before the previous one to the previous one.
    step: Option<u64>,
    /// The previous request began a new step, and counts as random until the next one has the
    /// same.
    is_provisional: bool,
}

impl Trail {
    /// Returns the end of the previous request.
    #[inline]
    pub fn previous_end(&self) -> Option<u64> {
        self.previous.map(|request| request.end())
    }

    /// Counts a request by how it follows the last one.
    #[inline]
    pub fn follow(&mut self, request: Request, counts: &mut AccessCounts) -> Pattern {
        let pattern = self.classify(&request, counts);
        match pattern {
            Pattern::First => counts.first.add(request.bytes, request.nanos),
            Pattern::Sequential => counts.sequential.add(request.bytes, request.nanos),
            Pattern::Strided => counts.strided.add(request.bytes, request.nanos),
            Pattern::Random => counts.random.add(request.bytes, request.nanos),
        }
        if matches!(pattern, Pattern::Sequential | Pattern::Strided) {
            count_small(&request, counts);
        }
        self.previous = Some(request);
        pattern
    }

    #[inline]
    fn classify(&mut self, request: &Request, counts: &mut AccessCounts) -> Pattern {
        let Some(previous) = self.previous else { return Pattern::First };
        let step = request.offset.wrapping_sub(previous.offset);
        let is_same_step = self.step.replace(step) == Some(step);
        if request.offset == previous.end() {
            self.is_provisional = false;
            return Pattern::Sequential;
        }
        // Staying in place is no stride: it is the same block again and again.
        if !is_same_step || step == 0 {
            self.is_provisional = step != 0;
            return Pattern::Random;
        }
        if self.is_provisional {
            self.is_provisional = false;
            counts.random.remove(&previous.volume());
            counts.strided.merge(&previous.volume());
            count_small(&previous, counts);
        }
        Pattern::Strided
    }
}

#[inline]
fn count_small(request: &Request, counts: &mut AccessCounts) {
    if request.is_own_posix && request.length < SMALL_BYTES && request.bytes > 0 {
        counts.small_mergeable.add(request.bytes, request.nanos);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(offset: u64, length: u64) -> Request {
        Request { offset, length, bytes: length, nanos: 10, is_own_posix: true }
    }

    fn counts(offsets: &[u64], length: u64) -> AccessCounts {
        let (mut trail, mut counts) = (Trail::default(), AccessCounts::default());
        for offset in offsets {
            trail.follow(request(*offset, length), &mut counts);
        }
        counts
    }

    #[test]
    fn each_pattern_is_recognised() {
        let sequential = counts(&[0, 100, 200, 300], 100);
        assert_eq!((sequential.first.calls, sequential.sequential.calls), (1, 3));
        let strided = counts(&[0, 1000, 2000, 3000], 100);
        assert_eq!((strided.strided.calls, strided.random.calls), (3, 0));
        assert_eq!(strided.strided.nanos, 30);
        let backwards = counts(&[3000, 2000, 1000, 0], 100);
        assert_eq!(backwards.strided.calls, 3);
        let random = counts(&[7000, 300, 91_000, 12_000], 100);
        assert_eq!((random.random.calls, random.small_mergeable.calls), (3, 0));
        assert_eq!(sequential.small_mergeable.calls, 3, "the first has none to be joined with");
        let in_place = counts(&[512, 512, 512], 100);
        assert_eq!((in_place.random.calls, in_place.strided.calls), (2, 0));
    }

    #[test]
    fn rows_of_a_matrix_are_strided_but_for_the_turns() {
        let offsets: Vec<u64> =
            (0..10).flat_map(|row| (0..10).map(move |x| row * 7777 + x * 100)).collect();
        let rows = counts(&offsets, 50);
        assert_eq!((rows.strided.calls, rows.random.calls), (90, 9));
        let shares = rows.shares().unwrap();
        assert!((shares.strided - 90.0 / 99.0).abs() < 1e-12);
        assert_eq!(AccessCounts::default().shares(), None);
    }

    #[test]
    fn the_end_of_a_file_is_no_request_to_join() {
        let (mut trail, mut counts) = (Trail::default(), AccessCounts::default());
        trail.follow(request(0, 100), &mut counts);
        trail.follow(Request { bytes: 0, ..request(100, 100) }, &mut counts);
        assert_eq!((counts.sequential.calls, counts.small_mergeable.calls), (1, 0));
    }

    #[test]
    fn alignment_looks_at_both_ends() {
        let mut counts = AccessCounts::default();
        counts.align(&request(0, 1 << 20), 1 << 20);
        counts.align(&request(4096, 4096), 1 << 20);
        counts.align(&request(100, 8192), 1 << 20);
        counts.align(&request(8192, 100), 1 << 20);
        assert_eq!(counts.unaligned_page.calls, 2);
        assert_eq!(counts.unaligned_stripe.calls, 3);
        assert_eq!((counts.aligned_large.calls, counts.unaligned_large.calls), (2, 1));
        assert_eq!(counts.unaligned_large_excess, 4096, "100 bytes before, 3996 behind");
        counts.align(&request(u64::MAX - 1, u64::MAX), 1);
    }
}
