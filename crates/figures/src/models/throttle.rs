//! How much to re-route away from slow targets.

use plimsoll_report::{Number, Record, line_plot, numbers};
use plimsoll_theory::{MeasuredRates, Noise, TheoryError};

numbers! {
    THROTTLING_FACTOR = "throttling_factor", "throttling factor", Ratio, "Data moved to a target over its own data at which all targets finish together; with --rates that of the fastest target, and of each in `targets` (negative: moved away).", "Huang, eq. 1; general form B_i T / D_i - 1";
    ALLOWANCE = "allowance", "allowance", Ratio, "Data that a target may take in, over its own data; the throttling factor unless --tf is given.", "given, or Huang, eq. 1";
    MOVED_IN = "moved_in", "moved in, of own data", Ratio, "Data moved to each quiet target over its own data.", "Huang, section 3.4";
    MOVED_OUT = "moved_out", "moved out, of own data", Ratio, "Data moved away from each noisy target over its own data, at most 1.", "Huang, section 3.4";
    STATIC_TIME = "static_time", "write time, static", Seconds, "Time until all is written when every process writes to its own target. Seconds, or multiples of D/B when `time_unit` says so.", "Huang, section 3.4";
    ROUTED_TIME = "routed_time", "write time, routed", Seconds, "Time until all is written with re-routing within the allowance. Unit as `static_time`.", "Huang, section 3.4";
    OPTIMUM_TIME = "optimum_time", "write time, at the optimum", Seconds, "The same at the throttling factor. Unit as `static_time`.", "Huang, eq. 1";
    FLUID_BOUND = "fluid_bound", "fluid bound", Seconds, "The shortest time that any placement can reach: all data over all remaining bandwidth. Unit as `static_time`.", "sum of D_i over sum of B_i";
    READ_TIME = "read_time", "read-back time", Seconds, "Time to read everything back when the noise is gone; with --rates all targets then reach the best measured rate. Unit as `static_time`.", "Huang, section 3.3";
    SPEEDUP = "speedup", "speed-up", Ratio, "Static write time over routed write time.", "Huang, section 5.3";
    RATE = "rate", "rate", BytesPerSec, "Measured rate of a target.", "given";
    STATIC_TIME_RELATIVE = STATIC_TIME.key, STATIC_TIME.label, Ratio, STATIC_TIME.meaning, STATIC_TIME.source;
    ROUTED_TIME_RELATIVE = ROUTED_TIME.key, ROUTED_TIME.label, Ratio, ROUTED_TIME.meaning, ROUTED_TIME.source;
    OPTIMUM_TIME_RELATIVE = OPTIMUM_TIME.key, OPTIMUM_TIME.label, Ratio, OPTIMUM_TIME.meaning, OPTIMUM_TIME.source;
    FLUID_BOUND_RELATIVE = FLUID_BOUND.key, FLUID_BOUND.label, Ratio, FLUID_BOUND.meaning, FLUID_BOUND.source;
    READ_TIME_RELATIVE = READ_TIME.key, READ_TIME.label, Ratio, READ_TIME.meaning, READ_TIME.source;
}

/// A time: in seconds when data and rate are known, else in multiples of D/B.
struct Time {
    seconds: &'static Number,
    relative: &'static Number,
}

const STATIC: Time = Time { seconds: &STATIC_TIME, relative: &STATIC_TIME_RELATIVE };
const ROUTED: Time = Time { seconds: &ROUTED_TIME, relative: &ROUTED_TIME_RELATIVE };
const OPTIMUM: Time = Time { seconds: &OPTIMUM_TIME, relative: &OPTIMUM_TIME_RELATIVE };
const FLUID: Time = Time { seconds: &FLUID_BOUND, relative: &FLUID_BOUND_RELATIVE };
const READ: Time = Time { seconds: &READ_TIME, relative: &READ_TIME_RELATIVE };

/// Writes times in seconds, or in D/B.
struct Clock {
    seconds_per_unit: Option<f64>,
}

impl Clock {
    fn put(&self, record: Record, time: Time, value: f64) -> Record {
        match self.seconds_per_unit {
            Some(unit) => record.number(time.seconds, value * unit),
            None => record.number(time.relative, value),
        }
    }

    fn say_unit(&self, record: Record) -> Record {
        let unit = if self.seconds_per_unit.is_some() { "s" } else { "D/B" };
        record.text("time_unit", "times are in", unit)
    }
}

/// Returns what the model says of targets under noise, for an allowance or for the best one. Times are in D/B unless it
/// is known how many seconds that is.
///
/// # Errors
/// If the allowance is none.
pub fn under_noise(
    noise: &Noise,
    allowance: Option<f64>,
    seconds_per_unit: Option<f64>,
) -> Result<Record, TheoryError> {
    let clock = Clock { seconds_per_unit };
    let best = noise.throttling_factor();
    let allowance = allowance.unwrap_or(best);
    let routed = noise.write_time(allowance)?;
    let mut record = Record::new()
        .number(&THROTTLING_FACTOR, best)
        .number(&ALLOWANCE, allowance)
        .number(&MOVED_IN, noise.moved_in(allowance)?)
        .number(&MOVED_OUT, noise.moved_out(allowance)?);
    record = clock.put(record, STATIC, noise.static_time());
    record = clock.put(record, ROUTED, routed);
    record = clock.put(record, OPTIMUM, noise.write_time(best)?);
    record = clock.put(record, FLUID, noise.fluid_bound());
    record = clock.put(record, READ, noise.read_time(allowance)?);
    record = clock.say_unit(record.number(&SPEEDUP, noise.static_time() / routed));
    if noise.can_move() {
        let write_time = |x: f64| noise.write_time(x).map(|time| (x, time));
        let points: Result<Vec<_>, _> =
            (0..=60).map(|i| write_time(best * f64::from(i) / 30.0)).collect();
        record = record.picture(line_plot(&points?, "allowance", "write time, in D/B"));
    }
    if allowance > best && noise.can_move() {
        record = record.note(
            "the allowance exceeds the throttling factor; it is counted as used in full, which \
             writes and reads slower than the optimum",
        );
    }
    Ok(record)
}

/// Returns what the model says of targets with these measured rates.
///
/// # Errors
/// If the allowance is none.
pub fn measured(
    model: &MeasuredRates,
    rates: &[f64],
    allowance: Option<f64>,
) -> Result<Record, TheoryError> {
    let clock = Clock { seconds_per_unit: Some(1.0) };
    let best = model.throttling_factor();
    let allowance = allowance.unwrap_or(best);
    let routed = model.write_time(allowance)?;
    let mut record = Record::new().number(&THROTTLING_FACTOR, best).number(&ALLOWANCE, allowance);
    record = clock.put(record, STATIC, model.static_time());
    record = clock.put(record, ROUTED, routed);
    record = clock.put(record, FLUID, model.fluid_bound());
    record = clock.put(record, READ, model.read_time(allowance)?);
    record = clock.say_unit(record.number(&SPEEDUP, model.static_time() / routed));
    let rows = model.shares().into_iter().zip(rates).map(|(share, rate)| {
        let row =
            Record::new().number(&RATE, *rate).number(&THROTTLING_FACTOR, share.throttling_factor);
        clock.put(row, STATIC, share.static_time)
    });
    record = record.rows("targets", "targets when all finish together", rows.collect());
    if allowance > best {
        record = record.note("the allowance exceeds the throttling factor; more is not needed");
    }
    Ok(record)
}
