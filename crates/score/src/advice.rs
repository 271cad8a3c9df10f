//! Whether it pays to write elsewhere: the duration of bursts against that of slowness.
//!
//! Xie finds slowness too short-lived to plan around; Huang gains by reacting within a burst. Both
//! hold: what decides is whether slowness outlasts a burst.

use crate::sequence::Sequences;
use crate::verdict::sentence_span as span;

/// One or two plain sentences. `burst` is the median duration of an instance in seconds.
pub fn advice(sequences: &[Sequences], burst: Option<f64>, persistent: &[&str]) -> String {
    let avoid = match persistent {
        [] => String::new(),
        names => format!("Do not use {} until it is repaired. ", names.join(", ")),
    };
    format!("{avoid}{}", about_slowness(sequences, burst))
}

/// The threshold in the middle speaks for all.
fn about_slowness(sequences: &[Sequences], burst: Option<f64>) -> String {
    let Some((burst, it)) = burst.zip(sequences.get(sequences.len() / 2)) else {
        return "Nothing was measured that tells whether writing elsewhere pays.".into();
    };
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
    let seen = match it.interval.filter(|interval| lasts <= interval * 1.5) {
        Some(interval) => format!(
            " Measures of a target were {} apart: shorter slowness cannot be seen.",
            span(interval)
        ),
        None => String::new(),
    };
    match lasts / burst {
        ratio if ratio < 1.0 => format!(
            "{facts}: slowness ends before a burst does. What was slow says nothing about the next \
             burst; only moving work within a burst can gain.{seen}"
        ),
        ratio if ratio < LASTING => format!(
            "{facts}: slowness lasts for about a burst. Moving work within a burst can gain; \
             avoiding a target in the next one hardly does.{seen}"
        ),
        _ => format!(
            "{facts}: slowness outlasts bursts. It pays to move work within a burst, and to leave \
             slow targets out of the next ones.{seen}"
        ),
    }
}

/// Fewer sequences that ended have no median worth an advice.
const LEAST_SEQUENCES: usize = 5;

/// Slowness must last for some bursts before avoiding a target pays for finding out.
const LASTING: f64 = 3.0;
