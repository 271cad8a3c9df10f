//! How fast is a container read that was written while others kept one of four limited devices busy, beside one that was written evenly?
//! With a throttle (Huang 3.3), `window` writes no more than a tenth beyond its fair share to the others, so that reading, on devices
//! that are quiet then, takes little longer; without one, nearly nothing lies on the busy device. Needs root, loop devices and cgroup v1.
//!
//! Four processes write strided records while eight others write to the last device all the time; then four read a quarter each, in order, by 1 MiB, past what is in memory.
//! `PLIMSOLL_BENCH_SECONDS` is how long reading takes at full speed; arguments choose lines by a part of their name; the devices lie in
//! `PLIMSOLL_BENCH_DIR`.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use plimsoll_benches::crowd::{Worker, seconds_of, work_if_asked};
use plimsoll_benches::{has_limits, interleaved, report};
use plimsoll_domain::Bytes;
use plimsoll_pilot::Pilot;
use plimsoll_route::Factor;
use plimsoll_stow::{Container, Placement, Reader, Target, Writer};
use plimsoll_testbed::{Direction, DownOptions, Testbed, UpOptions};
use rustix::fs::{Advice, fadvise};

const MIB: usize = 1 << 20;
const TARGETS: usize = 4;
const PROCESSES: usize = 4;
const NOISES: usize = 8;
const LIMIT: f64 = 20.0 * MIB as f64;
const RECORDS: [(&str, usize); 3] = [("4 KiB", 4 << 10), ("47 KiB", 47 << 10), ("1 MiB", MIB)];

/// What a process that makes noise is told: the file that it writes to.
const NOISE: &str = "--noise";
const NOISE_BYTES: u64 = 16 << 20;

/// Containers that are written for each line, as no two lie alike, and how often each is read.
const CONTAINERS: usize = 3;
const READINGS: usize = 4;

/// Of the fair share, in millionths.
const THROTTLES: [(&str, Option<u64>); 2] =
    [("throttle 0.1", Some(100_000)), ("no throttle", None)];

fn main() -> Result<()> {
    if let Some(path) = std::env::args().skip_while(|it| it != NOISE).nth(1) {
        return make_noise(Path::new(&path));
    }
    if work_if_asked(worker)? {
        return Ok(());
    }
    let seconds = std::env::var("PLIMSOLL_BENCH_SECONDS").ok().and_then(|it| it.parse().ok());
    let seconds = seconds.unwrap_or(2.0);
    let folder = std::env::var_os("PLIMSOLL_BENCH_DIR").map_or("/var/tmp".into(), PathBuf::from);
    let base = tempfile::tempdir_in(folder)?;
    let bed = Testbed::in_base(base.path(), "noise")?;
    // An even container, and one that may be all on three of the devices.
    let size = Bytes::new((2.5 * seconds * LIMIT) as u64 + (128 << 20));
    let made = bed.up(&UpOptions::new(TARGETS as u64, size), &mut |_| {})?;
    let bench = Bench { bed, base: base.path().to_path_buf(), seconds };
    let result = match has_limits(&made.lacking) {
        true => bench.all(),
        false => {
            println!("SKIPPED: the limits of the test bed need root, loop devices and cgroup v1");
            Ok(())
        }
    };
    bench.bed.down(DownOptions::default())?;
    result
}

struct Bench {
    bed: Testbed,
    base: PathBuf,
    seconds: f64,
}

impl Bench {
    fn all(&self) -> Result<()> {
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        println!(
            "{TARGETS} targets of {} MiB/s, {NOISES} processes write to the last one; load {}",
            LIMIT / MIB as f64,
            load.trim()
        );
        let limit = format!("{}B/s", LIMIT as u64);
        for index in 0..TARGETS {
            let target = format!("t{index}").parse()?;
            self.bed.slow(target, limit.parse()?, Direction::Both)?;
        }
        let wanted: Vec<String> =
            std::env::args().skip(1).filter(|it| !it.starts_with('-')).collect();
        for (name, record) in RECORDS {
            for (throttle, millionths) in THROTTLES {
                let what = format!("{throttle}, {name}");
                if wanted.is_empty() || wanted.iter().any(|it| what.contains(it)) {
                    self.compare(&what, record, millionths)?;
                }
            }
        }
        Ok(())
    }

    fn compare(&self, what: &str, record: usize, throttle: Option<u64>) -> Result<()> {
        let mut ratios = Vec::new();
        for _ in 0..CONTAINERS {
            ratios.extend(self.ratios(what, record, throttle)?);
        }
        report(&format!("{what}: time to read over that of even placement"), ratios);
        Ok(())
    }

    /// Writes two containers, and compares how long reading them takes.
    fn ratios(&self, what: &str, record: usize, throttle: Option<u64>) -> Result<Vec<f64>> {
        let (even, noisy) = (self.base.join("even"), self.base.join("noisy"));
        let made = [
            Container::create(&even, &self.targets()?)?,
            Container::create(&noisy, &self.targets()?)?,
        ];
        self.write("striped", &even, record)?;
        let policy = throttle.map_or("window".into(), |it| it.to_string());
        let noise = Noise::on(&self.targets()?[TARGETS - 1].path)?;
        let took = self.write(&policy, &noisy, record)?;
        drop(noise);
        let all = self.seconds * LIMIT * TARGETS as f64;
        println!(
            "{what}: written in {took:.1} s, {:.2} of what all devices take without noise; bytes on each: {}",
            all / took / LIMIT / TARGETS as f64,
            self.shares(&made[1])?
        );
        let read = |path: &Path| self.read(path).unwrap_or(f64::NAN);
        let mut evenly = Vec::new();
        let ratios = interleaved(
            READINGS,
            || read(&noisy),
            || {
                evenly.push(read(&even));
                evenly[evenly.len() - 1]
            },
        );
        ensure!(ratios.iter().all(|it| it.is_finite()), "a container could not be read");
        let mean = evenly.iter().sum::<f64>() / evenly.len() as f64;
        println!(
            "{what}: the even one was read at {:.2} of what all devices give",
            self.seconds / mean
        );
        for container in made {
            container.remove()?;
        }
        Ok(ratios)
    }

