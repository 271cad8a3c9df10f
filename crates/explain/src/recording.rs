//! A directory of recordings, one file per process: who took part, and what numbers mean.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_guarded::{Directory, Readers};
use plimsoll_report::words::{count, count_is};
use plimsoll_trace::definition::{Definition, DefinitionKind};
use plimsoll_trace::layout::FILE_EXTENSION;
use plimsoll_trace::{ProcessFile, TraceError};

use crate::ExplainError;
use crate::file_table::{FILES_MAX, FileId, FileNumbers, FileTable};
use crate::process::{Process, ProcessFiles, ProcessState, describe, text};
use crate::room::{PROCESSES_MAX, Room};
use crate::source::Source;
use crate::unseen::{Missing, Told};
use plimsoll_stored::stored;

/// Hints, notes and libraries that are kept; a recording needs few.
const TEXTS_MAX: usize = 4096;

/// Hints of one process that are remembered.
const HINTS_MAX: usize = 1024;

/// Barriers of one process that are remembered; two are used.
const BARRIERS_MAX: usize = 64;

/// Files that cannot be read and are named.
const UNREADABLE_NAMED: usize = 1000;

/// Those and the rest, which says what else is missing.
const WARNINGS_MAX: usize = UNREADABLE_NAMED + 16;

/// A recording: its processes, by rank and then by pid, and what they share.
#[derive(Debug, Clone)]
pub struct Recording {
    directory: PathBuf,
    command: Option<String>,
    launcher_notes: Vec<String>,
    processes: Vec<Process>,
    files: FileTable,
    hints: BTreeMap<FileId, BTreeSet<String>>,
    notes: BTreeSet<String>,
    mpi_libraries: BTreeSet<String>,
    missing: Missing,
    warnings: Vec<String>,
}

stored! { Recording {
    directory, command, launcher_notes: TEXTS_MAX, processes: PROCESSES_MAX, files,
    hints: FILES_MAX + 1, notes: TEXTS_MAX, mpi_libraries: TEXTS_MAX, missing, warnings: WARNINGS_MAX,
} }

impl Recording {
    /// Opens a directory of `*.rec` files and reads what they say about their processes. A file
    /// that cannot be read is a warning; the rest is there.
    ///
    /// # Errors
    /// When the directory cannot be listed, has no such file, or none that can be read.
    pub fn open(directory: &Path) -> Result<Self, ExplainError> {
        Recording::open_with_limit(directory, FILES_MAX)
    }

