//! Containers of version 1 stay readable: those in golden/v1 were written by the first program that wrote any.
//!
//! `STOW_MAKE_GOLDEN=1` writes them anew, which only a new version of the format may do.

mod support;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use plimsoll_stow::{Container, Id, Placement, Problem, Reader, Target, Writer, check, repair};
use support::content;

/// What was written, and what a plain file would hold then.
fn write(writer: &mut Writer) {
    for index in 0..50u64 {
        writer.write_at(&[index as u8 + 1; 16], index * 64).unwrap();
    }
    writer.write_at(b"words", 10).unwrap();
    writer.sync().unwrap();
    writer.punch(100, 1000).unwrap();
    writer.truncate(3000).unwrap();
    writer.append(b"the end").unwrap();
}

fn expected() -> Vec<u8> {
    let mut file = vec![0; 3000];
    for index in 0..47 {
        let length = 16.min(3000 - index * 64);
        file[index * 64..index * 64 + length].fill(index as u8 + 1);
    }
    file[10..15].copy_from_slice(b"words");
    file[100..1100].fill(0);
    file.extend(b"the end");
    file
}

#[test]
fn a_container_of_version_1_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1");
    let targets = ["t0", "t1"].map(|name| Target { name: name.into(), path: folder.join(name) });
    if std::env::var_os("STOW_MAKE_GOLDEN").is_some() {
        make(&folder, &targets);
    }
    let container = Arc::new(Container::open(&folder.join("it"), &targets).unwrap());
    let reader = Reader::open(container).unwrap();
    assert_eq!(content(&reader), expected());
    // There were no notes then.
    assert_eq!(check(&reader, &mut |_| {}).unwrap(), [Problem::Unnoted]);
    assert_eq!(reader.logs().len(), 2);
}

/// Somebody says first that it is no copy.
#[test]
fn a_container_of_version_1_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1/.");
    assert!(
        Command::new("cp").arg("-r").arg(golden).arg(folder.path()).status().unwrap().success()
    );
    let targets = support::targets(folder.path(), 2);
    let container = Arc::new(Container::open(&folder.path().join("it"), &targets).unwrap());
    assert!(Writer::open(container.clone(), Placement::Static).is_err());
    assert_eq!(repair(&container, &[]).unwrap(), 1);
    let mut writer = Writer::open(container.clone(), Placement::Static).unwrap();
    writer.append(b", and more").unwrap();
    writer.close().unwrap();
    let expected = [&expected()[..], b", and more"].concat();
    assert_eq!(content(&Reader::open(container.clone()).unwrap()), expected);
    assert_eq!(container.remove().unwrap(), []);
}

/// The manifest names places that are nowhere, as it would on another machine.
fn make(folder: &Path, targets: &[Target]) {
    for target in targets {
        std::fs::create_dir_all(&target.path).unwrap();
    }
    let path = folder.join("it");
    let container = Arc::new(Container::create(&path, targets).unwrap());
    let mut writers = [0, 1].map(|_| Writer::open(container.clone(), Placement::Static).unwrap());
    write(&mut writers[0]);
    writers[1].write_at(b"rds", 12).unwrap();
    writers.into_iter().for_each(|it| it.close().unwrap());
    let mut lines = String::new();
    for mut log in container.logs().unwrap() {
        log.path = Path::new("/nowhere").join(&log.target);
        lines += &log.line().unwrap();
    }
    std::fs::write(path.join("manifest"), lines).unwrap();
}

fn small() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v2")
}

/// `STOW_MAKE_GOLDEN=1` writes it anew, which only a new version of the format may do.
#[test]
fn a_small_container_of_version_2_is_read_and_grows() {
    let folder = tempfile::tempdir().unwrap();
    let targets = support::targets(folder.path(), 1);
    let path = small().join("it");
    if std::env::var_os("STOW_MAKE_GOLDEN").is_some() {
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(small()).unwrap();
        let (container, mut writer) = support::small::make(&path, &targets);
        writer.write_at(&container, b"a small file", 4).unwrap();
        writer.sync(&container).unwrap();
        writer.truncate(&container, 14).unwrap();
        writer.append(&container, b"s of two writes").unwrap();
    }
    let expected = b"\0\0\0\0a small fis of two writes";
    let container = opened(&path, &[]);
    assert_eq!(container.id(), Id::parse(&id_of_small()).unwrap());
    assert_eq!(
        (content(&Reader::open(container.clone()).unwrap()), container.is_unsynced()),
        (expected.to_vec(), false)
    );
    let copy = folder.path().join("it");
    assert!(Command::new("cp").arg("-r").args([&path, &copy]).status().unwrap().success());
    let mut writer = Writer::open(opened(&copy, &targets), Placement::Striped).unwrap();
    writer.append(b"!").unwrap();
    writer.close().unwrap();
    assert_eq!(
        content(&Reader::open(opened(&copy, &targets)).unwrap()),
        [expected.as_slice(), b"!"].concat()
    );
}

fn id_of_small() -> String {
    let marker = std::fs::read(small().join("it/plimsoll-container")).unwrap();
    String::from_utf8_lossy(&marker[24..56]).into_owned()
}

fn opened(path: &Path, targets: &[Target]) -> Arc<Container> {
    Arc::new(Container::open(path, targets).unwrap())
}
