//! `plimsoll site check`: whether the file makes sense, and whether it agrees with this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use plimsoll_domain::site::{Site, SiteFile};
use plimsoll_report::Record;

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
    /// The site file
    #[arg(default_value = "site.toml")]
    file: PathBuf,

    /// Do not look at this machine
    #[arg(long)]
    offline: bool,
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let file = SiteFile::load(&arguments.file)?;
    let problems = if arguments.offline { Vec::new() } else { differences(file.site()) };
    let failed = !problems.is_empty();
    let verdict = if failed { "failed" } else { "passed" };
    let rows = problems
        .into_iter()
        .map(|(what, problem)| {
            Record::new().text("what", "what", what).text("problem", "problem", problem)
        })
        .collect();
    let record =
        Record::new().text("verdict", "verdict", verdict).rows("problems", "problems", rows);
    output.print("site.check", &format!("check of {}", arguments.file.display()), &record)?;
    Ok(if failed { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Returns what the file names and this machine does not have.
fn differences(site: &Site) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    let mut check = |what: String, path: &Path, is_right: fn(&fs::Metadata) -> bool, kind: &str| {
        match fs::metadata(path) {
            Ok(metadata) if is_right(&metadata) => {}
            Ok(_) => problems.push((what, format!("{} is not {kind}", path.display()))),
            Err(error) => problems.push((what, format!("{}: {error}", path.display()))),
        }
    };
    for file_system in &site.file_systems {
        let what = format!("file system {}", file_system.name);
        check(what, &file_system.mount, fs::Metadata::is_dir, "a directory");
    }
    for target in &site.targets {
        let what = || format!("target {}", target.name);
        if let Some(path) = &target.path {
            check(what(), path, fs::Metadata::is_dir, "a directory");
        }
        // The device of a target on a server is not on this machine.
        if let Some(device) = target.device.as_ref().filter(|_| target.server.is_none()) {
            check(what(), device, is_block_device, "a block device");
        }
    }
    problems
}

fn is_block_device(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    metadata.file_type().is_block_device()
}