    /// [`Recording::open`] for a directory that is open: whatever has its name later is not looked at.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn read(directory: Directory) -> Result<Self, ExplainError> {
        Recording::read_with_limit(directory, FILES_MAX)
    }

    /// [`Recording::open`] with another limit for the number of files that are listed separately.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn open_with_limit(directory: &Path, files_max: usize) -> Result<Self, ExplainError> {
        let opened = Directory::open(directory);
        let error = |cause| ExplainError::Directory { directory: directory.to_path_buf(), cause };
        Recording::read_with_limit(opened.map_err(error)?, files_max)
    }

    /// [`Recording::read`] with another limit for the number of files that are listed separately.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn read_with_limit(directory: Directory, files_max: usize) -> Result<Self, ExplainError> {
        let (names, directory) = (list(&directory)?, Arc::new(directory));
        let mut room = Room::default();
        let mut numbers = FileNumbers::new(files_max);
        let mut recording = Recording {
            directory: directory.path().to_path_buf(),
            command: None,
            launcher_notes: Vec::new(),
            processes: Vec::new(),
            files: FileNumbers::new(0).finish(),
            hints: BTreeMap::new(),
            notes: BTreeSet::new(),
            mpi_libraries: BTreeSet::new(),
            missing: Missing::default(),
            warnings: Vec::new(),
        };
        let (mut empty_files, mut unreadable, mut is_all) = (0, 0usize, true);
        let (mut with_names, mut same_files) = (BTreeSet::new(), 0);
        for name in &names {
            let found = Source::find(&directory, name).map(|(source, file)| {
                let is_new = source.shared_identity().is_none_or(|file| with_names.insert(file));
                is_new.then_some((source, file))
            });
            let read = match found {
                Ok(Some((source, file))) => {
                    recording.read_process(source, &file, &mut numbers, &mut room)
                }
                Ok(None) => {
                    same_files += 1;
                    continue;
                }
                Err(error) => Err(error),
            };
            match read {
                Ok(process) if room.take_process(&process) => recording.processes.push(process),
                Ok(_) => is_all = false,
                Err(error) => {
                    empty_files += u64::from(matches!(error, TraceError::Empty { .. }));
                    unreadable += 1;
                    if unreadable <= UNREADABLE_NAMED {
                        recording.warnings.push(error.to_string());
                    }
                }
            }
        }
        if recording.processes.is_empty() {
            let first = recording.warnings.swap_remove(0);
            let directory = directory.path().to_path_buf();
            return Err(ExplainError::Unreadable { directory, files: names.len(), first });
        }
        if let Some(more) = unreadable.checked_sub(UNREADABLE_NAMED).filter(|more| *more > 0) {
            recording.warnings.push(format!("{more} more files cannot be read"));
        }
        if same_files > 0 {
            let files = count_is(same_files, "file");
            recording
                .warnings
                .push(format!("{files} left out: they have another name, which was read"));
        }
        recording.warnings.extend(room.warnings());
        recording.files = numbers.finish();
        recording.missing = Missing::find(&recording.processes, empty_files, is_all);
        recording.warnings.extend(recording.missing.warnings());
        recording.warnings.extend(recording.files.folded_warning());
        recording.warnings.extend(still_running(&recording.processes));
        recording.processes.sort_by(|a, b| {
            let key = |p: &Process| (p.rank.is_none(), p.rank, p.pid, p.clock.start.monotonic_ns);
            key(a).cmp(&key(b)).then_with(|| a.path.cmp(&b.path))
        });
        Ok(recording)
    }

    /// Adds what whoever started the recording says about it.
    pub fn with_command(mut self, command: Option<String>, notes: Vec<String>) -> Self {
        self.command = command;
        self.launcher_notes = notes;
        self.launcher_notes.truncate(TEXTS_MAX);
        self
    }

    /// Returns the command that was recorded, where that is known.
    pub fn command(&self) -> Option<&str> {
        self.command.as_deref()
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns where it is from the root, or where it is if that cannot be told without asking another user's file system.
    pub fn whole_directory(&self) -> PathBuf {
        let found = Directory::hold_unserved_with_path(&self.directory);
        found.map_or_else(|_| self.directory.clone(), |(_, real)| real)
    }

    /// Returns its processes, by rank and then by pid.
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// Returns its files.
    pub fn files(&self) -> &FileTable {
        &self.files
    }

    /// MPI hints ("key=value") that were set on a file.
    pub fn hints(&self, file: FileId) -> impl Iterator<Item = &str> {
        self.hints.get(&file).into_iter().flatten().map(String::as_str)
    }

    /// What the recorder wants the reader to know.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        self.launcher_notes.iter().chain(&self.notes).map(String::as_str)
    }

    /// Returns this many of them at most, and says how many more there are.
    pub fn first_notes(&self, most: usize) -> impl Iterator<Item = String> {
        let more = self.notes().count().saturating_sub(most);
        let rest = (more > 0).then(|| format!("and {}", count(more as u64, "more note")));
        self.notes().take(most).map(str::to_string).chain(rest)
    }

    /// MPI libraries that were used.
    pub fn mpi_libraries(&self) -> impl Iterator<Item = &str> {
        self.mpi_libraries.iter().map(String::as_str)
    }

    /// Programs, and parts of what programs did, that are known to be missing.
    pub fn missing(&self) -> &Missing {
        &self.missing
    }

    /// What is missing or incomplete: files that could not be read, with the reason; programs that
    /// could not be recorded; files that are added up; processes that still run.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Events that are missing, over all processes.
    pub fn lost_events(&self) -> u64 {
        self.processes.iter().fold(0, |sum, process| sum.saturating_add(process.lost_events()))
    }

    /// Returns who may read all that was read.
    pub fn readers(&self) -> Readers {
        let sources = self.processes.iter().filter_map(|process| process.source.as_ref());
        sources.fold(Readers::Everyone, |all, source| all.and(source.readers()))
    }

    /// True when its texts are no more than those that are read of the files of processes.
    pub(crate) fn has_room_for_texts(&self) -> bool {
        let mut room = Room::default();
        let hints = self.hints.values();
        let mut texts = hints.clone().flatten().chain(&self.notes).chain(&self.mpi_libraries);
        hints.into_iter().all(|hints| hints.len() <= TEXTS_MAX)
            && texts.all(|text| room.take_text(text.len()))
    }

    fn read_process(
        &mut self,
        source: Source,
        file: &ProcessFile,
        files: &mut FileNumbers,
        room: &mut Room,
    ) -> Result<Process, TraceError> {
        let mut numbers: BTreeMap<u32, FileId> = BTreeMap::new();
        let mut folded: Option<(u32, u32)> = None;
        let mut barriers = Vec::new();
        let mut hints = BTreeSet::new();
        let mut told = Told {
            children: file.header().unrecorded_children,
            children_errno: file.header().unrecorded_errno,
            ..Told::default()
        };
        let chunks_max = room.chunks();
        let (mut chunks, damage) =
            file.scan_at_most(chunks_max, |definition| match definition.kind {
                Some(DefinitionKind::File) => {
                    let (number, id) = (definition.number, files.intern(definition.text));
                    let is_known = numbers.contains_key(&number);
                    if !is_known && (id == FileId::FOLDED || !room.take_number()) {
                        let (least, most) = folded.unwrap_or((number, number));
                        folded = Some((least.min(number), most.max(number)));
                    } else if !is_known {
                        numbers.insert(number, id);
                    }
                }
                Some(DefinitionKind::Hint) if hints.len() < HINTS_MAX => {
                    hints.insert((definition.number, text(definition.text)));
                }
                Some(DefinitionKind::Barrier) if barriers.len() < BARRIERS_MAX => {
                    barriers.push((definition.number, definition.value));
                }
                Some(DefinitionKind::Program) => told.program(&definition, room),
                Some(DefinitionKind::Gap) => told.gap(&definition, room),
                _ => self.remember(&definition, room),
            })?;
        room.take_chunks(&mut chunks);
        for (number, hint) in hints {
            let file = numbers.get(&number).copied().unwrap_or(FileId::UNKNOWN);
            let known = self.hints.get(&file);
            let is_new = known.is_none_or(|it| it.len() < TEXTS_MAX && !it.contains(&hint));
            if is_new && room.take_text(hint.len()) {
                self.hints.entry(file).or_default().insert(hint);
            }
        }
        let files = ProcessFiles::new(numbers, folded);
        let process = describe(file, chunks, damage, files, barriers, told);
        Ok(Process { source: Some(source), ..process })
    }

    fn remember(&mut self, definition: &Definition<'_>, room: &mut Room) {
        let texts = match definition.kind {
            Some(DefinitionKind::Note) => &mut self.notes,
            Some(DefinitionKind::MpiLibrary) => &mut self.mpi_libraries,
            _ => return,
        };
        let text = text(definition.text);
        if texts.len() < TEXTS_MAX && !texts.contains(&text) && room.take_text(text.len()) {
            texts.insert(text);
        }
    }
}

