//! Whether it pays to write elsewhere: the duration of bursts against that of slowness.
//!
//! Xie finds slowness too short-lived to plan around; Huang gains by reacting within a burst. Both
//! hold: what decides is whether slowness outlasts a burst.

use crate::Kind;
use crate::sequence::Sequences;
use crate::verdict::{ByPeaks, sentence_span as span};

/// What verdicts say, as far as advice depends on it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// Components that are slow now and will be until they are repaired.
    pub slow_now: Vec<String>,
    /// Targets that are slow in some settings only, and what to call these.
    pub in_settings: Vec<(String, String)>,
    /// The worst verdict on any target; `None` if there are none.
    pub worst: Option<Kind>,
    /// Whether slowness moves from target to target.
    pub is_moving: bool,
    /// What known peaks say of targets of two speeds.
    pub by_peaks: Option<ByPeaks>,
}

/// One piece of advice, in agreement with the verdicts. `burst` is the median duration of an instance in seconds.
pub fn advice(sequences: &[Sequences], burst: Option<f64>, found: &Found) -> String {
    match (found.slow_now.as_slice(), found.in_settings.as_slice()) {
        // How long slowness lasts among measures of which most are of these says nothing more.
        ([name], _) => format!("Do without {name} until it is repaired."),
        (slow @ [_, ..], _) => format!("Do without {} until they are repaired.", slow.join(", ")),
        ([], [(name, settings)]) => format!("Do without {name} for {settings}."),
        ([], some @ [_, ..]) => {
            let each: Vec<String> =
                some.iter().map(|(name, settings)| format!("{name} for {settings}")).collect();
            format!("Do without {}.", each.join(", without "))
        }
        ([], []) => about_slowness(sequences, burst, found),
    }
}

/// What is to be done about targets of two speeds.
fn about_groups(by_peaks: Option<ByPeaks>) -> &'static str {
    match by_peaks {
        None => {
            "The targets are of two speeds, and a comparison cannot tell whether the slower ones are \
             slow: whether writing elsewhere pays is not known."
        }
        Some(it) if it.explain() => {
            "The targets are of two speeds, as their peaks are: give each as much as its peak allows."
        }
        Some(_) => "By their known peaks the slower targets are slow: have them repaired.",
    }
}

/// The threshold in the middle speaks for all.
fn about_slowness(sequences: &[Sequences], burst: Option<f64>, found: &Found) -> String {
    let Some((burst, it)) = burst.zip(sequences.get(sequences.len() / 2)) else {
        return "Nothing was measured that tells whether writing elsewhere pays.".into();
    };
    // Some measures are always the lowest: only verdicts tell whether a target is to be avoided.
    match (found.worst, it.depth) {
        (Some(Kind::Normal | Kind::Noisier), _) if found.is_moving => {}
        (Some(Kind::Recovered), _) => {
            return "What was slow has recovered: leaving any target out would gain nothing now."
                .into();
        }
        (Some(Kind::Normal | Kind::Noisier), _) => {
            return "No target is slow more often or more deeply than others: leaving any out would \
                    gain nothing."
                .into();
        }
        (Some(Kind::Undecided), _) => return about_groups(found.by_peaks).into(),
        (Some(_), _) => {}
        (None, Some(depth)) if depth > SLIGHT => {
            return format!(
                "The slowest {:.0} % of the measures still have {:.0} % of the median bandwidth: writing \
                 elsewhere would gain little.",
                it.threshold * 100.0,
                depth * 100.0
            );
        }
        (None, _) => {
            return "No target has enough measures beside others for a verdict: whether writing \
                    elsewhere pays is not known; more rounds with several targets would tell."
                .into();
        }
    }
    let Some(low) = it.low.as_ref().filter(|low| low.ended >= LEAST_SEQUENCES) else {
        return "Too few slow sequences ended while watched to tell whether writing elsewhere pays; \
                more rounds would."
            .into();
    };
    let Some(lasts) = low.median() else {
        return format!(
            "Most slow sequences lasted longer than they were watched, a burst takes {}: it pays to \
             leave slow targets out of the next bursts.",
            span(burst)
        );
    };
    let facts = format!("A burst takes {}, a slow sequence {} (medians)", span(burst), span(lasts));
    // A sequence of one measure lasts until the next one, however short the slowness was.
    if let Some(interval) = it.interval.filter(|it| lasts <= it * 1.5 && *it > burst * LASTING) {
        return format!(
            "Most slow targets were normal again at their next measure, {} later, where a burst takes \
             {}: avoiding what was slow does not pay for bursts that far apart; moving work \
             within a burst can gain. What happens in between, closer rounds would tell.",
            span(interval),
            span(burst)
        );
    }
    match lasts / burst {
        ratio if ratio < 1.0 => format!(
            "{facts}: slowness ends before a burst does. What was slow says nothing about the next \
             burst; only moving work within a burst can gain."
        ),
        ratio if ratio < LASTING => format!(
            "{facts}: slowness lasts for about a burst. Moving work within a burst can gain; \
             avoiding a target in the next one hardly does."
        ),
        _ => format!(
            "{facts}: slowness outlasts bursts. It pays to move work within a burst, and to leave \
             slow targets out of the next ones."
        ),
    }
}

/// Low measures that are no slower than this do not deserve an advice.
const SLIGHT: f64 = 0.85;

/// Fewer sequences that ended have no median worth an advice.
const LEAST_SEQUENCES: usize = 5;

