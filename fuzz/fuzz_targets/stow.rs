//! Containers with any content: no crash, no endless loop, no huge memory, and reading ends.
#![no_main]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use plimsoll_stow::header::{LogHeader, SegmentHeader};
use plimsoll_stow::word::Entry;
use plimsoll_stow::{Container, Home, Id, Reader, StateCopy, Target, check, id_in, manifest};

const LOG: &[u8] = include_bytes!(
    "../../crates/stow/tests/golden/v1/t0/plimsoll-stow-b9c8e0f14c1f4bb80cd054154f918003/log-0000"
);
const ID: &str = "b9c8e0f14c1f4bb80cd054154f918003";

// The first byte chooses: any words in a good segment, a good log with damage at a place, or the decoders by themselves.
fuzz_target!(|bytes: &[u8]| {
    let Some((&kind, bytes)) = bytes.split_first() else { return };
    let id = Id::parse(ID).unwrap();
    let mut log = LOG.to_vec();
    match kind % 3 {
        0 => {
            log.truncate(4096);
            let header = SegmentHeader {
                container: id,
                log: 0,
                position: 4096,
                length: 1 << 16,
                seat: 1,
                stamp: 1,
                node: Id::from_bytes([0; 16]),
            };
            log.extend(header.encode());
            log.extend(bytes);
            log.resize(4096 + (1 << 16), 7);
        }
        1 => {
            let Some((place, damage)) = bytes.split_first_chunk::<2>() else { return };
            let at = u16::from_le_bytes(*place) as usize % log.len();
            let length = damage.len().min(log.len() - at);
            log[at..at + length].copy_from_slice(&damage[..length]);
        }
        _ => return decode(bytes),
    }
    let folder = std::env::temp_dir().join(format!("plimsoll-fuzz-stow-{}", std::process::id()));
    read(&folder, id, &log);
    let _ = fs::remove_dir_all(&folder);
});

fn decode(bytes: &[u8]) {
    let _ = manifest::parse(bytes);
    let _ = (LogHeader::decode(bytes), SegmentHeader::decode(bytes), StateCopy::decode(bytes));
    let words: Vec<u64> =
        bytes.chunks_exact(8).map(|it| u64::from_le_bytes(it.try_into().unwrap())).collect();
    let _ = Entry::decode(&words);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = (id_in(text), Home::parse(text));
    }
}

fn read(folder: &Path, id: Id, log: &[u8]) {
    let (container, target) = (folder.join("it"), folder.join("t0"));
    let logs = target.join(format!("plimsoll-stow-{id}"));
    fs::create_dir_all(&container).unwrap();
    fs::create_dir_all(&logs).unwrap();
    let listed = manifest::ListedLog { number: 0, target: "t0".into(), path: target.clone(), seat: 1 };
    fs::write(container.join("manifest"), listed.line().unwrap()).unwrap();
    fs::write(container.join("plimsoll-container"), format!("plimsoll container 1\nid {id}\n"))
        .unwrap();
    fs::write(container.join("anchor"), "").unwrap();
    fs::write(logs.join("log-0000"), log).unwrap();
    let target = Target { name: "t0".into(), path: target };
    let container = Container::open(&container, &[target]).unwrap();
    let reader = Reader::open(Arc::new(container)).unwrap();
    let mut bytes = vec![0; 1 << 16];
    let _ = reader.read_verified_at(&mut bytes, 0);
    let _ = check(&reader, &mut |_| {});
}
