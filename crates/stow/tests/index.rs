//! The merged index: what it says is what the logs say, and whoever damages it gains nothing.

mod support;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use plimsoll_stats::Random;
use plimsoll_stow::index::IndexHead;
use plimsoll_stow::{
    Container, Id, Placement, Problem, Reader, StowError, Target, Writer, check, remove_index,
    write_index,
};
use support::{container, content, targets};

/// All bytes as they are read through the index, or without one.
fn read(reader: &Reader) -> Vec<u8> {
    let mut bytes = vec![0xEE; reader.size() as usize + 10];
    let count = reader.read_at(&mut bytes, 0).unwrap();
    bytes.truncate(count);
    bytes
}

/// The same bytes, read in random parts.
fn compare_parts(reader: &Reader, whole: &[u8], random: &mut Random) {
    for _ in 0..100 {
        let offset = random.below(whole.len() as u64 + 100);
        let mut bytes = vec![0xEE; random.below(5000) as usize];
        let count = reader.read_at(&mut bytes, offset).unwrap();
        let from = (offset as usize).min(whole.len());
        let expected = &whole[from..(from + bytes.len()).min(whole.len())];
        assert!(bytes[..count] == *expected, "{} bytes at {offset}", bytes.len());
    }
}

/// Records in patterns and at random, holes, and another size now and then.
fn change(writer: &mut Writer, random: &mut Random) {
    let (kind, fill) = (random.below(30), random.below(255) as u8 + 1);
    match kind {
        0 => writer.truncate(random.below(300_000)).unwrap(),
        1 => writer.punch(random.below(200_000), random.below(5000)).unwrap(),
        2..8 => {
            let (offset, length) = (random.below(100_000), 1 + random.below(300));
            let stride = length + random.below(500);
            for step in 0..random.below(200) {
                writer.write_at(&vec![fill; length as usize], offset + step * stride).unwrap();
            }
        }
        _ => {
            let length = 1 + random.below(3000) as usize;
            writer.write_at(&vec![fill; length], random.below(200_000)).unwrap();
        }
    }
}

#[test]
fn an_index_and_what_came_later_say_what_the_logs_say() {
    for seed in 0..6 {
        let mut random = Random::new(seed);
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let container = container(folder.path(), 3);
        let mut early = Reader::open(container.clone()).unwrap();
        for _ in 0..4 {
            let open = || Writer::open(container.clone(), Placement::Striped).unwrap();
            let mut writers = [open(), open(), open()];
            for _ in 0..60 {
                change(&mut writers[random.below(3) as usize], &mut random);
            }
            // With what is in no index yet.
            let whole = content(&Reader::open_scanned(container.clone()).unwrap());
            let reader = Reader::open(container.clone()).unwrap();
            assert!(read(&reader) == whole, "seed {seed}: laid over the index");
            compare_parts(&reader, &whole, &mut random);
            writers.into_iter().for_each(|it| it.close().unwrap());
            write_index(&container).unwrap().unwrap();
            let late = Reader::open(container.clone()).unwrap();
            assert!(late.index().is_ok(), "{:?}", late.index());
            assert_eq!(late.records(), [], "all of it is in the index");
            assert!(read(&late) == whole, "seed {seed}: by the index");
            compare_parts(&late, &whole, &mut random);
            early.refresh().unwrap();
            assert!(read(&early) == whole, "seed {seed}: by a reader that saw it grow");
            assert_eq!(check(&late, &mut |_| {}).unwrap(), []);
        }
    }
}

#[test]
fn the_last_writer_to_close_writes_the_index() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let container = container(folder.path(), 2);
    let open = || Writer::open(container.clone(), Placement::Striped).unwrap();
    let mut writers = [open(), open()];
    for index in 0..20_000u64 {
        writers[(index % 2) as usize].write_at(&[index as u8; 256], index * 256).unwrap();
    }
    let [first, last] = writers;
    first.close().unwrap();
    let told = |reader: &Reader| reader.index().map_err(str::to_string);
    let reader = Reader::open(container.clone()).unwrap();
    assert_eq!(told(&reader), Err("there is none".into()));
    last.close().unwrap();
    let reader = Reader::open(container).unwrap();
    assert!(told(&reader).unwrap() < 4096, "{:?} bytes for 20,000 records", told(&reader));
    let whole: Vec<u8> = (0..20_000u64).flat_map(|index| [index as u8; 256]).collect();
    assert!(read(&reader) == whole);
    compare_parts(&reader, &whole, &mut Random::new(3));
}

