//! What a report is made of: a recording, or summaries of its parts.

use std::fs::File;
use std::io;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use plimsoll_explain::{Frame, Gathered, Options, Recording, SUMMARY_BYTES_MAX};
use plimsoll_guarded::{Directory, Refusal, read_at_most, require_stored};
use plimsoll_record::marker;

use crate::open_input::OpenInput;
use crate::part::Part;

/// Reads a recording, or one part of it, or merges summaries of parts.
pub fn gather(
    sources: Vec<OpenInput>,
    include_runtime: bool,
    part: Option<Part>,
) -> Result<Gathered> {
    let is_alone = sources.len() == 1;
    let mut merged: Option<Gathered> = None;
    for source in sources {
        let (file, path) = match source {
            OpenInput::Directory(directory) if is_alone => {
                let frame = frame(directory, include_runtime)?;
                let gathered = match part {
                    Some(part) => frame.gather(frame.part(part.number, part.parts)),
                    None => frame.gather_all(),
                };
                gathered.require_room()?;
                return Ok(gathered);
            }
            OpenInput::Directory(directory) => bail!(
                "{} is a directory; hint: several paths are merged if all of them are summaries",
                directory.path().display()
            ),
            OpenInput::File(file, path) => (file, path),
        };
        ensure!(part.is_none(), "--part is for a recording, not for summaries");
        let gathered = summary(file, &path, include_runtime)?;
        match &mut merged {
            Some(merged) => {
                merged
                    .merge(gathered)
                    .with_context(|| format!("cannot merge {}", path.display()))?;
            }
            None => merged = Some(gathered),
        }
    }
    merged.context("no recording is given")
}

fn frame(directory: Directory, include_runtime: bool) -> Result<Frame> {
    let (notes, command) = (marker::notes(&directory), marker::command(&directory));
    let recording = Recording::read(directory).map_err(|error| match notes.first() {
        Some(note) => anyhow::anyhow!("nothing was recorded: {note}"),
        None => error.into(),
    })?;
    let recording = recording.with_command(command, notes);
    Ok(Frame::new(recording, &Options { include_runtime, ..Options::default() }))
}

/// A summary of up to this size is read whatever of it is a hole.
const QUICKLY_READ_BYTES: u64 = 1 << 20;

fn summary(file: File, path: &Path, include_runtime: bool) -> Result<Gathered> {
    let failed = || format!("cannot read {}", path.display());
    let bytes = read(file).with_context(failed)?;
    let gathered = Gathered::from_bytes(&bytes).with_context(failed)?;
    ensure!(
        gathered.includes_runtime() || !include_runtime,
        "{} was saved without --include-runtime; hint: save it anew with that option",
        path.display()
    );
    Ok(gathered)
}

fn read(file: File) -> io::Result<Vec<u8>> {
    require_stored(&file, QUICKLY_READ_BYTES)?;
    Ok(read_at_most(SUMMARY_BYTES_MAX, file)?.ok_or(Refusal::TooLarge)?)
}