/// Slowness must last for some bursts before avoiding a target pays for finding out.
const LASTING: f64 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequence::Basis;
    use crate::survival::{Duration, Survival};

    fn worst(worst: Kind) -> Found {
        Found { worst: Some(worst), ..Found::default() }
    }

    fn slow() -> Found {
        worst(Kind::Transient)
    }

    fn sequences(seconds: f64, interval: f64, depth: f64) -> Vec<Sequences> {
        let low = vec![Duration { seconds, ended: true }; 9];
        vec![Sequences {
            threshold: 0.1,
            basis: Basis::Bandwidth,
            measures: 100,
            low_measures: 10,
            series: 4,
            settings: 1,
            low: Survival::new(low),
            normal: None,
            depth: Some(depth),
            interval: Some(interval),
        }]
    }

    #[test]
    fn what_decides_is_burst_against_slowness() {
        for (lasts, interval, burst, says) in [
            (40.0, 1.0, 100.0, "ends before a burst"),
            (40.0, 1.0, 30.0, "about a burst"),
            (40.0, 1.0, 2.0, "leave slow targets out"),
            (20.0, 20.0, 1.0, "normal again at their next measure, 20.0 s later"),
        ] {
            let said = advice(&sequences(lasts, interval, 0.5), Some(burst), &slow());
            assert!(said.contains(says), "{said}");
        }
        let slight = advice(&sequences(40.0, 1.0, 0.93), Some(2.0), &Found::default());
        assert!(slight.contains("93 % of the median"), "{slight}");
        assert!(advice(&[], None, &Found::default()).starts_with("Nothing was measured"));
    }

    /// From one and from three bursts on it counts as more; up to one and a half intervals as the next measure.
    #[test]
    fn bounds_belong_to_the_side_that_is_said() {
        for (lasts, interval, burst, says) in [
            (40.0, 1.0, 40.0, "about a burst"),
            (39.0, 1.0, 40.0, "ends before a burst"),
            (39.0, 1.0, 13.0, "outlasts bursts"),
            (38.0, 1.0, 13.0, "about a burst"),
            (30.0, 20.0, 1.0, "at their next measure"),
            (31.0, 20.0, 1.0, "outlasts bursts"),
            (20.0, 20.0, 7.0, "about a burst"),
            (21.0, 21.0, 7.0, "outlasts bursts"),
            (22.0, 22.0, 7.0, "at their next measure"),
        ] {
            let said = advice(&sequences(lasts, interval, 0.5), Some(burst), &slow());
            assert!(said.contains(says), "{lasts} {interval} {burst}: {said}");
        }
        let slight = |depth| advice(&sequences(40.0, 1.0, depth), Some(2.0), &Found::default());
        assert!(
            slight(0.86).contains("would gain little") && slight(0.85).contains("is not known")
        );
    }

    #[test]
    fn no_advice_contradicts_a_verdict() {
        for depth in [0.5, 0.93] {
            let low = sequences(40.0, 1.0, depth);
            let named = |names: &[&str]| {
                let slow_now = names.iter().map(|it| it.to_string()).collect();
                advice(&low, Some(2.0), &Found { slow_now, ..worst(Kind::Persistent) })
            };
            assert_eq!(named(&["t2"]), "Do without t2 until it is repaired.");
            assert_eq!(named(&["t2", "c1"]), "Do without t2, c1 until they are repaired.");
            let transient = advice(&low, Some(2.0), &slow());
            assert!(transient.contains("leave slow targets out"), "{transient}");
        }
    }

    #[test]
    fn nobody_is_avoided_who_is_no_straggler() {
        for (found, says) in [
            (worst(Kind::Normal), "gain nothing"),
            (worst(Kind::Recovered), "gain nothing now"),
            (Found::default(), "is not known"),
            (worst(Kind::Undecided), "is not known"),
        ] {
            let said = advice(&sequences(40.0, 1.0, 0.5), Some(2.0), &found);
            assert!(said.contains(says) && !said.contains("It pays"), "{said}");
        }
    }

    #[test]
    fn short_bursts_have_a_duration() {
        let said = advice(&sequences(0.04, 0.01, 0.5), Some(0.0123), &slow());
        assert!(said.starts_with("A burst takes 12.3 ms, a slow sequence 40.0 ms"), "{said}");
    }

    #[test]
    fn slowness_that_moves_is_weighed_like_any_other() {
        let found = Found { is_moving: true, ..worst(Kind::Normal) };
        let said = advice(&sequences(40.0, 1.0, 0.5), Some(2.0), &found);
        assert!(said.contains("leave slow targets out"), "{said}");
    }

    #[test]
    fn settings_and_peaks_have_their_own_advice() {
        let in_settings = vec![("t1".into(), "bursts of 1MiB and more".into())];
        let found = Found { in_settings, ..worst(Kind::SomeSettings) };
        let said = advice(&sequences(40.0, 1.0, 0.5), Some(2.0), &found);
        assert_eq!(said, "Do without t1 for bursts of 1MiB and more.");
        for (slow, says) in [(0.45, "have them repaired"), (0.88, "as its peak allows")] {
            let by_peaks = Some(ByPeaks { fast: 0.9, slow });
            let found = Found { by_peaks, ..worst(Kind::Undecided) };
            let said = advice(&sequences(40.0, 1.0, 0.5), Some(2.0), &found);
            assert!(said.contains(says), "{said}");
        }
    }
}
