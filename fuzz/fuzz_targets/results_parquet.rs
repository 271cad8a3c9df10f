//! Parquet files of results with any damage: no crash, no endless loop, no huge memory.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use plimsoll_measures::Results;

const PAIRS: &[u8] = include_bytes!("../../crates/measures/tests/golden/results-v1/pairs.parquet");
const INSTANCES: &[u8] =
    include_bytes!("../../crates/measures/tests/golden/results-v1/instances.parquet");

// The first bytes choose the file, whether the other is there, and the place of the damage.
//
// Panics within the Parquet library are caught, and libFuzzer's own hook would end the process
// before they are. Those that escape still end it.
fuzz_target!(init: { std::panic::set_hook(Box::new(|_| {})) }, |bytes: &[u8]| {
    let Some((&kind, bytes)) = bytes.split_first() else { return };
    let Some((place, damage)) = bytes.split_first_chunk::<2>() else { return };
    let (mut pairs, mut instances) = (PAIRS.to_vec(), INSTANCES.to_vec());
    let file = if kind & 1 == 0 { &mut pairs } else { &mut instances };
    let at = u16::from_le_bytes(*place) as usize % file.len();
    let length = damage.len().min(file.len() - at);
    file[at..at + length].copy_from_slice(&damage[..length]);
    let directory =
        std::env::temp_dir().join(format!("plimsoll-fuzz-parquet-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("pairs.parquet"), &pairs).unwrap();
    if kind & 3 != 2 {
        fs::write(directory.join("instances.parquet"), &instances).unwrap();
    }
    if let Ok(results) = Results::open(&directory) {
        if let Ok(instances) = results.instances() {
            assert!(instances.take_while(Result::is_ok).count() < 100_000);
        }
    }
    let _ = fs::remove_dir_all(&directory);
});
