//! How near do containers come to what limited devices take? Four processes write strided records to one file on four loop devices: all
//! alike, one at a seventeenth, one that drops to that during the run. Time until everything is durable. Needs root, loop devices and
//! cgroup v1.
//!
//! `PLIMSOLL_BENCH_SECONDS` is the length of a run at full speed, `PLIMSOLL_BENCH_ROUNDS` their number, `PLIMSOLL_BENCH_POLICIES` says who writes (`shared` is a plain file on one device); arguments choose lines by a part of their name.
//! `masked` is `window` without `cachestat` and io_uring, which a filter of system calls takes away, as on an older kernel.
//! The devices lie in `PLIMSOLL_BENCH_DIR`: in /dev/shm, what others write to the disk of the machine does not hold them up.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use plimsoll_benches::crowd::{Worker, seconds_of, seconds_while, work_if_asked};
use plimsoll_benches::{has_limits, older_kernel};
use plimsoll_domain::Bytes;
use plimsoll_pilot::Pilot;
use plimsoll_route::Factor;
use plimsoll_stats::Sample;
use plimsoll_stow::{Container, Placement, Target, Writer};
use plimsoll_testbed::{Direction, DownOptions, Testbed, UpOptions};

const MIB: f64 = (1 << 20) as f64;
const TARGETS: usize = 4;
const WRITERS: usize = 4;
const LIMIT: f64 = 20.0 * MIB;
const SLOW: f64 = LIMIT / 17.0;
const RECORDS: [(&str, usize); 3] = [("4 KiB", 4 << 10), ("47 KiB", 47 << 10), ("1 MiB", 1 << 20)];
const POLICIES: &str = "shared,window,striped,static";
const SHARED: &str = "shared";

/// Where the limit of a target that drops does so, as a part of the run.
const DROP_AT: f64 = 1.0 / 3.0;

#[derive(Clone, Copy, PartialEq)]
enum Case {
    Equal,
    Slow,
    Drop,
}

fn main() -> Result<()> {
    if work_if_asked(worker)? {
        return Ok(());
    }
    let number = |name: &str, usual: f64| {
        std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(usual)
    };
    let seconds = number("PLIMSOLL_BENCH_SECONDS", 5.0);
    let folder = std::env::var_os("PLIMSOLL_BENCH_DIR").map_or("/var/tmp".into(), PathBuf::from);
    let base = tempfile::tempdir_in(folder)?;
    let bed = Testbed::in_base(base.path(), "stow")?;
    let size = Bytes::new((1.5 * seconds * LIMIT) as u64 + (128 << 20));
    let made = bed.up(&UpOptions::new(TARGETS as u64, size), &mut |_| {})?;
    let bench = Bench {
        bed,
        base: base.path().to_path_buf(),
        seconds,
        rounds: number("PLIMSOLL_BENCH_ROUNDS", 3.0) as usize,
        policies: std::env::var("PLIMSOLL_BENCH_POLICIES")
            .unwrap_or_else(|_| POLICIES.into())
            .split(',')
            .map(str::to_string)
            .collect(),
        wanted: std::env::args().skip(1).filter(|it| !it.starts_with('-')).collect(),
    };
    let result = if has_limits(&made.lacking) { bench.all() } else { skip() };
    bench.bed.down(DownOptions::default())?;
    result
}

fn skip() -> Result<()> {
    println!("SKIPPED: the limits of the test bed need root, loop devices and cgroup v1");
    Ok(())
}

struct Bench {
    bed: Testbed,
    base: PathBuf,
    seconds: f64,
    rounds: usize,
    policies: Vec<String>,
    wanted: Vec<String>,
}

impl Bench {
    fn all(&self) -> Result<()> {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        println!(
            "{TARGETS} targets of {} MiB/s, {WRITERS} processes, runs of {} s, {} each, to durable; load {}",
            LIMIT / MIB,
            self.seconds,
            self.rounds,
            load.trim()
        );
        for (name, record) in RECORDS {
            self.equal(name, record)?;
        }
        for (name, record) in RECORDS {
            self.bounded(&format!("one at 1/17, {name}"), Case::Slow, record)?;
        }
        for (name, record) in RECORDS {
            self.bounded(&format!("one drops to 1/17, {name}"), Case::Drop, record)?;
        }
        Ok(())
    }

