//! The result of an analysis.

use plimsoll_trace::{Layer, Op};

use crate::access::AccessCounts;
use crate::activity::Timeline;
use crate::bandwidth::{Bandwidth, Headline};
use crate::circumstances::Circumstances;
use crate::common_sizes::CommonSizes;
use crate::extents::RepeatedBytes;
use crate::file_table::FileId;
use crate::file_totals::OffsetSample;
use crate::histogram::{JumpHistogram, SizeHistogram, Volume};
use crate::io_share::IoShare;
use crate::mpi_waiting::MpiWaiting;
use crate::nesting::{MpiCall, MpiTime};
use crate::placement::Placement;
use crate::process::ProcessState;
use crate::process_totals::OwnCalls;
use crate::runtime::RuntimeKind;
use crate::serialisation::Serialisation;
use crate::sieving::Sieving;
use crate::stragglers::Stragglers;
use crate::timing::{InFlight, Phase, Rates};
use crate::totals::{Direction, OpTable};
use crate::unseen::Missing;

/// Everything that is known of a recording. Times count from its beginning. Files of the runtime
/// are in [`Analysis::runtime`] and, unless [`crate::Options::include_runtime`] says so, nowhere
/// else.
#[derive(Debug, Clone)]
pub struct Analysis {
    /// Wall time from the first process's start to the last known moment of any process.
    pub span_seconds: f64,
    /// CLOCK_REALTIME at the beginning, in nanoseconds since 1970.
    pub start_realtime_ns: i64,
    /// How far clocks of different nodes may be apart after alignment: half the range of the
    /// moments at which ranks of one node left one barrier, the largest of all nodes and
    /// barriers. 0 with one node, `None` when it cannot be known.
    pub clock_error_seconds: Option<f64>,
    /// Width of the bins behind perceived bandwidths, phases and calls in flight: between 1/131072
    /// and 1/65536 of the span, for single files 64 times as wide.
    pub resolution_seconds: f64,
    /// Events that were read.
    pub events: u64,
    /// Events that the recorder says are missing.
    pub lost_events: u64,
    /// Events whose time lies outside the span, which is damage; they count at its edge.
    pub events_outside_span: u64,
    /// Calls, errors, bytes and durations by operation, layer by layer.
    pub totals: OpTable,
    /// Calls of the programs themselves, added up over processes.
    pub own: OwnCalls,
    /// What part of their lives processes spent inside I/O calls.
    pub io_share: IoShare,
    /// How fast programs read, and how fast they write.
    pub headlines: [Headline; 2],
    /// Bandwidths by layer and direction.
    pub bandwidths: Vec<Bandwidth>,
    /// Files by time in calls of the programs themselves, most first.
    pub files: Vec<FileAnalysis>,
    /// Files beyond the limit of files that are listed separately; their calls are those of the
    /// file "(other files)".
    pub folded_files: u64,
    /// Files that have details.
    pub detailed_files: usize,
    /// Processes, in the recording's order: by rank, then by pid.
    pub processes: Vec<ProcessAnalysis>,
    /// Nodes by name.
    pub nodes: Vec<NodeAnalysis>,
    /// Request sizes by layer and direction, for those with requests.
    pub request_sizes: Vec<RequestSizes>,
    /// Files of the runtime, added up by what they are for.
    pub runtime: Vec<RuntimeSummary>,
    /// Files of the runtime, most time first.
    pub runtime_files: Vec<RuntimeFile>,
    /// What containers did to their logs within calls of the program, which is in nothing else.
    pub logs: Vec<LogsOfTarget>,
    /// Jumps between requests, reads and writes.
    pub jumps: [JumpHistogram; 2],
    /// Patterns and alignment over all files, reads and writes.
    pub access: [AccessCounts; 2],
    /// Bytes touched again, over files with details, reads and writes.
    pub repeated: [RepeatedBytes; 2],
    /// Bytes that the same process both read and wrote in the same file.
    pub read_and_written_bytes: u64,
    /// I/O phases.
    pub phases: Vec<Phase>,
    /// Where the time of all MPI-IO calls goes.
    pub mpi_time: MpiTime,
    /// The same by operation.
    pub mpi_time_by_op: Vec<(Op, MpiTime)>,
    /// Time inside MPI-IO that no call below it explains.
    pub mpi_waiting: MpiWaiting,
    /// The slowest MPI data calls with what happened inside them, slowest first.
    pub slow_calls: Vec<MpiCall>,
    /// Data sieving over all files.
    pub sieving: Sieving,
    /// Calls in flight over time.
    pub in_flight: Vec<InFlight>,
    /// Bytes and calls over time.
    pub rates: Rates,
    /// What each process does over time.
    pub timeline: Timeline,
    /// I/O times of ranks; `None` with fewer than six, or when most are equal.
    pub stragglers: Option<Stragglers>,
    /// Names, attributes, directories and durability.
    pub metadata: MetadataSummary,
    /// A sample of durations by operation.
    pub durations: Vec<DurationSample>,
    /// Where files lie; nothing is known of it unless somebody who knows the site says so.
    pub placement: Placement,
    /// Processes that could not be recorded.
    pub missing: Missing,
    /// What could not be read, and what the reader has to know.
    pub warnings: Vec<String>,
}

