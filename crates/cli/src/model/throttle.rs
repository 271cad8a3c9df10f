//! `plimsoll model throttle`: how much to re-route away from slow targets.

use anyhow::{Result, ensure};
use plimsoll_domain::{Bytes, BytesPerSec};
use plimsoll_figures::models::throttle;
use plimsoll_report::Record;
use plimsoll_theory::{MeasuredRates, Noise};

use super::SiteArgument;
use crate::output::Output;
use crate::value;

pub use throttle::NUMBERS;

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

pub fn run(arguments: &Arguments, output: Output) -> Result<()> {
    let (title, record) = match &arguments.rates {
        Some(rates) => measured(arguments, rates)?,
        None => under_noise(arguments)?,
    };
    output.print("model.throttle", &title, &record)
}

fn under_noise(arguments: &Arguments) -> Result<(String, Record)> {
    let targets = arguments.site.targets(arguments.targets)?;
    let (noisy, streams) = (arguments.noisy.unwrap_or(0), arguments.noise.unwrap_or(0));
    let noise = Noise::new(targets, noisy, streams, arguments.streams)?;
    let unit = seconds_per_unit(arguments.data, arguments.rate)?;
    let record = throttle::under_noise(&noise, arguments.tf, unit)?;
    Ok((format!("throttling: {streams} noise streams on {noisy} of {targets} targets"), record))
}

/// Returns D/B, if both are given.
fn seconds_per_unit(data: Option<Bytes>, rate: Option<BytesPerSec>) -> Result<Option<f64>> {
    match (data, rate) {
        (Some(data), Some(rate)) => {
            ensure!(
                data.get() > 0 && rate.get() > 0,
                "--data and --rate must be greater than zero"
            );
            Ok(Some(data.get() as f64 / rate.get() as f64))
        }
        (None, None) => Ok(None),
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
    let record = throttle::measured(&model, &values, arguments.tf)?;
    Ok((format!("throttling: {} targets with measured rates, {data} each", rates.len()), record))
}
