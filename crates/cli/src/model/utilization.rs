//! `plimsoll model utilization`: how busy transactions keep a target.

use anyhow::{Context, Result};
use plimsoll_domain::site::{Cost, Costs};
use plimsoll_domain::{Bytes, Nanos};
use plimsoll_figures::models::utilization;
use plimsoll_theory::{Operations, Pattern, TransactionCost};

use super::SiteArgument;
use crate::output::Output;
use crate::value;

pub use utilization::NUMBERS;

/// Compute how busy disk transactions keep a target: file system utilization (FSU)
///
/// A transaction of b bytes takes a_0 + a_1 b seconds (Uselton and Wright, equation 1), with
/// separate coefficients for reads and writes. Time of a pattern: equation 5; achievable
/// bandwidth: equation 6; FSU = 100 T / interval: equation 7. FSU is 100 for one target that
/// is fully busy, and is never clamped. The model is linear, so plain counts of operations
/// and bytes serve as well as a histogram. Coefficients differ between sites: take them from
/// the site file (--site, --target) or give them (--read-cost, --write-cost).
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll model utilization --writes 4KiB=1000,1MiB=200 \\\n      --interval 5s --write-cost 1.04ms,1.73e-9\n  \
    plimsoll model utilization --write-count 1200 --write-bytes 204MiB \\\n      --interval 5s --write-cost 1.04ms,1.73e-9\n  \
    plimsoll model utilization --reads 1MiB=500 --interval 5s \\\n      --site site.toml --target OST0000")]
pub struct Arguments {
    /// Histogram of writes: size and number of transactions
    #[arg(long, value_name = "SIZE=N,...", value_delimiter = ',', value_parser = bin,
        conflicts_with_all = ["write_count", "write_bytes"])]
    writes: Option<Vec<(u64, u64)>>,

    /// Histogram of reads: size and number of transactions
    #[arg(long, value_name = "SIZE=N,...", value_delimiter = ',', value_parser = bin,
        conflicts_with_all = ["read_count", "read_bytes"])]
    reads: Option<Vec<(u64, u64)>>,

    /// Number of write transactions, instead of a histogram
    #[arg(long, value_name = "N", value_parser = value::count, allow_negative_numbers = true,
        requires = "write_bytes")]
    write_count: Option<u64>,

    /// Bytes written
    #[arg(long, value_name = "SIZE", requires = "write_count")]
    write_bytes: Option<Bytes>,

    /// Number of read transactions, instead of a histogram
    #[arg(long, value_name = "N", value_parser = value::count, allow_negative_numbers = true,
        requires = "read_bytes")]
    read_count: Option<u64>,

    /// Bytes read
    #[arg(long, value_name = "SIZE", requires = "read_count")]
    read_bytes: Option<Bytes>,

    /// Interval in which this happened, T
    #[arg(long, value_name = "DURATION")]
    interval: Nanos,

    /// Targets that did it together; FSU is their mean
    #[arg(long, value_name = "N", default_value = "1", value_parser = value::count,
        allow_negative_numbers = true)]
    targets: u64,

    /// Cost of a write: time per operation, seconds per byte
    #[arg(long, value_name = "TIME,S_PER_BYTE", value_parser = cost)]
    write_cost: Option<TransactionCost>,

    /// Cost of a read: time per operation, seconds per byte
    #[arg(long, value_name = "TIME,S_PER_BYTE", value_parser = cost)]
    read_cost: Option<TransactionCost>,

    /// Smallest transaction that counts as optimal
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    optimal: Bytes,

    /// Target of the site file whose costs to use
    #[arg(long, value_name = "NAME", requires = "site")]
    target: Option<String>,

    #[command(flatten)]
    site: SiteArgument,
}