#[test]
fn records_at_random_take_at_most_16_bytes_each() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let container = container(folder.path(), 2);
    let mut writer = Writer::open(container.clone(), Placement::Striped).unwrap();
    let mut order: Vec<u64> = (0..20_000).collect();
    let mut random = Random::new(4);
    (0..order.len()).for_each(|at| order.swap(at, random.below(20_000) as usize));
    for place in order {
        writer.write_at(&[1; 50], place * 50).unwrap();
    }
    writer.close().unwrap();
    let bytes = Reader::open(container).unwrap().index().unwrap();
    assert!(bytes <= 16 * 20_000, "{bytes} bytes");
}

#[test]
fn a_damaged_index_is_not_used_and_nothing_else_is_lost() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let container = container(folder.path(), 2);
    let mut random = Random::new(9);
    let mut writer = Writer::open(container.clone(), Placement::Striped).unwrap();
    (0..300).for_each(|_| change(&mut writer, &mut random));
    writer.close().unwrap();
    write_index(&container).unwrap().unwrap();
    let whole = content(&Reader::open_scanned(container.clone()).unwrap());
    let path = folder.path().join("it/index");
    let original = fs::read(&path).unwrap();
    let mut refused = 0;
    for _ in 0..120 {
        let mut damaged = original.clone();
        match random.below(4) {
            0 => damaged.truncate(random.below(original.len() as u64) as usize),
            1 => damaged.extend([0; 7]),
            _ => {
                let place = random.below(original.len() as u64) as usize;
                damaged[place] ^= 1 << random.below(8);
            }
        }
        fs::write(&path, damaged).unwrap();
        let reader = Reader::open(container.clone()).unwrap();
        refused += u32::from(reader.index().is_err());
        assert!(read(&reader) == whole);
    }
    assert!(refused > 20, "{refused} were told when the container was opened");
    // One of another container, or one that is no file at all.
    let other = folder.path().join("other");
    let other = Arc::new(Container::create(&other, &targets(folder.path(), 2)).unwrap());
    write_index(&other).unwrap();
    fs::copy(other.path().join("index"), &path).unwrap();
    let reader = Reader::open(container.clone()).unwrap();
    assert_eq!(reader.index(), Err("it is another container's"));
    assert!(read(&reader) == whole);
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    let reader = Reader::open(container.clone()).unwrap();
    assert!(reader.index().unwrap_err().contains("symlink"), "{:?}", reader.index());
    write_index(&container).unwrap().unwrap();
    assert!(!fs::symlink_metadata(&path).unwrap().is_symlink(), "it was replaced");
}

#[test]
fn with_an_index_only_what_lies_in_a_missing_log_cannot_be_read() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let container = container(folder.path(), 2);
    for fill in 1..3 {
        let mut writer = Writer::open(container.clone(), Placement::Static).unwrap();
        writer.write_at(&[fill; 5000], u64::from(fill) * 10_000).unwrap();
        writer.close().unwrap();
    }
    write_index(&container).unwrap().unwrap();
    fs::rename(folder.path().join("t1"), folder.path().join("gone")).unwrap();
    let reader = Reader::open(container.clone()).unwrap();
    let mut bytes = [9; 5000];
    assert_eq!(reader.read_at(&mut bytes, 10_000).unwrap(), 5000);
    assert_eq!(bytes, [1; 5000]);
    assert_eq!(reader.read_at(&mut bytes[..100], 0).unwrap(), 100);
    assert_eq!(bytes[..100], [0; 100], "a hole is known to be one");
    let error = reader.read_at(&mut bytes, 19_000).unwrap_err();
    let StowError::Unreadable { range, why, .. } = error else { panic!("{error}") };
    assert_eq!(range, 20_000..24_000);
    assert!(why.starts_with("log 1 on target t1"), "{why}");
    // Once there is something in it that the index does not know, everything may be covered by that.
    fs::rename(folder.path().join("gone"), folder.path().join("t1")).unwrap();
    let _first = Writer::open(container.clone(), Placement::Static).unwrap();
    let mut writer = Writer::open(container.clone(), Placement::Static).unwrap();
    writer.write_at(&[3; 10], 0).unwrap();
    fs::rename(folder.path().join("t1"), folder.path().join("gone")).unwrap();
    assert!(Reader::open(container).unwrap().read_at(&mut bytes, 10_000).is_err());
}

