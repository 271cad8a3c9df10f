//! Collects what processes left in the spool after a crash, a kill or the loss of a node.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use plimsoll_guarded::{Directory, Draft, copy_stored};
use plimsoll_trace::layout::{FILE_EXTENSION, HEADER_BYTES, State, get_text};
use plimsoll_trace::{ProcessFile, WritingProcess};
use rustix::fs::OFlags;

use crate::nested::Nested;
use crate::{RecordError, directory, marker, spool};

/// What was found in the spool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collected {
    /// Files that are in the recording now.
    pub moved: u64,
    /// Files whose processes still run; they are left alone.
    pub running: u64,
    /// Files of processes on other nodes, or in containers that this one cannot look into, which may still run; they are left alone.
    pub elsewhere: u64,
    /// Files of other recordings in the same spool; they are left alone.
    pub of_others: u64,
}

/// What is known of processes on other nodes, and in containers that this process cannot look into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// They may still write to their files.
    MayRun,
    /// They have ended: somebody who knows has said so.
    HaveEnded,
}

/// A file gets its name moments after it was made: what has none after this time is nobody's. Clocks of nodes differ by less.
const BEGINNING: Duration = Duration::from_secs(3600);

/// Moves the files of ended processes of a recording from this node's spools, and from the given one. A file that its process still writes to would lose the rest.
///
/// # Errors
/// If others could write to the recording or the given spool, or if a file cannot be copied.
pub fn collect(
    recording: &Path,
    spool: Option<&Path>,
    others: Others,
) -> Result<Collected, RecordError> {
    collect_to(&directory::open(recording)?, spool, others)
}

fn collect_to(
    home: &Directory,
    said: Option<&Path>,
    others: Others,
) -> Result<Collected, RecordError> {
    let (mut collected, mut failed) = (Collected::default(), None);
    let id = marker::id(home).unwrap_or_default();
    for spool in spool::existing(home.path(), said)? {
        let names = spool.names().unwrap_or_default();
        // After their names: whoever has made one of these files, and is not found, has ended.
        let nested = OnceCell::new();
        let nested = || nested.get_or_init(Nested::look);
        let is_left = |file: &ProcessFile, owner: u32, collected: &mut Collected| {
            let process = match file.writing_process() {
                WritingProcess::Elsewhere => nested().of_header(file.header(), owner),
                known => known,
            };
            let left = match process {
                WritingProcess::Running => &mut collected.running,
                WritingProcess::Elsewhere if others == Others::MayRun => &mut collected.elsewhere,
                WritingProcess::Gone | WritingProcess::Elsewhere => return false,
            };
            *left += 1;
            true
        };
        for name in names {
            match beginner(&spool, &name, nested) {
                // It was ended before there was anything in its file.
                Some(WritingProcess::Gone) => {
                    let path = spool.path().join(&name);
                    spool.remove_file_if_there(&name).map_err(RecordError::io("remove", &path))?;
                }
                Some(WritingProcess::Running) => collected.running += 1,
                Some(WritingProcess::Elsewhere) => collected.elsewhere += 1,
                None => {}
            }
            if Path::new(&name).extension().is_some_and(|extension| extension == FILE_EXTENSION) {
                let brought = bring_home(&spool, &name, home, &id, &is_left, &mut collected);
                // One that cannot be brought home keeps no other one from coming.
                if let Err(cause) = brought {
                    let (spool, home) = (spool.path().to_path_buf(), home.path().to_path_buf());
                    let error = RecordError::BringHome { name: name.into(), spool, home, cause };
                    failed.get_or_insert(error);
                }
            }
        }
        // Only an empty spool goes, and only one that was made for this.
        if spool::is_made_here(spool.path()) {
            let _ = fs::remove_dir(spool.path());
        }
    }
    failed.map_or(Ok(collected), Err)
}

/// How long to wait for the end of a program's children, and how often to look at them.
const GRACE: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(20);

/// The same when the program has ended. Children that it has just killed may take a moment to end;
/// others that outlive it are left alone.
pub(crate) fn collect_soon(home: &Directory, spool: &Path) -> Result<Collected, RecordError> {
    let began = Instant::now();
    loop {
        let collected = collect_to(home, Some(spool), Others::MayRun)?;
        if collected.running == 0 || began.elapsed() >= GRACE {
            return Ok(collected);
        }
        std::thread::sleep(LOOK);
    }
}

/// Returns what is known of the process whose file does not have its final name yet (HOST-PID-TIME.rec.new).
fn beginner<'a>(
    spool: &Directory,
    name: &OsStr,
    nested: impl Fn() -> &'a Nested,
) -> Option<WritingProcess> {
    let text = name.to_string_lossy();
    let (host_and_pid, _) = text.strip_suffix(".rec.new")?.rsplit_once('-')?;
    let (host, pid) = host_and_pid.rsplit_once('-')?;
    let pid = pid.parse().ok()?;
    let facts = spool.facts_of(name).ok()?;
    let modified = UNIX_EPOCH + Duration::from_secs(u64::try_from(facts.st_mtime).unwrap_or(0));
    if SystemTime::now().duration_since(modified).is_ok_and(|age| age > BEGINNING) {
        return Some(WritingProcess::Gone);
    }
    if host.as_bytes() != rustix::system::uname().nodename().to_bytes() {
        return Some(WritingProcess::Elsewhere);
    }
    Some(match WritingProcess::of_number(pid) {
        WritingProcess::Gone => nested().of_number(pid, facts.st_uid),
        known => known,
    })
}

/// Copies a file of the recording with this id and removes the original, so that a kill at any moment leaves a complete one in one of the two places.
fn bring_home(
    spool: &Directory,
    name: &OsStr,
    home: &Directory,
    id: &str,
    is_left: &impl Fn(&ProcessFile, u32, &mut Collected) -> bool,
    collected: &mut Collected,
) -> io::Result<()> {
    // A file that is not a recording's is not ours to move; a pipe or a link is nobody's recording.
    let Ok(from) = spool.open_file(name, OFlags::RDONLY) else { return Ok(()) };
    let by_descriptor = format!("/proc/self/fd/{}", from.as_raw_fd());
    let Ok(file) = ProcessFile::open(Path::new(&by_descriptor)) else { return Ok(()) };
    // Several recordings may have one spool, and one of before may have left something there. Those that were asked for by variables alone have
    // no id.
    let recording = get_text(&file.header().recording);
    if !recording.is_empty() && recording != id.as_bytes() {
        collected.of_others += 1;
        return Ok(());
    }
    let ends = [State::Finished as u32, State::Executed as u32];
    let has_ended = ends.contains(&file.header().state);
    if !has_ended && is_left(&file, from.metadata()?.uid(), collected) {
        return Ok(());
    }
    let part = [name, OsStr::new(".part")].join(OsStr::new(""));
    // Whoever the process became may have given it other rights.
    let mode = from.metadata()?.mode() & 0o644;
    let to = Draft::create_as(home, part, name, mode)?;
    // Not the room that was allocated ahead.
    let used = file.header().expected_bytes().saturating_add(HEADER_BYTES as u64);
    copy_stored(&from, to.file(), used)?;
    to.publish()?;
    spool.remove_file(name)?;
    collected.moved += 1;
    Ok(())
}