impl Analysis {
    /// Returns the bandwidth of a layer, whoever makes its calls.
    pub fn bandwidth(&self, layer: Layer, direction: Direction) -> Option<&Bandwidth> {
        find_bandwidth(&self.bandwidths, layer, direction)
    }

    /// Returns how fast programs read, or write.
    pub fn headline(&self, direction: Direction) -> &Headline {
        &self.headlines[direction as usize]
    }

    /// Returns how many files the program used, including those that are not listed separately.
    pub fn files_used(&self) -> u64 {
        let listed = self.files.iter().filter(|file| file.id > FileId::FOLDED).count();
        self.folded_files.saturating_add(listed as u64)
    }

    /// Processes that made any call. One that replaced itself by another program goes on as
    /// that one, and counts once.
    pub fn active_processes(&self) -> usize {
        let goes_on = |it: &ProcessAnalysis| it.state == ProcessState::Executed;
        self.processes.iter().filter(|it| it.events > 0 && !goes_on(it)).count()
    }
}

fn find_bandwidth(
    bandwidths: &[Bandwidth],
    layer: Layer,
    direction: Direction,
) -> Option<&Bandwidth> {
    bandwidths.iter().find(|b| b.layer == layer && b.direction == direction)
}

/// What is known of a file.
#[derive(Debug, Clone)]
pub struct FileAnalysis {
    /// Its number in the recording.
    pub id: FileId,
    /// Its path.
    pub path: String,
    /// MPI hints that were set on it.
    pub hints: Vec<String>,
    /// Calls by operation.
    pub ops: OpTable,
    /// Calls of the programs themselves, over all processes.
    pub own: OwnCalls,
    /// Processes that made a call on it.
    pub processes: u32,
    /// Processes that read it, on any layer.
    pub readers: u32,
    /// Processes that wrote it, on any layer.
    pub writers: u32,
    /// Processes that read or wrote it.
    pub users: u32,
    /// Processes that wrote it by POSIX or stdio calls.
    pub direct_writers: u32,
    /// How fast it is read, and how fast it is written.
    pub headlines: [Headline; 2],
    /// Bandwidths by layer and direction.
    pub bandwidths: Vec<Bandwidth>,
    /// Patterns and alignment, reads and writes.
    pub access: [AccessCounts; 2],
    /// Independent MPI writes.
    pub independent_writes: Volume,
    /// POSIX writes of processes that opened it with `O_SYNC` or `O_DSYNC`: each waits until its
    /// data is on storage.
    pub forced_writes: Volume,
    /// Collective MPI calls, reads and writes.
    pub collective: [Volume; 2],
    /// Data sieving in MPI writes.
    pub sieving: Sieving,
    /// Histograms, samples and more, of files that matter most.
    pub detail: Option<FileDetails>,
}

impl FileAnalysis {
    /// True when more than one process reads or writes it, or, where none does, uses it in
    /// another way. One process that reads what it wrote itself shares it with nobody.
    pub fn is_shared(&self) -> bool {
        match self.users {
            0 => self.processes > 1,
            users => users > 1,
        }
    }

    /// Returns the bandwidth of a layer, whoever makes its calls.
    pub fn bandwidth(&self, layer: Layer, direction: Direction) -> Option<&Bandwidth> {
        find_bandwidth(&self.bandwidths, layer, direction)
    }
}

/// What is known of the files that matter most.
#[derive(Debug, Clone)]
pub struct FileDetails {
    /// Request sizes by layer and direction.
    pub request_sizes: Vec<RequestSizes>,
    /// Jumps between requests, reads and writes.
    pub jumps: [JumpHistogram; 2],
    /// Bytes that the same process touched again, reads and writes.
    pub repeated: [RepeatedBytes; 2],
    /// Bytes that the same process both read and wrote.
    pub read_and_written_bytes: u64,
    /// A sample of requests with their offsets, in the order of time.
    pub samples: Vec<OffsetSample>,
    /// Requests that the sample stands for.
    pub sampled_from: u64,
    /// How parallel writing is, for files with several direct writers.
    pub serialisation: Option<Serialisation>,
}

