//! What a container costs beside a plain file, while everything is in the page cache: writing by one process and by four, reading
//! back in order and at random.
//!
//! `PLIMSOLL_BENCH_DIR` says where; arguments choose lines by a part of their name.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use plimsoll_benches::crowd::{Worker, cpu_seconds_of, seconds_of, work_if_asked};
use plimsoll_benches::read_back::{WRITERS, noise, offsets, read_plain, write_both};
use plimsoll_benches::{PAIRS, cpu_seconds, interleaved, load, report, wanted};
use plimsoll_stow::{Container, Placement, Reader, Target, Writer};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Writes of one process: bytes of each, and of all.
const WRITES: [(usize, usize); 4] =
    [(256, 16 * MIB), (4 * KIB, 64 * MIB), (47 * KIB, 128 * MIB), (MIB, 256 * MIB)];

/// Bytes of each record, of each read, and of the file.
const READS: [(usize, usize, usize); 5] = [
    (4 * KIB, 4 * KIB, 128 * MIB),
    (47 * KIB, 47 * KIB, 128 * MIB),
    (MIB, MIB, 256 * MIB),
    (256, MIB, 32 * MIB),
    (4 * KIB, MIB, 128 * MIB),
];

/// What is written to one before it is the other's turn.
const TURN_BYTES: usize = 2 * MIB;

fn main() -> Result<()> {
    if work_if_asked(worker)? {
        return Ok(());
    }
    let folder = std::env::var_os("PLIMSOLL_BENCH_DIR").map_or("/var/tmp".into(), PathBuf::from);
    let folder = tempfile::tempdir_in(folder)?;
    let bench = Bench { folder: folder.path().to_path_buf() };
    println!("in {}; load {}", folder.path().display(), load());
    println!("CPU time of a write over that of pwrite to a plain file, one process");
    for (record, all) in WRITES {
        bench.writes(record, all)?;
    }
    println!("speed of {WRITERS} processes over theirs in one plain file, one target");
    for (record, all) in [(4 * KIB, 128 * MIB), (MIB, 512 * MIB)] {
        bench.shared_writes(record, all)?;
    }
    println!(
        "bytes read for each second of CPU time over those of the plain file, warm, written by {WRITERS}"
    );
    for (record, read, all) in READS {
        bench.reads(record, read, all)?;
    }
    println!("load {}", load());
    Ok(())
}

struct Bench {
    folder: PathBuf,
}

impl Bench {
    fn writes(&self, record: usize, all: usize) -> Result<()> {
        let what = format!("write {}", size(record));
        if !wanted(&what) {
            return Ok(());
        }
        let ratios: Result<Vec<f64>> = (0..PAIRS).map(|_| self.write_pair(record, all)).collect();
        report(&what, ratios?);
        Ok(())
    }

    /// The CPU time of the container's writes over that of the plain file's. They take turns, so that both find the same
    /// caches and neighbours.
    fn write_pair(&self, record: usize, all: usize) -> Result<f64> {
        let bytes = noise(record);
        let made = self.container(1)?;
        let mut writer = Writer::open(made.clone(), Placement::Striped)?;
        let path = self.folder.join("plain");
        let plain = File::create_new(&path)?;
        let turn = (TURN_BYTES / record).max(1);
        let (mut stowed, mut written) = (0.0, 0.0);
        for begin in (0..all / record).step_by(turn) {
            let mut offsets = (begin..begin + turn).map(|index| (index * record) as u64);
            let start = cpu_seconds();
            offsets.clone().try_for_each(|offset| writer.write_at(&bytes, offset))?;
            let middle = cpu_seconds();
            offsets.try_for_each(|offset| plain.write_all_at(&bytes, offset))?;
            stowed += middle - start;
            written += cpu_seconds() - middle;
        }
        writer.close()?;
        Container::open(made.path(), &[])?.remove()?;
        std::fs::remove_file(&path)?;
        Ok(stowed / written)
    }

