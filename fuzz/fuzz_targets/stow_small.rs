//! Small containers with any content in their marker: no crash, no endless loop, and reading, checking and growing end.
#![no_main]

use std::fs;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use plimsoll_stow::small::{SmallEntry, Head};
use plimsoll_stow::{Container, Placement, Reader, SmallWriter, Target, Writer, check};

const MARKER: &[u8] = include_bytes!("../../crates/stow/tests/golden/v2/it/plimsoll-container");
/// Where its head begins, and where its entries do.
const PLACES: [usize; 2] = [64, 128];

// The first byte chooses: what was fuzzed behind the words or behind the head, or as damage of a good one. The next ones say where entries begin, as sums have to fit.
fuzz_target!(|bytes: &[u8]| {
    let Some((&kind, bytes)) = bytes.split_first() else { return };
    let mut marker = MARKER.to_vec();
    match kind % 4 {
        0 => {
            marker.truncate(PLACES[usize::from(kind >> 7)]);
            marker.extend(bytes);
        }
        1 => {
            // An entry that is whole, of whatever it says.
            marker.truncate(PLACES[1]);
            let Some((&[offset, sequence], bytes)) = bytes.split_first_chunk::<2>() else { return };
            let (offset, sequence) = (u64::from(offset) << (sequence & 63), u64::from(sequence));
            if let Some(entry) = SmallEntry::write(bytes, offset, sequence) {
                marker.extend(entry.encode(PLACES[1] as u64));
            }
            marker.extend(bytes);
        }
        2 => {
            let Some((place, damage)) = bytes.split_first_chunk::<2>() else { return };
            let at = u16::from_le_bytes(*place) as usize % marker.len();
            let length = damage.len().min(marker.len() - at);
            marker[at..at + length].copy_from_slice(&damage[..length]);
        }
        _ => {
            let _ = (SmallEntry::decode(bytes, 0), Head::decode(bytes));
            return;
        }
    }
    let folder = std::env::temp_dir().join(format!("plimsoll-fuzz-small-{}", std::process::id()));
    let (path, target) = (folder.join("it"), folder.join("t0"));
    fs::create_dir_all(&path).unwrap();
    fs::create_dir_all(&target).unwrap();
    fs::write(path.join("plimsoll-container"), marker).unwrap();
    fs::write(path.join("anchor"), "").unwrap();
    let targets = [Target { name: "t0".into(), path: target }];
    if let Ok(container) = Container::open(&path, &targets) {
        let container = Arc::new(container);
        if let Ok(reader) = Reader::open(container.clone()) {
            let mut bytes = vec![0; 1 << 16];
            let _ = reader.read_verified_at(&mut bytes, 0);
            let _ = check(&reader, &mut |_| {});
        }
        if let Ok(Some(mut writer)) = SmallWriter::open(&container, 4096) {
            let _ = writer.append(&container, b"more");
        }
        if let Ok(mut writer) = Writer::open(container, Placement::Striped) {
            let _ = writer.write_at(b"x", 0);
        }
    }
    let _ = fs::remove_dir_all(&folder);
});
