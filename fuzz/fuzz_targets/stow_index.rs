//! Merged indexes with any entries, whose checksums are right: no crash, no endless loop, no huge memory, and reading ends.
#![no_main]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use libfuzzer_sys::fuzz_target;
use plimsoll_stow::index::{Fence, IndexHead, IndexedLog, RUNS_PER_BLOCK, SINGLES_PER_BLOCK};
use plimsoll_stow::index_entry::{IndexRun, RUN_BYTES, SINGLE_BYTES, decode_single};
use plimsoll_stow::{Container, Id, Reader, Stamp, Target, manifest};

const LOG: &[u8] = include_bytes!(concat!(
    "../../crates/stow/tests/golden/index/t0/plimsoll-stow-",
    "8f80632896a9657e4de22ac41974e4f7",
    "/log-0000"
));
const STATE: &[u8] = include_bytes!("../../crates/stow/tests/golden/index/it/state");
const ID: &str = "8f80632896a9657e4de22ac41974e4f7";

// The first byte says how many of the others are runs; the rest are singles.
fuzz_target!(|bytes: &[u8]| {
    let _ = IndexHead::decode(bytes, bytes.len() as u64);
    let _ = (IndexRun::decode(bytes), decode_single(bytes, 7));
    let Some((&count, bytes)) = bytes.split_first() else { return };
    let runs = bytes.len() / RUN_BYTES;
    let (runs, singles) = bytes.split_at(RUN_BYTES * runs.min(count as usize));
    let singles = &singles[..singles.len() - singles.len() % SINGLE_BYTES];
    let head = |marker| IndexHead {
        container: Id::parse(ID).unwrap(),
        node: Id::from_bytes([0; 16]),
        marker,
        size: 1 << 20,
        stamp: Stamp { sequence: 1, seat: 1 },
        logs: vec![IndexedLog { size: 4096, intended: 0, highest: 0 }],
        runs: fences(runs, RUN_BYTES, RUNS_PER_BLOCK),
        singles: fences(singles, SINGLE_BYTES, SINGLES_PER_BLOCK),
    };
    let folder = std::env::temp_dir().join(format!("plimsoll-fuzz-index-{}", std::process::id()));
    read(&folder, |marker| [&head(marker).encode(), runs, singles].concat());
    let _ = fs::remove_dir_all(&folder);
});

/// Fences that lead to all blocks.
fn fences(bytes: &[u8], each: usize, most: usize) -> Vec<Fence> {
    let fence = |block: &[u8]| Fence {
        first: 0,
        reach: u64::MAX,
        entries: (block.len() / each) as u32,
        checksum: crc32c::crc32c(block),
    };
    bytes.chunks(each * most).map(fence).collect()
}

/// Returns by what an index knows its container.
fn marker(path: &Path) -> (u64, Option<u64>) {
    let facts = fs::metadata(path).unwrap();
    let born = facts.created().ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    (facts.ino(), born.map(|it| it.as_nanos() as u64))
}

fn read(folder: &Path, index: impl Fn((u64, Option<u64>)) -> Vec<u8>) {
    let (container, target) = (folder.join("it"), folder.join("t0"));
    let logs = target.join(format!("plimsoll-stow-{ID}"));
    fs::create_dir_all(&container).unwrap();
    fs::create_dir_all(&logs).unwrap();
    let listed =
        manifest::ListedLog { number: 0, target: "t0".into(), path: target.clone(), seat: 1 };
    fs::write(container.join("manifest"), listed.line().unwrap()).unwrap();
    fs::write(container.join("plimsoll-container"), format!("plimsoll container 1\nid {ID}\n"))
        .unwrap();
    fs::write(container.join("anchor"), "").unwrap();
    fs::write(container.join("state"), STATE).unwrap();
    fs::write(container.join("index"), index(marker(&container.join("plimsoll-container"))))
        .unwrap();
    fs::write(logs.join("log-0000"), LOG).unwrap();
    let target = Target { name: "t0".into(), path: target };
    let container = Container::open(&container, &[target]).unwrap();
    let reader = Reader::open(Arc::new(container)).unwrap();
    let mut bytes = vec![0; 1 << 16];
    for offset in [0, 1000, 1 << 19] {
        let _ = reader.read_at(&mut bytes, offset);
    }
    let _ = (reader.logs().len(), reader.lost().len());
}
