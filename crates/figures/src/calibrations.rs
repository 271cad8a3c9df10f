//! A calibration as tables and plots.

mod numbers;
mod words;

use plimsoll_calibrate::{
    Calibration, CalibrationPlan, CalibrationTarget, Counters, DirectionFit, Measure, Rung,
};
use plimsoll_report::{Axes, Record, Unit, fit_plot};

pub use numbers::NUMBERS;
use numbers::*;

/// Returns what was found about a target, which may have a name.
pub fn of_calibration(
    calibration: &Calibration,
    target: Option<&str>,
    place: &CalibrationTarget,
    plan: &CalibrationPlan,
    measured: &str,
) -> Record {
    let counted_by = calibration.directions.first().map(|it| it.counted_by.name().to_owned());
    let mut record = setting(target, place, plan)
        .optional_text("transactions", "counted by", counted_by)
        .number(&FILL, place.fill())
        .number(&WRITTEN, calibration.written.get())
        .text("measured", "measured", measured);
    for it in &calibration.directions {
        record = record.section(it.operation.name(), it.operation.plural(), direction(it));
    }
    words::notes(calibration, place).iter().fold(record, |record, note| record.note(note))
}

/// Returns what would be done.
pub fn of_plan(target: Option<&str>, place: &CalibrationTarget, plan: &CalibrationPlan) -> Record {
    let sizes = plan.sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let kinds = plan.operations.iter().map(|it| it.plural()).collect::<Vec<_>>().join(",");
    let record = setting(target, place, plan)
        .text("transactions", "counted by", place.counters.counted_by().name())
        .text("sizes", "sizes", sizes)
        .text("directions", "directions", kinds)
        .number(&FILL, place.fill())
        .number(&EXPECTED, plan.expected_seconds())
        .number(&WRITTEN_MAX, plan.written_max().get());
    match &place.counters {
        Counters::None(why) => record.note(format!("transactions will not be seen: {why}")),
        _ => record,
    }
}

fn setting(target: Option<&str>, place: &CalibrationTarget, plan: &CalibrationPlan) -> Record {
    let device = match &place.counters {
        Counters::Device(name) | Counters::Lustre(name) => Some(name.clone()),
        Counters::None(_) => None,
    };
    Record::new()
        .optional_text("target", "target", target.map(str::to_owned))
        .text("directory", "directory", place.directory.display().to_string())
        .text("file_system", "file system", &place.space.fs_type)
        .optional_text("device", "device", device)
        .number(&DEPTH, u64::from(plan.depth))
        .number(&SPAN, plan.span.get())
        .number(&SECONDS, plan.seconds)
        .number(&REPETITIONS, u64::from(plan.repetitions))
        .text("seed", "seed", plan.seed.to_string())
}

fn direction(direction: &DirectionFit) -> Record {
    let fit = &direction.fit;
    let costs = fit.coefficients;
    let inverse = |cost: f64| (cost > 0.0).then(|| 1.0 / cost);
    let (operation, byte) = (fit.operation_interval.unzip(), fit.byte_interval.unzip());
    let rungs = direction.rungs.iter().enumerate();
    Record::new()
        .rows("rungs", "", rungs.map(|(index, rung)| row(direction, index, rung)).collect())
        .picture(format!("{}\n", plot(direction)))
        .number(&PER_OPERATION, costs.seconds_per_operation)
        .number(&PER_OPERATION_LOW, operation.0)
        .number(&PER_OPERATION_HIGH, operation.1)
        .number(&OPERATIONS, inverse(costs.seconds_per_operation).map(f64::round))
        .number(&PER_BYTE, costs.seconds_per_byte)
        .number(&RATE, inverse(costs.seconds_per_byte))
        .number(&RATE_LOW, byte.1.and_then(inverse))
        .number(&RATE_HIGH, byte.0.and_then(inverse))
        .number(&MEDIAN_RESIDUAL, 100.0 * fit.median_residual())
        .number(&MAX_RESIDUAL, 100.0 * fit.max_residual())
        .number(&DISTURBED, direction.disturbed().0 as u64)
        .text("verdict", "model", direction.verdict.name())
        .texts("explanation", "", words::verdict(direction))
}

fn row(direction: &DirectionFit, index: usize, rung: &Rung) -> Record {
    let fit = &direction.fit;
    let bandwidths = rung.bandwidths().ok();
    let spread = bandwidths.as_ref().filter(|it| it.n() > 1);
    let spread = spread.map(|it| 100.0 * it.iqr() / it.median());
    let sum = |of: fn(&Measure) -> u64| rung.measures.iter().map(of).sum::<u64>();
    Record::new()
        .number(&SIZE, rung.size)
        .number(&TRANSFERS, sum(|it| it.transfers))
        .number(&TRANSACTIONS, sum(|it| it.transactions))
        .number(&TRANSACTION_SIZE, fit.rows[index].transaction_size())
        .number(&BANDWIDTH, bandwidths.map(|it| it.median()))
        .number(&SPREAD, spread)
        .number(&N, rung.measures.len() as u64)
        .number(&PREDICTED, fit.predicted(index))
        .number(&RESIDUAL, 100.0 * fit.residuals[index])
}

/// Figure 7: bandwidth by transfer size, measured and predicted.
fn plot(direction: &DirectionFit) -> String {
    let fit = &direction.fit;
    let sizes = || direction.rungs.iter().map(|rung| rung.size as f64);
    let measured: Vec<_> = sizes().zip(fit.rows.iter().map(|row| row.requested)).collect();
    let predicted = (0..direction.rungs.len()).map(|rung| fit.predicted(rung).unwrap_or(f64::NAN));
    let predicted: Vec<_> = sizes().zip(predicted).collect();
    let axes = Axes {
        title: "bandwidth: ● measured, dotted as the model predicts (both axes logarithmic)",
        x_label: "transfer size",
        show_x: |size| Unit::Bytes.show(size.round()),
        show_y: |rate| Unit::BytesPerSec.show(rate),
    };
    fit_plot(&predicted, &measured, axes)
}
