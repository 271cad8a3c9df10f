//! A process of a recording, as its file describes it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use plimsoll_trace::layout::{LOSSES, Loss, State, get_text};
use plimsoll_trace::{Chunk, Damage, ProcessFile, ThreadDecoder, TraceError, WritingProcess};

use crate::circumstances::Circumstances;
use crate::clock::FileClock;
use crate::file_table::FileId;
use crate::source::Source;
use crate::unseen::Told;
use plimsoll_stored::{Malformed, Reader, Stored, get_at_most};

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
    /// Returns its name in reports.
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

    const ALL: [ProcessState; 6] = [
        ProcessState::Finished,
        ProcessState::Running,
        ProcessState::Killed,
        ProcessState::Unfinished,
        ProcessState::Executed,
        ProcessState::Stopped,
    ];

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

impl Stored for ProcessState {
    fn put(&self, out: &mut Vec<u8>) {
        (*self as u8).put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        ProcessState::ALL.get(usize::get(from)?).copied().ok_or(Malformed)
    }
}

/// What the file of a process says about it. One that was read from a summary has no chunks.
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
    pub circumstances: Circumstances,
    /// How recording it ended.
    pub state: ProcessState,
    /// System error number that stopped the recording, or 0.
    pub stop_errno: u32,
    /// Events that are missing, by [`Loss`].
    pub lost: [u64; LOSSES],
    /// What of its file could not be read.
    pub damage: Damage,
    pub(crate) told: Told,
    pub(crate) clock: FileClock,
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) files: ProcessFiles,
    pub(crate) source: Option<Source>,
}

/// From a process's own file numbers to those of the recording.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProcessFiles {
    /// Ascending.
    numbers: Vec<(u32, FileId)>,
    /// The least and the largest of the numbers of files that are added up as one.
    folded: Option<(u32, u32)>,
}

impl ProcessFiles {
    /// Takes numbers with what they mean. What a number meant first is what it means.
    pub fn new(named: BTreeMap<u32, FileId>, folded: Option<(u32, u32)>) -> Self {
        ProcessFiles { numbers: named.into_iter().collect(), folded }
    }

    #[inline]
    fn file(&self, number: u32) -> FileId {
        let found = self.numbers.binary_search_by_key(&number, |(number, _)| *number);
        let is_folded =
            || self.folded.is_some_and(|(least, most)| (least..=most).contains(&number));
        match found {
            Ok(at) => self.numbers[at].1,
            Err(_) if is_folded() => FileId::FOLDED,
            Err(_) => FileId::UNKNOWN,
        }
    }
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

    /// Returns the recording's number of a file number of this process.
    #[inline]
    pub fn file(&self, number: u32) -> FileId {
        self.files.file(number)
    }

    /// Opens its file again.
    ///
    /// # Errors
    /// If it is not the same one any more, or was read from a summary.
    pub fn open(&self) -> Result<ProcessFile, TraceError> {
        let missing = || {
            let cause = std::io::Error::from(std::io::ErrorKind::NotFound);
            TraceError::Read { path: self.path.clone(), cause }
        };
        self.source.as_ref().ok_or_else(missing)?.open()
    }

    /// Returns its chunks of events, those of each thread in order.
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

/// As many as fit into the bytes that a file has for them.
const ARGUMENTS_MAX: usize = 1024;

/// What is needed to finish a report; not what is needed to read the process's events.
impl Stored for Process {
    fn put(&self, out: &mut Vec<u8>) {
        self.path.put(out);
        self.pid.put(out);
        self.parent_pid.put(out);
        self.rank.put(out);
        self.ranks.put(out);
        self.host.put(out);
        self.job.put(out);
        self.program.put(out);
        self.arguments.put(out);
        self.directory.put(out);
        self.circumstances.put(out);
        self.state.put(out);
        self.stop_errno.put(out);
        self.lost.put(out);
        let Damage { chunks, bytes, missing_blocks } = self.damage;
        [chunks, bytes, missing_blocks].put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Process {
            path: Stored::get(from)?,
            pid: Stored::get(from)?,
            parent_pid: Stored::get(from)?,
            rank: Stored::get(from)?,
            ranks: Stored::get(from)?,
            host: Stored::get(from)?,
            job: Stored::get(from)?,
            program: Stored::get(from)?,
            arguments: get_at_most(from, ARGUMENTS_MAX)?,
            directory: Stored::get(from)?,
            circumstances: Stored::get(from)?,
            state: Stored::get(from)?,
            stop_errno: Stored::get(from)?,
            lost: Stored::get(from)?,
            damage: {
                let [chunks, bytes, missing_blocks] = Stored::get(from)?;
                Damage { chunks, bytes, missing_blocks }
            },
            told: Told::default(),
            clock: FileClock::default(),
            chunks: Vec::new(),
            files: ProcessFiles::default(),
            source: None,
        })
    }
}

/// What a file and its definitions say about the process.
pub(crate) fn describe(
    file: &ProcessFile,
    chunks: Vec<Chunk>,
    damage: Damage,
    files: ProcessFiles,
    barriers: Vec<(u32, u64)>,
    told: Told,
) -> Process {
    let header = file.header();
    let identity = &header.identity;
    let clock = FileClock {
        boot_id: identity.boot_id,
        start: identity.start,
        latest: header.latest,
        node: file.timeline(),
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
        circumstances: Circumstances::read(&header.circumstances),
        state: ProcessState::of(file),
        stop_errno: header.stop_errno,
        lost: header.lost,
        damage,
        told,
        clock,
        chunks,
        files,
        source: None,
    }
}

/// Returns the end of the last call. A thread's calls end in the order of its chunks, so the last
/// chunk of each thread is enough.
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

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
