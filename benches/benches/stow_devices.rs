//! How near do containers come to what limited devices take? Four processes write strided records to one file on four loop devices: all
//! alike, one at a seventeenth, one that drops to that during the run. Time until everything is durable. Needs root, loop devices and
//! cgroup v1.
//!
//! `PLIMSOLL_BENCH_SECONDS` is the length of a run at full speed, `PLIMSOLL_BENCH_ROUNDS` their number, `PLIMSOLL_BENCH_POLICIES` says who writes (`shared` is a plain file on one device); arguments choose lines by a part of their name.
//! `masked` is `window` without `cachestat` and io_uring, which a filter of system calls takes away, as on an older kernel.
//! The devices lie in `PLIMSOLL_BENCH_DIR`.

use anyhow::Result;
use plimsoll_benches::course::Course;
use plimsoll_benches::crowd::work_if_asked;
use plimsoll_benches::devices::{Devices, LIMIT, TARGETS};
use plimsoll_benches::strided::{RECORDS, Strided, WRITERS, worker};
use plimsoll_benches::{load, setting, show, wanted};

const POLICIES: &str = "shared,window,striped,static";
const SHARED: &str = "shared";

fn main() -> Result<()> {
    if work_if_asked(worker)? {
        return Ok(());
    }
    let seconds = setting("PLIMSOLL_BENCH_SECONDS", 5.0);
    Devices::lend(seconds, |devices| {
        let policies = std::env::var("PLIMSOLL_BENCH_POLICIES");
        let bench = Bench {
            devices,
            seconds,
            rounds: setting("PLIMSOLL_BENCH_ROUNDS", 3.0) as usize,
            policies: policies
                .unwrap_or_else(|_| POLICIES.into())
                .split(',')
                .map(str::to_string)
                .collect(),
        };
        bench.all()
    })
}

struct Bench<'a> {
    devices: &'a Devices,
    seconds: f64,
    rounds: usize,
    policies: Vec<String>,
}

impl Bench<'_> {
    fn all(&self) -> Result<()> {
        println!(
            "{TARGETS} targets of {} MiB/s, {WRITERS} processes, runs of {} s, {} each, to durable; load {}",
            LIMIT / f64::from(1 << 20),
            self.seconds,
            self.rounds,
            load()
        );
        for (name, record) in RECORDS {
            self.equal(name, record)?;
        }
        for (name, record) in RECORDS {
            self.bounded(&format!("one at 1/17, {name}"), Course::Slow, record)?;
        }
        for (name, record) in RECORDS {
            self.bounded(&format!("one drops to 1/17, {name}"), Course::Drop, record)?;
        }
        Ok(())
    }

    fn equal(&self, name: &str, record: usize) -> Result<()> {
        let what = format!("all alike, {name}");
        if !wanted(&what) {
            return Ok(());
        }
        let all = Course::Equal.bytes_in(self.seconds);
        let mut shares: Vec<(&str, Vec<f64>, Vec<f64>)> =
            self.containers().map(|it| (it, Vec::new(), Vec::new())).collect();
        for _ in 0..self.rounds {
            // A quarter of the data, which takes one target as long.
            let part = all / TARGETS as f64;
            let shared = match self.policies.iter().any(|it| it == SHARED) {
                true => Some(part / self.work(Course::Equal, record, part).plain()?),
                false => None,
            };
            for (policy, share, times) in &mut shares {
                let rate = all / self.work(Course::Equal, record, all).stowed(policy)?;
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

    fn bounded(&self, what: &str, course: Course, record: usize) -> Result<()> {
        if !wanted(what) {
            return Ok(());
        }
        let all = course.bytes_in(self.seconds);
        let mut ratios: Vec<(&str, Vec<f64>)> =
            self.containers().map(|it| (it, Vec::new())).collect();
        for _ in 0..self.rounds {
            for (policy, ratio) in &mut ratios {
                // Going round a target of a seventeenth takes twelve times as long: less of it tells as much.
                let is_routed = matches!(*policy, "window" | "masked");
                let part = if is_routed { 1.0 } else { 0.25 };
                if course == Course::Drop && !is_routed {
                    continue;
                }
                let took = self.work(course, record, all * part).stowed(policy)?;
                ratio.push(took / self.seconds / part);
            }
        }
        for (policy, ratio) in ratios.into_iter().filter(|it| !it.1.is_empty()) {
            show(&format!("{what}, {policy}: times the fluid bound"), ratio)?;
        }
        Ok(())
    }

    fn work(&self, course: Course, record: usize, bytes: f64) -> Strided<'_> {
        Strided { devices: self.devices, course, seconds: self.seconds, record, bytes }
    }
}
