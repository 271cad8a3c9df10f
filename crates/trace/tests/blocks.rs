//! How blocks are filled, and what is said of those that are missing, unused, holes or nonsense.

use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use plimsoll_trace::definition::{DefinitionKind, definition_bytes, encode_definition};
use plimsoll_trace::encode::{Call, EVENT_BYTES_MAX, Outcome};
use plimsoll_trace::layout::{
    Anchor, BLOCK_BYTES, CHUNK_HEADER_BYTES, ChunkHeader, ChunkKind, Clock, FileHeader,
    HEADER_BYTES, LOSSES, identity_checksum,
};
use plimsoll_trace::{Chunk, Damage, Op, ProcessFile, ProcessWriter, Program};
use zerocopy::{FromBytes, IntoBytes};

const START: Anchor = Anchor { ticks: 1_000, monotonic_ns: 1_000, realtime_ns: 9_000 };
const BLOCK: u64 = BLOCK_BYTES as u64;

type Defined = (u32, Vec<u8>);

struct Made {
    folder: tempfile::TempDir,
}

impl Made {
    fn new() -> Self {
        Made { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("1.rec")
    }

    fn writer(&self) -> ProcessWriter {
        ProcessWriter::create(&self.path(), &Program::default(), START).unwrap()
    }

    /// Makes a file that has this after its first page, up to `length` bytes, as `change` would have it.
    fn file(&self, parts: &[(u64, &[u8])], length: u64, change: impl FnOnce(&mut FileHeader)) {
        let _ = std::fs::remove_file(self.path());
        self.writer().finish().unwrap();
        let page = &std::fs::read(self.path()).unwrap()[..HEADER_BYTES];
        let mut header = FileHeader::read_from_bytes(page).unwrap();
        header.taken_bytes = length;
        change(&mut header);
        header.identity_crc = identity_checksum(&header.identity);
        let file = std::fs::File::create(self.path()).unwrap();
        file.write_all_at(header.as_bytes(), 0).unwrap();
        for (at, bytes) in parts {
            file.write_all_at(bytes, HEADER_BYTES as u64 + at).unwrap();
        }
        file.set_len(HEADER_BYTES as u64 + length).unwrap();
    }

    /// Makes a file of the first version, in which all blocks are whole and some may be unused.
    fn old_file(&self, parts: &[(u64, &[u8])], length: u64) {
        self.file(parts, length, |header| {
            (header.identity.version, header.taken_bytes) = (1, 0);
            header.blocks = (length / BLOCK) as u32;
        });
    }

    /// Returns the chunks, the numbers and texts of definitions, and what is damaged.
    fn scan(&self) -> (Vec<Chunk>, Vec<Defined>, Damage) {
        let mut definitions = Vec::new();
        let file = ProcessFile::open(&self.path()).unwrap();
        let (chunks, damage) =
            file.scan(|it| definitions.push((it.number, it.text.to_vec()))).unwrap();
        (chunks, definitions, damage)
    }

    fn threads_and_damage(&self) -> (Vec<u32>, Damage) {
        let (chunks, _, damage) = self.scan();
        (chunks.iter().map(|chunk| chunk.thread).collect(), damage)
    }

    fn bytes_after_first_page(&self) -> u64 {
        std::fs::metadata(self.path()).unwrap().len() - HEADER_BYTES as u64
    }
}

/// Returns a complete chunk of this kind.
fn chunk(kind: u16, thread: u32, payload: &[u8]) -> Vec<u8> {
    let span = (CHUNK_HEADER_BYTES + payload.len()).next_multiple_of(CHUNK_HEADER_BYTES);
    let mut header = ChunkHeader::new(ChunkKind::Events, thread, 0, 0, span as u32);
    (header.kind, header.sealed, header.committed) = (kind, 1, payload.len() as u32);
    header.crc = header.checksum(payload);
    let mut bytes = [header.as_bytes(), payload].concat();
    bytes.resize(span, 0);
    bytes
}

fn events(thread: u32, payload: &[u8]) -> Vec<u8> {
    chunk(ChunkKind::Events as u16, thread, payload)
}

fn damage(chunks: u64, bytes: u64) -> Damage {
    Damage { chunks, bytes, ..Damage::default() }
}

#[test]
fn a_file_that_was_cut_off_says_how_many_blocks_are_missing() {
    let made = Made::new();
    let first = events(7, b"seven");
    for (kept, missing_blocks) in
        [(5 * BLOCK, 0), (5 * BLOCK - 1, 1), (4 * BLOCK, 1), (4 * BLOCK - 1, 2), (BLOCK, 4)]
    {
        // In a block that is not there, no chunk is damaged.
        let parts: Vec<(u64, &[u8])> =
            (0..5).map(|at| (at * BLOCK, &first[..])).filter(|(at, _)| *at < kept).collect();
        made.old_file(&parts, 5 * BLOCK);
        let file = std::fs::File::options().write(true).open(made.path()).unwrap();
        file.set_len(HEADER_BYTES as u64 + kept).unwrap();
        assert_eq!(made.scan().2.missing_blocks, missing_blocks, "{kept}");
    }
}

/// A terabyte that was never written is neither read nor held for data.
#[test]
fn holes_are_stepped_over_whatever_their_size() {
    let made = Made::new();
    let (hole, last) = (1 << 40, events(7, b"behind the hole"));
    let whole = hole + BLOCK;
    let parts = [(hole, &last[..])];
    made.file(&parts, hole + last.len() as u64, |_| ());
    assert_eq!(made.threads_and_damage(), (vec![7], damage(hole / BLOCK, hole)));
    made.file(&[], hole, |_| ());
    assert_eq!(made.threads_and_damage(), (vec![], damage(hole / BLOCK, hole)));

    let behind = [last.clone(), events(8, &[0; BLOCK_BYTES - 192])].concat();
    assert_eq!(behind.len(), BLOCK_BYTES);
    made.old_file(&[(hole, &behind)], whole);
    assert_eq!(made.threads_and_damage(), (vec![7, 8], damage(0, 0)), "blocks may be unused");
    made.old_file(&[(0, &behind), (hole, &behind)], whole);
    assert_eq!(made.threads_and_damage(), (vec![7, 7, 8, 8], damage(0, 0)));
}

#[test]
fn blocks_of_the_first_version_may_be_unused_as_a_whole_only() {
    let made = Made::new();
    let zeros = vec![0u8; BLOCK_BYTES];
    made.old_file(&[(0, &zeros)], BLOCK);
    assert_eq!(made.threads_and_damage(), (vec![], damage(0, 0)));
    made.file(&[(0, &zeros)], BLOCK, |_| ());
    assert_eq!(made.threads_and_damage(), (vec![], damage(1, BLOCK)), "there are no such later");

    let first = events(7, b"seven");
    made.old_file(&[(0, &first), (BLOCK - 1, &[0])], BLOCK);
    let behind = BLOCK - first.len() as u64;
    assert_eq!(made.threads_and_damage(), (vec![7], damage(1, behind)), "zeros behind a chunk");

    let mut lost_magic = first.clone();
    lost_magic[..4].fill(0);
    made.old_file(&[(0, &lost_magic), (BLOCK - 1, &[0])], BLOCK);
    assert_eq!(made.threads_and_damage(), (vec![], damage(1, BLOCK)), "it has events");
    let mut lost_length = events(7, b"");
    lost_length[0] ^= 1;
    made.old_file(&[(0, &lost_length), (BLOCK - 1, &[0])], BLOCK);
    assert_eq!(made.threads_and_damage(), (vec![], damage(1, BLOCK)), "something was written");
}

#[test]
fn what_makes_no_sense_is_counted_by_its_bytes() {
    let made = Made::new();
    let mut definitions = vec![0u8; definition_bytes(b"/data/out")];
    encode_definition(DefinitionKind::File, 3, 0, b"/data/out", &mut definitions);
    definitions.extend_from_slice(b"half a header");
    let defined = chunk(ChunkKind::Definitions as u16, 0, &definitions);
    let mut flipped = events(1, b"payload of a chunk");
    flipped[CHUNK_HEADER_BYTES] ^= 1;
    let all = [&flipped[..], &defined, &defined, &flipped, &events(2, b"fine")].concat();
    made.file(&[(0, &all)], all.len() as u64, |_| ());
    let (chunks, texts, found) = made.scan();
    assert_eq!((chunks.len(), chunks[0].thread), (1, 2));
    assert_eq!(texts, vec![(3, b"/data/out".to_vec()); 2]);
    assert_eq!(found, damage(2, 2 * 18 + 2 * 13), "two payloads, and two ends of definitions");

    let unknown = chunk(9, 1, b"of a kind that there is not");
    let all = [&events(2, b"fine")[..], &unknown].concat();
    made.file(&[(0, &all)], all.len() as u64, |_| ());
    assert_eq!(made.threads_and_damage(), (vec![2], damage(1, unknown.len() as u64)));
}

#[test]
fn chunks_are_filled_before_the_next_is_begun() {
    let made = Made::new();
    let mut writer = made.writer();
    let text = [b'x'; (BLOCK_BYTES - CHUNK_HEADER_BYTES) / 16 - 16];
    for number in 0..16 {
        writer.define(DefinitionKind::File, number, 0, &text).unwrap();
    }
    writer.finish().unwrap();
    assert_eq!(made.bytes_after_first_page(), BLOCK, "they fit exactly");
    let numbers = |made: &Made| made.scan().1.iter().map(|(number, _)| *number).collect::<Vec<_>>();
    assert_eq!(numbers(&made), (0..16).collect::<Vec<_>>());

    let made = Made::new();
    let mut writer = made.writer();
    for number in 0..50 {
        writer.define(DefinitionKind::File, number, 0, &[b'x'; 4000]).unwrap();
    }
    let (op, outcome) = (Op::Pwrite, Outcome::Value(1));
    for start in 0..30_000 {
        let (offset, end) = (start * start, start + 10);
        let call = Call { op, file: 1, offset, length: 1, outcome, argument: 0, start, end };
        writer.call(5, &call).unwrap();
    }
    writer.finish().unwrap();
    assert_eq!(numbers(&made), (0..50).collect::<Vec<_>>());
    let (chunks, _, found) = made.scan();
    assert_eq!(found, Damage::default());
    let (file, mut buffer) = (ProcessFile::open(&made.path()).unwrap(), Vec::new());
    let (_, full) = chunks.split_last().unwrap();
    assert!(full.len() > 1);
    for chunk in full {
        let taken = file.payload(chunk, &mut buffer).unwrap().len();
        assert!(taken + EVENT_BYTES_MAX > BLOCK_BYTES - CHUNK_HEADER_BYTES, "{taken}");
    }
}

#[test]
fn ticks_of_the_processor_are_timed_by_the_two_moments_that_are_known() {
    let made = Made::new();
    made.file(&[], 0, |header| {
        header.identity.clock = Clock::Tsc as u32;
        header.latest = Anchor { ticks: 5_000, monotonic_ns: 3_000, realtime_ns: 11_000 };
    });
    let timeline = ProcessFile::open(&made.path()).unwrap().timeline();
    assert_eq!((timeline.at(1_000), timeline.at(3_000)), (1_000, 2_000), "two ticks are one ns");
    made.file(&[], 0, |header| {
        header.latest = Anchor { ticks: 5_000, monotonic_ns: 3_000, realtime_ns: 11_000 };
    });
    let timeline = ProcessFile::open(&made.path()).unwrap().timeline();
    assert_eq!(timeline.at(3_000), 3_000, "ticks are nanoseconds already");
}

#[test]
fn what_was_lost_is_kept_by_its_reason() {
    let made = Made::new();
    let mut writer = made.writer();
    let lost: [u64; LOSSES] = std::array::from_fn(|index| index as u64 * 10);
    writer.set_lost(lost);
    writer.finish().unwrap();
    assert_eq!(ProcessFile::open(&made.path()).unwrap().header().lost, lost);
}
