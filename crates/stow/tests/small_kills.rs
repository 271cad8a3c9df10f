//! Processes that write to a small file are killed, also while it grows out of its marker. On its own: to start a process, a copy of this one is made for a moment,
//! which has all its locks. `STOW_TORTURE_SEED` makes other runs.

mod support;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_stats::Random;
use plimsoll_stow::{MARKER, Reader, check, told_by};
use support::small::{Process, make, open, read};
use support::{content, targets};

const ROLE: &str = "STOW_SMALL_WRITER";

/// The writer process: this test program again, told by a variable what to do.
#[test]
fn be_a_writer_if_asked() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let words: Vec<&str> = role.split(' ').collect();
    let [folder, journal] = words[..] else { panic!("{role}") };
    let (path, targets) = (Path::new(folder).join("it"), targets(Path::new(folder), 2));
    let journal = File::options().write(true).open(journal).unwrap();
    let mut process = Process::new(&path, &targets);
    let mut next = read(&process.container).len() as u64 / 8;
    loop {
        process.append(&next.to_le_bytes());
        next += 1;
        if next.is_multiple_of(7) {
            process.sync();
        }
        journal.write_at(&next.to_le_bytes(), 0).unwrap();
    }
}

/// Killed as soon as so many writes were acknowledged: some of them while the file grows out of its marker.
#[test]
fn what_was_written_is_there_after_any_kill() {
    let seed = std::env::var("STOW_TORTURE_SEED").map_or(3, |text| text.parse().unwrap());
    let mut random = Random::new(seed);
    let (mut small, mut large) = (0, 0);
    for round in 0..40 {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let (targets, path) = (targets(folder.path(), 2), folder.path().join("it"));
        drop(make(&path, &targets));
        let journal: PathBuf = folder.path().join("journal");
        // Forty bytes each: it grows at the hundredth.
        for kill_at in [random.below(90), 92 + random.below(10), 110 + random.below(30)] {
            fs::write(&journal, [0; 8]).unwrap();
            let role = format!("{} {}", folder.path().display(), journal.display());
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["be_a_writer_if_asked", "--exact"])
                .env(ROLE, role)
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap();
            let acknowledged = |journal: &File| {
                let mut bytes = [0; 8];
                journal.read_exact_at(&mut bytes, 0).unwrap();
                u64::from_le_bytes(bytes)
            };
            let file = File::open(&journal).unwrap();
            while acknowledged(&file) < kill_at + 1 {
                assert_eq!(child.try_wait().unwrap(), None, "round {round}: it ended by itself");
                std::hint::spin_loop();
            }
            child.kill().unwrap();
            child.wait().unwrap();
            let (told, container) = (acknowledged(&file), open(&path, &targets));
            let reader = Reader::open(container.clone()).unwrap();
            match reader.is_small() {
                true => small += 1,
                false => large += 1,
            }
            let bytes = content(&reader);
            // What the marker's times tell is true at every moment, or nothing.
            let by_times = told_by(&rustix::fs::stat(path.join(MARKER)).unwrap());
            assert!(by_times.is_none_or(|it| it == bytes.len() as u64), "round {round}");
            assert!(by_times.is_none() || reader.is_small(), "round {round}");
            assert!(bytes.len() as u64 / 8 >= told, "round {round}: {} of {told}", bytes.len() / 8);
            assert_eq!(bytes.len() % 8, 0);
            for (number, word) in bytes.chunks_exact(8).enumerate() {
                assert_eq!(word, (number as u64).to_le_bytes(), "round {round}");
            }
            assert_eq!(check(&reader, &mut |_| {}).unwrap(), [], "round {round}");
        }
        assert_eq!(open(&path, &targets).remove().unwrap(), [], "round {round}");
        // A log that was made and not listed yet is nobody's; it has no records.
        let logs = targets.iter().flat_map(|it| files_below(&it.path));
        let records = logs.filter(|it| it.metadata().unwrap().len() > 4096);
        assert_eq!(records.collect::<Vec<_>>(), [""; 0].map(PathBuf::from), "round {round}");
    }
    assert!(small > 0 && large > 0, "{small} of small files, {large} of large ones");
}

fn files_below(target: &Path) -> Vec<PathBuf> {
    let below = |it: &Path| -> Vec<PathBuf> {
        fs::read_dir(it).unwrap().map(|it| it.unwrap().path()).collect()
    };
    below(target).iter().flat_map(|it| below(it)).collect()
}
