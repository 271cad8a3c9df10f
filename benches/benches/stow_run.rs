//! How fast are MPI programs as they are under `plimsoll stow run`, on four limited loop devices? Time until everything is durable, by both MPI
//! libraries, by pwrite and by MPI-IO, beside the same records written by the library of containers in the same round. Needs root,
//! loop devices, cgroup v1 and `make build`.
//!
//! Strided records of four processes in one file, on devices that are alike, with one at a seventeenth, and with one that drops to that; records of
//! which each is made durable, on devices of so many operations a second, beside a file for each process on a device of its own; and steps of
//! 300 KB with a second of computing after each, beside the plain file.
//!
//! `PLIMSOLL_BENCH_SECONDS` is the length of a run at full speed, `PLIMSOLL_BENCH_ROUNDS` their number; with `PLIMSOLL_BENCH_SESSIONS` each rank has a
//! session of its own, as those of MPICH always have; arguments choose lines by a part of their name; the devices lie in `PLIMSOLL_BENCH_DIR`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use plimsoll_benches::course::Course;
use plimsoll_benches::crowd::work_if_asked;
use plimsoll_benches::devices::{Devices, LIMIT, TARGETS};
use plimsoll_benches::stow_run::{MpiProgram, StowRun, figures_of, root};
use plimsoll_benches::strided::{RECORDS, Strided, WRITERS, worker};
use plimsoll_benches::{load, setting, show, wanted};
use plimsoll_stow::Container;

/// How records are written, with the program's option for it.
const CALLS: [(&str, &[&str]); 2] = [("pwrite", &[]), ("MPI-IO", &["-m"])];

/// Operations a second of each device, where each record is made durable, and how many each process writes then.
const OPERATIONS: u64 = 200;
const DURABLE_RECORDS: usize = 300;
const DURABLE_BYTES: usize = 4 << 10;

/// Bytes of a step, their number, and seconds of computing after each.
const STEP_BYTES: usize = 300_000;
const STEPS: usize = 10;
const COMPUTING: &str = "1";
/// Processes that compute: no more than the machine has processors, or they would wait for each other.
const COMPUTERS: usize = 2;

/// What the program tells: seconds until all is durable, seconds in its calls, and those of the longest write.
type Told = [f64; 3];

fn main() -> Result<()> {
    if work_if_asked(worker)? {
        return Ok(());
    }
    let seconds = setting("PLIMSOLL_BENCH_SECONDS", 20.0);
    let stow_run = StowRun::find()?;
    Devices::lend(seconds, |devices| {
        let source = root()?.join("benches/programs/mpi_records.c");
        let mount = devices.base().join("mount");
        fs::create_dir(&mount)?;
        let bench = Bench {
            devices,
            stow_run,
            mount,
            programs: MpiProgram::for_each_library(&source, devices.base())?,
            seconds,
            rounds: setting("PLIMSOLL_BENCH_ROUNDS", 3.0) as usize,
        };
        bench.all()
    })
}

struct Bench<'a> {
    devices: &'a Devices,
    stow_run: StowRun,
    mount: PathBuf,
    programs: Vec<MpiProgram>,
    seconds: f64,
    rounds: usize,
}

