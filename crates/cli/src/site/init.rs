//! `plimsoll site init`: write a site file from what is found on this machine.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use plimsoll_domain::site::SiteFile;
use plimsoll_guarded::is_there;
use plimsoll_machine::{Discovered, Machine};
use plimsoll_testbed::TargetInfo;

use super::show;
use crate::output::{self, Output};
use crate::targets::DefaultBed;

/// Write a site file from what is found on this machine
///
/// Finds Lustre mounts with their targets and servers, other network file systems (NFS, GlusterFS,
/// BeeGFS, CephFS, GPFS, WEKA, OrangeFS and more), test-bed targets, and mounted block devices except
/// the disk of the root file system. What it cannot find (groups, peaks, costs, coordinates, limits) is measured
/// by other commands or added by hand. --update adds what is new to an existing file, and
/// leaves everything in it as it is, comments included.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll site init\n  \
    plimsoll site init --update -o lab.toml\n  \
    plimsoll site init -o -")]
pub struct Arguments {
    /// The file to write; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "site.toml")]
    output: PathBuf,

    /// Add what is new to an existing file
    #[arg(long)]
    update: bool,

    #[command(flatten)]
    bed: DefaultBed,

    /// Look at a captured tree of /proc and /sys instead of this machine
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let Discovered { site: found, notes } = find(arguments)?;
    notes.iter().for_each(|note| output::message(&format!("note: {note}")));
    if found.targets.is_empty() {
        output::message(
            "note: no targets were found; hint: plimsoll testbed up makes some, or add [[target]] with name and path",
        );
    }
    if arguments.output == Path::new("-") {
        if output.json {
            show::print(&found, &arguments.output, output)?
        } else {
            output::data(&SiteFile::create(Path::new("site.toml"), &found)?.text())?
        }
        return Ok(ExitCode::SUCCESS);
    }
    let shown = arguments.output.display();
    let is_there = is_there(&arguments.output).with_context(|| format!("cannot use {shown}"))?;
    let (file, added) = match (is_there, arguments.update) {
        (true, true) => {
            let mut file = SiteFile::load(&arguments.output)?;
            let added = file.add_new(&found)?;
            (file, format!("added {added} entries to"))
        }
        (true, false) => bail!(
            "{} exists; hint: --update adds what is new, -o FILE writes another file",
            arguments.output.display()
        ),
        (false, _) => (SiteFile::create(&arguments.output, &found)?, "wrote".to_string()),
    };
    file.save()?;
    output::message(&format!("{added} {}", arguments.output.display()));
    show::print(file.site(), &arguments.output, output)?;
    Ok(ExitCode::SUCCESS)
}

fn find(arguments: &Arguments) -> Result<Discovered> {
    if let Some(root) = &arguments.root {
        return Ok(Machine::at(root, "").discover(Vec::new())?);
    }
    let bed = arguments.bed.open()?;
    let (targets, left_out) = match bed.list_own() {
        Ok(listing) => (listing.usable().map(TargetInfo::for_site).collect(), None),
        // Whoever takes the name of a test bed first must not keep others from describing their site.
        Err(refusal) if refusal.is_of_others() => {
            let note =
                format!("the test bed in {} is left out: {refusal}", bed.directory().display());
            (Vec::new(), Some(note))
        }
        Err(error) => return Err(error.into()),
    };
    let mut found = Machine::host().discover(targets)?;
    found.notes.extend(left_out);
    Ok(found)
}
