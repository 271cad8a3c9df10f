//! A directory of recordings, one file per process: who took part, and what numbers mean.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_trace::definition::{Definition, DefinitionKind};
use plimsoll_trace::{ProcessFile, TraceError};

use crate::ExplainError;
use crate::file_table::{FileId, FileNumbers, FileTable};
use crate::process::{Process, ProcessState, describe, text};
use crate::stored::stored;
use crate::unseen::{Missing, Told};

/// Files that a recording lists separately. The rest are added up as one file.
pub const FILES_MAX: usize = 1 << 16;

/// Hints, notes and libraries that are kept; a recording needs few.
const TEXTS_MAX: usize = 4096;

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
    directory, command, launcher_notes, processes, files, hints, notes, mpi_libraries, missing,
    warnings,
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

    /// [`Recording::open`] with another limit for the number of files that are listed separately.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn open_with_limit(directory: &Path, files_max: usize) -> Result<Self, ExplainError> {
        let paths = list(directory)?;
        let mut numbers = FileNumbers::new(files_max);
        let mut recording = Recording {
            directory: directory.to_path_buf(),
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
        let mut empty_files = 0;
        for path in &paths {
            match recording.read(path, &mut numbers) {
                Ok(process) => recording.processes.push(process),
                Err(error) => {
                    empty_files += u64::from(matches!(error, TraceError::Empty { .. }));
                    recording.warnings.push(error.to_string());
                }
            }
        }
        if recording.processes.is_empty() {
            let first = recording.warnings.swap_remove(0);
            let directory = directory.to_path_buf();
            return Err(ExplainError::Unreadable { directory, files: paths.len(), first });
        }
        recording.files = numbers.finish();
        recording.missing = Missing::find(&recording.processes, empty_files);
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

    fn read(&mut self, path: &Path, files: &mut FileNumbers) -> Result<Process, TraceError> {
        let file = ProcessFile::open(path)?;
        let mut numbers: BTreeMap<u32, FileId> = BTreeMap::new();
        let mut barriers = Vec::new();
        let mut hints = Vec::new();
        let mut told = Told {
            children: file.header().unrecorded_children,
            children_errno: file.header().unrecorded_errno,
            ..Told::default()
        };
        let (chunks, damage) = file.scan(|definition| match definition.kind {
            Some(DefinitionKind::File) => {
                let id = files.intern(definition.text);
                numbers.entry(definition.number).or_insert(id);
            }
            Some(DefinitionKind::Hint) if hints.len() < TEXTS_MAX => {
                hints.push((definition.number, text(definition.text)));
            }
            Some(DefinitionKind::Barrier) => {
                barriers.push((definition.number, definition.value));
            }
            Some(DefinitionKind::Program) => told.program(&definition),
            Some(DefinitionKind::Gap) => told.gap(&definition),
            _ => self.remember(&definition),
        })?;
        for (number, hint) in hints {
            let file = numbers.get(&number).copied().unwrap_or(FileId::UNKNOWN);
            let hints = self.hints.entry(file).or_default();
            if hints.len() < TEXTS_MAX {
                hints.insert(hint);
            }
        }
        let files = numbers.into_iter().collect();
        Ok(describe(&file, chunks, damage, files, barriers, told))
    }

    fn remember(&mut self, definition: &Definition<'_>) {
        let texts = match definition.kind {
            Some(DefinitionKind::Note) => &mut self.notes,
            Some(DefinitionKind::MpiLibrary) => &mut self.mpi_libraries,
            _ => return,
        };
        if texts.len() < TEXTS_MAX {
            texts.insert(text(definition.text));
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

/// Returns the `*.rec` files of a directory, by name.
fn list(directory: &Path) -> Result<Vec<PathBuf>, ExplainError> {
    let error = |cause| ExplainError::Directory { directory: directory.to_path_buf(), cause };
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).map_err(error)? {
        let path = entry.map_err(error)?.path();
        if path.extension().is_some_and(|extension| extension == "rec") {
            paths.push(path);
        }
    }
    if paths.is_empty() {
        return Err(ExplainError::Empty { directory: directory.to_path_buf() });
    }
    paths.sort();
    Ok(paths)
}
