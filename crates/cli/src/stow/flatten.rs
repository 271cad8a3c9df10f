//! `plimsoll stow flatten`: a container becomes the plain file that it holds.

use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, ensure};
use plimsoll_guarded::Directory;
use plimsoll_report::Record;
use plimsoll_stow::{ANCHOR, Container, Reader};
use rustix::fs::{Mode, OFlags, fchmod};

use super::cat::{BLOCK_BYTES, FilePart, each_block, each_part};
use super::info::COPIED;
use super::targets::LogTargets;
use super::with_hint;
use crate::output::{self, Output};
use crate::progress::Progress;

/// Make a container an ordinary file, in its place
///
/// The file is written beside the container, made durable and compared with it byte for byte before the container is removed.
/// What an interrupted command has written is used by the next one.
#[derive(clap::Args)]
#[command(before_help = "Example:\n  plimsoll stow flatten big")]
pub struct Arguments {
    /// The container
    container: PathBuf,

    #[command(flatten)]
    targets: LogTargets,
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let path = &arguments.container;
    let targets = arguments.targets.if_named()?;
    let reader = super::open_scanned(path, &targets)?;
    let name = path.file_name().with_context(|| format!("{} has no name", path.display()))?;
    let above = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let parent =
        Directory::open(above).with_context(|| format!("cannot open {}", above.display()))?;
    // The id makes it the file of this very container, whoever begins it again.
    let part = format!(".{}.flat", reader.container().id());
    let copied = write(&reader, &parent, &part)?;
    compare(&reader, &parent, &part)?;
    let aside = format!(".{}.flattened", reader.container().id());
    let failed = || format!("cannot replace {}", path.display());
    parent.rename(name, &aside).with_context(failed)?;
    let renamed = parent.rename(&part, name).and_then(|()| parent.sync());
    if renamed.is_err() {
        // The container is the file again.
        let _ = parent.rename(&aside, name);
    }
    renamed.with_context(failed)?;
    drop(reader);
    let container = Container::open(&above.join(&aside), &targets).map_err(with_hint)?;
    for log in container.remove().map_err(with_hint)? {
        output::message(&format!(
            "warning: log {} on target {} cannot be reached and is left",
            log.number, log.target
        ));
    }
    let record =
        Record::new().text("file", "file", path.display().to_string()).number(&COPIED, copied);
    output.print("stow.flatten", "flattened", &record)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes what is not there yet, and makes it durable.
fn write(reader: &Reader, parent: &Directory, part: &str) -> Result<u64> {
    let failed = || format!("cannot write {}", parent.path().join(part).display());
    let file = match parent.open_own_file(part, OFlags::RDWR) {
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
            parent.create(part, OFlags::RDWR, 0o600)
        }
        opened => opened,
    };
    let file = file.with_context(failed)?;
    let there = file.metadata().with_context(failed)?.len() / BLOCK_BYTES as u64;
    let there = there * BLOCK_BYTES as u64;
    let progress = Progress::new("writing", reader.size());
    let copied = each_part(reader, |part| {
        if let FilePart::Data(bytes, offset) = part {
            // What was written before is compared like the rest.
            if offset + bytes.len() as u64 > there {
                file.write_all_at(bytes, offset)?;
            }
            progress.done.store(offset, Ordering::Relaxed);
        }
        Ok(())
    })?;
    let anchor = reader.container().directory().facts_of(ANCHOR).with_context(failed)?;
    file.set_len(copied).and_then(|()| file.sync_all()).with_context(failed)?;
    fchmod(&file, Mode::from_raw_mode(anchor.st_mode & 0o777)).with_context(failed)?;
    Ok(copied)
}

/// Compares the file with the container. One that differs is removed, so that the next attempt begins anew.
fn compare(reader: &Reader, parent: &Directory, part: &str) -> Result<()> {
    let path = parent.path().join(part);
    let failed = || format!("cannot read {}", path.display());
    let mut file = parent.open_own_file(part, OFlags::RDONLY).with_context(failed)?;
    let progress = Progress::new("comparing", reader.size());
    let mut there = vec![0; BLOCK_BYTES];
    let compared = each_block(reader, |bytes, offset| {
        let there = &mut there[..bytes.len()];
        file.read_exact(there)?;
        ensure!(there == bytes, "it differs behind byte {offset}");
        progress.done.store(offset, Ordering::Relaxed);
        Ok(())
    });
    if compared.is_err() {
        let _ = parent.remove_file(part);
    }
    compared.map(drop).with_context(|| {
        format!("{} is not what the container holds, and was removed", path.display())
    })
}
