//! The layout of a process's file, for the writer in its mapping and the reader from bytes.
//!
//! ```text
//! file header, 4096 bytes
//! block 0, 64 KiB: chunk header, payload [, chunk header, payload ...]
//! block 1, ...
//! ```
//! A chunk is written by one thread and lies within one block; the next one follows at once. The
//! header says how many bytes chunks have taken, so the last block may be short: a process that
//! did little has a file of two pages. All integers are little endian.
//!
//! In version 1 all blocks were whole, and a chunk filled its block unless a thread ended early. Version 3 added what containers do to their logs.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// First bytes of every file.
pub const FILE_MAGIC: [u8; 8] = *b"PLIMREC\0";
/// First bytes of every chunk.
pub const CHUNK_MAGIC: u32 = u32::from_le_bytes(*b"PCHK");
/// Version of the format that is written; all older ones are read.
pub const FORMAT_VERSION: u32 = 3;
/// How the names of the files of a recording end, one for each process.
pub const FILE_EXTENSION: &str = "rec";

/// Bytes before the first block.
pub const HEADER_BYTES: usize = 4096;
/// Bytes of a block: small enough for many threads, large enough that taking one is rare.
pub const BLOCK_BYTES: usize = 64 << 10;
/// Bytes of a chunk header; chunks begin at multiples of it.
pub const CHUNK_HEADER_BYTES: usize = 64;

/// Why events are missing. The index into [`FileHeader::lost`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Loss {
    /// A signal handler did I/O in the very moment in which its thread was recording.
    Reentered = 0,
    /// No space, or a file-size limit: recording stopped and the program went on.
    NoSpace = 1,
    /// The spool could not be created, opened or mapped.
    NoFile = 2,
    /// An asynchronous transfer whose end the program never asked for in a way that is seen, or one
    /// beyond those that can be followed at once.
    Untracked = 3,
}

/// Number of entries of [`FileHeader::lost`].
pub const LOSSES: usize = 8;

/// How a file ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum State {
    /// Still running, or killed.
    Running = 0,
    /// The process ended and recording with it.
    Finished = 1,
    /// The process replaced itself by another program.
    Executed = 2,
    /// Recording stopped before the process did; see the losses.
    Stopped = 3,
}

/// What the ticks of a file count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Clock {
    /// Nanoseconds of CLOCK_MONOTONIC.
    Monotonic = 0,
    /// The processor's time stamp counter.
    Tsc = 1,
}

/// A moment on three clocks.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct Anchor {
    /// The file's own ticks.
    pub ticks: u64,
    /// CLOCK_MONOTONIC, in nanoseconds: common to all processes of a node.
    pub monotonic_ns: u64,
    /// CLOCK_REALTIME, in nanoseconds since 1970.
    pub realtime_ns: u64,
}

#[cfg(feature = "reader")]
impl Anchor {
    /// Now, with nanoseconds of CLOCK_MONOTONIC as ticks.
    pub fn now() -> Self {
        use rustix::time::{ClockId, clock_gettime};
        let nanos = |clock| {
            let time = clock_gettime(clock);
            (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
        };
        let monotonic_ns = nanos(ClockId::Monotonic);
        Anchor { ticks: monotonic_ns, monotonic_ns, realtime_ns: nanos(ClockId::Realtime) }
    }
}

/// Text in a fixed field: filled up with zeros, cut off when too long.
pub type Text<const N: usize> = [u8; N];

/// What does not change after the file was created; covered by a checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Identity {
    /// [`FILE_MAGIC`].
    pub magic: [u8; 8],
    /// [`FORMAT_VERSION`].
    pub version: u32,
    /// [`BLOCK_BYTES`] of the writer.
    pub block_bytes: u32,
    /// A [`Clock`].
    pub clock: u32,
    /// The process.
    pub pid: u32,
    /// Its parent.
    pub parent_pid: u32,
    /// Checksum flag space; zero.
    pub reserved: u32,
    /// When recording began, which is before the first recorded call: when the program was
    /// loaded, or the one that forked it.
    pub start: Anchor,
    /// The node's boot, which is when its monotonic clock was zero.
    pub boot_id: [u8; 16],
    /// The node.
    pub host: Text<64>,
    /// The scheduler's job, if there is one.
    pub job: Text<128>,
    /// The program's path.
    pub program: Text<512>,
    /// Its arguments, separated by zeros.
    pub arguments: Text<1024>,
    /// Where it was started.
    pub directory: Text<512>,
}