#[test]
fn after_a_restart_an_index_of_what_was_never_durable_is_not_used() {
    for is_durable in [false, true] {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let container = container(folder.path(), 2);
        let mut writer = Writer::open(container.clone(), Placement::Striped).unwrap();
        writer.write_at(&[1; 5000], 0).unwrap();
        if is_durable {
            writer.sync().unwrap();
        }
        writer.close().unwrap();
        write_index(&container).unwrap().unwrap();
        let path = folder.path().join("it/index");
        let bytes = fs::read(&path).unwrap();
        let head_bytes = IndexHead::bytes_of(&bytes, bytes.len() as u64).unwrap() as usize;
        let head = IndexHead::decode(&bytes[..head_bytes], bytes.len() as u64).unwrap();
        let head = IndexHead { node: Id::from_bytes([1; 16]), ..head }.encode();
        fs::write(&path, [&head, &bytes[head_bytes..]].concat()).unwrap();
        let reader = Reader::open(container).unwrap();
        let expected = match is_durable {
            true => Ok(bytes.len() as u64),
            false => Err("what it says of log 0 was never durable"),
        };
        assert_eq!(reader.index(), expected);
        assert_eq!(read(&reader), [1; 5000]);
    }
}

/// An index of version 1 stays readable: that in golden/index was written by the first program that wrote any.
/// `STOW_MAKE_GOLDEN=1` writes it anew, which only a new version of the format may do.
#[test]
fn an_index_of_version_1_is_used() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/index");
    let targets = ["t0", "t1"].map(|name| Target { name: name.into(), path: folder.join(name) });
    let mut path = folder.join("it");
    if std::env::var_os("STOW_MAKE_GOLDEN").is_some() {
        targets.iter().for_each(|it| fs::create_dir_all(&it.path).unwrap());
        let container = Arc::new(Container::create(&path, &targets).unwrap());
        let mut writer = Writer::open(container.clone(), Placement::Striped).unwrap();
        for index in 0..40u64 {
            writer.write_at(&[index as u8 + 1; 16], index * 64).unwrap();
        }
        writer.write_at(b"words", 10).unwrap();
        writer.write_at(b"the end", 3000).unwrap();
        writer.sync().unwrap();
        writer.close().unwrap();
        write_index(&container).unwrap().unwrap();
        let mut lines = String::new();
        for mut log in container.logs().unwrap() {
            log.path = Path::new("/nowhere").join(&log.target);
            lines += &log.line().unwrap();
        }
        fs::write(path.join("manifest"), lines).unwrap();
    }
    let mut expected = vec![0; 3007];
    for index in 0..40 {
        expected[index * 64..index * 64 + 16].fill(index as u8 + 1);
    }
    expected[10..15].copy_from_slice(b"words");
    expected[3000..].copy_from_slice(b"the end");
    // What came from elsewhere is not used; it is as if it had been written here then.
    let copy = tempfile::tempdir_in("/var/tmp").unwrap();
    let from = std::mem::replace(&mut path, copy.path().join("it"));
    copy_files(&from, &path);
    let open = || Reader::open(Arc::new(Container::open(&path, &targets).unwrap())).unwrap();
    assert_eq!(open().index(), Err("it came with a copy, or from another place"));
    assert_eq!(read(&open()), expected);
    with_head(&path, |head| head.marker = marker(&path));
    let reader = open();
    assert!(reader.index().is_ok(), "{:?}", reader.index());
    assert_eq!(read(&reader), expected);
}

/// Returns by what an index knows its container.
fn marker(container: &Path) -> (u64, Option<u64>) {
    let facts = fs::metadata(container.join("plimsoll-container")).unwrap();
    let born = facts.created().ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    (facts.ino(), born.map(|it| it.as_nanos() as u64))
}