/// One line: a program and how it writes, and what was measured of it in each round.
struct Line<'a> {
    what: String,
    program: &'a MpiProgram,
    options: &'static [&'static str],
    measured: [Vec<f64>; 3],
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
            self.equal(&format!("all alike, {name}"), record)?;
        }
        for (name, record) in RECORDS {
            self.bounded(&format!("one at 1/17, {name}"), Course::Slow, record)?;
        }
        for (name, record) in RECORDS {
            self.bounded(&format!("one drops to 1/17, {name}"), Course::Drop, record)?;
        }
        self.durable_records()?;
        self.steps()?;
        println!("load {}", load());
        Ok(())
    }

    /// A line for each program and way to write that is asked for.
    fn lines(&self, what: &str) -> Vec<Line<'_>> {
        let mut lines = Vec::new();
        for program in &self.programs {
            for (calls, options) in CALLS {
                let what = format!("{what}, {}, {calls}", program.library);
                if wanted(&what) {
                    lines.push(Line { what, program, options, measured: Default::default() });
                }
            }
        }
        lines
    }

    fn equal(&self, what: &str, record: usize) -> Result<()> {
        let mut lines = self.lines(what);
        let all = self.work(Course::Equal, record, 1.0);
        // An eighth of the data, which takes one device half as long.
        let part = self.work(Course::Equal, record, 0.5 / TARGETS as f64);
        let combined = LIMIT * TARGETS as f64;
        let mut by_library = Vec::new();
        for _ in 0..if lines.is_empty() { 0 } else { self.rounds } {
            let own = all.bytes / all.stowed("window")?;
            by_library.push(own / combined);
            for line in &mut lines {
                let rate = all.bytes / self.stowed(line, all)?;
                let plain = part.bytes / self.plain(line, part)?;
                eprintln!("{}: {:.4}, library {:.4}", line.what, rate / combined, own / combined);
                for (all, it) in
                    line.measured.iter_mut().zip([rate / combined, rate / own, rate / plain])
                {
                    all.push(it);
                }
            }
        }
        if !by_library.is_empty() {
            show(&format!("{what}, the library: of the combined limit"), by_library)?;
        }
        for Line { what, measured: [share, ratio, times], .. } in lines {
            show(&format!("{what}: of the combined limit"), share)?;
            show(&format!("{what}: over the library"), ratio)?;
            show(&format!("{what}: times the plain file on one"), times)?;
        }
        Ok(())
    }

    fn bounded(&self, what: &str, course: Course, record: usize) -> Result<()> {
        let mut lines = self.lines(what);
        let work = self.work(course, record, 1.0);
        for _ in 0..self.rounds {
            for line in &mut lines {
                let ratio = self.stowed(line, work)? / self.seconds;
                eprintln!("{}: {ratio:.4}", line.what);
                line.measured[0].push(ratio);
            }
        }
        for Line { what, measured: [ratio, ..], .. } in lines {
            show(&format!("{what}: times the fluid bound"), ratio)?;
        }
        Ok(())
    }

    /// Acknowledged records a second, of which each is durable before the next is written.
    fn durable_records(&self) -> Result<()> {
        let mut lines = self.lines("each record durable, 4 KiB");
        self.devices.limit_operations(OPERATIONS)?;
        for _ in 0..self.rounds {
            for line in &mut lines {
                let arguments =
                    ["-e".into(), DURABLE_BYTES.to_string(), DURABLE_RECORDS.to_string()];
                let written = (WRITERS * DURABLE_RECORDS) as f64;
                let own = written / self.run_stowed(line, WRITERS, &arguments, || ())?[0];
                let files = self.devices.targets()?.into_iter().map(|it| it.path.join("plain"));
                let files = written
                    / self.run_plain(line, WRITERS, &arguments, &files.collect::<Vec<_>>())?[0];
                eprintln!("{}: {own:.1}, files {files:.1} a second", line.what);
                for (all, it) in line.measured.iter_mut().zip([own, own / files]) {
                    all.push(it);
                }
            }
        }
        for Line { what, measured: [rate, ratio, _], .. } in lines {
            show(&format!("{what}: records a second"), rate)?;
            show(&format!("{what}: over a file for each process"), ratio)?;
        }
        Ok(())
    }

    /// The time of a program that computes between its writes, beside the plain file on one device. Nothing is made durable at the end.
    fn steps(&self) -> Result<()> {
        let mut lines = self.lines("300 KB a step");
        self.devices.limit(LIMIT)?;
        let options = ["-n".into(), "-c".into(), COMPUTING.into()];
        let arguments = [&options[..], &[STEP_BYTES.to_string(), STEPS.to_string()]].concat();
        for _ in 0..self.rounds {
            for line in &mut lines {
                let own = self.run_stowed(line, COMPUTERS, &arguments, || ())?;
                let file = self.devices.targets()?[0].path.join("plain");
                let plain = self.run_plain(line, COMPUTERS, &arguments, &[file])?;
                eprintln!("{}: {own:?}, plain {plain:?}", line.what);
                let figures = [own[0] / plain[0], own[1] / plain[1], own[2] / plain[2]];
                line.measured.iter_mut().zip(figures).for_each(|(all, it)| all.push(it));
            }
        }
        for Line { what, measured: [all, writing, longest], .. } in lines {
            show(&format!("{what}: time over plain's"), all)?;
            show(&format!("{what}: time in its calls over plain's"), writing)?;
            show(&format!("{what}: longest write over plain's"), longest)?;
        }
        Ok(())
    }

    /// A part of what the devices take during a run.
    fn work(&self, course: Course, record: usize, part: f64) -> Strided<'_> {
        let bytes = course.bytes_in(self.seconds) * part;
        Strided { devices: self.devices, course, seconds: self.seconds, record, bytes }
    }

    /// Seconds until the records are durable in a container.
    fn stowed(&self, line: &Line, work: Strided) -> Result<f64> {
        work.course.begin(self.devices)?;
        let arguments = [work.record.to_string(), work.count().to_string()];
        let during = || work.course.take(self.devices, self.seconds);
        Ok(self.run_stowed(line, WRITERS, &arguments, during)?[0])
    }

    /// Seconds until the records are durable in a plain file on the first device.
    fn plain(&self, line: &Line, work: Strided) -> Result<f64> {
        work.course.begin(self.devices)?;
        let arguments = [work.record.to_string(), work.count().to_string()];
        let file = self.devices.targets()?[0].path.join("plain");
        Ok(self.run_plain(line, WRITERS, &arguments, &[file])?[0])
    }

    fn run_stowed(
        &self,
        line: &Line,
        ranks: usize,
        arguments: &[String],
        during: impl FnOnce(),
    ) -> Result<Told> {
        let targets = self.devices.targets()?;
        let path = self.mount.join("stowed");
        let command = self.stow_run.command(&self.mount, &targets);
        let mut command = line.program.started_by(command, ranks);
        command.args(line.options).args(arguments).arg(&path);
        let told = figures_of(command, during);
        Container::open(&path, &targets).context("the container is not there")?.remove()?;
        told
    }

    fn run_plain(
        &self,
        line: &Line,
        ranks: usize,
        arguments: &[String],
        files: &[PathBuf],
    ) -> Result<Told> {
        let mut command = line.program.plain(ranks);
        command.args(line.options).args(arguments).args(files);
        let told = figures_of(command, || ());
        files.iter().try_for_each(fs::remove_file)?;
        told
    }
}
