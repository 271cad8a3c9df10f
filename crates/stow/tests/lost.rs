//! Targets that are not there any more: what is on them is told by name, and what is written goes elsewhere.

mod support;

use std::fs;

use plimsoll_stow::{Placement, Reader, StowError, Stretch, Writer, write_index};

use support::{container, content};

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

/// What was written on the second target is missing: whoever goes by the size is told so, and what is appended covers nothing.
#[test]
fn while_something_may_have_changed_the_size_it_is_not_told() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let container = container(folder.path(), 2);
    let away = |from: &str, to: &str| {
        fs::rename(folder.path().join(from), folder.path().join(to)).unwrap();
    };
    let mut first = Writer::open(container.clone(), Placement::Static).unwrap();
    let mut second = Writer::open(container.clone(), Placement::Static).unwrap();
    first.append(b"aaaa").unwrap();
    second.append(b"bbbb").unwrap();
    second.close().unwrap();
    away("t1", "gone");
    let reader = Reader::open(container.clone()).unwrap();
    let error = reader.known_size().unwrap_err();
    assert_eq!(error.errno(), rustix::io::Errno::IO);
    assert!(error.to_string().contains("log 1 on target t1: No such file"), "{error}");
    let mut other = Writer::open(container.clone(), Placement::Static).unwrap();
    for writer in [&mut first, &mut other] {
        let error = writer.append(b"cccc").unwrap_err();
        assert!(matches!(error, StowError::UnknownSize { .. }), "{error}");
        assert!(writer.last_write().is_empty());
    }
    // What does not go by the size is done, and what cuts the file gives it one.
    other.write_at(b"A", 0).unwrap();
    assert!(Reader::open(container.clone()).unwrap().known_size().is_err());
    away("gone", "t1");
    assert_eq!(content(&Reader::open(container.clone()).unwrap()), b"Aaaabbbb");
    assert_eq!(first.append(b"cccc").unwrap(), 8);
    away("t1", "gone");
    // It knows the end: nobody else has written since.
    assert_eq!(first.append(b"dddd").unwrap(), 12);
    other.truncate(6).unwrap();
    assert_eq!(Reader::open(container.clone()).unwrap().known_size().unwrap(), 6);
    assert_eq!(other.append(b"ee").unwrap(), 6);
    away("gone", "t1");
    assert_eq!(content(&Reader::open(container).unwrap()), b"Aaaabbee");
}

/// A hole, or a cut, that is later than all that is missing reaches beyond the end: there are no zeros behind it.
#[test]
fn nothing_is_read_behind_the_end() {
    for cut in [true, false] {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let container = container(folder.path(), 2);
        let mut first = Writer::open(container.clone(), Placement::Static).unwrap();
        let mut second = Writer::open(container.clone(), Placement::Static).unwrap();
        first.write_at(b"old old old", 0).unwrap();
        if cut {
            second.truncate(0).unwrap();
        } else {
            second.punch(4, 1 << 61).unwrap();
        }
        second.write_at(b"new\n", 0).unwrap();
        fs::rename(folder.path().join("t0"), folder.path().join("gone")).unwrap();
        let reader = Reader::open(container).unwrap();
        let mut bytes = [7; 100];
        assert_eq!(reader.read_at(&mut bytes[..4], 0).unwrap(), 4);
        assert_eq!(&bytes[..4], b"new\n");
        if cut {
            assert_eq!(reader.known_size().unwrap(), 4);
            assert_eq!(reader.read_at(&mut bytes, 0).unwrap(), 4);
            for offset in [4, 5, 1 << 40] {
                assert_eq!(reader.read_verified_at(&mut bytes, offset).unwrap(), 0);
            }
            continue;
        }
        assert!(reader.known_size().is_err());
        for (offset, range) in [(0, 4..100), (4, 4..104), (1 << 40, 1 << 40..(1 << 40) + 100)] {
            let error = reader.read_at(&mut bytes, offset).unwrap_err();
            let StowError::Unreadable { range: told, .. } = &error else { panic!("{error}") };
            assert_eq!(*told, range);
        }
    }
}

/// The index knows of what cannot be read: it is no hole.
#[test]
fn what_only_the_index_knows_is_data() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let container = container(folder.path(), 2);
    for offset in [0, 100_000] {
        let mut writer = Writer::open(container.clone(), Placement::Static).unwrap();
        writer.write_at(&[1; 5000], offset).unwrap();
        writer.close().unwrap();
    }
    write_index(&container).unwrap().unwrap();
    fs::rename(folder.path().join("t1"), folder.path().join("gone")).unwrap();
    let reader = Reader::open(container).unwrap();
    assert_eq!(reader.known_size().unwrap(), 105_000);
    let stretch = reader.stretch_from(100_000).unwrap().unwrap();
    assert_eq!(stretch, Stretch { end: 105_000, is_hole: false });
}
