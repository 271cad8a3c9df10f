use plimsoll_guarded::acting_user;
use rustix::fs::ftruncate;

use super::*;

#[test]
fn a_segment_whose_writer_died_before_it_had_room_is_skipped() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let directory = Directory::open(folder.path()).unwrap();
    let (container, node) = (Id::from_bytes([1; 16]), Id::from_bytes([2; 16]));
    let log = Log::create(&directory, container, 3, "t0").unwrap();
    let (length, stamp) = (16 * PAGE_BYTES as u32, 5);
    let header =
        SegmentHeader { container, log: 3, position: PAGE_BYTES, length, seat: 1, stamp, node };
    log.write_header(&header).unwrap();
    assert_eq!(log.size(), Ok(2 * PAGE_BYTES), "as a kill leaves it");
    let next = log.append_segment(header, length).unwrap();
    assert_eq!(next.position, 17 * PAGE_BYTES, "not inside of it");
    log.trim_segment(&next, 100).unwrap();
    let after = log.append_segment(header, length).unwrap();
    assert_eq!(after.position, 18 * PAGE_BYTES, "a page is what the other used");
}

/// A power failure may keep that a file was cut, and lose the header that says so.
#[test]
fn a_segment_that_lost_its_end_and_not_its_length_is_skipped() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let directory = Directory::open(folder.path()).unwrap();
    let (container, node) = (Id::from_bytes([1; 16]), Id::from_bytes([2; 16]));
    let made = Log::create(&directory, container, 3, "t0").unwrap();
    let (length, stamp) = (1000 * PAGE_BYTES as u32, 5);
    let header = SegmentHeader { container, log: 3, position: 0, length, seat: 1, stamp, node };
    let first = made.append_segment(header, length).unwrap();
    made.write_all(&[7; 300 * PAGE_BYTES as usize], first.position + PAGE_BYTES).unwrap();
    ftruncate(&made.file, first.position + 200 * PAGE_BYTES).unwrap();
    drop(made);
    let log = Log::open(&directory, container, 3, OFlags::RDWR, acting_user()).unwrap();
    let next = log.append_segment(header, length).unwrap();
    assert_eq!(next.position, 1001 * PAGE_BYTES);
}
