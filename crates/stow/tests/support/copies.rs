//! A container and a copy of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use plimsoll_stow::{Container, Placement, Reader, Writer};
use tempfile::TempDir;

use super::container;

/// A container, `it`, with some bytes, and a copy, `copy`.
pub fn copied() -> TempDir {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let container = container(folder.path(), 2);
    let mut writer = Writer::open(container.clone(), Placement::Striped).unwrap();
    writer.write_at(b"precious", 0).unwrap();
    // On both targets.
    writer.write_at(&vec![1; 9_000_000], 8).unwrap();
    writer.close().unwrap();
    fs::rename(container.path(), folder.path().join("it")).unwrap();
    let original = Container::open(&folder.path().join("it"), &[]).unwrap();
    plimsoll_stow::renew(&original).unwrap();
    copy(&folder, "it", "copy");
    folder
}

pub fn copy(folder: &TempDir, from: &str, to: &str) {
    let mut command = Command::new("cp");
    command.arg("-rp").arg(folder.path().join(from)).arg(folder.path().join(to));
    assert!(command.status().unwrap().success());
}

pub fn open(path: &Path) -> Container {
    Container::open(path, &[]).unwrap()
}

/// The directory of the logs on a target.
pub fn logs(folder: &TempDir, target: &str) -> PathBuf {
    let id = open(&folder.path().join("it")).id();
    folder.path().join(target).join(format!("plimsoll-stow-{id}"))
}

#[track_caller]
pub fn assert_precious(path: &Path) {
    let reader = Reader::open(Arc::new(open(path))).unwrap();
    let mut bytes = [0; 8];
    assert_eq!(reader.read_verified_at(&mut bytes, 0).unwrap(), 8);
    assert_eq!(&bytes, b"precious");
}