    fn wants(&self, what: &str) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|it| what.contains(it))
    }

    fn equal(&self, name: &str, record: usize) -> Result<()> {
        let what = format!("all alike, {name}");
        if !self.wants(&what) {
            return Ok(());
        }
        let all = self.seconds * LIMIT * TARGETS as f64;
        let mut shares: Vec<(&str, Vec<f64>, Vec<f64>)> =
            self.containers().map(|it| (it, Vec::new(), Vec::new())).collect();
        for _ in 0..self.rounds {
            // A quarter of the data, which takes one target as long.
            let part = all / TARGETS as f64;
            let shared = match self.policies.iter().any(|it| it == SHARED) {
                true => Some(part / self.plain(record, part)?),
                false => None,
            };
            for (policy, share, times) in &mut shares {
                let rate = all / self.stow(policy, Case::Equal, record, all)?;
                share.push(rate / LIMIT / TARGETS as f64);
                times.extend(shared.map(|it| rate / it));
                eprintln!("{what}, {policy}: {:.4}", rate / LIMIT / TARGETS as f64);
            }
        }
        for (policy, share, times) in shares {
            show(&format!("{what}, {policy}: of the combined limit"), share)?;
            if !times.is_empty() {
                show(&format!("{what}, {policy}: times the shared file on one"), times)?;
            }
        }
        Ok(())
    }

    /// The policies by which containers are written.
    fn containers(&self) -> impl Iterator<Item = &str> {
        self.policies.iter().map(String::as_str).filter(|it| *it != SHARED)
    }

    fn bounded(&self, what: &str, case: Case, record: usize) -> Result<()> {
        if !self.wants(what) {
            return Ok(());
        }
        let before = LIMIT * TARGETS as f64;
        let after = LIMIT * (TARGETS - 1) as f64 + SLOW;
        let (all, bound) = match case {
            Case::Drop => {
                let until = self.seconds * DROP_AT;
                (until * before + (self.seconds - until) * after, self.seconds)
            }
            _ => (self.seconds * after, self.seconds),
        };
        let mut ratios: Vec<(&str, Vec<f64>)> =
            self.containers().map(|it| (it, Vec::new())).collect();
        for _ in 0..self.rounds {
            for (policy, ratio) in &mut ratios {
                // Going round a target of a seventeenth takes twelve times as long: less of it tells as much.
                let is_routed = matches!(*policy, "window" | "masked");
                let part = if is_routed { 1.0 } else { 0.25 };
                if case == Case::Drop && !is_routed {
                    continue;
                }
                ratio.push(self.stow(policy, case, record, all * part)? / bound / part);
            }
        }
        for (policy, ratio) in ratios.into_iter().filter(|it| !it.1.is_empty()) {
            show(&format!("{what}, {policy}: times the fluid bound"), ratio)?;
        }
        Ok(())
    }

    /// Seconds until so many bytes in a container are durable.
    fn stow(&self, policy: &str, case: Case, record: usize, all: f64) -> Result<f64> {
        self.set_limits(if case == Case::Slow { SLOW } else { LIMIT })?;
        let targets = self.targets()?;
        let path = self.base.join("stowed");
        let made = Container::create(&path, &targets)?;
        let count = (all / record as f64 / WRITERS as f64) as usize;
        let paths: Vec<String> =
            targets.iter().map(|it| it.path.to_string_lossy().into_owned()).collect();
        let container = path.to_string_lossy();
        let (record, count) = (record.to_string(), count.to_string());
        let work = [policy, &container, &record, &count, &paths.join(",")];
        let took = seconds_while(WRITERS, &work, || {
            if case == Case::Drop {
                std::thread::sleep(Duration::from_secs_f64(self.seconds * DROP_AT));
                if let Err(error) = self.set_limits(SLOW) {
                    eprintln!("{error:#}");
                }
            }
        });
        made.remove()?;
        took
    }

    /// Seconds until so many bytes in a plain file on one target are durable.
    fn plain(&self, record: usize, all: f64) -> Result<f64> {
        self.set_limits(LIMIT)?;
        let path = self.targets()?[0].path.join("plain");
        File::create_new(&path)?;
        let count = (all / record as f64 / WRITERS as f64) as usize;
        let took = seconds_of(
            WRITERS,
            &["plain", &path.to_string_lossy(), &record.to_string(), &count.to_string()],
        );
        std::fs::remove_file(&path)?;
        took
    }

    fn set_limits(&self, last: f64) -> Result<()> {
        for index in 0..TARGETS {
            let limit = if index + 1 == TARGETS { last } else { LIMIT };
            let target = format!("t{index}").parse()?;
            self.bed.slow(target, format!("{}B/s", limit as u64).parse()?, Direction::Write)?;
        }
        Ok(())
    }

    fn targets(&self) -> Result<Vec<Target>> {
        let targets = self.bed.list()?.targets.into_iter();
        Ok(targets.map(|it| Target { name: it.name.to_string(), path: it.path }).collect())
    }
}

fn worker(worker: Worker) -> Result<Box<dyn FnOnce() -> Result<()>>> {
    let [kind, path, record, count, rest @ ..] = &worker.work[..] else { bail!("what to do?") };
    let (path, record, count) = (Path::new(path), record.parse::<usize>()?, count.parse()?);
    let (rank, of) = (worker.rank, worker.of);
    let offset = move |index: usize| ((index * of + rank) * record) as u64;
    let bytes = vec![rank as u8 + 1; record];
    if kind == "plain" {
        let file = File::options().write(true).open(path)?;
        return Ok(Box::new(move || {
            (0..count).try_for_each(|index| file.write_all_at(&bytes, offset(index)))?;
            Ok(file.sync_data()?)
        }));
    }
    let names = rest.first().context("which targets?")?.split(',').enumerate();
    let target =
        |(index, path): (usize, &str)| Target { name: format!("t{index}"), path: path.into() };
    let targets: Vec<Target> = names.map(target).collect();
    if kind == "masked" {
        older_kernel::pretend()?;
    }
    let container = Arc::new(Container::open(path, &targets)?);
    let placement = match kind.as_str() {
        "striped" => Placement::Striped,
        "static" => Placement::Static,
        _ => Placement::Routed(Box::new(Pilot::new(&container, Factor::NONE)?)),
    };
    let mut writer = Writer::open(container, placement)?;
    Ok(Box::new(move || {
        (0..count).try_for_each(|index| writer.write_at(&bytes, offset(index)))?;
        writer.sync()?;
        Ok(writer.close()?)
    }))
}

fn show(what: &str, values: Vec<f64>) -> Result<()> {
    let n = values.len();
    let (low, high) = values.iter().fold((f64::MAX, 0.0f64), |it, x| (it.0.min(*x), it.1.max(*x)));
    let mean = values.iter().sum::<f64>() / n as f64;
    let spread =
        values.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / (n as f64 - 1.0).max(1.0);
    let median = Sample::new(values)?.median();
    println!(
        "{what:62}  {median:.3}  ({low:.3} to {high:.3}, c_v {:.3}, n = {n})",
        spread.sqrt() / mean
    );
    Ok(())
}
