//! Durations of which some are only known to be longer than they were watched.

/// A duration, and whether its end was seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Duration {
    /// Seconds, not negative.
    pub seconds: f64,
    /// Whether it ended; otherwise it is censored: it lasted at least so long.
    pub ended: bool,
}

/// The Kaplan-Meier estimate of how many durations exceed a time.
///
/// Kaplan & Meier, "Nonparametric Estimation from Incomplete Observations", JASA 53 (1958). It
/// takes the moment at which watching stopped for unrelated to the duration.
#[derive(Debug, Clone, PartialEq)]
pub struct Survival {
    /// All durations.
    pub n: usize,
    /// Those that ended while watched.
    pub ended: usize,
    /// The longest time watched.
    pub longest: f64,
    /// Times of ends, ascending, with the share that lasts longer.
    pub steps: Vec<(f64, f64)>,
}

impl Survival {
    /// The estimate; `None` without durations.
    pub fn new(mut durations: Vec<Duration>) -> Option<Self> {
        // At equal times ends come before censoring: who is censored then was still at risk.
        durations
            .sort_by(|a, b| a.seconds.total_cmp(&b.seconds).then_with(|| b.ended.cmp(&a.ended)));
        let n = durations.len();
        let longest = durations.last()?.seconds;
        let mut steps: Vec<(f64, f64)> = Vec::new();
        let mut share = 1.0;
        for (at_risk, group) in groups(&durations) {
            let ends = group.iter().filter(|it| it.ended).count();
            if ends > 0 {
                share *= 1.0 - ends as f64 / at_risk as f64;
                steps.push((group[0].seconds, share));
            }
        }
        let ended = durations.iter().filter(|it| it.ended).count();
        Some(Survival { n, ended, longest, steps })
    }

    /// The time that half of them exceed; `None` if the estimate does not fall so far.
    pub fn median(&self) -> Option<f64> {
        // Room for rounding: a product of shares that is 1/2 on paper.
        self.steps.iter().find(|(_, share)| *share <= 0.5 + 1e-12).map(|(seconds, _)| *seconds)
    }

    /// The share that ends within a time; `None` beyond what was watched, unless all had ended.
    pub fn within(&self, seconds: f64) -> Option<f64> {
        let share = self.steps.iter().take_while(|step| step.0 <= seconds).last();
        let lasting = share.map_or(1.0, |(_, share)| *share);
        (seconds <= self.longest || lasting <= 1e-12).then_some((1.0 - lasting).clamp(0.0, 1.0))
    }
}

/// Durations of equal length, each group with the number that lasted at least so long.
fn groups(sorted: &[Duration]) -> impl Iterator<Item = (usize, &[Duration])> {
    let mut before = 0;
    sorted.chunk_by(|a, b| a.seconds == b.seconds).map(move |group| {
        let at_risk = sorted.len() - before;
        before += group.len();
        (at_risk, group)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survival(ended: &[f64], censored: &[f64]) -> Survival {
        let ended = ended.iter().map(|it| Duration { seconds: *it, ended: true });
        let censored = censored.iter().map(|it| Duration { seconds: *it, ended: false });
        Survival::new(ended.chain(censored).collect()).unwrap()
    }

    /// The remission times of Freireich et al. (1963), as in every textbook: median 23 weeks.
    #[test]
    fn the_textbook_case() {
        let it = survival(
            &[6.0, 6.0, 6.0, 7.0, 10.0, 13.0, 16.0, 22.0, 23.0],
            &[6.0, 9.0, 10.0, 11.0, 17.0, 19.0, 20.0, 25.0, 32.0, 32.0, 34.0, 35.0],
        );
        assert_eq!((it.n, it.ended, it.median()), (21, 9, Some(23.0)));
        assert!((it.steps[0].1 - 18.0 / 21.0).abs() < 1e-15);
        assert!((it.steps.last().unwrap().1 - 0.448).abs() < 5e-4);
    }

    #[test]
    fn without_censoring_it_is_the_distribution_function() {
        let it = survival(&[1.0, 2.0, 2.0, 4.0], &[]);
        assert_eq!(it.within(0.5), Some(0.0));
        assert!((it.within(2.0).unwrap() - 0.75).abs() < 1e-15);
        assert_eq!((it.within(100.0), it.median()), (Some(1.0), Some(2.0)));
    }

    #[test]
    fn what_was_not_watched_is_not_known() {
        let it = survival(&[1.0], &[2.0, 3.0]);
        assert_eq!((it.median(), it.within(60.0)), (None, None));
        assert_eq!(Survival::new(vec![]), None);
    }
}
