//! Parts of an analysis: made by tasks, merged by one.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use plimsoll_analyze::{
    Frame, Merged, Merging, Options, PART_BYTES_MAX, PARTS_MAX, PartialFile, Wanted,
};
use plimsoll_guarded::{Readers, Refusal, read_at_most, require_stored};
use plimsoll_history::{Component, Store};
use plimsoll_report::Record;

use crate::known_costs::KnownCosts;
use crate::new_file::{NewFile, Replacing};
use crate::part::Part;
use crate::parts_directory;

/// Opens the file of a part in a directory.
pub fn create(into: &Path, part: Part, readers: Readers, replacing: &Replacing) -> Result<NewFile> {
    ensure!(part.parts <= PARTS_MAX, "days are divided into {PARTS_MAX} parts at most");
    parts_directory::create(into, part, readers, replacing)
}

/// Works out a part and writes it. Returns which it is.
pub fn work_out(
    store: &Store,
    path: &Path,
    frame: &Frame,
    part: Part,
    costs: &KnownCosts,
    file: NewFile,
) -> Result<Record> {
    let name = path.display().to_string();
    let of_target = |component: &Component| costs.with_source(component);
    let wanted = Wanted { costs: Some(&of_target), jobs: true };
    let place = (part.number, part.parts);
    let partial = PartialFile::read(store, &name, frame, place, &wanted, super::threads())?;
    let bytes = partial.to_bytes();
    ensure!(
        bytes.len() as u64 <= PART_BYTES_MAX,
        "the part would have {} bytes, and none of more than {PART_BYTES_MAX} is merged; hint: divide the history into more parts",
        bytes.len()
    );
    file.write(&bytes)?;
    let days = frame.part(part.number, part.parts);
    let days = match (days.first(), days.last()) {
        (Some(first), Some(last)) if days.len() > 1 => format!("{first} to {last}"),
        (Some(day), _) => day.to_string(),
        _ => "none".to_string(),
    };
    Ok(Record::new()
        .text("part", "part", format!("{}/{}", part.number, part.parts))
        .text("days", "days", days))
}

/// Returns who may read all of some open parts.
pub fn readers(parts: &[(File, PathBuf)]) -> Readers {
    parts.iter().map(|(file, _)| Readers::of(file)).fold(Readers::Everyone, Readers::and)
}

/// Bytes that are read whatever is stored of them: of larger parts that are nearly all hole nothing is read.
const QUICKLY_READ_BYTES: u64 = 1 << 20;

/// Merges open parts: the very files of which it was asked who may read them.
pub fn merge(parts: Vec<(File, PathBuf)>, options: &Options) -> Result<Merged> {
    let failed = |path: &Path| format!("cannot merge {}", path.display());
    let read = |(file, path): &(File, PathBuf)| part(file).with_context(|| failed(path));
    let refused = |place: usize, error| anyhow::Error::new(error).context(failed(&parts[place].1));
    let mut merging = Merging::default();
    merging.add_all(parts.iter().map(read), refused)?;
    Ok(merging.finish(options)?)
}

fn part(file: &File) -> Result<PartialFile> {
    require_stored(file, QUICKLY_READ_BYTES)?;
    let bytes = read_at_most(PART_BYTES_MAX, file)?;
    Ok(PartialFile::from_bytes(&bytes.ok_or(Refusal::TooLarge)?)?)
}
