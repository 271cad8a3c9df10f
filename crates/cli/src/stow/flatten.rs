//! `plimsoll stow flatten`: a container becomes the plain file that it holds.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, ensure};
use plimsoll_guarded::Directory;
use plimsoll_report::Record;
use plimsoll_stow::{Container, FLAT, Reader};
use rustix::fs::OFlags;

use super::cat::{BLOCK_BYTES, FilePart, each_block, each_part};
use super::info::COPIED;
use super::targets::LogTargets;
use super::with_hint;
use crate::output::{self, Output};
use crate::progress::Progress;

/// Make a container an ordinary file, in its place
///
/// The file is written inside of the container, made durable and compared with it byte for byte before the container is removed.
/// What an interrupted command has written is used by the next one.
#[derive(clap::Args)]
#[command(before_help = "Example:\n  plimsoll stow flatten big")]
pub struct Arguments {
    /// The container
    container: PathBuf,

    #[command(flatten)]
    targets: LogTargets,
}

/// Until it has its name.
const PRIVATE: u32 = 0o600;

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let path = &arguments.container;
    let targets = arguments.targets.if_named()?;
    let container = Arc::new(Container::open(path, &targets).map_err(with_hint)?);
    container.require_in_place().map_err(with_hint)?;
    // From here on nobody changes it.
    let alone = container.hold_alone().map_err(with_hint)?;
    let reader = Reader::open_scanned(container.clone()).map_err(with_hint)?;
    let (file, copied) = write(&reader)?;
    compare(&reader, &file)?;
    container.give_rights_to(&file).map_err(with_hint)?;
    drop(reader);
    let mut container = Arc::into_inner(container).context("the container is still in use")?;
    container.give_name_to(&file).map_err(with_hint)?;
    for log in container.discard(&alone).map_err(with_hint)? {
        output::message(&format!(
            "warning: log {} on target {} is left: it cannot be reached, or may be another container's",
            log.number, log.target
        ));
    }
    let record =
        Record::new().text("file", "file", path.display().to_string()).number(&COPIED, copied);
    output.print("stow.flatten", "flattened", &record)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes what is not there yet, and makes it durable. The file is in the container until it is whole, where nobody else can
/// exchange or open it.
fn write(reader: &Reader) -> Result<(File, u64)> {
    let directory = reader.container().directory();
    let failed = || format!("cannot write {}", directory.path().join(FLAT).display());
    let file = part(directory).with_context(failed)?;
    let there = file.metadata().with_context(failed)?.len();
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
    file.set_len(copied).and_then(|()| file.sync_all()).with_context(failed)?;
    Ok((file, copied))
}

/// Opens what an interrupted command has written, or begins. What others could have opened meanwhile is not gone on with.
fn part(directory: &Directory) -> io::Result<File> {
    match directory.open_own_file(FLAT, OFlags::RDWR) {
        Ok(file) if file.metadata()?.mode() & 0o777 == PRIVATE => return Ok(file),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
        _ => directory.remove_file(FLAT)?,
    }
    directory.create(FLAT, OFlags::RDWR, PRIVATE)
}

/// Compares the file with the container. One that differs is removed, so that the next attempt begins anew.
fn compare(reader: &Reader, file: &File) -> Result<()> {
    let directory = reader.container().directory();
    let progress = Progress::new("comparing", reader.size());
    let mut there = vec![0; BLOCK_BYTES];
    let compared = each_block(reader, |bytes, offset| {
        let there = &mut there[..bytes.len()];
        file.read_exact_at(there, offset)?;
        ensure!(there == bytes, "it differs behind byte {offset}");
        progress.done.store(offset, Ordering::Relaxed);
        Ok(())
    });
    if compared.is_err() {
        let _ = directory.remove_file(FLAT);
    }
    compared.map(drop).with_context(|| {
        let path = directory.path().join(FLAT);
        format!("{} is not what the container holds, and was removed", path.display())
    })
}
