//! Containers that are damaged or made to deceive: reading fails or gives what was written, and nothing else.

mod support;

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_stats::Random;
use plimsoll_stow::header::{HEADER_BYTES, SegmentHeader};
use plimsoll_stow::word::{Entry, PAGE_BYTES, Run, Stamped, record_checksum};
use plimsoll_stow::{
    Container, Id, News, Placement, Reader, StowError, Writer, check, write_index,
};
use rustix::io::Errno;
use support::{container, content, targets};

/// A container with everything in it that a segment can say.
fn sample(folder: &Path) -> Vec<u8> {
    let container = container(folder, 2);
    let mut writers = [0, 1].map(|_| Writer::open(container.clone(), Placement::Striped).unwrap());
    let mut random = Random::new(5);
    for step in 0..400u64 {
        let writer = &mut writers[(step % 2) as usize];
        let fill = (step % 250) as u8 + 1;
        match step % 40 {
            38 => writer.truncate(random.below(50_000)).unwrap(),
            39 => writer.punch(random.below(40_000), random.below(5000)).unwrap(),
            20 => writer.sync().unwrap(),
            0..20 => writer.write_at(&[fill; 100], step * 220).unwrap(),
            _ => {
                let length = 1 + random.below(3000) as usize;
                writer.write_at(&vec![fill; length], random.below(60_000)).unwrap();
            }
        }
    }
    writers.into_iter().for_each(|it| it.close().unwrap());
    content(&Reader::open(container).unwrap())
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(self::files(&path)) } else { files.push(path) }
    }
    files
}

/// All bytes, compared with their checksums, or why not.
fn read(path: &Path) -> Result<Vec<u8>, StowError> {
    let reader = Reader::open(Arc::new(Container::open(path, &[])?))?;
    let mut bytes = vec![0; 1 << 20];
    let count = reader.read_verified_at(&mut bytes, 0)?;
    bytes.truncate(count);
    // It ends, whatever it finds.
    let _ = check(&reader, &mut |_| {});
    Ok(bytes)
}

#[test]
fn a_flipped_bit_is_never_read_as_data() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let original = sample(folder.path());
    let (mut random, mut refused) = (Random::new(1), 0);
    for file in files(folder.path()) {
        let bytes = fs::read(&file).unwrap();
        for _ in 0..if bytes.is_empty() { 0 } else { 150 } {
            let mut damaged = bytes.clone();
            // Most of them where the words and headers are.
            let room = if random.below(3) > 0 { bytes.len().min(4096) } else { bytes.len() };
            let place = random.below(room as u64) as usize;
            damaged[place] ^= 1 << random.below(8);
            fs::write(&file, damaged).unwrap();
            match read(&folder.path().join("it")) {
                Ok(read) => assert!(read == original, "{}, byte {place}", file.display()),
                Err(error) => {
                    refused += 1;
                    assert!(!error.to_string().contains('\n'), "one line: {error}");
                }
            }
        }
        fs::write(&file, bytes).unwrap();
    }
    assert!(refused > 100, "{refused} were noticed");
    assert_eq!(read(&folder.path().join("it")).unwrap(), original);
}

#[test]
fn a_log_that_is_cut_short_is_never_read_as_zeros() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let original = sample(folder.path());
    let is_log = |it: &PathBuf| it.to_string_lossy().contains("log-");
    for file in files(folder.path()).into_iter().filter(is_log) {
        let bytes = fs::read(&file).unwrap();
        for length in (0..bytes.len()).step_by(997) {
            fs::write(&file, &bytes[..length]).unwrap();
            if let Ok(read) = read(&folder.path().join("it")) {
                assert!(read == original, "{} of {length} bytes", file.display());
            }
        }
        fs::write(&file, bytes).unwrap();
    }
}

#[test]
fn links_and_tricks_lead_nowhere() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let original = sample(folder.path());
    let it = folder.path().join("it");
    let log = files(&folder.path().join("t0")).remove(0);
    let aside = folder.path().join("aside");
    let replaced = |what: &dyn Fn()| {
        fs::rename(&log, &aside).unwrap();
        what();
        let outcome = read(&it).unwrap_err().to_string();
        fs::remove_file(&log).unwrap();
        fs::rename(&aside, &log).unwrap();
        outcome
    };
    let link = || std::os::unix::fs::symlink(&aside, &log).unwrap();
    assert!(replaced(&link).contains("it is a symlink"));
    let pipe = || {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, &log, mode).unwrap();
    };
    assert!(replaced(&pipe).contains("not a regular file"));
    let others = || fs::write(&log, fs::read(&aside).unwrap().split_at(4096).1).unwrap();
    assert!(replaced(&others).contains("does not begin as a log of the container"));
    if rustix::process::geteuid().is_root() {
        let owned = || {
            fs::copy(&aside, &log).unwrap();
            std::os::unix::fs::chown(&log, Some(12_345), None).unwrap();
        };
        assert!(replaced(&owned).contains("it belongs to user 12345"));
    }
    let manifest = it.join("manifest");
    fs::rename(&manifest, &aside).unwrap();
    std::os::unix::fs::symlink(&aside, &manifest).unwrap();
    assert!(read(&it).unwrap_err().to_string().contains("it is a symlink"));
    fs::remove_file(&manifest).unwrap();
    fs::rename(&aside, &manifest).unwrap();
    assert_eq!(read(&it).unwrap(), original);
}

