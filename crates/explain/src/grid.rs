//! Time in equal bins, whose width is a power of two so that finding a bin is a shift.

/// Divides a span into bins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grid {
    shift: u32,
    span_ns: u64,
}

impl Grid {
    /// At most `bins_max` bins, and more than half as many unless the span is shorter than that
    /// in nanoseconds.
    pub fn new(span_ns: u64, bins_max: u64) -> Self {
        let mut shift = 0;
        while (span_ns >> shift) >= bins_max {
            shift += 1;
        }
        Grid { shift, span_ns }
    }

    /// Returns the bin of a moment within the span.
    #[inline]
    pub fn bin(&self, ns: u64) -> usize {
        (ns >> self.shift) as usize
    }

    /// Number of bins; the last one holds the very end.
    pub fn bins(&self) -> usize {
        self.bin(self.span_ns) + 1
    }

    /// When a bin ends.
    #[inline]
    pub fn end(&self, bin: usize) -> u64 {
        (bin as u64 + 1) << self.shift
    }

    /// Nanoseconds of a full bin.
    pub fn width_ns(&self) -> u64 {
        1 << self.shift
    }

    /// Nanoseconds of a bin that lie within the span.
    pub fn inside_ns(&self, bin: usize) -> u64 {
        self.end(bin).min(self.span_ns).saturating_sub((bin as u64) << self.shift)
    }

    /// Nanoseconds that are divided.
    pub fn span_ns(&self) -> u64 {
        self.span_ns
    }

    /// Hands the part of `start..end` in each bin to `visit`.
    #[inline]
    pub fn spread(&self, start: u64, end: u64, mut visit: impl FnMut(usize, u64)) {
        let (mut at, mut bin) = (start, self.bin(start));
        while at < end {
            let until = self.end(bin).min(end);
            visit(bin, until - at);
            at = until;
            bin += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_cover_the_span() {
        for span in [0, 1, 99, 1000, 123_456_789, 1 << 55] {
            let grid = Grid::new(span, 1024);
            assert!(grid.bins() <= 1024 + 1, "{span}");
            assert_eq!((0..grid.bins()).map(|bin| grid.inside_ns(bin)).sum::<u64>(), span);
            if span > 1024 {
                assert!(grid.bins() > 512);
            }
        }
    }

    #[test]
    fn an_interval_is_spread_without_loss() {
        let grid = Grid::new(1000, 10);
        let mut parts = Vec::new();
        grid.spread(100, 300, |bin, ns| parts.push((bin, ns)));
        assert_eq!(grid.width_ns(), 128);
        assert_eq!(parts, [(0, 28), (1, 128), (2, 44)]);
        grid.spread(5, 5, |_, _| panic!("nothing to spread"));
    }
}
