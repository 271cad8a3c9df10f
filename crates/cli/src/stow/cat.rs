//! `plimsoll stow cat`: what a container holds.

use std::io::{IsTerminal, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result};
use plimsoll_stow::Reader;

use super::targets::LogTargets;
use super::with_hint;
use crate::harmless::Harmless;
use crate::progress::Progress;

/// Bytes that are read at a time.
pub const BLOCK_BYTES: usize = 4 << 20;

/// Print what containers hold, byte for byte
///
/// Every record is compared with its checksum. Where a part cannot be read, the command ends with an error after what comes before it.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll stow cat big | sha256sum\n  \
    plimsoll stow cat big --targets ost0=/elsewhere/ost0,ost1=/elsewhere/ost1")]
pub struct Arguments {
    /// The containers
    #[arg(required = true, value_name = "CONTAINER")]
    containers: Vec<PathBuf>,

    #[command(flatten)]
    targets: LogTargets,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let targets = arguments.targets.if_named()?;
    let mut stdout = Harmless::text(std::io::stdout().lock());
    for path in &arguments.containers {
        let reader = super::open_scanned(path, &targets)?;
        // A bar would be among the bytes on a terminal.
        let has_bar = !std::io::stdout().is_terminal();
        let progress = has_bar.then(|| Progress::new("reading", reader.size()));
        each_block(&reader, |bytes, offset| {
            if let Some(progress) = &progress {
                progress.done.store(offset, Ordering::Relaxed);
            }
            stdout.write_all(bytes).map_err(Into::into)
        })?;
    }
    stdout.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Hands over all bytes of a container, one block after the other, with the offset of each.
pub fn each_block(reader: &Reader, mut take: impl FnMut(&[u8], u64) -> Result<()>) -> Result<u64> {
    let mut bytes = vec![0; BLOCK_BYTES];
    let mut offset = 0;
    loop {
        let count = read_block(reader, &mut bytes, offset)?;
        if count == 0 {
            return Ok(offset);
        }
        take(&bytes[..count], offset).context("cannot write")?;
        offset += count as u64;
    }
}

/// A part of a container that is handed over.
pub enum FilePart<'a> {
    /// Bytes, and where they begin.
    Data(&'a [u8], u64),
    /// A hole.
    Hole(Range<u64>),
}

/// Hands over all of a container, one part after the other, holes as such. Returns its size.
pub fn each_part(reader: &Reader, mut take: impl FnMut(FilePart) -> Result<()>) -> Result<u64> {
    let mut bytes = vec![0; BLOCK_BYTES];
    let mut offset = 0;
    while let Some(stretch) = reader.stretch_from(offset).map_err(with_hint)? {
        if stretch.is_hole {
            take(FilePart::Hole(offset..stretch.end)).context("cannot write")?;
            offset = stretch.end;
        }
        while !stretch.is_hole && offset < stretch.end {
            let most = (stretch.end - offset).min(BLOCK_BYTES as u64) as usize;
            // Compared with its checksums, also where it is in a hole of a log.
            let count = read_block(reader, &mut bytes[..most], offset)?;
            each_stored(reader, &bytes[..count], offset, &mut take).context("cannot write")?;
            offset += count as u64;
        }
    }
    // Where something is missing, the file may go on: this says so.
    match read_block(reader, &mut bytes[..1], offset)? {
        0 => Ok(offset),
        _ => anyhow::bail!("it grows while it is read"),
    }
}

/// Pages that a hole of a log may have.
const PAGE_BYTES: usize = 4096;

/// Hands over bytes that were read, as holes what no target keeps of them. A file system may call a hole what has just been written (OpenZFS, issue 15526): what is not zeros is data
/// whatever it says.
fn each_stored(
    reader: &Reader,
    bytes: &[u8],
    offset: u64,
    take: &mut impl FnMut(FilePart) -> Result<()>,
) -> Result<()> {
    let mut start = offset;
    let mut is_hole = |page: &[u8]| {
        let range = start..start + page.len() as u64;
        start = range.end;
        is_zeros(page) && reader.is_unstored(range)
    };
    let pages: Vec<(bool, usize)> =
        bytes.chunks(PAGE_BYTES).map(|page| (is_hole(page), page.len())).collect();
    let mut place = 0;
    for some in pages.chunk_by(|one, next| one.0 == next.0) {
        let (from, length) = (place, some.iter().map(|it| it.1).sum::<usize>());
        place += length;
        let begins = offset + from as u64;
        take(match some[0].0 {
            true => FilePart::Hole(begins..begins + length as u64),
            false => FilePart::Data(&bytes[from..place], begins),
        })?;
    }
    Ok(())
}

fn is_zeros(bytes: &[u8]) -> bool {
    bytes.iter().fold(0, |all, byte| all | byte) == 0
}

/// Reads a block; where that fails, the part of it that can be read.
fn read_block(reader: &Reader, bytes: &mut [u8], offset: u64) -> Result<usize> {
    let failed = match reader.read_verified_at(bytes, offset) {
        Ok(count) => return Ok(count),
        Err(error) => error,
    };
    match &failed {
        plimsoll_stow::StowError::Unreadable { range, .. } if range.start > offset => {
            let before = (range.start - offset).min(bytes.len() as u64) as usize;
            reader.read_verified_at(&mut bytes[..before], offset).map_err(with_hint)
        }
        _ => Err(with_hint(failed)),
    }
}
