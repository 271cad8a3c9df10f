//! A reading that is being put together from several texts.

use plimsoll_history::{Measure, Reading, Value};
use plimsoll_lustre::Unknowns;

/// A reading that is being put together.
pub struct Draft<'a> {
    reading: &'a mut Reading,
    unknowns: &'a mut Unknowns,
    /// Whether a text said when it was true.
    has_time: bool,
}

impl<'a> Draft<'a> {
    pub fn new(reading: &'a mut Reading, unknowns: &'a mut Unknowns) -> Self {
        Self { reading, unknowns, has_time: false }
    }

    /// Takes the time at which the counters were true. Texts of one component are read within a millisecond, so that
    /// the first one speaks for all.
    pub fn snapshot(&mut self, nanoseconds: u64) {
        if !self.has_time {
            (self.reading.time, self.has_time) = (nanoseconds, true);
        }
    }

    /// Takes the time at which some of the counters began: any other one makes another epoch.
    pub fn started(&mut self, nanoseconds: u64) {
        self.reading.epoch = self.reading.epoch.rotate_left(7) ^ nanoseconds;
    }

    /// Adds a number; one that is there already stays, as two places have the same.
    pub fn put(&mut self, measure: Measure, value: u64) {
        if !self.reading.values.iter().any(|it| it.measure == measure) {
            self.reading.values.push(Value::new(measure, value));
        }
    }

    /// Adds a number if it is known.
    pub fn put_known(&mut self, measure: Measure, value: Option<u64>) {
        if let Some(value) = value {
            self.put(measure, value);
        }
    }

    /// Adds to a number, which is zero before.
    pub fn add(&mut self, measure: Measure, value: u64) {
        match self.reading.values.iter_mut().find(|it| it.measure == measure) {
            Some(there) => there.value = there.value.wrapping_add(value),
            None => self.reading.values.push(Value::new(measure, value)),
        }
    }

    /// Adds a bin of a histogram.
    pub fn put_bin(&mut self, measure: Measure, bin: u64, value: u64) {
        self.reading.values.push(Value::of_bin(measure, bin, value));
    }

    /// Adds to a bin of a histogram, which is zero before.
    pub fn add_to_bin(&mut self, measure: Measure, bin: u64, value: u64) {
        let mut values = self.reading.values.iter_mut();
        match values.find(|it| it.measure == measure && it.bin == bin) {
            Some(there) => there.value = there.value.wrapping_add(value),
            None => self.put_bin(measure, bin, value),
        }
    }

    /// Whether anything of that measure is there.
    pub fn has(&self, measure: Measure) -> bool {
        self.reading.values.iter().any(|it| it.measure == measure)
    }

    /// Counts a line that is not known.
    pub fn unknown(&mut self, parameter: &str, line: &[u8]) {
        self.unknowns.count(parameter, line);
    }
}
