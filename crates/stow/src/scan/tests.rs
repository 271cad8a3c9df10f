use plimsoll_guarded::Directory;
use rustix::fs::ftruncate;
use tempfile::TempDir;

use super::*;
use crate::findings::Change;
use crate::word::{Entry, Stamped, words_checksum};

fn node() -> Id {
    Id::from_bytes([2; 16])
}

const LENGTH: u32 = 16 * PAGE_BYTES as u32;

struct Bed {
    log: Log,
    scan: LogScan,
    _folder: TempDir,
}

impl Bed {
    /// A log, and a reader that has looked at it.
    fn new() -> Self {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        let container = Id::from_bytes([1; 16]);
        let log = Log::create(&directory, container, 3, "t0").unwrap();
        let owner = plimsoll_guarded::acting_user();
        let flags = rustix::fs::OFlags::RDONLY;
        let read = Log::open(&directory, container, 3, flags, owner).unwrap();
        Bed { log, scan: LogScan::new(read), _folder: folder }
    }

    /// Begins a segment whose only entry is a truncation, with the stamp behind the segment's.
    fn append(&self, stamp: u64) -> SegmentHeader {
        let (container, log, position) = (self.log.container(), self.log.number(), 0);
        let header = SegmentHeader {
            container,
            log,
            position,
            length: LENGTH,
            seat: 1,
            stamp,
            node: node(),
        };
        let header = self.log.append_segment(header, LENGTH).unwrap();
        self.write_entry(&header);
        header
    }

    fn write_entry(&self, header: &SegmentHeader) {
        let checksum = words_checksum(&[77, header.stamp + 1]);
        let (words, count) = Entry::Truncate(Stamped { delta: 1, checksum }, 77).encode();
        let bytes: Vec<u8> = words[..count].iter().flat_map(|it| it.to_le_bytes()).collect();
        self.log.write_all(&bytes, header.position + HEADER_BYTES as u64).unwrap();
    }

    /// Returns the stamps of what a look finds.
    fn look(&mut self) -> Vec<u64> {
        let mut findings = Findings::default();
        self.scan.look(node(), &mut Allowance::of(u64::MAX), &mut findings).unwrap();
        assert_eq!(findings.troubles, []);
        let is_entry = |it: &crate::findings::Note| it.change == Change::Truncate(77);
        assert!(findings.notes.iter().all(is_entry));
        findings.notes.iter().map(|it| it.stamp.sequence).collect()
    }

    /// Marks the end of a segment as free and shortens its header, as its writer does before it cuts the file. Returns where the end begins.
    fn begin_to_trim(&self, header: &SegmentHeader) -> u64 {
        let kept = PAGE_BYTES as u32;
        let begin = header.position + PAGE_BYTES;
        let end = SegmentHeader { position: begin, length: header.length - kept, ..*header };
        self.log.mark_free(&end).unwrap();
        let shorter = SegmentHeader { length: kept, ..*header };
        self.log.write_all(&shorter.encode(), header.position).unwrap();
        begin
    }
}

#[test]
fn what_begins_where_an_end_was_cut_off_is_found() {
    let mut bed = Bed::new();
    let first = bed.append(10);
    let begin = bed.begin_to_trim(&first);
    assert_eq!(bed.look(), [11], "and the free end, which is still there");
    ftruncate(&bed.log, begin).unwrap();
    let second = bed.append(20);
    assert_eq!(second.position, begin);
    assert_eq!(bed.look(), [21]);
    assert_eq!((bed.look(), bed.scan.highest()), (vec![], 21));
    bed.append(30);
    assert_eq!((bed.look(), bed.scan.segments().len()), (vec![31], 3));
}

#[test]
fn an_end_that_was_cut_off_is_no_segment_any_more() {
    let mut bed = Bed::new();
    let first = bed.append(10);
    let begin = bed.begin_to_trim(&first);
    assert_eq!(bed.look(), [11]);
    ftruncate(&bed.log, begin).unwrap();
    assert_eq!((bed.look(), bed.scan.segments().len(), bed.scan.slot_pages()), (vec![], 1, 1));
    assert_eq!(bed.append(20).position, begin);
    assert_eq!((bed.look(), bed.scan.segments().len(), bed.scan.slot_pages()), (vec![21], 2, 2));
}

#[test]
fn an_end_that_stays_because_its_writer_was_killed_is_passed() {
    let mut bed = Bed::new();
    let first = bed.append(10);
    bed.begin_to_trim(&first);
    assert_eq!((bed.look(), bed.look()), (vec![11], vec![]));
    assert_eq!(bed.append(20).position, first.position + u64::from(LENGTH));
    assert_eq!((bed.look(), bed.look()), (vec![21], vec![]));
    assert_eq!((bed.scan.segments().len(), bed.scan.slot_pages()), (3, 3));
}

/// A header is written before its room is there; if there is none, another segment begins in its place.
#[test]
fn a_segment_in_the_place_of_one_that_got_no_room_has_its_own_stamps() {
    let mut bed = Bed::new();
    bed.append(10);
    let none =
        SegmentHeader { position: PAGE_BYTES + u64::from(LENGTH), stamp: 15, ..bed.scan_header() };
    let mut page = [0; PAGE_BYTES as usize];
    page[..HEADER_BYTES].copy_from_slice(&none.encode());
    bed.log.write_all(&page, none.position).unwrap();
    assert_eq!(bed.look(), [11]);
    ftruncate(&bed.log, none.position).unwrap();
    assert_eq!(bed.append(20).position, none.position);
    assert_eq!(bed.look(), [21]);
}

impl Bed {
    /// Returns the header of the first segment.
    fn scan_header(&self) -> SegmentHeader {
        self.log.segment_at(PAGE_BYTES).unwrap().unwrap()
    }
}

/// What somebody may hand over: a small file whose holes would take hours to look at page by page.
#[test]
fn holes_between_headers_are_passed_at_once() {
    let mut bed = Bed::new();
    bed.append(10);
    let of_log = bed.scan_header();
    let count = 5_000;
    for number in 1..=count {
        let position = of_log.position + number * u64::from(SEGMENT_BYTES_MAX);
        let header = SegmentHeader { position, stamp: 10 + 10 * number, ..of_log };
        bed.log.write_all(&header.encode(), position).unwrap();
        bed.write_entry(&header);
    }
    let mut findings = Findings::default();
    bed.scan.look(node(), &mut Allowance::of(u64::MAX), &mut findings).unwrap();
    assert_eq!((findings.notes.len(), findings.troubles.len()), (5_001, 5_000));
    assert_eq!(bed.scan.highest(), 11 + 10 * count);
}