    fn shared_writes(&self, record: usize, all: usize) -> Result<()> {
        let what = format!("{WRITERS} processes write {}", size(record));
        if !wanted(&what) {
            return Ok(());
        }
        let count = (all / record / WRITERS).to_string();
        let record = record.to_string();
        let speed = |work: &[&str]| seconds_of(WRITERS, work).map(|it| 1.0 / it);
        let stow = || -> Result<f64> {
            let made = self.container(1)?;
            let path = made.path().to_str().context("no text")?;
            let speed = speed(&["write-stow", path, &record, &count]);
            Container::open(made.path(), &[])?.remove()?;
            speed
        };
        let plain = || -> Result<f64> {
            let path = self.folder.join("plain");
            File::create_new(&path)?;
            let speed = speed(&["write-plain", path.to_str().context("no text")?, &record, &count]);
            std::fs::remove_file(&path)?;
            speed
        };
        report(&what, interleaved(PAIRS, || number(stow()), || number(plain())));
        Ok(())
    }

    fn reads(&self, record: usize, read: usize, all: usize) -> Result<()> {
        let names = ["sequential", "random"].map(|order| {
            [1, 4].map(|count| {
                let (record, read) = (size(record), size(read));
                (order, count, format!("read {read} of {record} records, {order}, {count}"))
            })
        });
        let names: Vec<_> = names.into_iter().flatten().filter(|(_, _, it)| wanted(it)).collect();
        if names.is_empty() {
            return Ok(());
        }
        let made = self.container(4)?;
        let path = self.folder.join("plain");
        let plain = File::create_new(&path)?;
        write_both(&made, &plain, record, all)?;
        let texts = [made.path(), &path].map(|it| it.to_str().map(str::to_string));
        let [Some(stow), Some(file)] = texts else { return Ok(()) };
        let (read, all) = (read.to_string(), all.to_string());
        for (order, processes, what) in names {
            let speed = |kind: &str, path: &str| {
                let cpu = cpu_seconds_of(processes, &[kind, path, &read, &all, order]);
                number(cpu.map(|it| 1.0 / it))
            };
            let ratios =
                interleaved(PAIRS, || speed("read-stow", &stow), || speed("read-plain", &file));
            report(&what, ratios);
        }
        Container::open(made.path(), &[])?.remove()?;
        Ok(std::fs::remove_file(&path)?)
    }

    fn container(&self, targets: usize) -> Result<Arc<Container>> {
        let target = |index| {
            let name = format!("t{index}");
            Target { path: self.folder.join(&name), name }
        };
        let targets: Vec<Target> = (0..targets).map(target).collect();
        for target in &targets {
            std::fs::create_dir_all(&target.path)?;
        }
        Ok(Arc::new(Container::create(&self.folder.join("stowed"), &targets)?))
    }
}

/// What a process does that takes part: the kind of work, a path, bytes of each call, and the rest.
fn worker(worker: Worker) -> Result<Box<dyn FnOnce() -> Result<()>>> {
    let [kind, path, each, rest @ ..] = &worker.work[..] else { anyhow::bail!("what to do?") };
    let (path, each) = (Path::new(path), each.parse::<usize>()?);
    let number: usize = rest.first().context("how much?")?.parse()?;
    let (rank, of) = (worker.rank, worker.of);
    let bytes = noise(each);
    let strided = move |index: usize| ((index * of + rank) * each) as u64;
    Ok(match kind.as_str() {
        "write-stow" => {
            let target = path.with_file_name("t0");
            let target = Target { name: "t0".into(), path: target };
            let container = Arc::new(Container::open(path, &[target])?);
            let mut writer = Writer::open(container, Placement::Striped)?;
            Box::new(move || {
                (0..number).try_for_each(|index| writer.write_at(&bytes, strided(index)))?;
                Ok(writer.close()?)
            })
        }
        "write-plain" => {
            let file = File::options().write(true).open(path)?;
            Box::new(move || {
                Ok((0..number).try_for_each(|index| file.write_all_at(&bytes, strided(index)))?)
            })
        }
        "read-stow" => {
            let reader = Reader::open(Arc::new(Container::open(path, &[])?))?;
            let offsets = offsets(&worker, each, number);
            let mut bytes = bytes;
            Box::new(move || {
                for offset in offsets {
                    let got = reader.read_at(&mut bytes, offset)?;
                    anyhow::ensure!(got == each, "a short read");
                }
                Ok(())
            })
        }
        _ => return read_plain(&worker),
    })
}

fn number(measured: Result<f64>) -> f64 {
    measured.unwrap_or_else(|error| {
        eprintln!("{error:#}");
        f64::NAN
    })
}

fn size(bytes: usize) -> String {
    match bytes {
        MIB.. => format!("{} MiB", bytes / MIB),
        KIB.. => format!("{} KiB", bytes / KIB),
        _ => format!("{bytes} B"),
    }
}
