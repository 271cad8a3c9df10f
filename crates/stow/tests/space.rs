//! Room: what is written over or cut off is given back, nothing is lost on the way, and whoever reads meanwhile reads right.

mod support;

use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_stats::Random;
use plimsoll_stow::{Container, Placement, Reader, StowError, Writer, check, write_index};
use support::{container, content, targets};

const ROLE: &str = "STOW_SPACE_COMPACTOR";
const MIB: usize = 1 << 20;

fn stored(container: &Arc<Container>) -> u64 {
    let reader = Reader::open_scanned(container.clone()).unwrap();
    reader.logs().iter().filter_map(|it| it.stored).sum()
}

/// `STOW_REWRITE_MIB` and `STOW_REWRITES` make it larger.
#[test]
fn rewriting_takes_at_most_three_times_the_room() {
    let number = |name: &str, otherwise: usize| {
        std::env::var(name).ok().map_or(otherwise, |text| text.parse().unwrap())
    };
    let (size, rewrites) = (number("STOW_REWRITE_MIB", 40), number("STOW_REWRITES", 8));
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let container = container(folder.path(), 3);
    let mut writer = Writer::open(container.clone(), Placement::Striped).unwrap();
    let mut most = 0;
    for round in 0..rewrites {
        for block in 0..size {
            writer.write_at(&vec![(round + block) as u8; MIB], (block * MIB) as u64).unwrap();
        }
        most = most.max(stored(&container));
    }
    assert!(most <= 3 * (size * MIB) as u64, "{most} bytes for {size} MiB");
    println!(
        "{rewrites} times {size} MiB: at most {:.2} of the size",
        most as f64 / (size * MIB) as f64
    );
    writer.close().unwrap();
    let reader = Reader::open_scanned(container.clone()).unwrap();
    let mut bytes = vec![0; MIB];
    for block in 0..size {
        reader.read_verified_at(&mut bytes, (block * MIB) as u64).unwrap();
        assert!(bytes.iter().all(|it| *it == (rewrites - 1 + block) as u8), "block {block}");
    }
    drop(reader);
    let mut writer = Writer::open(container.clone(), Placement::Striped).unwrap();
    writer.truncate(0).unwrap();
    writer.close().unwrap();
    let left = stored(&container);
    assert!(left < 2 * MIB as u64, "{left} bytes of an empty file");
    assert_eq!(content(&Reader::open(container).unwrap()), []);
}

/// Changes at random, with room given back at random, by two writers, against a file in memory.
#[test]
fn what_is_left_is_what_was_written() {
    for seed in 0..8 {
        let mut random = Random::new(seed);
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let container = container(folder.path(), 2);
        let open = || Writer::open(container.clone(), Placement::Striped).unwrap();
        let mut writers = [open(), open()];
        let mut model: Vec<u8> = Vec::new();
        let (mut freed, mut put_off) = (0, 0);
        for step in 0..300u64 {
            let which = random.below(2) as usize;
            let writer = &mut writers[which];
            match random.below(40) {
                0 => {
                    let size = random.below(3) * random.below(60_000);
                    writer.truncate(size).unwrap();
                    model.resize(size as usize, 0);
                }
                1 => {
                    let (start, length) = (random.below(60_000), random.below(30_000));
                    writer.punch(start, length).unwrap();
                    let size = model.len();
                    let end = ((start + length) as usize).min(size);
                    model[(start as usize).min(end)..end].fill(0);
                }
                2..6 => match writer.reclaim(random.below(5) as f64 / 4.0) {
                    Ok(reclaimed) => freed += reclaimed.freed,
                    Err(StowError::BeingRead { .. } | StowError::Busy { .. }) => put_off += 1,
                    Err(error) => panic!("{error}"),
                },
                6 => {
                    std::mem::replace(writer, open()).close().unwrap();
                }
                7 => assert_eq!(writer.append(b"the end").unwrap(), {
                    model.extend(b"the end");
                    model.len() as u64 - 7
                }),
                _ => {
                    let length =
                        1 + random.below(if step % 7 == 0 { 90_000 } else { 900 }) as usize;
                    let start = random.below(60_000) as usize;
                    writer.write_at(&vec![step as u8; length], start as u64).unwrap();
                    model.resize(model.len().max(start + length), 0);
                    model[start..start + length].fill(step as u8);
                }
            }
            if step % 20 == 0 {
                let reader = Reader::open(container.clone()).unwrap();
                assert!(content(&reader) == model, "seed {seed}, step {step}");
            }
        }
        writers.into_iter().for_each(|it| it.close().unwrap());
        write_index(&container).unwrap().unwrap();
        freed += open().reclaim(1.0).unwrap().freed;
        for reader in [Reader::open(container.clone()), Reader::open_scanned(container.clone())] {
            let reader = reader.unwrap();
            assert!(content(&reader) == model, "seed {seed}");
            assert_eq!(check(&reader, &mut |_| {}).unwrap(), []);
        }
        assert!(freed > 0, "seed {seed}: the test frees something ({put_off} put off)");
    }
}

