//! `plimsoll model absorb`: when a cache hides output bursts.

use anyhow::{Context, Result};
use plimsoll_domain::burst::Operation;
use plimsoll_domain::{Bytes, BytesPerSec, Nanos};
use plimsoll_report::{Record, line_plot, numbers};
use plimsoll_theory::Absorption;

use super::SiteArgument;
use crate::output::Output;
use crate::value;

/// Compute whether a client cache hides output bursts from the program
///
/// A program computes for C, then writes a burst of W bytes into a cache of M bytes that
/// drains at S. It waits max(0, W - min(M, S C)) / S in each iteration; efficiency is
/// C / (C + wait). Without a cache it waits W / S (Xie et al., section 2.1, in its
/// corrected form). Give C, W, M and S for one core, one node or the whole job alike.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll model absorb --compute 10min --burst 4TiB --cache 2TiB \\\n      --drain 20GiB/s\n  \
    plimsoll model absorb --compute 60s --burst 64GiB --cache 0B \\\n      --drain 1GiB/s --efficiency 95%")]
pub struct Arguments {
    /// Compute time between bursts, C
    #[arg(long, value_name = "DURATION")]
    compute: Nanos,

    /// Data of one burst, W
    #[arg(long, value_name = "SIZE")]
    burst: Bytes,

    /// Cache that absorbs bursts, M; 0B for synchronous writes
    #[arg(long, value_name = "SIZE")]
    cache: Bytes,

    /// Rate at which the storage takes data, S [default: the site's peak write rates]
    #[arg(long, value_name = "RATE")]
    drain: Option<BytesPerSec>,

    /// Efficiency to keep, for the question "how often may I write?"
    #[arg(long, value_name = "SHARE", default_value = "90%", value_parser = value::share,
        allow_negative_numbers = true)]
    efficiency: f64,

    #[command(flatten)]
    site: SiteArgument,
}

numbers! {
    STALL = "stall", "wait per iteration", Seconds, "Time that the program waits for its burst to enter the cache, once steady.", "Xie, section 2.1";
    EFFICIENCY = "efficiency", "efficiency", Ratio, "Share of time spent computing, C / (C + wait).", "Xie, section 2.1";
    SLOW_DOWN = "slow_down", "slow-down", Ratio, "Run time over run time without waiting: one over the efficiency.", "Xie, section 2.1";
    STALL_SYNC = "stall_sync", "wait without cache", Seconds, "Time that the program waits in each iteration when it writes synchronously, W / S.", "Xie, section 2.1";
    EFFICIENCY_SYNC = "efficiency_sync", "efficiency without cache", Ratio, "Share of time spent computing with synchronous writes, s / (s + 1) with s = S C / W.", "Xie, section 2.1";
    DRAIN = "drain", "drain rate", BytesPerSec, "Rate at which the storage takes data, S.", "given, or the sum of the site's peak write rates within its network limit";
    ASKED = "efficiency_asked", "to stay at", Ratio, "The efficiency that must be kept.", "given";
    COMPUTE_AT_LEAST = "compute_at_least", "compute at least", Seconds, "The shortest compute time between two bursts of this size that keeps the efficiency; missing when none does.", "inverse of Xie, section 2.1";
    BURST_AT_MOST = "burst_at_most", "or write at most", Bytes, "The largest burst that keeps the efficiency at this compute time.", "inverse of Xie, section 2.1";
}

pub fn run(arguments: &Arguments, output: Output) -> Result<()> {
    let drain = match arguments.drain {
        Some(drain) => drain.get() as f64,
        None => (arguments.site.load()?)
            .and_then(|site| site.peak_together(Operation::Write))
            .context("no drain rate; hint: --drain RATE, or --site FILE with peak write rates")?,
    };
    let model = |compute: f64| {
        Absorption::new(compute, arguments.burst.get() as f64, arguments.cache.get() as f64, drain)
    };
    let compute = arguments.compute.as_seconds();
    let absorption = model(compute)?;
    let interval = absorption.compute_for(arguments.efficiency)?;
    let inverse = Record::new()
        .number(&ASKED, arguments.efficiency)
        .number(&COMPUTE_AT_LEAST, interval)
        .number(&BURST_AT_MOST, absorption.burst_for(arguments.efficiency)?);
    let mut record = Record::new()
        .number(&STALL, absorption.stall())
        .number(&EFFICIENCY, absorption.efficiency())
        .number(&SLOW_DOWN, absorption.efficiency().map(|efficiency| 1.0 / efficiency))
        .number(&STALL_SYNC, absorption.stall_synchronous())
        .number(&EFFICIENCY_SYNC, absorption.efficiency_synchronous())
        .number(&DRAIN, drain)
        .section("inverse", "how often may I write?", inverse);
    if interval.is_none() {
        record = record
            .note("the burst exceeds the cache, so some wait remains however rarely it is written");
    }
    let longest = (2.0 * compute).max(1.5 * interval.unwrap_or(0.0));
    let points: Result<Vec<(f64, f64)>, _> = (1..=60)
        .map(|i| longest * f64::from(i) / 60.0)
        .map(|at| model(at).map(|model| (at, model.efficiency().unwrap_or(f64::NAN))))
        .collect();
    record = record.picture(line_plot(&points?, "compute time between bursts, s", "efficiency"));
    let title = format!(
        "absorption: {} of compute, then a burst of {}, cache {}",
        arguments.compute, arguments.burst, arguments.cache
    );
    output.print("model.absorb", &title, &record)
}