/// The first 4096 bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct FileHeader {
    /// Written once.
    pub identity: Identity,
    /// CRC32C of the identity.
    pub identity_crc: u32,
    /// A [`State`].
    pub state: u32,
    /// Version 1: blocks that were allocated. Zero since.
    pub blocks: u32,
    /// Rank in MPI_COMM_WORLD, or -1.
    pub rank: i32,
    /// Size of MPI_COMM_WORLD, or 0.
    pub ranks: u32,
    /// System error number that stopped the recording, or 0.
    pub stop_errno: u32,
    /// Events that are missing, by [`Loss`].
    pub lost: [u64; LOSSES],
    /// The latest moment that is known on all clocks; moves on while recording.
    pub latest: Anchor,
    /// Who runs it and on what; zeros in recordings that do not say.
    pub circumstances: Circumstances,
    /// Bytes after this page that chunks have taken; each of them has its header. In version 1
    /// zero.
    pub taken_bytes: u64,
    /// The namespace that the process's number is of (the inode of /proc/self/ns/pid); 0 if it is
    /// not known.
    pub pid_namespace: u64,
    /// Forked children that could not create a file of their own.
    pub unrecorded_children: u32,
    /// System error number of the last of them.
    pub unrecorded_errno: u32,
    /// The id of the recording that it is part of; zeros if it has none, or does not say.
    pub recording: Text<16>,
    /// Zeros, up to 4096 bytes.
    pub padding: [u8; HEADER_BYTES
        - size_of::<Identity>()
        - 24
        - 8 * LOSSES
        - size_of::<Anchor>()
        - size_of::<Circumstances>()
        - 40],
}

impl FileHeader {
    /// Returns the bytes after this page that should be there.
    pub fn expected_bytes(&self) -> u64 {
        match self.identity.version {
            1 => u64::from(self.blocks) * BLOCK_BYTES as u64,
            _ => self.taken_bytes,
        }
    }
}

const _: () = assert!(size_of::<FileHeader>() == HEADER_BYTES);

// Where readers look for it.
const _: () = assert!(core::mem::offset_of!(FileHeader, circumstances) == 2424);

/// Processors that [`Circumstances::processors`] has room for: as many as the C library's `cpu_set_t`.
pub const PROCESSORS_MAX: usize = 1024;

/// Who runs a process, since when and on what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Circumstances {
    /// When the process began, in nanoseconds of CLOCK_MONOTONIC, to the hundredth of a second;
    /// 0 if it is not known. A forked process begins later than the [`Identity::start`] that it
    /// shares with the one that forked it.
    pub began_ns: u64,
    /// 1 when the fields of this structure were filled in.
    pub is_known: u32,
    /// The user's number.
    pub user_id: u32,
    /// The user's name as the environment has it; may be empty.
    pub user: Text<64>,
    /// A bit for each processor that the process may run on, the first in the lowest bit of the
    /// first byte. All zeros if it is not known.
    pub processors: [u8; PROCESSORS_MAX / 8],
}

/// What a chunk holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum ChunkKind {
    /// Calls of one thread.
    Events = 1,
    /// What numbers in events mean: files, hints, moments.
    Definitions = 2,
    /// Nothing: the rest of a block that is too small for a chunk.
    Rest = 3,
}

/// The first 64 bytes of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct ChunkHeader {
    /// [`CHUNK_MAGIC`].
    pub magic: u32,
    /// A [`ChunkKind`].
    pub kind: u16,
    /// 1 when the chunk is complete and `crc` holds.
    pub sealed: u16,
    /// The thread that wrote it.
    pub thread: u32,
    /// Counts the chunks of the process, from 0: those of a thread ascend.
    pub sequence: u32,
    /// Ticks that the first event counts from.
    pub base_ticks: u64,
    /// Bytes from this header to the next one, or to the end of the block.
    pub span: u32,
    /// Bytes of payload that are valid; moves on with every event.
    pub committed: u32,
    /// CRC32C of the payload, then of the header's other fields, once sealed.
    pub crc: u32,
    /// Zeros.
    pub padding: [u8; CHUNK_HEADER_BYTES - 36],
}

const _: () = assert!(size_of::<ChunkHeader>() == CHUNK_HEADER_BYTES);

impl ChunkHeader {
    /// Returns a chunk without events.
    pub fn new(kind: ChunkKind, thread: u32, sequence: u32, base_ticks: u64, span: u32) -> Self {
        ChunkHeader {
            magic: CHUNK_MAGIC,
            kind: kind as u16,
            sealed: 0,
            thread,
            sequence,
            base_ticks,
            span,
            committed: 0,
            crc: 0,
            padding: [0; CHUNK_HEADER_BYTES - 36],
        }
    }

    /// Returns the checksum of a complete chunk: payload first, then this header with `crc` zero.
    pub fn checksum(&self, payload: &[u8]) -> u32 {
        let mut header = *self;
        header.crc = 0;
        header.sealed = 1;
        crc32c::crc32c_append(crc32c::crc32c(payload), header.as_bytes())
    }
}

/// CRC32C of an identity.
pub fn identity_checksum(identity: &Identity) -> u32 {
    crc32c::crc32c(identity.as_bytes())
}

/// Puts text into a fixed field, cut off where it does not fit.
pub fn put_text<const N: usize>(field: &mut Text<N>, text: &[u8]) {
    let length = text.len().min(N);
    field.fill(0);
    field[..length].copy_from_slice(&text[..length]);
}

/// Returns the text of a fixed field, without the zeros at its end.
pub fn get_text(field: &[u8]) -> &[u8] {
    let length = field.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &field[..length]
}
