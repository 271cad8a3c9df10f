//! What will be measured: sizes, directions, how long and how often.

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::Operation;
use plimsoll_stats::Random;

use crate::CalibrateError;

/// The smallest logical block, and so the smallest unit of direct I/O (SECTOR_SIZE in the kernel).
const BLOCK: u64 = 512;

/// A span must have room for this many of the largest transfers, or seeks mean nothing.
const PLACES_MIN: u64 = 4;

/// A measure moves no more than this, unless so few transfers would not fill the queue.
const MEASURE_BYTES_MAX: u64 = 1 << 30;

/// All settings of a calibration.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationPlan {
    /// Transfer sizes, ascending, at least two.
    pub sizes: Vec<Bytes>,
    /// Directions, each fitted on its own.
    pub operations: Vec<Operation>,
    /// Transfers in flight.
    pub depth: u32,
    /// Bytes of the file in which transfers seek; a multiple of every size.
    pub span: Bytes,
    /// Time that one measure of one rung should take.
    pub seconds: f64,
    /// Measures of each rung.
    pub repetitions: u32,
    /// Seed of the order of the rungs and of the seeks.
    pub seed: u64,
}

/// One measure to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Which way the data goes.
    pub operation: Operation,
    /// Index of its size.
    pub rung: usize,
}

impl CalibrationPlan {
    /// Returns a plan that can be done.
    ///
    /// Sizes are sorted and made distinct, and the span is rounded down to whole transfers of
    /// every size.
    ///
    /// # Errors
    /// If something is impossible, with the reason.
    pub fn checked(mut self) -> Result<Self, CalibrateError> {
        let setting = |what, value: String| Err(CalibrateError::Setting { what, value });
        self.sizes.sort();
        self.sizes.dedup();
        if self.sizes.len() < 2 {
            return Err(CalibrateError::OneSize);
        }
        let odd = |size: &&Bytes| size.get() == 0 || !size.get().is_multiple_of(BLOCK);
        if let Some(&size) = self.sizes.iter().find(odd) {
            return Err(CalibrateError::Block { size, block: Bytes::new(BLOCK) });
        }
        if self.operations.is_empty() {
            return setting("directions", "none".into());
        }
        if self.depth == 0 || self.depth > plimsoll_engine::DEPTH_MAX {
            return setting("--depth", self.depth.to_string());
        }
        if self.repetitions == 0 {
            return setting("--repetitions", "0".into());
        }
        if !(self.seconds > 0.0 && self.seconds.is_finite()) {
            return setting("--seconds", self.seconds.to_string());
        }
        self.check_span()
    }

    fn check_span(mut self) -> Result<Self, CalibrateError> {
        let largest = self.largest();
        let places = self.places();
        let unit = self.sizes.iter().try_fold(1, |unit, size| least_multiple(unit, size.get()));
        let span = unit.map(|unit| self.span.get() / unit * unit);
        match span {
            Some(span) if span / largest.get() >= places => {
                self.span = Bytes::new(span);
                Ok(self)
            }
            _ => Err(CalibrateError::SpanTooSmall { span: self.span, largest, places }),
        }
    }

    fn largest(&self) -> Bytes {
        self.sizes.last().copied().unwrap_or_default()
    }

    /// Returns the number of transfers of the largest size that the span must hold.
    fn places(&self) -> u64 {
        PLACES_MIN.max(u64::from(self.depth))
    }

    /// Returns the span when none is given: 1 GiB or a tenth of what is free, but room for the seeks of
    /// the largest transfers where half of what is free allows.
    pub fn default_span(&self, available: Bytes) -> Bytes {
        const MOST: u64 = 1 << 30;
        let available = available.get();
        let largest = self.sizes.iter().max().copied().unwrap_or_default().get();
        let needed = largest.saturating_mul(2 * self.places()).min(available / 2);
        Bytes::new((available / 10).max(needed).min(MOST.max(needed)))
    }

    /// Returns the fewest transfers of a measure: the queue fills and drains within them.
    pub fn transfers_min(&self) -> u64 {
        8.max(2 * u64::from(self.depth))
    }

    /// Returns the most transfers of a measure: a fast target needs no more to be known, and a disk that
    /// wears out is not written for nothing.
    pub fn transfers_max(&self, rung: usize) -> u64 {
        (MEASURE_BYTES_MAX / self.sizes[rung].get()).max(self.transfers_min())
    }

    /// Returns the number of transfers that take the time of a measure at a rate in transfers per second.
    pub fn transfers_for(&self, rung: usize, rate: f64) -> u64 {
        let wanted = (rate * self.seconds).ceil() as u64;
        wanted.clamp(self.transfers_min(), self.transfers_max(rung))
    }

