//! `plimsoll model absorb`: when a cache hides output bursts.

use anyhow::{Context, Result};
use plimsoll_domain::burst::Operation;
use plimsoll_domain::{Bytes, BytesPerSec, Nanos};
use plimsoll_figures::models::absorption;
use plimsoll_theory::Absorption;

use super::SiteArgument;
use crate::output::Output;
use crate::value;

pub use absorption::NUMBERS;

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

pub fn run(arguments: &Arguments, output: Output) -> Result<()> {
    let drain = match arguments.drain {
        Some(drain) => drain.get() as f64,
        None => (arguments.site.load()?)
            .and_then(|site| site.peak_together(Operation::Write))
            .context("no drain rate; hint: --drain RATE, or --site FILE with peak write rates")?,
    };
    let absorption = Absorption::new(
        arguments.compute.as_seconds(),
        arguments.burst.get() as f64,
        arguments.cache.get() as f64,
        drain,
    )?;
    let record = absorption::record(&absorption, arguments.efficiency)?;
    let title = format!(
        "absorption: {} of compute, then a burst of {}, cache {}",
        arguments.compute, arguments.burst, arguments.cache
    );
    output.print("model.absorb", &title, &record)
}
