//! Journals with any content: no crash, no endless loop, no huge memory, no line counted twice.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use plimsoll_measures::{JOURNAL, Journal, Results};

const GOLDEN: &[u8] =
    include_bytes!("../../crates/measures/tests/golden/results-v1/journal.ndjson");

// The first bytes choose: anything behind a good header, or a good journal with damage at a place.
fuzz_target!(|bytes: &[u8]| {
    let Some((&kind, bytes)) = bytes.split_first() else { return };
    let mut journal = GOLDEN.to_vec();
    if kind & 1 == 0 {
        let header = journal.iter().position(|byte| *byte == b'\n').unwrap();
        journal.truncate(header + 1);
        for line in bytes.split(|byte| *byte == b'\n') {
            // With a checksum that holds, so that the text behind it is read.
            let sum = format!("{:08x} ", crc32c::crc32c(line));
            journal.extend_from_slice(sum.as_bytes());
            journal.extend_from_slice(line);
            journal.push(b'\n');
        }
    } else {
        let Some((place, damage)) = bytes.split_first_chunk::<2>() else { return };
        let at = u16::from_le_bytes(*place) as usize % journal.len();
        let length = damage.len().min(journal.len() - at);
        journal[at..at + length].copy_from_slice(&damage[..length]);
        if kind & 2 == 0 {
            journal.truncate(at + length);
        }
    }
    let directory =
        std::env::temp_dir().join(format!("plimsoll-fuzz-journal-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join(JOURNAL), &journal).unwrap();
    fs::write(directory.join("plan.toml"), "").unwrap();
    if let Ok(results) = Results::open(&directory) {
        let read = results.instances().unwrap().take_while(Result::is_ok).count();
        let lines = journal.iter().filter(|byte| **byte == b'\n').count();
        assert!(read < lines);
        if let Ok((continued, resumed)) = Journal::resume(&directory) {
            drop(continued);
            assert!(!resumed.torn || !Journal::resume(&directory).unwrap().1.torn);
        }
    }
    let _ = fs::remove_dir_all(&directory);
});
