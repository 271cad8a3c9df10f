//! What the kernel copies of a container to a plain file is what a reader reads.

mod support;

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use plimsoll_stats::Random;
use plimsoll_stow::{Placement, Reader, Writer};
use support::{container, content};

/// Copies a container to a file, what can be by the kernel; returns how much that was.
fn copied(reader: &Reader, file: &File) -> u64 {
    let (mut at, mut by_kernel) = (0, 0);
    while at < reader.size() {
        let mut to = at;
        if let Some(count) = reader.copy_to(file.as_fd(), Some(&mut to), at, usize::MAX >> 1) {
            assert_eq!(to, at + count as u64);
            by_kernel += count as u64;
            at = to;
            continue;
        }
        let mut bytes = vec![0; 50_000];
        let count = reader.read_at(&mut bytes, at).unwrap();
        file.write_all_at(&bytes[..count], at).unwrap();
        at += count as u64;
    }
    by_kernel
}

#[test]
fn a_copy_by_the_kernel_has_the_same_bytes() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let made = container(folder.path(), 3);
    let mut random = Random::new(7);
    let mut writer = Writer::open(made.clone(), Placement::Striped).unwrap();
    // Small ones, so many that there is an index; then large ones, some of which cover others, and a hole.
    for index in 0..1200 {
        writer.write_at(&[index as u8; 100], index * 100).unwrap();
    }
    for round in 0..3 {
        for _ in 0..12 {
            let bytes = vec![random.below(256) as u8; 1 + random.index(900_000)];
            writer.write_at(&bytes, random.below(9_000_000)).unwrap();
        }
        writer.punch(random.below(4_000_000), 600_000).unwrap();
        if round == 1 {
            // What follows is not in the index.
            writer.close().unwrap();
            writer = Writer::open(made.clone(), Placement::Striped).unwrap();
        }
        let reader = Reader::open(made.clone()).unwrap();
        assert_eq!(reader.index().is_ok(), round > 0, "{:?}", reader.index());
        let file = File::create_new(folder.path().join(format!("copy-{round}"))).unwrap();
        let by_kernel = copied(&reader, &file);
        let copy = fs::read(folder.path().join(format!("copy-{round}"))).unwrap();
        assert!(copy == content(&reader), "round {round}");
        assert!(by_kernel > reader.size() / 4, "{by_kernel} of {}", reader.size());
        assert_eq!(reader.copy_to(file.as_fd(), None, reader.size(), 1 << 20), None);
    }
}
