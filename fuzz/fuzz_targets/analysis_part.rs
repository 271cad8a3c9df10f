//! Parts of analyses with any content: no crash, no endless loop, no huge memory.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_analyze::{Analysis, Merging, Options, PartialFile};

const GOLDEN: &[u8] = include_bytes!("../../crates/analyze/tests/golden/part-v2");
/// Magic and version, which say what the rest is.
const BEGIN: usize = 27;

// The first bytes choose: a good part with damage at a place, which may make it shorter or longer. With a
// checksum that holds, so that what is behind it is read.
fuzz_target!(|bytes: &[u8]| {
    let Some((&[low, high, removed], inserted)) = bytes.split_first_chunk::<3>() else { return };
    let content = &GOLDEN[BEGIN..GOLDEN.len() - 4];
    let at = u16::from_le_bytes([low, high]) as usize % content.len();
    let rest = content.get(at + usize::from(removed)..).unwrap_or_default();
    let mut part = [&GOLDEN[..BEGIN], &content[..at], inserted, rest].concat();
    part.extend(crc32c::crc32c(&part).to_le_bytes());
    let Ok(part) = PartialFile::from_bytes(&part) else { return };
    let bytes = part.to_bytes();
    let again = PartialFile::from_bytes(&bytes).expect("what is written can be read");
    assert_eq!(again.to_bytes(), bytes);
    let mut merging = Merging::default();
    if merging.add(part).is_ok()
        && let Ok(merged) = merging.finish(&Options::default())
    {
        Analysis::of(&merged.frame, &merged.whole);
    }
});