/// Copies a container. Not by a program: while that is started, it holds all locks of this process.
fn copy_files(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Changes the beginning of the index of a container.
fn with_head(container: &Path, change: impl FnOnce(&mut IndexHead)) {
    let path = container.join("index");
    let bytes = fs::read(&path).unwrap();
    let (head_bytes, file_bytes) =
        (IndexHead::bytes_of(&bytes, bytes.len() as u64).unwrap(), bytes.len());
    let (head, blocks) = bytes.split_at(head_bytes as usize);
    let mut head = IndexHead::decode(head, file_bytes as u64).unwrap();
    change(&mut head);
    fs::write(&path, [&head.encode(), blocks].concat()).unwrap();
}

/// It knows all that was written by its numbers, and says what was there before.
#[test]
fn an_index_that_says_something_else_than_the_logs_is_told() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = folder.path().join("it");
    let made = container(folder.path(), 1);
    let write = |fill: u8| {
        let mut writer = Writer::open(made.clone(), Placement::Static).unwrap();
        writer.write_at(&[fill; 5000], 0).unwrap();
        writer.close().unwrap();
        write_index(&made).unwrap().unwrap();
        fs::read(path.join("index")).unwrap()
    };
    let found = || {
        let reader = Reader::open(made.clone()).unwrap();
        assert!(reader.index().is_ok(), "{:?}", reader.index());
        check(&reader, &mut |_| ()).unwrap()
    };
    let old = write(1);
    assert_eq!(found(), []);
    let new = write(2);
    assert_eq!(found(), []);
    let head_bytes = IndexHead::bytes_of(&new, new.len() as u64).unwrap() as usize;
    let new = IndexHead::decode(&new[..head_bytes], new.len() as u64).unwrap();
    fs::write(path.join("index"), old).unwrap();
    with_head(&path, |head| (head.logs, head.stamp) = (new.logs, new.stamp));
    assert_eq!(found(), [Problem::Index]);
    remove_index(&made).unwrap();
    let reader = Reader::open(made.clone()).unwrap();
    assert_eq!((read(&reader), check(&reader, &mut |_| ()).unwrap()), (vec![2; 5000], vec![]));
}

/// Bytes behind the segments of a log, and an index that says that they are the file: whoever compares checksums would read another file.
#[test]
fn an_index_that_was_handed_over_or_says_what_cannot_be_is_not_used() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let made = container(folder.path(), 1);
    let mut writer = Writer::open(made.clone(), Placement::Static).unwrap();
    writer.write_at(&[1; 5000], 0).unwrap();
    writer.close().unwrap();
    write_index(&made).unwrap().unwrap();
    let path = folder.path().join("it");
    let index = |path: &Path| {
        let reader = Reader::open(Arc::new(Container::open(path, &[]).unwrap())).unwrap();
        assert_eq!(read(&reader), [1; 5000]);
        reader.index().map_err(String::from)
    };
    assert!(index(&path).is_ok());
    copy_files(&path, &folder.path().join("copy"));
    let error = index(&folder.path().join("copy")).unwrap_err();
    assert!(error.contains("came with a copy"), "{error}");
    let whole = fs::read(path.join("index")).unwrap();
    type Forge = fn(&mut IndexHead);
    let forged: [(Forge, &str); 4] = [
        (|head| head.marker.0 += 1, "came with a copy"),
        (|head| head.marker.1 = None, "came with a copy"),
        (|head| head.stamp.sequence = 1 << 50, "newer than all"),
        (|head| head.logs[0].intended = 0, "does not know all of log 0"),
    ];
    for (forge, told) in forged {
        with_head(&path, forge);
        // Not every file system tells when a file was made.
        let tells = fs::metadata(&path).unwrap().created().is_ok() || told != "came with a copy";
        assert!(
            !tells || index(&path).is_err_and(|it| it.contains(told)),
            "{told}: {:?}",
            index(&path)
        );
        fs::write(path.join("index"), &whole).unwrap();
    }
    assert!(index(&path).is_ok());
}

/// Each opening that appends a little leaves a slot page, which all later ones would read.
#[test]
fn files_that_are_opened_again_and_again_get_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let (path, targets) = (folder.path().join("it"), targets(folder.path(), 2));
    Container::create(&path, &targets).unwrap();
    for line in 0..200 {
        let container = Arc::new(Container::open(&path, &targets).unwrap());
        let mut writer = Writer::open(container, Placement::Striped).unwrap();
        writer.append(format!("{line:07}\n").as_bytes()).unwrap();
        writer.close().unwrap();
    }
    let reader = Reader::open(Arc::new(Container::open(&path, &targets).unwrap())).unwrap();
    assert_eq!(reader.size(), 1600);
    assert!(reader.index().is_ok(), "{:?}", reader.index());
    let mut bytes = vec![0; 1600];
    reader.read_at(&mut bytes, 0).unwrap();
    assert_eq!(&bytes[1592..], b"0000199\n");
}
