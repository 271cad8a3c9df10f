//! `plimsoll model throttle`: how much to re-route away from slow targets.

use anyhow::{Result, ensure};
use plimsoll_domain::{Bytes, BytesPerSec};
use plimsoll_report::{Number, Record, line_plot, numbers};
use plimsoll_theory::{MeasuredRates, Noise};

use super::SiteArgument;
use crate::output::Output;
use crate::value;

/// Compute how much data to re-route away from targets under noise
///
/// With r noise streams for each of our own on a noisy target and k quiet targets for each
/// noisy one, all targets finish together when each quiet one takes in
/// TF = r / ((r + 1) k + 1) times its own data (Huang et al., equation 1). For an allowance
/// x: write time max(1 + x, (r + 1)(1 - k x)) D/B, never above the static (r + 1) D/B;
/// reading back on quiet targets (1 + x) D/B. An allowance beyond TF is counted as used in
/// full. For measured rates B_i (--rates): fluid bound T = sum(D) / sum(B_i) and
/// TF_i = B_i T / D - 1; there an allowance is what a target may take at most, and one beyond
/// TF changes nothing.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll model throttle --targets 16 --noisy 4 --noise 64\n  \
    plimsoll model throttle --targets 16 --noisy 4 --noise 64 \\\n      --tf 0.2 --data 8GiB --rate 500MiB/s\n  \
    plimsoll model throttle --rates 100MiB/s,100MiB/s,100MiB/s,20MiB/s --data 1GiB")]
pub struct Arguments {
    /// Targets of the file system, M
    #[arg(long, value_name = "M", value_parser = value::count, allow_negative_numbers = true,
        conflicts_with = "rates")]
    targets: Option<u64>,

    /// Targets under noise
    #[arg(long, value_name = "M_NOISE", value_parser = value::count, allow_negative_numbers = true,
        required_unless_present = "rates", conflicts_with = "rates")]
    noisy: Option<u64>,

    /// Noise streams on all noisy targets together
    #[arg(long, value_name = "N_NOISE", value_parser = value::count, allow_negative_numbers = true,
        required_unless_present = "rates", conflicts_with = "rates")]
    noise: Option<u64>,

    /// Our own streams on each target, c
    #[arg(long, value_name = "C", default_value = "1", value_parser = value::count,
        allow_negative_numbers = true, conflicts_with = "rates")]
    streams: u64,

    /// Allowance: data that a target may take in, over its own data [default: the optimum]
    #[arg(long, value_name = "X", value_parser = value::share, allow_negative_numbers = true)]
    tf: Option<f64>,

    /// Data of each target, D
    #[arg(long, value_name = "SIZE")]
    data: Option<Bytes>,

    /// Rate of an undisturbed target, B
    #[arg(long, value_name = "RATE", conflicts_with = "rates")]
    rate: Option<BytesPerSec>,

    /// Measured rates of the targets, instead of a number of noise streams
    #[arg(long, value_name = "RATE,RATE...", value_delimiter = ',')]
    rates: Option<Vec<BytesPerSec>>,

    #[command(flatten)]
    site: SiteArgument,
}

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

/// A time is in seconds when data and rate are known, else in multiples of D/B.
struct Time {
    seconds: &'static Number,
    relative: &'static Number,
}

const STATIC: Time = Time { seconds: &STATIC_TIME, relative: &STATIC_TIME_RELATIVE };
const ROUTED: Time = Time { seconds: &ROUTED_TIME, relative: &ROUTED_TIME_RELATIVE };
const OPTIMUM: Time = Time { seconds: &OPTIMUM_TIME, relative: &OPTIMUM_TIME_RELATIVE };
const FLUID: Time = Time { seconds: &FLUID_BOUND, relative: &FLUID_BOUND_RELATIVE };
const READ: Time = Time { seconds: &READ_TIME, relative: &READ_TIME_RELATIVE };

pub fn run(arguments: &Arguments, output: Output) -> Result<()> {
    let (title, record) = match &arguments.rates {
        Some(rates) => measured(arguments, rates)?,
        None => under_noise(arguments)?,
    };
    output.print("model.throttle", &title, &record)
}

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

    fn unit(&self) -> &'static str {
        if self.seconds_per_unit.is_some() { "s" } else { "D/B" }
    }
}

fn under_noise(arguments: &Arguments) -> Result<(String, Record)> {
    let targets = arguments.site.targets(arguments.targets)?;
    let (noisy, streams) = (arguments.noisy.unwrap_or(0), arguments.noise.unwrap_or(0));
    let noise = Noise::new(targets, noisy, streams, arguments.streams)?;
    let clock = clock(arguments.data, arguments.rate)?;
    let best = noise.throttling_factor();
    let allowance = arguments.tf.unwrap_or(best);
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
    record = record.number(&SPEEDUP, noise.static_time() / routed).text(
        "time_unit",
        "times are in",
        clock.unit(),
    );
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
    Ok((format!("throttling: {streams} noise streams on {noisy} of {targets} targets"), record))
}

fn clock(data: Option<Bytes>, rate: Option<BytesPerSec>) -> Result<Clock> {
    match (data, rate) {
        (Some(data), Some(rate)) => {
            ensure!(
                data.get() > 0 && rate.get() > 0,
                "--data and --rate must be greater than zero"
            );
            Ok(Clock { seconds_per_unit: Some(data.get() as f64 / rate.get() as f64) })
        }
        (None, None) => Ok(Clock { seconds_per_unit: None }),
        _ => anyhow::bail!(
            "--data and --rate go together; hint: give both, or neither for times in D/B"
        ),
    }
}

fn measured(arguments: &Arguments, rates: &[BytesPerSec]) -> Result<(String, Record)> {
    let Some(data) = arguments.data else {
        anyhow::bail!("no data; hint: --data SIZE, what each target has to write");
    };
    let values: Vec<f64> = rates.iter().map(|rate| rate.get() as f64).collect();
    let model = MeasuredRates::equal_data(data.get() as f64, &values)?;
    let clock = Clock { seconds_per_unit: Some(1.0) };
    let best = model.throttling_factor();
    let allowance = arguments.tf.unwrap_or(best);
    let routed = model.write_time(allowance)?;

    let mut record = Record::new().number(&THROTTLING_FACTOR, best).number(&ALLOWANCE, allowance);
    record = clock.put(record, STATIC, model.static_time());
    record = clock.put(record, ROUTED, routed);
    record = clock.put(record, FLUID, model.fluid_bound());
    record = clock.put(record, READ, model.read_time(allowance)?);
    record = record.number(&SPEEDUP, model.static_time() / routed).text(
        "time_unit",
        "times are in",
        clock.unit(),
    );
    let rows = model.shares().into_iter().zip(&values).map(|(share, rate)| {
        let row =
            Record::new().number(&RATE, *rate).number(&THROTTLING_FACTOR, share.throttling_factor);
        clock.put(row, STATIC, share.static_time)
    });
    record = record.rows("targets", "targets when all finish together", rows.collect());
    if allowance > best {
        record = record.note("the allowance exceeds the throttling factor; more is not needed");
    }
    Ok((format!("throttling: {} targets with measured rates, {data} each", rates.len()), record))
}
