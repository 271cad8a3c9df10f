//! How much memory containers take that somebody made large: so much as a reader may, and no more.

mod support;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use plimsoll_stow::{Container, ListedLog, Placement, Reader, Writer, write_index};
use rustix::io::Errno;
use support::{container, content, targets};

/// Whoever serves others gives a container so much memory and no more.
#[test]
fn what_needs_too_much_memory_is_not_read() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let made = container(folder.path(), 1);
    let mut writer = Writer::open(made.clone(), Placement::Striped).unwrap();
    (0..5000).for_each(|cell| writer.write_at(&[7], 2 * (cell * 7 % 5000)).unwrap());
    drop(writer);
    let open = |memory| {
        let open = Container::open(made.path(), &targets(folder.path(), 1)).unwrap();
        Reader::open(Arc::new(open.within_memory(memory)))
    };
    let reader = open(1_200_000).unwrap();
    assert_eq!(reader.read_at(&mut [0; 10], 0).unwrap(), 10);
    assert!((900_000..1_200_000).contains(&reader.memory()), "{}", reader.memory());
    // Its size would be wrong as well.
    let error = open(800_000).map(|it| it.size()).unwrap_err();
    assert!(error.to_string().contains("too large"), "{error}");
}

/// A small index can claim any number of parts: as many are told at a time as there is memory for.
#[test]
fn what_an_index_tells_is_read_within_the_memory() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let made = container(folder.path(), 1);
    let mut writer = Writer::open(made.clone(), Placement::Striped).unwrap();
    (0..5000).for_each(|cell| writer.write_at(&[7], 2 * cell).unwrap());
    drop(writer);
    write_index(&made).unwrap();
    let open = Container::open(made.path(), &targets(folder.path(), 1)).unwrap();
    let reader = Reader::open(Arc::new(open.within_memory(100_000))).unwrap();
    let mut bytes = [1; 10_000];
    assert_eq!(reader.read_at(&mut bytes, 0).unwrap(), 9_999);
    assert!(bytes[..9_999].iter().enumerate().all(|(at, it)| *it == [7, 0][at % 2]));
    assert_eq!(reader.read_at(&mut bytes, 9_000).unwrap(), 999);
}

/// A list of logs that are not there is no longer than the memory allows, also where the logs themselves take none.
#[test]
fn a_list_of_logs_takes_its_part_of_the_memory() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let made = container(folder.path(), 1);
    let lines = (0..300).map(|number| {
        let path = PathBuf::from(format!("/none/{}", "x".repeat(3000)));
        ListedLog { number, target: "t0".into(), path, seat: 1 }.line().unwrap()
    });
    fs::write(made.path().join("manifest"), lines.collect::<String>()).unwrap();
    let open = |memory| {
        let open = Container::open(made.path(), &[]).unwrap();
        Reader::open(Arc::new(open.within_memory(memory)))
    };
    // Too much to be read at all, to be kept, and not too much.
    for memory in [2_000_000, 300 * 6000] {
        assert_eq!(open(memory).map(drop).unwrap_err().errno(), Errno::FBIG);
    }
    let memory = open(10_000_000).unwrap().memory();
    assert!((300 * 6000..10_000_000).contains(&memory), "{memory}");
}

/// With an index, hardly any memory is needed until bytes are compared with their checksums.
#[test]
fn what_an_index_saved_is_needed_to_compare() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let made = container(folder.path(), 1);
    let mut writer = Writer::open(made.clone(), Placement::Striped).unwrap();
    (0..5000).for_each(|cell| writer.write_at(&[7], 2 * (cell * 7 % 5000)).unwrap());
    drop(writer);
    write_index(&made).unwrap();
    let open = |memory, of_index| {
        let open = Container::open(made.path(), &targets(folder.path(), 1)).unwrap();
        Reader::open(Arc::new(open.within_memory(memory).with_index_within(of_index))).unwrap()
    };
    let reader = open(200_000, 1 << 20);
    let before = reader.memory();
    let mut bytes = [0; 9_999];
    assert_eq!(reader.read_at(&mut bytes, 0).unwrap(), 9_999);
    assert!(reader.memory() > before, "what was read of the index counts");
    let error = reader.read_verified_at(&mut bytes, 0).unwrap_err();
    assert_eq!(error.errno(), Errno::FBIG);
    reader.scan_within(2_000_000).unwrap();
    assert_eq!(reader.read_verified_at(&mut bytes, 0).unwrap(), 9_999);
    assert!(reader.memory() > before + 900_000, "and so does what was found in the logs");
    // Where there is no memory for the index, the logs are read.
    let without = open(2_000_000, 0);
    assert!(without.index().is_ok());
    assert_eq!(content(&without), bytes);
}
