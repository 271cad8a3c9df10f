//! Bringing home what processes left in the spool: after a crash, a kill or a lost node.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use plimsoll_report::{Number, Record, Unit};
use plimsoll_trace::layout::State;
use plimsoll_trace::{ProcessFile, WritingProcess};

use super::spool;
use crate::output::Output;

/// What was found in the spool.
#[derive(Default)]
pub struct Collected {
    /// Files that are in the recording now.
    pub moved: u64,
    /// Files whose processes still run; they are left alone.
    pub running: u64,
}

const MOVED: Number = Number::new(
    "moved",
    "files brought home",
    Unit::Count,
    "Files of processes that had ended without bringing their recording home.",
    "the spool of this node",
);
const RUNNING: Number = Number::new(
    "running",
    "still running",
    Unit::Count,
    "Files of processes that still run; they bring their recording home themselves.",
    "the spool of this node",
);

/// Everything that this command prints.
pub const NUMBERS: &[&Number] = &[&MOVED, &RUNNING];

/// Moves the files of ended processes of this recording from this node's spool: the one that
/// is said, and those that `record` chooses by itself.
pub fn collect(directory: &Path, said: Option<&Path>) -> Result<Collected> {
    let mut collected = Collected::default();
    let mut places = spool::possible(directory);
    places.extend(said.map(Path::to_path_buf));
    places.sort();
    places.dedup();
    for place in places {
        let Ok(entries) = fs::read_dir(&place) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.extension().is_some_and(|extension| extension == "rec") {
                bring_home(&path, directory, &mut collected)?;
            }
        }
        // Only an empty spool goes.
        let _ = fs::remove_dir(&place);
    }
    Ok(collected)
}

/// How long the end of a program's children is waited for, and how often they are looked at.
const GRACE: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(20);

/// The same when the program has ended. Children that it has just killed may take a moment to end;
/// others that outlive it are left alone.
pub fn collect_soon(directory: &Path, spool: &Path) -> Result<()> {
    let began = Instant::now();
    while collect(directory, Some(spool))?.running > 0 && began.elapsed() < GRACE {
        std::thread::sleep(LOOK);
    }
    Ok(())
}

fn bring_home(path: &Path, directory: &Path, collected: &mut Collected) -> Result<()> {
    // A file that is not a recording's is not ours to move.
    let Ok(file) = ProcessFile::open(path) else { return Ok(()) };
    let ends = [State::Finished as u32, State::Executed as u32];
    let has_ended = ends.contains(&file.header().state);
    if !has_ended && file.writing_process() == WritingProcess::Running {
        collected.running += 1;
        return Ok(());
    }
    let name = path.file_name().unwrap_or_default();
    let mut part = directory.join(name).into_os_string();
    part.push(".part");
    let part = PathBuf::from(part);
    fs::copy(path, &part)
        .and_then(|_| fs::rename(&part, directory.join(name)))
        .and_then(|()| fs::remove_file(path))
        .with_context(|| {
            format!("cannot bring {} home to {}", path.display(), directory.display())
        })?;
    collected.moved += 1;
    Ok(())
}

/// Prints what was done.
pub fn print(collected: &Collected, directory: &Path, output: Output) -> Result<()> {
    let record = Record::new().number(&MOVED, collected.moved).number(&RUNNING, collected.running);
    output.print("record.collect", &format!("recording {}", directory.display()), &record)
}