#[test]
fn two_containers_do_not_take_each_others_logs() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let shared = targets(folder.path(), 1);
    let paths = ["one", "two"].map(|name| folder.path().join(name));
    for (fill, path) in (1..).zip(&paths) {
        let container = Arc::new(Container::create(path, &shared).unwrap());
        let mut writer = Writer::open(container, Placement::Striped).unwrap();
        writer.write_at(&[fill; 1000], 0).unwrap();
    }
    let is_log = |it: &std::path::PathBuf| it.ends_with("log-0000");
    let logs: Vec<_> = files(&shared[0].path).into_iter().filter(is_log).collect();
    fs::copy(&logs[0], &logs[1]).unwrap();
    let outcomes: Vec<_> = paths.iter().map(|path| read(path)).collect();
    assert_eq!(outcomes.iter().filter(|it| it.is_ok()).count(), 1);
    let told = outcomes.into_iter().find_map(Result::err).unwrap().to_string();
    assert!(told.contains("does not begin as a log of the container"), "{told}");
    assert!(Container::create(&paths[0], &shared).unwrap_err().to_string().contains("exists"));
}

/// Whoever can read a file can lock it, and so keep its writers waiting.
#[test]
fn nobody_else_can_read_what_a_container_is_made_of() {
    let folder = tempfile::tempdir().unwrap();
    let container = container(folder.path(), 2);
    let mut writer = Writer::open(container, Placement::Striped).unwrap();
    writer.write_at(b"secret", 0).unwrap();
    writer.close().unwrap();
    let mut seen = 0;
    let mut open = vec![folder.path().join("it")];
    let logs = targets(folder.path(), 2).into_iter().map(|it| it.path);
    open.extend(logs.flat_map(|it| fs::read_dir(it).unwrap()).map(|it| it.unwrap().path()));
    while let Some(path) = open.pop() {
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{} has mode {mode:o}", path.display());
        seen += 1;
        if path.is_dir() {
            open.extend(fs::read_dir(path).unwrap().map(|it| it.unwrap().path()));
        }
    }
    let expected = "the container with nine files, a directory, a log and the note beside it";
    assert_eq!(seen, 13, "{expected}");
}

/// Writes two records, moves the second one by so many bytes in its segment, and makes its checksums those of what is there.
fn with_record_moved(folder: &Path, by: u32) -> Result<Vec<u8>, StowError> {
    let made = container(folder, 1);
    let mut writer = Writer::open(made, Placement::Striped).unwrap();
    writer.write_at(&[1; 100], 0).unwrap();
    writer.write_at(&[2; 100], 1000).unwrap();
    writer.close().unwrap();
    let log = files(&folder.join("t0")).into_iter().find(|it| it.ends_with("log-0000")).unwrap();
    let mut bytes = fs::read(&log).unwrap();
    let begin = PAGE_BYTES as usize;
    let header = SegmentHeader::decode(&bytes[begin..begin + HEADER_BYTES]).unwrap();
    let word = |bytes: &[u8], at: usize| {
        u64::from_le_bytes(bytes[begin + 8 * at..begin + 8 * at + 8].try_into().unwrap())
    };
    // A run with its record comes behind another such.
    let at = HEADER_BYTES / 8 + 5;
    let words: Vec<u64> = (at..at + 5).map(|at| word(&bytes, at)).collect();
    let Ok(Some((Entry::Run(run), 4))) = Entry::decode(&words) else { panic!("{words:?}") };
    let Ok(Some((Entry::Record(it), 1))) = Entry::decode(&words[4..]) else { panic!("{words:?}") };
    let run = Run { position: run.position - by, ..run };
    let place = begin + run.position as usize;
    let stamp = header.stamp + u64::from(it.delta);
    let checksum = record_checksum(run.offset, stamp, &bytes[place..place + 100]);
    let (run, record) = (Entry::Run(run).encode().0, Entry::Record(Stamped { checksum, ..it }));
    for (at, word) in (at..).zip(run.into_iter().chain([record.encode().0[0]])) {
        bytes[begin + 8 * at..begin + 8 * at + 8].copy_from_slice(&word.to_le_bytes());
    }
    fs::write(&log, bytes).unwrap();
    read(&folder.join("it"))
}

#[test]
fn records_that_share_bytes_of_a_segment_are_refused() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let whole = with_record_moved(folder.path(), 0).unwrap();
    assert_eq!((whole.len(), whole[99], whole[1099]), (1100, 1, 2));
    for by in [1, 100, 4000, 4096] {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let refused = with_record_moved(folder.path(), by).unwrap_err().to_string();
        assert!(refused.contains("it is damaged at byte"), "{by}: {refused}");
    }
}