    /// Returns the most bytes that the target is written, probes included.
    pub fn written_max(&self) -> Bytes {
        let most = |rung: usize| self.transfers_max(rung).saturating_mul(self.sizes[rung].get());
        let rungs: u64 = (0..self.sizes.len()).map(most).fold(0, u64::saturating_add);
        // A probe doubles its transfers at least, so that all of them together are at most two;
        // a sixth of every measure goes before it and does not count.
        let times = u64::from(self.repetitions).saturating_add(2);
        let written = if self.operations.contains(&Operation::Write) {
            rungs.saturating_mul(times).saturating_mul(7) / 6
        } else {
            0
        };
        Bytes::new(written.saturating_add(self.span.get()))
    }

    /// Returns all measures of one repetition, in an order of its own: what changes over time then
    /// falls on all rungs alike.
    pub fn turns(&self, repetition: u32) -> Vec<Turn> {
        let rungs = || 0..self.sizes.len();
        let mut turns: Vec<Turn> = self
            .operations
            .iter()
            .flat_map(|&operation| rungs().map(move |rung| Turn { operation, rung }))
            .collect();
        Random::for_stream(self.seed, ORDER_STREAM + u64::from(repetition)).shuffle(&mut turns);
        turns
    }

    /// Measures of all repetitions.
    pub fn measures(&self) -> u64 {
        (self.sizes.len() * self.operations.len()) as u64 * u64::from(self.repetitions)
    }

    /// Returns the seconds that all measures take when the target is as fast as the plan supposes.
    pub fn expected_seconds(&self) -> f64 {
        self.measures() as f64 * self.seconds
    }
}

const ORDER_STREAM: u64 = 1 << 32;

fn least_multiple(a: u64, b: u64) -> Option<u64> {
    let (mut divisor, mut rest) = (a, b);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor).checked_mul(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn plan() -> CalibrationPlan {
        CalibrationPlan {
            sizes: [1 << 20, 4096, 4096, 65_536].map(Bytes::new).to_vec(),
            operations: vec![Operation::Read, Operation::Write],
            depth: 8,
            span: Bytes::new((64 << 20) + 5),
            seconds: 0.5,
            repetitions: 3,
            seed: 1,
        }
    }

    #[test]
    fn sizes_are_sorted_and_the_span_is_whole() {
        let plan = plan().checked().unwrap();
        assert_eq!(plan.sizes, [4096, 65_536, 1 << 20].map(Bytes::new));
        assert_eq!(plan.span, Bytes::new(64 << 20));
        assert_eq!(plan.transfers_max(0), 1 << 18);
        assert_eq!([0.1, 1e3, 1e9].map(|rate| plan.transfers_for(0, rate)), [16, 500, 1 << 18]);
        assert_eq!(plan.written_max(), Bytes::new((3 << 30) * 5 * 7 / 6 + (64 << 20)));
        assert_eq!((plan.measures(), plan.expected_seconds()), (18, 9.0));
        assert_eq!(plan.default_span(Bytes::new(100 << 30)), Bytes::new(1 << 30));
        assert_eq!(plan.default_span(Bytes::new(100 << 20)), Bytes::new(16 << 20));
    }

    #[test]
    fn what_cannot_be_is_named_with_a_way_out() {
        let bytes = |sizes: &[u64]| sizes.iter().copied().map(Bytes::new).collect::<Vec<_>>();
        for (bad, message) in [
            (CalibrationPlan { sizes: bytes(&[4096, 4096]), ..plan() }, "with one transfer size"),
            (CalibrationPlan { sizes: bytes(&[1000, 4096]), ..plan() }, "whole blocks"),
            (CalibrationPlan { sizes: bytes(&[0, 4096]), ..plan() }, "whole blocks"),
            (CalibrationPlan { span: Bytes::new(7 << 20), ..plan() }, "fewer than 8"),
            (CalibrationPlan { sizes: bytes(&[u64::MAX - 511, 4096]), ..plan() }, "fewer than 8"),
            (CalibrationPlan { depth: 0, ..plan() }, "--depth 0"),
            (CalibrationPlan { repetitions: 0, ..plan() }, "--repetitions 0"),
            (CalibrationPlan { seconds: f64::NAN, ..plan() }, "--seconds"),
            (CalibrationPlan { operations: vec![], ..plan() }, "directions"),
        ] {
            let error = bad.checked().unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
            assert!(error.hint().is_some(), "{error}");
        }
    }

    #[test]
    fn every_repetition_has_all_rungs_in_its_own_order() {
        let plan = plan().checked().unwrap();
        let [first, second] = [0, 1].map(|repetition| plan.turns(repetition));
        assert_eq!(plan.turns(0), first, "the seed fixes it");
        assert_ne!(first, second);
        for operation in [Operation::Read, Operation::Write] {
            let mut rungs: Vec<usize> =
                first.iter().filter(|it| it.operation == operation).map(|it| it.rung).collect();
            rungs.sort();
            assert_eq!(rungs, [0, 1, 2]);
        }
    }
}
