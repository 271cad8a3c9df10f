//! Ranks that spend far more time on I/O than the others.

use plimsoll_stats::Sample;
use plimsoll_stats::outlier::{ModifiedZ, OUTLIER_SCORE};

/// Fewer ranks than this have no usual value to stray from.
const RANKS_MIN: usize = 6;

/// A rank that strays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Straggler {
    /// Index of the process in the recording.
    pub process: usize,
    /// Its I/O time.
    pub seconds: f64,
    /// Modified Z score of that time.
    pub score: f64,
}

/// I/O times of ranks, robustly summed up.
#[derive(Debug, Clone, PartialEq)]
pub struct Stragglers {
    /// Ranks that were looked at.
    pub n: usize,
    /// Median of their I/O times.
    pub median_seconds: f64,
    /// Median absolute deviation.
    pub mad_seconds: f64,
    /// Ranks whose modified Z score is above 3.5 (Iglewicz and Hoaglin), worst first.
    pub slow: Vec<Straggler>,
}

/// Looks at pairs of process index and I/O time. `None` with fewer than six, or when most times
/// are equal, so that there is no scale.
pub(crate) fn stragglers(times: &[(usize, f64)]) -> Option<Stragglers> {
    if times.len() < RANKS_MIN {
        return None;
    }
    let sample = Sample::new(times.iter().map(|(_, seconds)| *seconds).collect()).ok()?;
    let scale = ModifiedZ::new(&sample)?;
    let mut slow: Vec<Straggler> = times
        .iter()
        .map(|(process, seconds)| (*process, *seconds, scale.score(*seconds)))
        .filter(|(_, _, score)| *score > OUTLIER_SCORE)
        .map(|(process, seconds, score)| Straggler { process, seconds, score })
        .collect();
    slow.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then(a.process.cmp(&b.process)));
    let (n, median_seconds, mad_seconds) = (times.len(), scale.median, scale.mad);
    Some(Stragglers { n, median_seconds, mad_seconds, slow })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_apart_is_slow() {
        let mut times: Vec<(usize, f64)> = (0..10).map(|i| (i, 1.0 + i as f64 * 0.01)).collect();
        assert!(stragglers(&times).unwrap().slow.is_empty());
        times[4].1 = 3.0;
        let found = stragglers(&times).unwrap();
        assert_eq!((found.n, found.slow.len(), found.slow[0].process), (10, 1, 4));
        times[4].1 = 0.1;
        assert!(stragglers(&times).unwrap().slow.is_empty(), "fast is no fault");
        assert_eq!(stragglers(&times[..5]), None);
        assert_eq!(stragglers(&times[..6]).unwrap().n, 6);
        assert_eq!(stragglers(&[(0, 1.0); 8]), None);
    }
}
