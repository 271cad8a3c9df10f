//! Writing the file of a process the ordinary way: for tests, benchmarks and importers. The
//! preload library writes the same bytes through mappings.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use zerocopy::{FromZeros, IntoBytes};

use crate::definition::{DefinitionKind, definition_bytes, encode_definition};
use crate::encode::{Call, EVENT_BYTES_MAX, Prediction, encode};
use crate::layout::{
    Anchor, BLOCK_BYTES, CHUNK_HEADER_BYTES, ChunkHeader, ChunkKind, Circumstances, Clock,
    FILE_MAGIC, FORMAT_VERSION, FileHeader, HEADER_BYTES, PROCESSORS_MAX, State, identity_checksum,
    put_text,
};
use crate::secrets;
use crate::writing_process::{self, boot_id};

/// What a file says about its process.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// Process id.
    pub pid: u32,
    /// Rank in MPI_COMM_WORLD, if it is an MPI program.
    pub rank: Option<u32>,
    /// Size of MPI_COMM_WORLD.
    pub ranks: u32,
    /// The node.
    pub host: String,
    /// The node's boot.
    pub boot_id: [u8; 16],
    /// The program's path.
    pub program: String,
    /// The launcher's job.
    pub job: String,
    /// Its parent's process id.
    pub parent_pid: u32,
    /// Its arguments, the first of which is its own name.
    pub arguments: Vec<String>,
    /// The user's name.
    pub user: String,
    /// The processors that it may run on, by number.
    pub processors: Vec<usize>,
    /// When it began, on CLOCK_MONOTONIC; 0 if that is not known.
    pub began_ns: u64,
}

impl Program {
    /// This very process.
    pub fn current() -> Self {
        let read = |path: &str| std::fs::read(path).unwrap_or_default();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes.trim_ascii_end()).into_owned();
        let program = std::env::current_exe().unwrap_or_default();
        Program {
            pid: std::process::id(),
            parent_pid: std::os::unix::process::parent_id(),
            host: text(&read("/proc/sys/kernel/hostname")),
            boot_id: boot_id(&read("/proc/sys/kernel/random/boot_id")),
            program: program.to_string_lossy().into_owned(),
            arguments: std::env::args_os().map(|it| it.to_string_lossy().into_owned()).collect(),
            began_ns: writing_process::own_start_ns().unwrap_or(0),
            ..Program::default()
        }
    }

    fn circumstances(&self) -> Circumstances {
        let mut circumstances = Circumstances::new_zeroed();
        let is_known = self.began_ns > 0 || !self.user.is_empty() || !self.processors.is_empty();
        circumstances.is_known = u32::from(is_known);
        circumstances.began_ns = self.began_ns;
        put_text(&mut circumstances.user, self.user.as_bytes());
        for processor in self.processors.iter().filter(|processor| **processor < PROCESSORS_MAX) {
            circumstances.processors[processor / 8] |= 1 << (processor % 8);
        }
        circumstances
    }
}

/// Writes one file. Ticks are nanoseconds of CLOCK_MONOTONIC.
#[derive(Debug)]
pub struct ProcessWriter {
    file: File,
    header: FileHeader,
    threads: BTreeMap<u32, OpenChunk>,
    definitions: OpenChunk,
}

#[derive(Debug)]
struct OpenChunk {
    header: ChunkHeader,
    payload: Vec<u8>,
    prediction: Prediction,
}

impl OpenChunk {
    fn new(kind: ChunkKind, thread: u32, sequence: u32, base_ticks: u64) -> Self {
        OpenChunk {
            header: ChunkHeader::new(kind, thread, sequence, base_ticks, BLOCK_BYTES as u32),
            payload: Vec::new(),
            prediction: Prediction::new(base_ticks),
        }
    }

    fn next(&self, base_ticks: u64) -> Self {
        let kind = if self.header.kind == ChunkKind::Definitions as u16 {
            ChunkKind::Definitions
        } else {
            ChunkKind::Events
        };
        OpenChunk::new(kind, self.header.thread, self.header.sequence + 1, base_ticks)
    }

    fn span(&self) -> usize {
        (CHUNK_HEADER_BYTES + self.payload.len()).next_multiple_of(CHUNK_HEADER_BYTES)
    }
}

const PAYLOAD_BYTES: usize = BLOCK_BYTES - CHUNK_HEADER_BYTES;

