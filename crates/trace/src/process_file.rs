//! Reading the file of one process. By `pread`, not by mapping: a file that shrinks under a
//! mapping would kill the reader.

use std::fs::{File, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use zerocopy::FromBytes;

use crate::TraceError;
use crate::definition::{Definition, decode_definition};
use crate::layout::{
    BLOCK_BYTES, CHUNK_HEADER_BYTES, CHUNK_MAGIC, ChunkHeader, ChunkKind, Clock, FILE_MAGIC,
    FORMAT_VERSION, FileHeader, HEADER_BYTES, identity_checksum,
};
use crate::timeline::Timeline;
use crate::writing_process::WritingProcess;

/// The file of one process.
#[derive(Debug)]
pub struct ProcessFile {
    path: PathBuf,
    file: File,
    header: FileHeader,
    /// Bytes after the first page.
    length: u64,
}

/// A chunk of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The thread that wrote it.
    pub thread: u32,
    /// Its place among the chunks of that thread.
    pub sequence: u32,
    /// Ticks that its first event counts from.
    pub base_ticks: u64,
    /// Position of its payload in the file.
    position: u64,
    /// Bytes of payload.
    length: u32,
}

/// What could not be read. The rest could.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Damage {
    /// Chunks whose header or checksum is wrong.
    pub chunks: u64,
    /// Bytes of them, and of events that make no sense.
    pub bytes: u64,
    /// Blocks of which at least a part should be there and is not: the file was cut off.
    pub missing_blocks: u64,
}

