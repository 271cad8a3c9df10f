//! A directory of recordings, one file per process: who took part, and what numbers mean.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_trace::definition::{Definition, DefinitionKind};
use plimsoll_trace::layout::{LOSSES, Loss, State, get_text};
use plimsoll_trace::{Chunk, Damage, ProcessFile, ThreadDecoder, TraceError, WritingProcess};

use crate::ExplainError;
use crate::clock::ClockSource;
use crate::file_table::{FileId, FileTable};
use crate::setting::Setting;
use crate::unseen::{Missing, Told};

/// Files that a recording tells apart; more are added up as one.
pub const FILES_MAX: usize = 1 << 16;

/// Hints, notes and libraries that are kept; a recording needs few.
const TEXTS_MAX: usize = 4096;

/// How recording a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessState {
    /// The process ended and recording with it.
    Finished,
    /// The process runs and may add to its recording.
    Running,
    /// The process is gone, and nothing could say how it ended: it was killed.
    Killed,
    /// The process runs or was killed: it is, or was, on another node.
    Unfinished,
    /// It replaced itself by another program, which has a file of its own.
    Executed,
    /// Recording stopped before the process did.
    Stopped,
}

impl ProcessState {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            ProcessState::Finished => "finished",
            ProcessState::Running => "running",
            ProcessState::Killed => "killed",
            ProcessState::Unfinished => "running or killed",
            ProcessState::Executed => "executed",
            ProcessState::Stopped => "stopped",
        }
    }

    fn of(file: &ProcessFile) -> Self {
        match file.header().state {
            n if n == State::Finished as u32 => ProcessState::Finished,
            n if n == State::Executed as u32 => ProcessState::Executed,
            n if n == State::Stopped as u32 => ProcessState::Stopped,
            _ => match file.writing_process() {
                WritingProcess::Running => ProcessState::Running,
                WritingProcess::Gone => ProcessState::Killed,
                WritingProcess::Elsewhere => ProcessState::Unfinished,
            },
        }
    }
}

/// What the file of a process says about it.
#[derive(Debug, Clone)]
pub struct Process {
    /// Its file.
    pub path: PathBuf,
    /// Process id.
    pub pid: u32,
    /// Its parent's.
    pub parent_pid: u32,
    /// Rank in MPI_COMM_WORLD, if it is an MPI program.
    pub rank: Option<u32>,
    /// Size of MPI_COMM_WORLD; 0 without MPI.
    pub ranks: u32,
    /// The node.
    pub host: String,
    /// The scheduler's job; empty if there is none.
    pub job: String,
    /// The program's path.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Where it was started.
    pub directory: String,
    /// Who ran it, and on what.
    pub setting: Setting,
    /// How recording it ended.
    pub state: ProcessState,
    /// System error number that stopped the recording, or 0.
    pub stop_errno: u32,
    /// Events that are missing, by [`Loss`].
    pub lost: [u64; LOSSES],
    /// What of its file could not be read.
    pub damage: Damage,
    pub(crate) told: Told,
    pub(crate) clock: ClockSource,
    pub(crate) chunks: Vec<Chunk>,
    /// From the process's own file numbers to those of the recording, ascending.
    pub(crate) files: Vec<(u32, FileId)>,
}

impl Process {
    /// Events that are missing, for all reasons.
    pub fn lost_events(&self) -> u64 {
        self.lost.iter().fold(0, |sum, lost| sum.saturating_add(*lost))
    }

    /// Events that are missing for one reason.
    pub fn lost_by(&self, loss: Loss) -> u64 {
        self.lost[loss as usize]
    }

    /// Its chunks of events, those of each thread in order.
    pub fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// "rank 3", or "process 1234" without MPI.
    pub fn label(&self) -> String {
        match self.rank {
            Some(rank) => format!("rank {rank}"),
            None => format!("process {}", self.pid),
        }
    }
}

/// A recording: its processes, by rank and then by pid, and what they share.
#[derive(Debug, Clone)]
pub struct Recording {
    directory: PathBuf,
    processes: Vec<Process>,
    files: FileTable,
    hints: BTreeMap<FileId, BTreeSet<String>>,
    notes: BTreeSet<String>,
    mpi_libraries: BTreeSet<String>,
    missing: Missing,
    warnings: Vec<String>,
}