impl ProcessWriter {
    /// Creates the file, for this user alone. Fails if there is one already.
    pub fn create(path: &Path, program: &Program, start: Anchor) -> io::Result<Self> {
        let mut header = FileHeader::new_zeroed();
        let identity = &mut header.identity;
        identity.magic = FILE_MAGIC;
        identity.version = FORMAT_VERSION;
        identity.block_bytes = BLOCK_BYTES as u32;
        identity.clock = Clock::Monotonic as u32;
        identity.pid = program.pid;
        identity.start = start;
        identity.boot_id = program.boot_id;
        put_text(&mut identity.host, program.host.as_bytes());
        put_text(&mut identity.job, program.job.as_bytes());
        put_text(&mut identity.program, program.program.as_bytes());
        identity.parent_pid = program.parent_pid;
        let mut arguments = program.arguments.join("\0").into_bytes();
        secrets::mask_kept(&mut arguments, identity.arguments.len());
        put_text(&mut identity.arguments, &arguments);
        header.rank = program.rank.map_or(-1, |rank| rank as i32);
        header.ranks = program.ranks;
        header.latest = start;
        header.circumstances = program.circumstances();
        header.identity_crc = identity_checksum(&header.identity);
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(&[0u8; HEADER_BYTES])?;
        let definitions = OpenChunk::new(ChunkKind::Definitions, 0, 0, 0);
        Ok(ProcessWriter { file, header, threads: BTreeMap::new(), definitions })
    }

    /// Says what a number means.
    pub fn define(
        &mut self,
        kind: DefinitionKind,
        number: u32,
        value: u64,
        text: &[u8],
    ) -> io::Result<()> {
        if self.definitions.payload.len() + definition_bytes(text) > PAYLOAD_BYTES {
            let next = self.definitions.next(0);
            let full = std::mem::replace(&mut self.definitions, next);
            self.write(full)?;
        }
        let at = self.definitions.payload.len();
        self.definitions.payload.resize(at + definition_bytes(text), 0);
        encode_definition(kind, number, value, text, &mut self.definitions.payload[at..]);
        Ok(())
    }

    /// Adds a call of a thread.
    pub fn call(&mut self, thread: u32, call: &Call) -> io::Result<()> {
        let chunk = self
            .threads
            .entry(thread)
            .or_insert_with(|| OpenChunk::new(ChunkKind::Events, thread, 0, call.start));
        if chunk.payload.len() + EVENT_BYTES_MAX > PAYLOAD_BYTES {
            let next = chunk.next(call.start);
            let full = std::mem::replace(chunk, next);
            self.write(full)?;
            return self.call(thread, call);
        }
        let mut room = [0u8; EVENT_BYTES_MAX];
        let length = encode(call, &mut chunk.prediction, &mut room);
        chunk.payload.extend_from_slice(&room[..length]);
        self.header.latest.ticks = self.header.latest.ticks.max(call.end);
        Ok(())
    }

    /// Events that the file says are missing.
    pub fn set_lost(&mut self, lost: [u64; crate::layout::LOSSES]) {
        self.header.lost = lost;
    }

    /// Writes what is left and the first page, of a process that has ended.
    pub fn finish(self) -> io::Result<()> {
        self.finish_as(State::Finished)
    }

    /// The same, of a process that ended in another way.
    pub fn finish_as(mut self, state: State) -> io::Result<()> {
        use std::os::unix::fs::FileExt;
        for (_, chunk) in std::mem::take(&mut self.threads) {
            self.write(chunk)?;
        }
        let definitions = std::mem::replace(
            &mut self.definitions,
            OpenChunk::new(ChunkKind::Definitions, 0, 0, 0),
        );
        self.write(definitions)?;
        let start = self.header.identity.start;
        let passed = self.header.latest.ticks.saturating_sub(start.ticks);
        self.header.latest.monotonic_ns = start.monotonic_ns.saturating_add(passed);
        self.header.latest.realtime_ns = start.realtime_ns.saturating_add(passed);
        self.header.state = state as u32;
        self.file.write_all_at(self.header.as_bytes(), 0)
    }

    /// Appends a chunk that is as long as what it holds.
    fn write(&mut self, chunk: OpenChunk) -> io::Result<()> {
        let rest = BLOCK_BYTES - (self.header.taken_bytes % BLOCK_BYTES as u64) as usize;
        if chunk.span() > rest {
            let header = ChunkHeader::new(ChunkKind::Rest, 0, 0, 0, rest as u32);
            self.append(header, &[], rest)?;
        }
        let span = chunk.span();
        self.append(chunk.header, &chunk.payload, span)
    }

    fn append(&mut self, mut header: ChunkHeader, payload: &[u8], span: usize) -> io::Result<()> {
        header.span = span as u32;
        header.committed = payload.len() as u32;
        header.sealed = 1;
        header.crc = header.checksum(payload);
        self.file.write_all(header.as_bytes())?;
        self.file.write_all(payload)?;
        self.file.write_all(&vec![0; span - CHUNK_HEADER_BYTES - payload.len()])?;
        self.header.taken_bytes += span as u64;
        Ok(())
    }
}