impl ProcessFile {
    /// Opens a file, wherever links lead, and checks its first page.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let read_error = |cause| TraceError::Read { path: path.to_path_buf(), cause };
        // Some devices do something when they are opened, and a pipe waits for somebody at its other end.
        let is_foreign = |it: &Metadata| !it.is_file() && !it.is_dir();
        if std::fs::metadata(path).is_ok_and(|it| is_foreign(&it)) {
            return Err(TraceError::Foreign { path: path.to_path_buf() });
        }
        let quick = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
        let file = File::options().read(true).custom_flags(quick).open(path).map_err(read_error)?;
        ProcessFile::of(file, path)
    }

    /// Checks the first page of a file that was opened there.
    pub fn of(file: File, path: &Path) -> Result<Self, TraceError> {
        let read_error = |cause| TraceError::Read { path: path.to_path_buf(), cause };
        let is_foreign = |it: &Metadata| !it.is_file() && !it.is_dir();
        let metadata = file.metadata().map_err(read_error)?;
        if is_foreign(&metadata) {
            return Err(TraceError::Foreign { path: path.to_path_buf() });
        }
        let length = metadata.len();
        if length == 0 {
            return Err(TraceError::Empty { path: path.to_path_buf() });
        }
        let mut page = [0u8; HEADER_BYTES];
        file.read_exact_at(&mut page, 0).map_err(|cause| match cause.kind() {
            ErrorKind::UnexpectedEof => TraceError::Foreign { path: path.to_path_buf() },
            _ => read_error(cause),
        })?;
        let damaged = |what| TraceError::Damaged { path: path.to_path_buf(), what };
        let header =
            FileHeader::read_from_bytes(&page).map_err(|_| damaged("its first page is cut off"))?;
        if header.identity.magic != FILE_MAGIC {
            return Err(TraceError::Foreign { path: path.to_path_buf() });
        }
        if !(1..=FORMAT_VERSION).contains(&header.identity.version) {
            let found = header.identity.version;
            return Err(TraceError::Version {
                path: path.to_path_buf(),
                found,
                known: FORMAT_VERSION,
            });
        }
        if identity_checksum(&header.identity) != header.identity_crc {
            return Err(damaged("the checksum of its first page is wrong"));
        }
        if header.identity.block_bytes as usize != BLOCK_BYTES {
            return Err(damaged("its blocks have an impossible size"));
        }
        let length = length.saturating_sub(HEADER_BYTES as u64);
        Ok(ProcessFile { path: path.to_path_buf(), file, header, length })
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns its first page.
    pub fn header(&self) -> &FileHeader {
        &self.header
    }

    /// Returns whether the process that writes it still runs.
    pub fn writing_process(&self) -> WritingProcess {
        WritingProcess::find(&self.header, Path::new("/proc"))
    }

    /// Returns how its ticks become nanoseconds.
    pub fn timeline(&self) -> Timeline {
        let start = self.header.identity.start;
        let nanos = Timeline::of_nanos(start);
        if self.header.identity.clock == Clock::Tsc as u32 {
            Timeline::new(start, self.header.latest).unwrap_or(nanos)
        } else {
            nanos
        }
    }

    /// Finds every chunk. Definitions go to `define` at once, since events may use numbers that
    /// another thread defined; chunks of events come back, those of each thread in order.
    pub fn scan(
        &self,
        define: impl FnMut(Definition<'_>),
    ) -> Result<(Vec<Chunk>, Damage), TraceError> {
        self.scan_at_most(usize::MAX, define)
    }

    /// Does the same for this many chunks of events. Those beyond are counted as damage.
    pub fn scan_at_most(
        &self,
        chunks_max: usize,
        mut define: impl FnMut(Definition<'_>),
    ) -> Result<(Vec<Chunk>, Damage), TraceError> {
        let mut chunks = Vec::new();
        let (block_bytes, expected) = (BLOCK_BYTES as u64, self.header.expected_bytes());
        let missing_bytes = expected.saturating_sub(self.length);
        let mut damage =
            Damage { missing_blocks: missing_bytes.div_ceil(block_bytes), ..Damage::default() };
        let mut buffer = vec![0u8; BLOCK_BYTES];
        let (mut at, readable) = (0, expected.min(self.length));
        while at < readable {
            let block = &mut buffer[..(readable - at).min(block_bytes) as usize];
            let position = HEADER_BYTES as u64 + at;
            self.file
                .read_exact_at(block, position)
                .map_err(|cause| TraceError::Read { path: self.path.clone(), cause })?;
            let may_be_unused = self.header.identity.version == 1;
            let is_blank = block.iter().take(CHUNK_HEADER_BYTES).all(|byte| *byte == 0);
            scan_block(block, may_be_unused, position, &mut chunks, &mut define, &mut damage);
            at += block_bytes;
            if chunks.len() > chunks_max {
                let beyond = chunks.split_off(chunks_max);
                damage.chunks += beyond.len() as u64;
                damage.bytes += beyond.iter().map(|chunk| u64::from(chunk.length)).sum::<u64>();
            }
            if is_blank && let Some(data) = self.data_from(at) {
                let data = data.min(readable).max(at);
                let skipped = (data - at) / block_bytes;
                // A hole reads as zeros, which are no chunk, and is not read: it may be of any size.
                damage.chunks += if may_be_unused { 0 } else { skipped };
                damage.bytes += if may_be_unused { 0 } else { skipped * block_bytes };
                at += skipped * block_bytes;
            }
        }
        chunks.sort_by_key(|chunk: &Chunk| (chunk.thread, chunk.sequence));
        Ok((chunks, damage))
    }

    /// Returns where the next data is, counted from the end of the first page: beyond the end if there is none.
    /// `None` where the file system does not tell.
    fn data_from(&self, at: u64) -> Option<u64> {
        let from = HEADER_BYTES as u64 + at;
        match rustix::fs::seek(&self.file, rustix::fs::SeekFrom::Data(from)) {
            Ok(data) => Some(data.saturating_sub(HEADER_BYTES as u64)),
            Err(rustix::io::Errno::NXIO) => Some(u64::MAX),
            Err(_) => None,
        }
    }

    /// Reads a chunk's events into `buffer`.
    pub fn payload<'a>(
        &self,
        chunk: &Chunk,
        buffer: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], TraceError> {
        buffer.resize(chunk.length as usize, 0);
        self.file
            .read_exact_at(buffer, chunk.position)
            .map_err(|cause| TraceError::Read { path: self.path.clone(), cause })?;
        Ok(buffer)
    }
}

fn scan_block(
    block: &[u8],
    may_be_unused: bool,
    position: u64,
    chunks: &mut Vec<Chunk>,
    define: &mut impl FnMut(Definition<'_>),
    damage: &mut Damage,
) {
    let mut at = 0;
    while let Some(header) = block.get(at..at + CHUNK_HEADER_BYTES) {
        let Ok(header) = ChunkHeader::read_from_bytes(header) else { return };
        if may_be_unused && header.magic == 0 && at == 0 && header.committed == 0 {
            return; // allocated and never used
        }
        let Some(payload) = checked_payload(block, at, &header) else {
            damage.chunks += 1;
            damage.bytes += (block.len() - at) as u64;
            return;
        };
        let is_sound = header.sealed == 0 || header.checksum(payload) == header.crc;
        match (is_sound, header.kind) {
            (false, _) => {
                damage.chunks += 1;
                damage.bytes += payload.len() as u64;
            }
            (true, kind) if kind == ChunkKind::Definitions as u16 => {
                let mut rest = payload;
                while let Some(definition) = decode_definition(&mut rest) {
                    define(definition);
                }
                damage.bytes += rest.len() as u64;
            }
            (true, kind) if kind == ChunkKind::Rest as u16 => {}
            (true, _) => chunks.push(Chunk {
                thread: header.thread,
                sequence: header.sequence,
                base_ticks: header.base_ticks,
                position: position + (at + CHUNK_HEADER_BYTES) as u64,
                length: header.committed,
            }),
        }
        at += header.span as usize;
    }
}

/// Returns the payload of the chunk at `at`, if its header is possible. Its span may reach beyond a short
/// block: a chunk that is being cut has its new end in the file's header first.
fn checked_payload<'a>(block: &'a [u8], at: usize, header: &ChunkHeader) -> Option<&'a [u8]> {
    let span = header.span as usize;
    let kinds = [ChunkKind::Events, ChunkKind::Definitions, ChunkKind::Rest];
    let is_possible = header.magic == CHUNK_MAGIC
        && kinds.iter().any(|kind| header.kind == *kind as u16)
        && span >= CHUNK_HEADER_BYTES
        && span.is_multiple_of(CHUNK_HEADER_BYTES)
        && at + span <= BLOCK_BYTES
        && CHUNK_HEADER_BYTES + header.committed as usize <= span;
    let start = at + CHUNK_HEADER_BYTES;
    block.get(start..start + header.committed as usize).filter(|_| is_possible)
}
