//! `plimsoll compare`: what changed between two recordings, and whether it got faster.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use plimsoll_explain::{Analysis, compare};
use plimsoll_figures::recordings::compared::{self, Side};
use plimsoll_guarded::Readers;

use crate::known_placement;
use crate::new_file::Replacing;
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
    plimsoll compare before after --html change.html\n  \
    plimsoll compare before after --json")]
pub struct Arguments {
    /// The recording before the change, or its summary [default: the second newest here]
    before: Option<PathBuf>,

    /// The recording after it, or its summary [default: the newest here]
    after: Option<PathBuf>,

    /// Count files of the runtime (MPI's shared memory, libraries, byte code, locale) as well
    #[arg(long)]
    include_runtime: bool,

    /// Rows of the table of operations
    #[arg(long, value_name = "N", default_value = "15", value_parser = crate::value::count)]
    top: u64,

    /// Also draw the comparison into this file: one HTML page that works offline, with both time lines on one axis
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    #[command(flatten)]
    replacing: Replacing,
}

/// 2: bandwidths are those of a program's reads and of its writes.
const SCHEMA_VERSION: u32 = 2;

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let include_runtime = arguments.include_runtime;
    let [first, second] = match (&arguments.before, &arguments.after) {
        (Some(before), Some(after)) => [before.clone(), after.clone()],
        (Some(one), None) => bail!(
            "{} is to be compared with what? hint: name two, or none for the two newest here",
            one.display()
        ),
        _ => newest::two_recordings()?,
    };
    let sources = [OpenInput::open(&first)?, OpenInput::open(&second)?];
    let readers = sources.iter().map(OpenInput::readers).fold(Readers::Everyone, Readers::and);
    let create = |path| arguments.replacing.create_from(path, readers);
    let mut html = arguments.html.as_deref().map(create).transpose()?;
    let [before, after] = sources.map(|source| -> Result<Analysis> {
        let gathered = source::gather(vec![source], include_runtime, None)?;
        if let Some(file) = &mut html {
            file.narrow(gathered.recording().readers());
        }
        let mut analysis = gathered.finish()?;
        analysis.placement = known_placement::of(&analysis);
        Ok(analysis)
    });
    let (before, after) = (before?, after?);
    let rows = if output.json { usize::MAX } else { usize::try_from(arguments.top)? };
    let changes = compare(&before, &after);
    if let Some(file) = html {
        let side = |path: &PathBuf, analysis| Side { name: path.display().to_string(), analysis };
        let (before, after) = (side(&first, &before), side(&second, &after));
        file.write(compared::page(&before, &after, &changes).as_bytes())?;
    }
    let record = compared::record(&changes, rows);
    let title = format!("{} against {}", second.display(), first.display());
    output.print_version("compare", SCHEMA_VERSION, &title, &record)?;
    Ok(ExitCode::SUCCESS)
}