pub fn run(arguments: &Arguments, output: Output) -> Result<()> {
    let optimal = arguments.optimal.get();
    let writes =
        operations(&arguments.writes, arguments.write_count, arguments.write_bytes, optimal)?;
    let reads = operations(&arguments.reads, arguments.read_count, arguments.read_bytes, optimal)?;
    if writes.is_none() && reads.is_none() {
        anyhow::bail!(
            "no transactions; hint: --writes, --reads, or --write-count with --write-bytes"
        );
    }
    let reads = with_cost(reads, arguments.read_cost, arguments, "read", |costs| &costs.read)?;
    let writes = with_cost(writes, arguments.write_cost, arguments, "write", |costs| &costs.write)?;
    let pattern = Pattern::new(reads, writes);
    let seconds = arguments.interval.as_seconds();
    let record = utilization::record(&pattern, seconds, arguments.targets)?;
    output.print("model.utilization", &format!("utilization over {}", arguments.interval), &record)
}

fn operations(
    histogram: &Option<Vec<(u64, u64)>>,
    count: Option<u64>,
    bytes: Option<Bytes>,
    optimal: u64,
) -> Result<Option<Operations>> {
    match (histogram, count, bytes) {
        (Some(sizes), _, _) => Ok(Some(Operations::from_sizes(sizes, optimal)?)),
        (None, Some(count), Some(bytes)) => Ok(Some(Operations::new(count, bytes.get())?)),
        _ => Ok(None),
    }
}

/// Operations with what each costs: by the flag, or else by the site's target. No
/// operations cost nothing, whatever the cost of one.
fn with_cost(
    operations: Option<Operations>,
    flag: Option<TransactionCost>,
    arguments: &Arguments,
    kind: &str,
    of: fn(&Costs) -> &Option<Cost>,
) -> Result<(Operations, TransactionCost)> {
    let Some(operations) = operations else {
        return Ok((Operations::NONE, TransactionCost::new(1.0, 0.0)?));
    };
    let cost = match flag {
        Some(cost) => Some(cost),
        None => site_cost(arguments, of)?,
    };
    let cost = cost.with_context(|| {
        format!("no cost of a {kind}; hint: --{kind}-cost TIME,S_PER_BYTE, or a target of the site file that has one")
    })?;
    Ok((operations, cost))
}

fn site_cost(
    arguments: &Arguments,
    of: fn(&Costs) -> &Option<Cost>,
) -> Result<Option<TransactionCost>> {
    let Some(site) = arguments.site.load()? else { return Ok(None) };
    let name = arguments.target.as_ref().context("which target's costs? hint: --target NAME")?;
    let target = site.target(name).with_context(|| {
        format!("the site file has no target {name:?}; hint: `plimsoll site show` lists them")
    })?;
    let cost = of(&target.cost).as_ref();
    let model =
        |cost: &Cost| TransactionCost::new(cost.seconds_per_operation, cost.seconds_per_byte);
    Ok(cost.map(model).transpose()?)
}

/// "4KiB=1000": a size and a number of transactions.
fn bin(text: &str) -> Result<(u64, u64), String> {
    let (size, number) =
        text.split_once('=').ok_or("is not SIZE=N; write it like 4KiB=1000".to_string())?;
    let size: Bytes = size.parse().map_err(|error| format!("{error}"))?;
    Ok((size.get(), value::count(number).map_err(|error| format!("{number:?} {error}"))?))
}

/// "1.04ms,1.73e-9": time per operation, seconds per byte.
fn cost(text: &str) -> Result<TransactionCost, String> {
    let (operation, byte) = text
        .split_once(',')
        .ok_or("is not TIME,S_PER_BYTE; write it like 1.04ms,1.73e-9".to_string())?;
    let operation: Nanos = operation.parse().map_err(|error| format!("{error}"))?;
    let byte: f64 = byte.trim().parse().map_err(|_| {
        format!("{byte:?} is not a number of seconds per byte; write it like 1.73e-9")
    })?;
    TransactionCost::new(operation.as_seconds(), byte).map_err(|error| error.to_string())
}
