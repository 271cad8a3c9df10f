//! Sentences about a calibration.

use plimsoll_calibrate::{
    Calibration, CalibrationTarget, Cause, Counters, DirectionFit, Negative, SIZES_TESTED,
    TOLERATED_MISFIT, Verdict,
};
use plimsoll_report::Unit;

/// Returns why the verdict is what it is, in sentences.
pub fn verdict(direction: &DirectionFit) -> Vec<String> {
    let size = |rung: usize| Unit::Bytes.show(direction.rungs[rung].size as f64);
    match direction.verdict {
        Verdict::Fits => vec![format!(
            "no size is further than {} from the model; {} are tolerated",
            percent(direction.fit.max_residual()),
            percent(TOLERATED_MISFIT)
        )],
        Verdict::Untested { sizes } => vec![
            format!(
                "the target did transactions of {sizes} distinct sizes; two costs fit any two sizes, \
                 so it is not known whether they explain others"
            ),
            format!("hint: at least {SIZES_TESTED} sizes, far apart: --sizes 4KiB,64KiB,1MiB"),
        ],
        Verdict::Misfit { rung, residual, cause } => {
            let misfit = format!(
                "at {} the target is {}, and the repetitions do not explain it",
                size(rung),
                off(residual)
            );
            std::iter::once(misfit).chain(reason(cause)).collect()
        }
        Verdict::Noisy { rung, residual, explained } => vec![
            format!("at {} the target is {}, but that may be chance:", size(rung), off(residual)),
            if explained.is_finite() {
                format!("the repetitions differ so much that they explain {}", percent(explained))
            } else {
                "there is only one repetition".into()
            },
            "hint: more --repetitions, longer --seconds, or a quieter time".into(),
        ],
    }
}

fn percent(share: f64) -> String {
    Unit::Percent.show(100.0 * share.abs())
}

/// Returns a residual as a comparison of bandwidths, which is how people see it.
fn off(residual: f64) -> String {
    // time = predicted / (1 - residual)
    let bandwidth = 1.0 - residual;
    if residual > 0.0 {
        format!("{} slower than the model says", percent(1.0 - bandwidth))
    } else {
        format!("{} faster than the model says", percent(bandwidth - 1.0))
    }
}

fn reason(cause: Cause) -> Vec<String> {
    match cause {
        Cause::TwoLimits { operations, bytes } => vec![
            format!(
                "the larger of two limits, {} operations/s and {}, explains the measures better \
                 than a sum of two costs: this is how a throttle works",
                Unit::Count.show(operations.round()),
                Unit::BytesPerSec.show(bytes)
            ),
            format!(
                "a utilization by these costs is too high near transactions of {}",
                Unit::Bytes.show((bytes / operations).round())
            ),
        ],
        Cause::Unknown => vec![
            "a cache, or a limit that depends on the size, may be the cause".into(),
            "a utilization by these costs is wrong by as much".into(),
        ],
    }
}

/// Returns what a reader must know to trust the numbers, or not to.
pub fn notes(calibration: &Calibration, place: &CalibrationTarget) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(why) = &calibration.not_counted {
        notes.push(format!(
            "the target's own transactions are not known ({why}); the transfers were counted instead, \
             which is wrong where they are split, merged or cached"
        ));
    }
    if calibration.through_cache {
        notes.push(
            "the file system used the page cache in spite of O_DIRECT: this is not the target's \
             speed alone"
                .into(),
        );
    }
    notes.extend(calibration.directions.iter().filter_map(negative));
    notes.extend(calibration.directions.iter().filter_map(|it| disturbed(it, place)));
    notes
}

fn negative(direction: &DirectionFit) -> Option<String> {
    let (what, value) = match direction.fit.negative? {
        Negative::Operation(value) => ("an operation", Unit::Seconds.show(value)),
        Negative::Byte(value) => ("a byte", Unit::SecondsPerByte.show(value)),
    };
    Some(format!(
        "{}: least squares gave {what} the cost {value}; no cost is negative, so it was set to zero \
         and the other one fitted again",
        direction.operation.plural()
    ))
}

fn disturbed(direction: &DirectionFit, place: &CalibrationTarget) -> Option<String> {
    let (measures, most) = direction.disturbed();
    let all: usize = direction.rungs.iter().map(|rung| rung.measures.len()).sum();
    let who = match &place.counters {
        Counters::Device(name) | Counters::Lustre(name) => name.as_str(),
        Counters::None(_) => "the target",
    };
    (measures > 0).then(|| {
        format!(
            "{}: {who} moved more than was requested in {measures} of {all} measures, by up to {}: \
             others used it, or the file system adds I/O of its own; measure again when it is quiet",
            direction.operation.plural(),
            percent(most)
        )
    })
}
