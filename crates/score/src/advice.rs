//! Whether it pays to write elsewhere: the duration of bursts against that of slowness.
//!
//! Xie finds slowness too short-lived to plan around; Huang gains by reacting within a burst. Both
//! hold: what decides is whether slowness outlasts a burst.

use crate::Kind;
use crate::sequence::Sequences;
use crate::verdict::sentence_span as span;

/// One piece of advice, in agreement with the verdicts. `burst` is the median duration of an instance
/// in seconds, `persistent` the components that are slow throughout, `worst` the worst verdict on any
/// target.
pub fn advice(
    sequences: &[Sequences],
    burst: Option<f64>,
    persistent: &[String],
    worst: Option<Kind>,
) -> String {
    match persistent {
        // How long slowness lasts among measures of which most are of these says nothing more.
        [name] => format!("Do without {name} until it is repaired."),
        [_, ..] => format!("Do without {} until they are repaired.", persistent.join(", ")),
        [] => about_slowness(sequences, burst, worst),
    }
}

/// The threshold in the middle speaks for all.
fn about_slowness(sequences: &[Sequences], burst: Option<f64>, worst: Option<Kind>) -> String {
    let Some((burst, it)) = burst.zip(sequences.get(sequences.len() / 2)) else {
        return "Nothing was measured that tells whether writing elsewhere pays.".into();
    };
    // Some measures are always the lowest: only verdicts tell whether a target is to be avoided.
    match (worst, it.depth) {
        (Some(Kind::Transient | Kind::Persistent), _) => {}
        (Some(Kind::Normal), _) => {
            return "No target is slow more often or more deeply than noise explains: leaving any \
                    out would gain nothing."
                .into();
        }
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

    const SLOW: Option<Kind> = Some(Kind::Transient);

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
            let said = advice(&sequences(lasts, interval, 0.5), Some(burst), &[], SLOW);
            assert!(said.contains(says), "{said}");
        }
        let slight = advice(&sequences(40.0, 1.0, 0.93), Some(2.0), &[], None);
        assert!(slight.contains("93 % of the median"), "{slight}");
        assert!(advice(&[], None, &[], None).starts_with("Nothing was measured"));
    }

    #[test]
    fn no_advice_contradicts_a_verdict() {
        for depth in [0.5, 0.93] {
            let low = sequences(40.0, 1.0, depth);
            let named = advice(&low, Some(2.0), &["t2".into()], Some(Kind::Persistent));
            assert_eq!(named, "Do without t2 until it is repaired.");
            let both = ["t2".to_string(), "c1".to_string()];
            let named = advice(&low, Some(2.0), &both, Some(Kind::Persistent));
            assert_eq!(named, "Do without t2, c1 until they are repaired.");
            let transient = advice(&low, Some(2.0), &[], SLOW);
            assert!(transient.contains("leave slow targets out"), "{transient}");
        }
    }

    #[test]
    fn nobody_is_avoided_who_is_no_straggler() {
        for (worst, says) in [(Some(Kind::Normal), "gain nothing"), (None, "is not known")] {
            let said = advice(&sequences(40.0, 1.0, 0.5), Some(2.0), &[], worst);
            assert!(said.contains(says) && !said.contains("It pays"), "{said}");
        }
    }

    #[test]
    fn short_bursts_have_a_duration() {
        let said = advice(&sequences(0.04, 0.01, 0.5), Some(0.0123), &[], SLOW);
        assert!(said.starts_with("A burst takes 12.3 ms, a slow sequence 40.0 ms"), "{said}");
    }
}