#[test]
fn an_index_of_what_was_freed_is_not_used() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let container = container(folder.path(), 1);
    let open = || Writer::open(container.clone(), Placement::Striped).unwrap();
    let write = |value: u8| {
        let mut writer = open();
        writer.write_at(&[value; 100_000], 0).unwrap();
        writer
    };
    write(1).close().unwrap();
    write_index(&container).unwrap();
    // The next one to write to the same log.
    (1..8).for_each(|_| drop(open()));
    write(2).close().unwrap();
    // The index knows the first segment of that log, and not the second: both are freed as one.
    let mut writer = write(3);
    assert!(writer.reclaim(0.0).unwrap().freed > 200_000);
    for reader in [Reader::open(container.clone()), Reader::open_scanned(container.clone())] {
        let reader = reader.unwrap();
        assert!(reader.is_whole(), "nothing is missing");
        assert_eq!(content(&reader), [3; 100_000]);
    }
}

#[test]
fn room_is_not_given_back_under_a_reader() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let container = container(folder.path(), 2);
    let mut writer = Writer::open(container.clone(), Placement::Striped).unwrap();
    writer.write_at(&vec![1; 3 * MIB], 0).unwrap();
    let reader = Reader::open(container.clone()).unwrap();
    writer.truncate(0).unwrap();
    let error = writer.reclaim(0.0).unwrap_err();
    assert!(matches!(error, StowError::BeingRead { .. }), "{error}");
    assert_eq!(error.errno(), rustix::io::Errno::BUSY);
    let mut bytes = vec![0; 3 * MIB];
    assert_eq!(reader.read_at(&mut bytes, 0).unwrap(), 3 * MIB, "as it was when it was opened");
    assert!(bytes.iter().all(|it| *it == 1));
    drop(reader);
    assert!(writer.reclaim(0.0).unwrap().freed >= 3 * MIB as u64);
    assert!(stored(&container) < MIB as u64);
}

/// The process that compacts until it is killed: this test program again, told by a variable what to do.
#[test]
fn be_a_compactor_if_asked() {
    let Ok(path) = std::env::var(ROLE) else { return };
    let path = Path::new(&path);
    let targets = targets(path.parent().unwrap(), 3);
    let container = Arc::new(Container::open(path, &targets).unwrap());
    for _ in 0..1000 {
        let mut writer = Writer::open(container.clone(), Placement::Striped).unwrap();
        // Everything is moved, as often as possible.
        let _ = writer.reclaim(2.0);
    }
}

#[test]
fn a_kill_while_room_is_given_back_loses_nothing() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let container = container(folder.path(), 3);
    let mut random = Random::new(3);
    let open = || Writer::open(container.clone(), Placement::Striped).unwrap();
    let mut writers = [open(), open()];
    for step in 0..400u64 {
        let length = 1 + random.below(4000) as usize;
        let writer = &mut writers[(step % 2) as usize];
        writer.write_at(&vec![step as u8 | 1; length], random.below(200_000)).unwrap();
    }
    writers[0].punch(1000, 50_000).unwrap();
    writers.into_iter().for_each(|it| it.close().unwrap());
    let whole = content(&Reader::open(container.clone()).unwrap());
    for round in 0..25 {
        let mut child = spawn(container.path());
        std::thread::sleep(Duration::from_micros(5000 + random.below(60_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        let reader = Reader::open(container.clone()).unwrap();
        assert!(content(&reader) == whole, "kill {round}");
        assert_eq!(check(&reader, &mut |_| {}).unwrap(), [], "kill {round}");
    }
    // What the killed ones left is freed in the end.
    open().reclaim(0.5).unwrap();
    assert!(content(&Reader::open(container).unwrap()) == whole);
}

fn spawn(path: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "be_a_compactor_if_asked", "--nocapture"]).env(ROLE, path);
    command.stdout(std::process::Stdio::null()).spawn().unwrap()
}

/// What is written and read at once lies in few pages of the cache: large records, of large segments, are where they are in the file, but for a multiple of 32 KiB.
#[test]
fn large_records_lie_in_their_logs_as_in_the_file() {
    const RECORD: usize = 128 << 10;
    let folder = tempfile::tempdir().unwrap();
    let container = container(folder.path(), 1);
    let mut writer = Writer::open(container.clone(), Placement::Striped).unwrap();
    for number in 0..256 {
        writer.write_at(&vec![number as u8; RECORD], (number * RECORD) as u64).unwrap();
    }
    let reader = Reader::open_scanned(container.clone()).unwrap();
    // Segments are smaller at first.
    let late = || reader.records().iter().filter(|it| it.offset > 8 << 20);
    let aligned = late().filter(|it| it.position % (32 << 10) == it.offset % (32 << 10)).count();
    assert!(aligned > 180 && aligned == late().count(), "{aligned} of {}", late().count());
    assert_eq!(content(&reader).len(), 256 * RECORD);
}
