//! Write-ahead files of a history, of any content: no crash, and what is read is within what is there.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_history::Log;

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    // The same behind a right header and with a right checksum, so that content is reached.
    let mut whole = Vec::from(*b"PLIMHIST");
    whole.extend(1u32.to_le_bytes());
    whole.extend(7u64.to_le_bytes());
    whole.extend(crc32c::crc32c(&whole).to_le_bytes());
    let length = (bytes.len() as u32).to_le_bytes();
    whole.extend(length);
    whole.extend(crc32c::crc32c_append(crc32c::crc32c(&length), bytes).to_le_bytes());
    whole.extend(bytes);
    check(&whole);
});

fn check(bytes: &[u8]) {
    let Ok(log) = Log::read(bytes) else { return };
    assert!(log.whole_bytes <= bytes.len());
    let known = |row: &plimsoll_history::Row| log.series[row.series as usize].is_some();
    assert!(log.rows.iter().all(known));
    // What is cut off behind the last whole frame was never there.
    assert_eq!(Log::read(&bytes[..log.whole_bytes]).as_ref(), Ok(&log));
}