/// A log of holes that claims far more than there is: nobody compares checksums of it for days.
#[test]
fn records_of_holes_are_not_all_compared() {
    const SEGMENT: u32 = 64 << 20;
    const RECORD: u32 = 60 << 20;
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let made = container(folder.path(), 1);
    let mut writer = Writer::open(made.clone(), Placement::Striped).unwrap();
    writer.write_at(&[1; 100], 0).unwrap();
    drop(writer);
    let open = |node| {
        let open = Container::open(made.path(), &targets(folder.path(), 1)).unwrap();
        Reader::open(Arc::new(open.seen_from(Id::from_bytes([node; 16])))).unwrap()
    };
    assert_eq!(content(&open(1)), [1; 100]);
    let log = files(&folder.path().join("t0"));
    let log = log.into_iter().find(|it| it.ends_with("log-0000")).unwrap();
    let log = fs::File::options().read(true).write(true).open(&log).unwrap();
    let mut first = [0; HEADER_BYTES];
    log.read_exact_at(&mut first, PAGE_BYTES).unwrap();
    let header = SegmentHeader::decode(&first).unwrap();
    log.set_len(PAGE_BYTES).unwrap();
    let zeros = vec![0; RECORD as usize];
    for number in 0..4 {
        let (position, stamp) = (PAGE_BYTES + number * u64::from(SEGMENT), header.stamp + number);
        let header = SegmentHeader { position, length: SEGMENT, stamp, ..header };
        let offset = number * u64::from(RECORD);
        let run = Run { offset, length: RECORD, stride: 0, position: PAGE_BYTES as u32 };
        let checksum = record_checksum(offset, stamp + 1, &zeros);
        let record = Entry::Record(Stamped { delta: 1, checksum }).encode().0[0];
        log.write_all_at(&header.encode(), position).unwrap();
        let words = Entry::Run(run).encode().0.into_iter().take(4).chain([record]);
        let words: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        log.write_all_at(&words, position + HEADER_BYTES as u64).unwrap();
        log.set_len(position + u64::from(SEGMENT)).unwrap();
        if number == 0 {
            assert_eq!(open(1).size(), u64::from(RECORD), "one of them is believed");
        }
    }
    let error = open(1).read_at(&mut [0; 10], 0).unwrap_err();
    assert!(error.to_string().contains("too large"), "{error}");
}

/// Who watches a container does not count up to where its owner says that its state ends.
#[test]
fn a_state_of_any_size_is_watched_in_little_memory() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let made = container(folder.path(), 1);
    let mut writer = Writer::open(made.clone(), Placement::Striped).unwrap();
    writer.write_at(&[1; 100], 0).unwrap();
    let mut news = News::of(&made).unwrap();
    assert!(news.are_there() && !news.are_there());
    let state = fs::File::options().write(true).open(made.path().join("state")).unwrap();
    state.set_len(8 << 40).unwrap();
    assert!(news.are_there() && !news.are_there());
    writer.write_at(&[2; 100], 0).unwrap();
    assert!(news.are_there());
}

/// An index that says that it begins with gigabytes, of which there is nothing: it is not even read, and the logs are.
#[test]
fn an_index_of_holes_is_left_alone() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let expected = sample(folder.path());
    let open = || Container::open(&folder.path().join("it"), &targets(folder.path(), 3)).unwrap();
    write_index(&Arc::new(open())).unwrap();
    let index = folder.path().join("it/index");
    let file = fs::File::options().write(true).open(&index).unwrap();
    // So many runs.
    file.write_all_at(&((4u64 << 30) / 24 - 100).to_le_bytes(), 72).unwrap();
    file.set_len(4 << 30).unwrap();
    let reader = Reader::open(Arc::new(open())).unwrap();
    assert_eq!(content(&reader), expected);
    assert!(reader.memory() < 1 << 20);
}

/// The attack: a container with so much to look for that programs which ask for its size wait for minutes.
#[test]
fn a_look_that_takes_too_long_ends() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    sample(folder.path());
    let open = || Container::open(&folder.path().join("it"), &[]).unwrap();
    fs::remove_file(folder.path().join("it/index")).ok();
    let hurried = Arc::new(open().within_time(Duration::ZERO));
    assert_eq!(Reader::open(hurried.clone()).map(drop).unwrap_err().errno(), Errno::TIMEDOUT);
    let told = plimsoll_stow::is_surely_original(&hurried);
    assert_eq!(told.unwrap_err().errno(), Errno::TIMEDOUT);
    // One that was opened in time is read anew once there is time again.
    let patient = Arc::new(open().within_time(Duration::from_secs(600)));
    assert_eq!(
        content(&Reader::open(patient).unwrap()),
        content(&Reader::open(Arc::new(open())).unwrap())
    );
}
