//! `plimsoll site check`: whether the file makes sense, and whether it agrees with this machine.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use plimsoll_domain::site::SiteFile;
use plimsoll_machine::differences;
use plimsoll_report::{Emphasis, Record};

use crate::found_site;
use crate::output::Output;

/// Check a site file, by itself and against this machine
///
/// A file that is broken or contradicts itself is wrong use (exit status 2). A file that is
/// sound but names mounts, paths or devices that this machine does not have fails the check
/// (exit status 1); --offline leaves that part out, for files of other machines.
#[derive(clap::Args)]
#[command(
    before_help = "Examples:\n  plimsoll site check\n  plimsoll site check lab.toml --offline"
)]
pub struct Arguments {
    /// The site file [default: the one that applies here]
    file: Option<PathBuf>,

    /// Do not look at this machine
    #[arg(long)]
    offline: bool,
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let (path, _) = found_site::named_or_found(arguments.file.clone())?;
    let file = SiteFile::load(&path)?;
    let problems = if arguments.offline { Vec::new() } else { differences(file.site()) };
    let failed = !problems.is_empty();
    let (verdict, emphasis) =
        if failed { ("failed", Emphasis::Bad) } else { ("passed", Emphasis::Good) };
    let rows = problems
        .into_iter()
        .map(|it| {
            Record::new().text("what", "what", it.what).text("problem", "problem", it.problem)
        })
        .collect();
    let record = Record::new()
        .judgement("verdict", "verdict", verdict, emphasis)
        .rows("problems", "problems", rows);
    output.print("site.check", &format!("check of {}", path.display()), &record)?;
    Ok(if failed { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