/// Requests of one layer and direction by size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestSizes {
    /// The layer.
    pub layer: Layer,
    /// Reads or writes.
    pub direction: Direction,
    /// By bytes asked for.
    pub histogram: SizeHistogram,
    /// The most common sizes.
    pub common: CommonSizes,
}

/// Files of the runtime of one kind, added up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeSummary {
    /// What they are for.
    pub kind: RuntimeKind,
    /// How many there are.
    pub files: u64,
    /// Calls by operation.
    pub ops: OpTable,
}

/// What was done to logs of containers on a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogsOfTarget {
    /// The target's directory.
    pub target: String,
    /// How many logs there are.
    pub logs: u64,
    /// What was done, by operation.
    pub ops: OpTable,
}

/// A file of the runtime.
#[derive(Debug, Clone)]
pub struct RuntimeFile {
    /// Its path.
    pub path: String,
    /// False for what stands for files whose names are not known.
    pub is_known: bool,
    /// What it is for.
    pub kind: RuntimeKind,
    /// Processes that made a call on it.
    pub processes: u32,
    /// Calls by operation.
    pub ops: OpTable,
}

/// What is known of a process.
#[derive(Debug, Clone)]
pub struct ProcessAnalysis {
    /// Index in the recording.
    pub process: usize,
    /// Process id.
    pub pid: u32,
    /// Rank in MPI_COMM_WORLD.
    pub rank: Option<u32>,
    /// The node.
    pub host: String,
    /// The program's path.
    pub program: String,
    /// Who ran it, and on what.
    pub circumstances: Circumstances,
    /// How recording it ended.
    pub state: ProcessState,
    /// Not all of what it recorded can be read.
    pub is_damaged: bool,
    /// From when it began to the last moment at which it is known to have run.
    pub wall_seconds: f64,
    /// The part of it in which at least one of its threads was inside an I/O call.
    pub busy_seconds: f64,
    /// It is a rank or has a notable part of the I/O, see [`IoShare`].
    pub takes_part: bool,
    /// Events that are missing.
    pub lost_events: u64,
    /// Events that were read.
    pub events: u64,
    /// Calls by operation.
    pub ops: OpTable,
    /// Calls of the program itself; their time is the I/O time.
    pub own: OwnCalls,
    /// Calls on files of the runtime, which are in none of the others.
    pub runtime: OwnCalls,
    /// Files that it made calls on.
    pub files: u64,
    /// Time in lock calls, those of data sieving left out.
    pub lock_seconds: f64,
}

impl ProcessAnalysis {
    /// "rank 3", or "process 1234" without MPI.
    pub fn label(&self) -> String {
        match self.rank {
            Some(rank) => format!("rank {rank}"),
            None => format!("process {}", self.pid),
        }
    }

    /// I/O time over wall time.
    pub fn io_share(&self) -> Option<f64> {
        (self.wall_seconds > 0.0).then(|| (self.busy_seconds / self.wall_seconds).min(1.0))
    }
}

/// Processes of one node, added up.
#[derive(Debug, Clone)]
pub struct NodeAnalysis {
    /// The node.
    pub host: String,
    /// Its processes.
    pub processes: usize,
    /// Ranks among them.
    pub ranks: usize,
    /// Processors that the ranks, or without ranks all processes, may run on; 0 when that is not
    /// known.
    pub processors: u32,
    /// Calls by operation.
    pub ops: OpTable,
    /// Calls of the programs themselves.
    pub own: OwnCalls,
}

/// Names, attributes, directories and durability.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MetadataSummary {
    /// Opens, closes and calls on names, attributes and directories, by programs and libraries
    /// below MPI-IO.
    pub calls: u64,
    /// Sum of their durations.
    pub seconds: f64,
    /// Calls over the span.
    pub calls_per_second: f64,
    /// The largest rate of any bin of [`Analysis::rates`].
    pub peak_calls_per_second: f64,
    /// Calls that make data durable.
    pub syncs: u64,
    /// Sum of their durations.
    pub sync_seconds: f64,
    /// Files on which there were any.
    pub synced_files: u64,
    /// Syncs for each of those files.
    pub syncs_per_file: Option<f64>,
    /// Syncs for each MiB that POSIX and stdio calls wrote.
    pub syncs_per_mib: Option<f64>,
}

/// Durations of one operation.
#[derive(Debug, Clone, PartialEq)]
pub struct DurationSample {
    /// The operation.
    pub op: Op,
    /// Calls that the sample stands for.
    pub calls: u64,
    /// Seconds, ascending; every call was equally likely to be among them.
    pub seconds: Vec<f64>,
}
