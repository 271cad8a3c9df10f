//! What an analysis is asked for.

use crate::Zone;

/// What an analysis is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Samples that end after this moment, in milliseconds since 1970,
    pub since: Option<u64>,
    /// and not after this one.
    pub until: Option<u64>,
    /// Only targets of this file system.
    pub file_system: Option<String>,
    /// Time zone of hours and days.
    pub zone: Zone,
    /// Bytes per second of one target in one direction; a minute with more is taken for wrong.
    pub limit: Option<u64>,
    /// A minute is high from this quantile on (Patel: the upper quartile),
    pub high_from: f64,
    /// and low up to this one.
    pub low_to: f64,
    /// Seed of what is drawn at random, for intervals.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            since: None,
            until: None,
            file_system: None,
            zone: Zone::utc(),
            limit: None,
            high_from: 0.75,
            low_to: 0.25,
            seed: 1,
        }
    }
}
