//! One instance, and the pairs in it.

use plimsoll_domain::burst::Setting;
use serde::{Deserialize, Serialize};

/// One barrier-synchronised burst of some clients on some targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instance {
    /// Number of the run in the experiment, from 0.
    pub run: u32,
    /// Number of the group in the run, from 0.
    pub group: u32,
    /// Number of the round in the group, from 0.
    pub round: u32,
    /// Number in the experiment in the order of execution, from 0.
    pub instance: u64,
    /// What the processes did.
    pub setting: Setting,
    /// The value of the parameter that the round varies, as the plan writes it.
    pub varied: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Each client with each of its targets.
    pub pairs: Vec<Pair>,
}

/// How an instance ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// All bursts arrived.
    Complete,
    /// Some process could not do its part, and why; the pairs are those that did theirs.
    Failed(String),
}

/// All processes of one client on one target in one instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// The client's name.
    pub client: String,
    /// The target's name; all names, joined by "+", when the file is striped.
    pub target: String,
    /// The server of the target, where the site names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Processes that took part.
    pub processes: u32,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Release of the barrier, nanoseconds since 1970.
    pub start: u64,
    /// The last return of fsync (or of the last read), nanoseconds since 1970.
    pub end: u64,
}

impl Pair {
    /// Seconds from the release to the last completion; at least a nanosecond.
    pub fn seconds(&self) -> f64 {
        self.end.saturating_sub(self.start).max(1) as f64 / 1e9
    }

    /// Bytes per second.
    pub fn bandwidth(&self) -> f64 {
        self.bytes as f64 / self.seconds()
    }
}

impl Instance {
    /// Bytes of all pairs.
    pub fn bytes(&self) -> u64 {
        self.pairs.iter().fold(0, |sum, pair| pair.bytes.saturating_add(sum))
    }

    /// Seconds from the release to the last completion of any pair. Each pair's time is taken on
    /// its own node's clock, so that clocks need not agree.
    pub fn seconds(&self) -> Option<f64> {
        self.pairs.iter().map(Pair::seconds).reduce(f64::max)
    }

    /// Returns all bytes divided by the time to the last completion, fsync included.
    pub fn aggregate_bandwidth(&self) -> Option<f64> {
        self.seconds().map(|seconds| self.bytes() as f64 / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_domain::Bytes;

    #[test]
    fn an_instance_lasts_as_long_as_its_slowest_pair() {
        let pair = |start: u64, seconds: u64, bytes: u64| Pair {
            client: "c".into(),
            target: "t".into(),
            server: None,
            processes: 1,
            bytes,
            start,
            end: start + seconds * 1_000_000_000,
        };
        // Clocks that do not agree.
        let pairs = vec![pair(500, 4, 100), pair(9_000_000_000, 2, 300)];
        assert_eq!((pairs[0].seconds(), pairs[1].bandwidth()), (4.0, 150.0));
        let instance = Instance {
            run: 0,
            group: 0,
            round: 0,
            instance: 0,
            setting: Setting::pairs(2, 1, Bytes::new(1)),
            varied: String::new(),
            outcome: Outcome::Complete,
            pairs,
        };
        assert_eq!((instance.bytes(), instance.seconds()), (400, Some(4.0)));
        assert_eq!(instance.aggregate_bandwidth(), Some(100.0));
        let nothing = Instance { pairs: Vec::new(), ..instance };
        assert_eq!((nothing.bytes(), nothing.seconds()), (0, None));
        assert_eq!(nothing.aggregate_bandwidth(), None);
        let backwards = Pair { end: 0, ..pair(7, 0, 5) };
        assert_eq!(backwards.seconds(), 1e-9, "never nothing, which would divide by zero");
    }
}
