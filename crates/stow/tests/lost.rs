//! Targets that are not there any more: what is on them is told by name, and what is written goes elsewhere.

mod support;

use std::fs;

use plimsoll_stow::{Placement, Reader, StowError, Writer};

use support::container;

#[test]
fn a_log_that_is_gone_is_told_by_its_name_and_what_came_later_is_read() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let container = container(folder.path(), 2);
    let mut writer = Writer::open(container.clone(), Placement::Static).unwrap();
    writer.write_at(&[1; 5000], 0).unwrap();
    fs::rename(folder.path().join("t0"), folder.path().join("gone")).unwrap();
    // The writer that has the log open goes on; another one finds the other target.
    let mut other = Writer::open(container.clone(), Placement::Striped).unwrap();
    other.write_at(&[2; 5000], 10_000).unwrap();
    let mut third = Writer::open(container.clone(), Placement::Static).unwrap();
    third.write_at(&[3; 100], 12_000).unwrap();
    assert_eq!(third.refusals().map(|(name, _)| name).collect::<Vec<_>>(), ["t0"]);
    let reader = Reader::open(container).unwrap();
    let mut bytes = [0; 5000];
    assert_eq!(reader.read_at(&mut bytes, 10_000).unwrap(), 5000);
    assert_eq!((bytes[0], bytes[2000], bytes[4999]), (2, 3, 2));
    for (offset, length, range) in
        [(0, 10, 0..10), (9000, 2000, 9000..10_000), (15_000, 1, 15_000..15_001)]
    {
        let error = reader.read_at(&mut bytes[..length], offset).unwrap_err();
        let StowError::Unreadable { range: told, why, .. } = &error else { panic!("{error}") };
        assert_eq!(*told, range);
        assert!(why.starts_with("log 0 on target t0: No such file"), "{why}");
        assert_eq!(error.errno(), rustix::io::Errno::IO);
    }
}

/// A file that is open can be written also when nobody will ever find it again.
#[test]
fn a_log_that_is_lost_while_it_is_written_is_told_by_the_next_sync_and_left() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let at = |name: &str| folder.path().join(name);
    let container = container(folder.path(), 2);
    let mut writer = Writer::open(container.clone(), Placement::Static).unwrap();
    writer.write_at(&[1; 5000], 0).unwrap();
    writer.sync().unwrap();
    // Another way leads there: nothing is lost.
    fs::rename(at("t0"), at("moved")).unwrap();
    std::os::unix::fs::symlink("moved", at("t0")).unwrap();
    writer.write_at(&[2; 5000], 0).unwrap();
    writer.sync().unwrap();
    assert_eq!(writer.refusals().count(), 0);
    fs::remove_dir_all(at("moved")).unwrap();
    writer.write_at(&[3; 5000], 0).unwrap();
    for _ in 0..2 {
        let error = writer.sync().unwrap_err();
        assert_eq!(error.errno(), rustix::io::Errno::IO);
        assert!(error.to_string().contains("log 0 on target t0: it is gone"), "{error}");
    }
    assert_eq!(writer.refusals().map(|(name, _)| name).collect::<Vec<_>>(), ["t0"]);
    writer.write_at(&[4; 5000], 0).unwrap();
    let mut bytes = [0; 5000];
    assert_eq!(Reader::open(container).unwrap().read_at(&mut bytes, 0).unwrap(), 5000);
    assert_eq!(bytes, [4; 5000]);
    // Without any target, it is the storage that fails, and no name.
    fs::remove_dir_all(at("t1")).unwrap();
    assert!(writer.sync().is_err());
    let error = writer.write_at(&[5; 5000], 0).unwrap_err();
    assert_eq!(error.errno(), rustix::io::Errno::IO);
    assert!(error.to_string().contains("t1: "), "{error}");
}

/// Without a sync, a new segment is not begun where nobody would find it.
#[test]
fn segments_are_begun_where_they_are_found_again() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let container = container(folder.path(), 2);
    let mut writer = Writer::open(container.clone(), Placement::Static).unwrap();
    writer.write_at(&[1; 5000], 0).unwrap();
    fs::remove_dir_all(folder.path().join("t0")).unwrap();
    for turn in 0..200 {
        writer.write_at(&[2; 50_000], turn * 50_000).unwrap();
    }
    assert_eq!(writer.refusals().map(|(name, _)| name).collect::<Vec<_>>(), ["t0"]);
    let mut bytes = [0; 50_000];
    Reader::open(container).unwrap().read_at(&mut bytes, 199 * 50_000).unwrap();
    assert_eq!(bytes, [2; 50_000]);
}
