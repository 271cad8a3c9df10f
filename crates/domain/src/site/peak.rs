//! Peak rates of targets, and what they rest on.

use serde::{Deserialize, Serialize};

use super::Site;
use crate::burst::Operation;
use crate::{Bytes, BytesPerSec};

/// Peak rates of a target: given, or the 97.3rd percentile of single-target bursts that outlast caches
/// (Xie, section 4.2; docs/benchmarking.md).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table of rates")]
pub struct Peak {
    /// Reading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<BytesPerSec>,
    /// Writing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<BytesPerSec>,
    /// What `read` rests on, if it was measured; a rate without this is a person's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_measured: Option<MeasuredPeak>,
    /// What `write` rests on, if it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_measured: Option<MeasuredPeak>,
}

/// Where a measured peak comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "what a peak rests on")]
pub struct MeasuredPeak {
    /// The measured rate. If the peak differs from it, a person has changed the peak since.
    pub rate: BytesPerSec,
    /// Instances at saturation that it is the percentile of.
    pub instances: u64,
    /// Bytes that the largest of them moved: at a quarter of this the rate was the same, so no cache absorbed it.
    /// Peaks that were measured before this was checked do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// When the last of them was measured (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
}

impl Peak {
    /// Returns a peak that a person gave, which no measure replaces.
    pub fn given(&self, operation: Operation) -> Option<BytesPerSec> {
        let (rate, measured) = match operation {
            Operation::Read => (self.read, &self.read_measured),
            Operation::Write => (self.write, &self.write_measured),
        };
        rate.filter(|rate| measured.as_ref().is_none_or(|it| it.rate != *rate))
    }

    /// Returns a peak that can be relied on: a person's, or one by bursts that outlast caches.
    pub fn trusted(&self, operation: Operation) -> Option<BytesPerSec> {
        let (rate, measured) = match operation {
            Operation::Read => (self.read, &self.read_measured),
            Operation::Write => (self.write, &self.write_measured),
        };
        let outlasts = measured.as_ref().is_some_and(|it| it.bytes.is_some());
        rate.filter(|_| outlasts || self.given(operation).is_some())
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Peak::default()
    }
}

impl Site {
    /// Returns the rate of all targets at their peaks together, within what the network can carry. `None` if a
    /// target's peak is not known or cannot be relied on, as the sum of the others would be wrong, or if there are
    /// no targets.
    pub fn peak_together(&self, operation: Operation) -> Option<f64> {
        if self.targets.is_empty() {
            return None;
        }
        let peaks = self.targets.iter().map(|target| target.peak.trusted(operation));
        let sum = peaks.map(|peak| peak.map(|rate| rate.get() as f64)).sum::<Option<f64>>()?;
        Some(self.limits.network.map_or(sum, |network| sum.min(network.get() as f64)))
    }
}