    /// Seconds until a container is durable.
    fn write(&self, policy: &str, path: &Path, record: usize) -> Result<f64> {
        let count = self.seconds * LIMIT * TARGETS as f64 / (record * PROCESSES) as f64;
        let targets: Vec<String> =
            self.targets()?.iter().map(|it| it.path.to_string_lossy().into_owned()).collect();
        let (record, count) = (record.to_string(), (count as usize).to_string());
        seconds_of(
            PROCESSES,
            &[policy, &path.to_string_lossy(), &record, &count, &targets.join(",")],
        )
    }

    /// Seconds to read a container that is not in memory.
    fn read(&self, path: &Path) -> Result<f64> {
        for target in self.targets()? {
            for folder in fs::read_dir(&target.path)?.flatten() {
                for log in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
                    fadvise(File::open(log.path())?, 0, None, Advice::DontNeed)?;
                }
            }
        }
        seconds_of(PROCESSES, &["read", &path.to_string_lossy(), "0", "0", ""])
    }

    /// The part of a container on each target, of its fair share.
    fn shares(&self, container: &Container) -> Result<String> {
        let reader = Reader::open(Arc::new(Container::open(container.path(), &[])?))?;
        let mut live = [0.0; TARGETS];
        for log in reader.logs() {
            let index: usize = log.listed.target.trim_start_matches('t').parse()?;
            live[index] += log.live as f64;
        }
        let fair = live.iter().sum::<f64>() / TARGETS as f64;
        Ok(live.map(|it| format!("{:.2}", it / fair)).join(" "))
    }

    fn targets(&self) -> Result<Vec<Target>> {
        let targets = self.bed.list()?.targets.into_iter();
        Ok(targets.map(|it| Target { name: it.name.to_string(), path: it.path }).collect())
    }
}

fn worker(worker: Worker) -> Result<Box<dyn FnOnce() -> Result<()>>> {
    let [kind, path, record, count, targets] = &worker.work[..] else { bail!("what to do?") };
    let (path, record, count) = (Path::new(path), record.parse::<usize>()?, count.parse()?);
    let (rank, of) = (worker.rank, worker.of);
    if kind == "read" {
        let reader = Reader::open(Arc::new(Container::open_to_read(path, &[])?))?;
        let part = reader.size().div_ceil(of as u64);
        let (begin, end) = (rank as u64 * part, ((rank as u64 + 1) * part).min(reader.size()));
        return Ok(Box::new(move || {
            let mut bytes = vec![0; MIB];
            for offset in (begin..end).step_by(MIB) {
                let length = (end - offset).min(MIB as u64) as usize;
                reader.read_at(&mut bytes[..length], offset)?;
            }
            Ok(())
        }));
    }
    let target =
        |(index, path): (usize, &str)| Target { name: format!("t{index}"), path: path.into() };
    let targets: Vec<Target> = targets.split(',').enumerate().map(target).collect();
    let container = Arc::new(Container::open(path, &targets)?);
    let placement = match kind.as_str() {
        "striped" => Placement::Striped,
        "window" => Placement::Routed(Box::new(Pilot::new(&container, Factor::NONE)?)),
        millionths => {
            let factor = Factor::from_millionths(millionths.parse()?);
            Placement::Routed(Box::new(Pilot::new(&container, factor)?))
        }
    };
    let mut writer = Writer::open(container, placement)?;
    let bytes = vec![rank as u8 + 1; record];
    Ok(Box::new(move || {
        for index in 0..count {
            writer.write_at(&bytes, ((index * of + rank) * record) as u64)?;
        }
        writer.sync()?;
        Ok(writer.close()?)
    }))
}

/// Processes that write to a target until this is dropped.
struct Noise {
    processes: Vec<Child>,
    files: Vec<PathBuf>,
}

impl Noise {
    fn on(target: &Path) -> Result<Self> {
        let mut noise = Noise { processes: Vec::new(), files: Vec::new() };
        for number in 0..NOISES {
            let path = target.join(format!("noise-{number}"));
            let mut command = Command::new(std::env::current_exe()?);
            command.arg(NOISE).arg(&path).stdin(Stdio::null());
            noise.files.push(path);
            noise.processes.push(command.spawn().context("cannot make noise")?);
        }
        // Each has written once.
        while !noise.files.iter().all(|it| fs::metadata(it).is_ok_and(|it| it.len() > 0)) {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        Ok(noise)
    }
}

impl Drop for Noise {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
        self.files.iter().for_each(|it| drop(fs::remove_file(it)));
    }
}

/// Writes all the time, each time until it is durable.
fn make_noise(path: &Path) -> Result<()> {
    let flags = rustix::fs::OFlags::DSYNC.bits() as i32;
    let file = File::options().write(true).create(true).custom_flags(flags).open(path)?;
    let bytes = vec![7; MIB];
    for offset in (0..NOISE_BYTES).step_by(MIB).cycle() {
        file.write_all_at(&bytes, offset)?;
    }
    Ok(())
}
