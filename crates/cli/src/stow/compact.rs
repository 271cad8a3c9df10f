//! `plimsoll stow compact`: gives back room that is of no use any more.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use clap::value_parser;
use plimsoll_report::Record;
use plimsoll_stow::{Container, Placement, Reclaimed, Writer, write_index};

use super::info::{COPIED, FREED, KEPT, MERGED_INDEX};
use super::targets::LogTargets;
use super::with_hint;
use crate::output::Output;

/// Give back the room of what was overwritten or cut off, and write the merged index
///
/// Segments of which nothing is seen any more are freed; what is seen of those that are mostly empty is copied first. Nothing is lost
/// if this is interrupted. Others may go on writing: what they write to stays. Nobody may read meanwhile.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll stow compact big\n  \
    plimsoll stow compact big --below 100")]
pub struct Arguments {
    /// The container
    container: PathBuf,

    /// Copy what is seen of segments of which less than this is seen, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 75, value_parser = value_parser!(u8).range(0..=100))]
    below: u8,

    #[command(flatten)]
    targets: LogTargets,
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let targets = arguments.targets.if_named()?;
    let container = Container::open(&arguments.container, &targets).map_err(with_hint)?;
    let container = Arc::new(container);
    let mut reclaimed = Reclaimed::default();
    // What is small has no logs, and stays as it is.
    if !container.is_small().map_err(with_hint)? {
        let mut writer = Writer::open(container.clone(), Placement::Striped).map_err(with_hint)?;
        reclaimed = writer.reclaim(f64::from(arguments.below) / 100.0).map_err(with_hint)?;
        writer.close().map_err(with_hint)?;
    }
    // While others write, the last of them writes it.
    let index = write_index(&container).ok().flatten();
    let record = Record::new()
        .text("container", "container", arguments.container.display().to_string())
        .number(&FREED, reclaimed.freed)
        .number(&COPIED, reclaimed.copied)
        .number(&KEPT, reclaimed.kept)
        .number(&MERGED_INDEX, index);
    output.print("stow.compact", "compacted", &record)?;
    Ok(ExitCode::SUCCESS)
}
