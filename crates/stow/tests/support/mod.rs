//! What the tests of containers share.

#![allow(dead_code, reason = "not every test uses all of it")]

pub mod cells;
pub mod copies;
pub mod nodes;
pub mod small;

use std::path::Path;
use std::sync::Arc;

use plimsoll_guarded::Directory;
use plimsoll_stow::{Container, Reader, StowError, Target};

/// Makes a container that is durable once it was synced.
///
/// # Errors
/// If it cannot be made.
pub fn create_unsynced(path: &Path, targets: &[Target]) -> Result<Container, StowError> {
    let parent = Directory::open(path.parent().unwrap()).unwrap();
    let mut anchor =
        |it: &Directory| it.create("anchor", rustix::fs::OFlags::WRONLY, 0o600).map(drop);
    Container::create_unsynced(parent, path.file_name().unwrap(), targets, &mut anchor)
}

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
