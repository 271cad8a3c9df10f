//! Summaries with any content: no crash, no endless loop, no huge memory.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_explain::{Gathered, findings};

const GOLDEN: &[u8] = include_bytes!("../../crates/explain/tests/golden/summary-v1");
/// Magic and version, which say what the rest is.
const BEGIN: usize = 21;

// The first bytes choose: a good summary with damage at a place, which may make it shorter or longer. With a
// checksum that holds, so that what is behind it is read.
fuzz_target!(|bytes: &[u8]| {
    let Some((&[low, high, removed], inserted)) = bytes.split_first_chunk::<3>() else { return };
    let content = &GOLDEN[BEGIN..GOLDEN.len() - 4];
    let at = u16::from_le_bytes([low, high]) as usize % content.len();
    let rest = content.get(at + usize::from(removed)..).unwrap_or_default();
    let mut summary = [&GOLDEN[..BEGIN], &content[..at], inserted, rest].concat();
    summary.extend(crc32c::crc32c(&summary).to_le_bytes());
    if let Ok(gathered) = Gathered::from_bytes(&summary) {
        let bytes = gathered.to_bytes();
        let again = Gathered::from_bytes(&bytes).expect("what is written can be read");
        assert_eq!(again.to_bytes(), bytes);
        if let Ok(analysis) = gathered.finish() {
            findings(&analysis);
        }
    }
});
