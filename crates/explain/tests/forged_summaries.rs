//! Summaries that were made by hand, with a checksum that holds: they take no more memory than summaries of
//! recordings do.

mod common;

use common::{Bed, MS, S};
use plimsoll_explain::{ExplainError, Frame, Gathered, Options};
use plimsoll_trace::Op;

/// Magic and version.
const BEGIN: usize = 21;

/// Notes of whoever started a recording that are kept.
const NOTES_MAX: usize = 4096;

fn summary(notes: usize) -> Vec<u8> {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    rank.call(Op::Open, 1, MS);
    rank.finish_at(S);
    let recording = bed.open().with_command(Some("COMMAND".into()), vec![String::new(); notes]);
    Frame::new(recording, &Options::default()).gather_all().to_bytes()
}

/// Returns a number as summaries have it (LEB128).
fn number(mut value: usize) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// Returns the value of a number and the bytes behind it.
fn split_number(bytes: &[u8]) -> (usize, &[u8]) {
    let length = bytes.iter().position(|byte| *byte < 0x80).unwrap() + 1;
    let (digits, rest) = bytes.split_at(length);
    let value = digits.iter().rev().fold(0, |sum, byte| sum << 7 | usize::from(byte & 0x7f));
    (value, rest)
}

/// Returns a summary with this many empty notes behind the command, where there are none.
fn forged(notes: usize) -> Vec<u8> {
    let good = summary(0);
    let (length, frame) = split_number(&good[BEGIN..good.len() - 4]);
    let at = frame.windows(7).position(|it| it == b"COMMAND").unwrap() + 7;
    assert_eq!(frame[at], 0, "there is no note yet");
    let list = [number(notes), vec![0; notes]].concat();
    let longer = number(length - 1 + list.len());
    let mut out = [&good[..BEGIN], &longer, &frame[..at], &list, &frame[at + 1..]].concat();
    out.extend(crc32c::crc32c(&out).to_le_bytes());
    out
}

#[test]
fn a_summary_has_no_more_notes_than_a_recording() {
    let most = Gathered::from_bytes(&forged(NOTES_MAX)).unwrap();
    assert_eq!(most.recording().notes().count(), NOTES_MAX);
    for notes in [NOTES_MAX + 1, 10_000_000] {
        let refused = Gathered::from_bytes(&forged(notes));
        assert!(matches!(refused, Err(ExplainError::TooMuch)), "{notes}");
    }
}

#[test]
fn people_read_the_first_notes_and_how_many_more_there_are() {
    for (notes, last) in [(100, ""), (101, "and 1 more note"), (4096, "and 3,996 more notes")] {
        let gathered = Gathered::from_bytes(&forged(notes)).unwrap();
        let shown: Vec<String> = gathered.recording().first_notes(100).collect();
        assert_eq!((shown.len(), shown.last().unwrap().as_str()), (notes.min(101), last));
    }
}

#[test]
fn a_recording_with_too_many_notes_has_a_summary_that_can_be_read() {
    let gathered = Gathered::from_bytes(&summary(3 * NOTES_MAX)).unwrap();
    assert_eq!(gathered.recording().notes().count(), NOTES_MAX);
}
