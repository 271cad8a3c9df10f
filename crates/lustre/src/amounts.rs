//! What one operation has counted.

/// What one operation has counted: how often, and how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally<'a> {
    /// How often.
    pub samples: u64,
    /// Of what.
    pub unit: Unit<'a>,
    /// How much; `None` where Lustre counts operations only.
    pub amounts: Option<Amounts>,
}

impl Tally<'_> {
    /// Returns the sum of all amounts, if they are bytes.
    pub fn bytes(&self) -> Option<u64> {
        self.amounts.filter(|_| self.unit == Unit::Bytes).map(|amounts| amounts.sum)
    }
}

/// The amounts of all samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amounts {
    /// The smallest one.
    pub least: u64,
    /// The largest one.
    pub most: u64,
    /// All added up.
    pub sum: u64,
    /// Their squares added up, where Lustre does that; it overflows.
    pub sum_of_squares: Option<u64>,
}

/// What amounts are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit<'a> {
    /// Requests ("reqs", in old releases also "regs").
    Requests,
    /// Bytes.
    Bytes,
    /// Microseconds.
    Microseconds,
    /// Seconds.
    Seconds,
    /// Pages.
    Pages,
    /// Something else, in Lustre's own word.
    Other(&'a str),
}

impl<'a> Unit<'a> {
    pub(crate) fn of(word: &'a str) -> Self {
        match word {
            "reqs" | "regs" => Self::Requests,
            "bytes" => Self::Bytes,
            "usec" | "usecs" => Self::Microseconds,
            "sec" | "secs" => Self::Seconds,
            "pages" => Self::Pages,
            other => Self::Other(other),
        }
    }
}
