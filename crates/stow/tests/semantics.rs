//! A container is a file: whatever several writers do to it one after the other, all readers see what a plain file would have.

mod support;

use std::sync::Arc;

use plimsoll_stow::{Container, Placement, Reader, Target, Writer};
use proptest::prelude::*;
use support::{container, content};

#[derive(Debug, Clone)]
enum Change {
    Write { offset: u64, length: usize, fill: u8 },
    Strided { offset: u64, length: usize, stride: u64, count: u64, fill: u8 },
    Append { length: usize, fill: u8 },
    Truncate(u64),
    Punch(u64, u64),
    Sync,
    Reopen,
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        6 => (0u64..300_000, 1usize..90_000, 1u8..)
            .prop_map(|(offset, length, fill)| Change::Write { offset, length, fill }),
        3 => (0u64..300_000, 1usize..300, 0u64..2000, 1u64..900, 1u8..).prop_map(
            |(offset, length, more, count, fill)| Change::Strided {
                offset, length, stride: length as u64 + more, count, fill
            }
        ),
        2 => (1usize..5000, 1u8..).prop_map(|(length, fill)| Change::Append { length, fill }),
        1 => (0u64..400_000).prop_map(Change::Truncate),
        1 => (0u64..300_000, 0u64..200_000).prop_map(|(offset, length)| Change::Punch(offset, length)),
        1 => Just(Change::Sync),
        1 => Just(Change::Reopen),
    ]
}

/// What a plain file would hold.
#[derive(Default)]
struct Model(Vec<u8>);

impl Model {
    fn write(&mut self, offset: u64, length: usize, fill: u8) {
        let end = offset as usize + length;
        self.0.resize(self.0.len().max(end), 0);
        self.0[offset as usize..end].fill(fill);
    }

    fn punch(&mut self, offset: u64, length: u64) {
        let size = self.0.len() as u64;
        self.0[offset.min(size) as usize..(offset + length).min(size) as usize].fill(0);
    }
}

fn apply(writer: &mut Writer, model: &mut Model, change: &Change) {
    match *change {
        Change::Write { offset, length, fill } => {
            writer.write_at(&vec![fill; length], offset).unwrap();
            model.write(offset, length, fill);
        }
        Change::Strided { offset, length, stride, count, fill } => {
            for index in 0..count {
                let fill = fill.wrapping_add(index as u8) | 1;
                writer.write_at(&vec![fill; length], offset + index * stride).unwrap();
                model.write(offset + index * stride, length, fill);
            }
        }
        Change::Append { length, fill } => {
            let at = writer.append(&vec![fill; length]).unwrap();
            assert_eq!(at, model.0.len() as u64);
            model.write(at, length, fill);
        }
        Change::Truncate(size) => {
            writer.truncate(size).unwrap();
            model.0.resize(size as usize, 0);
        }
        Change::Punch(offset, length) => {
            writer.punch(offset, length).unwrap();
            model.punch(offset, length);
        }
        Change::Sync => writer.sync().unwrap(),
        Change::Reopen => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]

    #[test]
    fn several_writers_make_what_one_file_would_hold(
        changes in prop::collection::vec((change(), 0usize..3), 1..30),
        is_static: bool,
        count in 1usize..4,
    ) {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let container = container(folder.path(), count);
        let placement = || if is_static { Placement::Static } else { Placement::Striped };
        let open = || Writer::open(container.clone(), placement()).unwrap();
        let mut writers = [open(), open(), open()];
        let mut early = Reader::open(container.clone()).unwrap();
        let mut model = Model::default();
        for (step, (change, writer)) in changes.iter().enumerate() {
            apply(&mut writers[*writer], &mut model, change);
            if matches!(change, Change::Reopen) {
                std::mem::replace(&mut writers[*writer], open()).close().unwrap();
            }
            if step % 7 == 3 {
                early.refresh().unwrap();
                prop_assert!(content(&early) == model.0, "live, after step {}", step);
            }
        }
        early.refresh().unwrap();
        prop_assert!(content(&early) == model.0, "by a reader that was there from the beginning");
        drop(writers);
        let late = Reader::open(container.clone()).unwrap();
        prop_assert!(content(&late) == model.0, "by a new reader");
        prop_assert_eq!(late.troubles(), []);
    }
}

#[test]
fn a_reader_that_looks_again_keeps_a_size_that_nothing_was_written_in() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let container = container(folder.path(), 1);
    let mut writer = Writer::open(container.clone(), Placement::Striped).unwrap();
    writer.truncate(5).unwrap();
    let mut reader = Reader::open(container).unwrap();
    reader.refresh().unwrap();
    assert_eq!(content(&reader), [0; 5]);
    writer.write_at(b"x", 1).unwrap();
    reader.refresh().unwrap();
    assert_eq!(content(&reader), b"\0x\0\0\0");
}

#[test]
fn small_files_take_little_room_and_many_writers_few_logs() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let container = container(folder.path(), 8);
    let mut writers: Vec<Writer> =
        (0..64).map(|_| Writer::open(container.clone(), Placement::Striped).unwrap()).collect();
    for (index, writer) in writers.iter_mut().enumerate() {
        writer.write_at(b"twelve bytes", index as u64 * 12).unwrap();
    }
    writers.into_iter().for_each(|it| it.close().unwrap());
    let reader = Reader::open(container).unwrap();
    assert_eq!(content(&reader), b"twelve bytes".repeat(64));
    assert!(reader.logs().len() <= 16, "{} logs", reader.logs().len());
    let bytes: u64 = reader.logs().iter().filter_map(|it| it.stored).sum();
    assert!(bytes <= 64 * 8192 + 16 * 12_288, "{bytes} bytes");
}

#[test]
fn a_pattern_takes_few_bytes_a_record_beside_its_data() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let container = container(folder.path(), 1);
    let mut writer = Writer::open(container.clone(), Placement::Striped).unwrap();
    for index in 0..100_000u64 {
        writer.write_at(&[7; 256], index * 1024).unwrap();
    }
    writer.close().unwrap();
    let reader = Reader::open(container).unwrap();
    let bytes: u64 = reader.logs().iter().filter_map(|it| it.bytes).sum();
    let beside = bytes - 256 * 100_000;
    assert!(beside < 100_000 * 14, "{beside} bytes beside the data");
}

#[test]
fn moved_targets_are_found_by_their_names_or_by_what_is_in_them() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let made = container(folder.path(), 2);
    let mut writer = Writer::open(made.clone(), Placement::Striped).unwrap();
    writer.write_at(&[5; 600_000], 0).unwrap();
    writer.close().unwrap();
    for index in 0..2 {
        let name = format!("t{index}");
        std::fs::rename(folder.path().join(&name), folder.path().join(format!("new-{name}")))
            .unwrap();
    }
    let renamed = folder.path().join("moved");
    std::fs::rename(folder.path().join("it"), &renamed).unwrap();
    for names in [["t0", "t1"], ["a", "b"]] {
        let target = |(index, name): (usize, &str)| Target {
            name: name.into(),
            path: folder.path().join(format!("new-t{index}")),
        };
        let targets: Vec<Target> = names.into_iter().enumerate().map(target).collect();
        let container = Arc::new(Container::open(&renamed, &targets).unwrap());
        assert_eq!(content(&Reader::open(container).unwrap()), vec![5; 600_000]);
    }
}