/// What a reader has to know about a recording that has not ended.
fn still_running(processes: &[Process]) -> Option<String> {
    let count = |state| processes.iter().filter(|process| process.state == state).count();
    match (count(ProcessState::Running), processes.len()) {
        (0, _) => None,
        (running, all) => Some(format!(
            "{running} of {all} processes still ran when this was read: what they have done since then is missing"
        )),
    }
}

/// Returns the names of the `*.rec` files of a directory, sorted.
fn list(directory: &Directory) -> Result<Vec<OsString>, ExplainError> {
    let path = || directory.path().to_path_buf();
    let error = |cause| ExplainError::Directory { directory: path(), cause };
    let mut names = directory.names().map_err(error)?;
    names.retain(|name| is_process_file(Path::new(name)));
    if names.is_empty() {
        return Err(ExplainError::Empty { directory: path() });
    }
    Ok(names)
}

/// Returns true for the name of a file of a recording, which holds what a process did.
pub fn is_process_file(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == FILE_EXTENSION)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::recording;

    #[test]
    fn a_summary_has_no_more_texts_than_a_recording() {
        let (_directory, recording) = recording(1);
        let with_hints = |count: usize| {
            let hints = (0..count).map(|it| it.to_string()).collect();
            Recording { hints: BTreeMap::from([(FileId(0), hints)]), ..recording.clone() }
        };
        assert!(with_hints(TEXTS_MAX).has_room_for_texts());
        assert!(!with_hints(TEXTS_MAX + 1).has_room_for_texts());
        let notes = BTreeSet::from(["a".repeat(64 << 20)]);
        assert!(!Recording { notes, ..recording }.has_room_for_texts());
    }
}