impl Recording {
    /// Opens a directory of `*.rec` files and reads what they say about their processes. A file
    /// that cannot be read is a warning; the rest is there.
    ///
    /// # Errors
    /// When the directory cannot be listed, has no such file, or none that can be read.
    pub fn open(directory: &Path) -> Result<Self, ExplainError> {
        Recording::open_with_limit(directory, FILES_MAX)
    }

    /// [`Recording::open`] with another limit for the files that are told apart.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn open_with_limit(directory: &Path, files_max: usize) -> Result<Self, ExplainError> {
        let paths = list(directory)?;
        let mut recording = Recording {
            directory: directory.to_path_buf(),
            processes: Vec::new(),
            files: FileTable::new(files_max),
            hints: BTreeMap::new(),
            notes: BTreeSet::new(),
            mpi_libraries: BTreeSet::new(),
            missing: Missing::default(),
            warnings: Vec::new(),
        };
        let mut empty_files = 0;
        for path in &paths {
            match recording.read(path) {
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

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Its processes, by rank and then by pid.
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// Its files.
    pub fn files(&self) -> &FileTable {
        &self.files
    }

    /// MPI hints ("key=value") that were set on a file.
    pub fn hints(&self, file: FileId) -> impl Iterator<Item = &str> {
        self.hints.get(&file).into_iter().flatten().map(String::as_str)
    }

    /// What the recorder wants the reader to know.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().map(String::as_str)
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

    fn read(&mut self, path: &Path) -> Result<Process, TraceError> {
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
                let id = self.files.intern(definition.text);
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

/// What a reader has to know of a recording that is not over.
fn still_running(processes: &[Process]) -> Option<String> {
    let count = |state| processes.iter().filter(|process| process.state == state).count();
    match (count(ProcessState::Running), processes.len()) {
        (0, _) => None,
        (running, all) => Some(format!(
            "{running} of {all} processes still ran when this was read: what they do since is missing"
        )),
    }
}

/// The `*.rec` files of a directory, by name.
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

fn describe(
    file: &ProcessFile,
    chunks: Vec<Chunk>,
    damage: Damage,
    files: Vec<(u32, FileId)>,
    barriers: Vec<(u32, u64)>,
    told: Told,
) -> Process {
    let header = file.header();
    let identity = &header.identity;
    let clock = ClockSource {
        boot_id: identity.boot_id,
        start: identity.start,
        latest: header.latest,
        nanos_per_tick: file.timeline().nanos(1),
        first_ticks: chunks.iter().map(|chunk| chunk.base_ticks).min(),
        last_ticks: last_ticks(file, &chunks),
        barriers,
    };
    Process {
        path: file.path().to_path_buf(),
        pid: identity.pid,
        parent_pid: identity.parent_pid,
        rank: u32::try_from(header.rank).ok(),
        ranks: header.ranks,
        host: text(get_text(&identity.host)),
        job: text(get_text(&identity.job)),
        program: text(get_text(&identity.program)),
        arguments: arguments(get_text(&identity.arguments)),
        directory: text(get_text(&identity.directory)),
        setting: Setting::read(&header.setting),
        state: ProcessState::of(file),
        stop_errno: header.stop_errno,
        lost: header.lost,
        damage,
        told,
        clock,
        chunks,
        files,
    }
}

/// The end of the last call. A thread's calls end in the order of its chunks, so the last chunk
/// of each thread is enough.
fn last_ticks(file: &ProcessFile, chunks: &[Chunk]) -> Option<u64> {
    let mut last = None;
    let mut buffer = Vec::new();
    for (index, chunk) in chunks.iter().enumerate() {
        let is_last = chunks.get(index + 1).is_none_or(|next| next.thread != chunk.thread);
        if !is_last {
            continue;
        }
        let Ok(payload) = file.payload(chunk, &mut buffer) else { continue };
        let mut end = None;
        ThreadDecoder::new().decode(chunk.base_ticks, payload, |event| end = Some(event.end));
        last = last.max(end);
    }
    last
}

fn arguments(bytes: &[u8]) -> Vec<String> {
    if bytes.is_empty() {
        return Vec::new();
    }
    bytes.split(|byte| *byte == 0).map(text).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
