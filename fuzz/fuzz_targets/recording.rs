//! Files of recordings with any content: no crash, no endless loop, no huge memory.
#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;
use plimsoll_trace::{ProcessFile, ThreadDecoder};

const GOLDEN: [&[u8]; 2] = [
    include_bytes!("../../crates/trace/tests/golden/process-v1.rec"),
    include_bytes!("../../crates/trace/tests/golden/process-v2.rec"),
];

// The first bytes choose: a bare payload, or a good file with damage at a place.
fuzz_target!(|bytes: &[u8]| {
    let Some((&kind, bytes)) = bytes.split_first() else { return };
    if kind & 1 == 0 {
        let mut events = 0u64;
        ThreadDecoder::new().decode(0, bytes, |_| events += 1);
        assert!(events <= bytes.len() as u64);
        return;
    }
    let Some((place, damage)) = bytes.split_first_chunk::<4>() else { return };
    let mut file = GOLDEN[usize::from(kind >> 1 & 1)].to_vec();
    let at = u32::from_le_bytes(*place) as usize % file.len();
    let length = damage.len().min(file.len() - at);
    file[at..at + length].copy_from_slice(&damage[..length]);
    let path = std::env::temp_dir().join(format!("plimsoll-fuzz-{}.rec", std::process::id()));
    std::fs::File::create(&path).unwrap().write_all(&file).unwrap();
    if let Ok(file) = ProcessFile::open(&path) {
        let mut buffer = Vec::new();
        let (chunks, _) = file.scan(|_| {}).unwrap();
        for chunk in &chunks {
            let payload = file.payload(chunk, &mut buffer).unwrap();
            ThreadDecoder::new().decode(chunk.base_ticks, payload, |_| {});
        }
    }
    let _ = std::fs::remove_file(&path);
});
