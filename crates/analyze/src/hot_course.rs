//! Times in which a target got more than others.

use std::ops::Range;

use crate::by_days::LEAST_DAYS;
use crate::excess::{FALSE_CLAIMS, LEAST_EXCESS, Loads, by_chance};

/// A target day by day: what it got over the median target, on days that are known.
pub(crate) struct TargetCourse {
    /// By place of the day among all.
    ratios: Vec<(usize, f64)>,
    all: usize,
}

/// A time in which a target got more than others.
pub(crate) struct HotTime {
    /// Places among all days.
    pub days: Range<usize>,
    /// Days of it that are known,
    pub known: usize,
    /// and those on which it got more than the median target.
    pub above: usize,
    pub over_median: f64,
    /// Over the median target on all other days.
    pub otherwise: Option<f64>,
    pub p_value: f64,
}

/// One day counts no more than this for where a time begins and ends, in multiples of what separates it from others.
const MOST_OF_DAY: f64 = 2.0;

impl TargetCourse {
    pub fn of(days: &[Loads], medians: &[f64], target: usize) -> Self {
        let both = days.iter().zip(medians).enumerate().filter(|it| *it.1.1 > 0.0);
        let ratio =
            |(place, (day, median)): (usize, (&Loads, &f64))| Some((place, day[target]? / median));
        TargetCourse { ratios: both.filter_map(ratio).collect(), all: days.len() }
    }

    /// Returns the time in which that is clearest, if chance makes none as clear in one of twenty histories. `over_median` is asked of days, and so many
    /// targets and directions are looked at.
    pub fn hottest(
        &self,
        questions: usize,
        over_median: impl Fn(&[u32]) -> Option<f64>,
    ) -> Option<HotTime> {
        let windows = windows(self.ratios.len());
        let questions = (questions * windows.len()) as f64;
        let ratio = |window: &Range<usize>| -> Vec<f64> {
            self.ratios[window.clone()].iter().map(|it| it.1).collect()
        };
        let tested = windows.iter().map(|it| (it, (by_chance(&ratio(it)) * questions).min(1.0)));
        let (window, p_value) = tested.min_by(|one, other| one.1.total_cmp(&other.1))?;
        if p_value > FALSE_CLAIMS {
            return None;
        }
        let period = self.widened(window);
        let days = self.ratios[period.start].0..self.ratios[period.end - 1].0 + 1;
        let is_in = |day: &u32| days.contains(&(*day as usize));
        let (inside, outside): (Vec<u32>, Vec<u32>) = (0..self.all as u32).partition(is_in);
        let above = self.ratios[period.clone()].iter().filter(|it| it.1 > 1.0).count();
        let over = over_median(&inside).filter(|it| *it >= LEAST_EXCESS)?;
        let otherwise = over_median(&outside).filter(|_| outside.len() >= LEAST_DAYS);
        let known = period.len();
        Some(HotTime { days, known, above, over_median: over, otherwise, p_value })
    }

    /// Returns the time around a window that stands out most: days gain what they are above half of the window's excess, as a logarithm, and cost what they are below.
    fn widened(&self, window: &Range<usize>) -> Range<usize> {
        let logarithm = |it: &(usize, f64)| it.1.max(f64::MIN_POSITIVE).ln();
        let inside = self.ratios[window.clone()].iter().map(logarithm);
        let half = inside.sum::<f64>() / window.len().max(1) as f64 / 2.0;
        let most_of_day = MOST_OF_DAY * half.max(0.0);
        let (mut best, mut most) = (window.clone(), 0.0);
        let (mut start, mut sum) = (0, 0.0);
        for (place, day) in self.ratios.iter().enumerate() {
            if sum <= 0.0 {
                (start, sum) = (place, 0.0);
            }
            sum += (logarithm(day) - half).clamp(-most_of_day, most_of_day);
            let is_of_window = start < window.end && place >= window.start;
            if sum > most && is_of_window {
                (best, most) = (start..place + 1, sum);
            }
        }
        best
    }
}

/// Returns the windows of so many days that are looked at: of a week and twice as long each time, a quarter of their length apart.
fn windows(days: usize) -> Vec<Range<usize>> {
    let lengths = std::iter::successors(Some(LEAST_DAYS), |it| Some(it * 2));
    let of_length = |length: usize| {
        let starts = (0..=days - length).step_by((length / 4).max(1));
        starts.map(move |start| start..start + length)
    };
    lengths.take_while(|it| *it < days).flat_map(of_length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_stats::Random;

    /// What one of many targets gets over the median one, day by day.
    fn course(random: &mut Random, days: usize, hot: Range<usize>) -> TargetCourse {
        let mut ratio = |day: usize| {
            let by_chance = (0.3 * random.normal()).exp();
            (day, if hot.contains(&day) { 2.5 * by_chance } else { by_chance })
        };
        TargetCourse { ratios: (0..days).map(&mut ratio).collect(), all: days }
    }

    #[test]
    fn a_month_of_five_is_found_with_its_ends() {
        let mut random = Random::new(1);
        let courses: Vec<TargetCourse> =
            (0..20).map(|_| course(&mut random, 150, 80..110)).collect();
        let found: Vec<HotTime> =
            courses.iter().filter_map(|it| it.hottest(48, |_| Some(2.5))).collect();
        assert!(found.len() >= 16, "{} of 20", found.len());
        for found in found {
            assert!(found.days.start.abs_diff(80) <= 4, "{:?}", found.days);
            assert!(found.days.end.abs_diff(110) <= 4, "{:?}", found.days);
            assert!(found.above >= 27, "{}", found.above);
        }
    }

    #[test]
    fn what_is_by_chance_is_told_in_fewer_than_one_history_of_twenty() {
        let mut random = Random::new(2);
        let history = |random: &mut Random| {
            (0..48).any(|_| course(random, 150, 0..0).hottest(48, |_| Some(1.2)).is_some())
        };
        let claims = (0..60).filter(|_| history(&mut random)).count();
        assert!(claims <= 6, "{claims} of 60");
    }

    #[test]
    fn few_days_have_no_windows() {
        assert!(windows(7).is_empty() && windows(0).is_empty());
        assert_eq!(windows(9), [0..7, 1..8, 2..9]);
    }
}
