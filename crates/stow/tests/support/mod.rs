//! What the tests of containers share.

#![allow(dead_code, reason = "not every test uses all of it")]

use std::path::Path;
use std::sync::Arc;

use plimsoll_stow::{Container, Reader, Target};

/// Makes directories to be targets.
pub fn targets(folder: &Path, count: usize) -> Vec<Target> {
    let target = |index: usize| {
        let name = format!("t{index}");
        let path = folder.join(&name);
        std::fs::create_dir_all(&path).unwrap();
        Target { name, path }
    };
    (0..count).map(target).collect()
}

/// Makes a container on so many targets.
pub fn container(folder: &Path, count: usize) -> Arc<Container> {
    Arc::new(Container::create(&folder.join("it"), &targets(folder, count)).unwrap())
}

/// Reads all of a container, with checksums and without.
#[track_caller]
pub fn content(reader: &Reader) -> Vec<u8> {
    let mut bytes = vec![0xEE; reader.size() as usize + 10];
    let count = reader.read_verified_at(&mut bytes, 0).unwrap();
    let mut again = vec![0xEE; count];
    assert_eq!(reader.read_at(&mut again, 0).unwrap(), count);
    bytes.truncate(count);
    assert_eq!(bytes, again);
    bytes
}

/// Random numbers of a seed (splitmix64, Steele, Lea and Flood 2014).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }
}
