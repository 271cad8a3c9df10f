//! `plimsoll compare`: what changed between two recordings, and whether it got faster.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use plimsoll_explain::{Analysis, compare};
use plimsoll_figures::recordings::compared;

use crate::newest;
use crate::open_input::OpenInput;
use crate::output::Output;
use crate::report::source;

pub use plimsoll_figures::recordings::compared::NUMBERS;

/// Show what changed between two recordings, and whether the program got faster
///
/// One run each gives a ratio but no interval: repeat runs before you trust a small difference.
/// Where both recordings have enough calls of the main operation, their durations are compared
/// with robust statistics (Brunner-Munzel test, Cliff's delta, ratio of medians with a bootstrap
/// interval).
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll compare                      (the two newest recordings here)\n  \
    plimsoll compare before after\n  \
    plimsoll compare before after --json")]
pub struct Arguments {
    /// The recording before the change, or its summary [default: the second newest here]
    #[arg(requires = "after")]
    before: Option<PathBuf>,

    /// The recording after it, or its summary [default: the newest here]
    after: Option<PathBuf>,

    /// Count files of the runtime (MPI's shared memory, libraries, byte code, locale) as well
    #[arg(long)]
    include_runtime: bool,

    /// Rows of the table of operations
    #[arg(long, value_name = "N", default_value = "15", value_parser = crate::value::count)]
    top: u64,
}

/// 2: bandwidths are those of a program's reads and of its writes.
const SCHEMA_VERSION: u32 = 2;

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let include_runtime = arguments.include_runtime;
    let [first, second] = match (&arguments.before, &arguments.after) {
        (Some(before), Some(after)) => [before.clone(), after.clone()],
        _ => newest::two_recordings()?,
    };
    let before = read(&first, include_runtime)?;
    let after = read(&second, include_runtime)?;
    let rows = if output.json { usize::MAX } else { usize::try_from(arguments.top)? };
    let record = compared::record(&compare(&before, &after), rows);
    let title = format!("{} against {}", second.display(), first.display());
    output.print_version("compare", SCHEMA_VERSION, &title, &record)?;
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path, include_runtime: bool) -> Result<Analysis> {
    Ok(source::gather(vec![OpenInput::open(path)?], include_runtime, None)?.finish()?)
}
