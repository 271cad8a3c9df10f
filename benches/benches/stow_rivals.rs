//! How fast are containers beside what others would use on the same limited devices? Four processes write to four loop devices until
//! everything is durable: one container, a file for each process on a target of its own (N-N), ADIOS2's engine BP5 and PLFS. Needs root,
//! loop devices and cgroup v1.
//!
//! `ADIOS2_PYTHON` is a Python with ADIOS2 (`python3 -m venv V; V/bin/pip install adios2 numpy`, then `V/bin/python`), `PLFS` a directory of
//! PLFS's sources with its static library in `build/lib` (`mkdir build; cd build; cmake -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS="-std=gnu++98 -w" ..; make plfs_lib_static`). Who is absent is skipped. `PLIMSOLL_BENCH_SECONDS` is the length of a run at full speed;
//! arguments choose sizes of records by a part of their name. The devices lie in `PLIMSOLL_BENCH_DIR` (/var/tmp; in /dev/shm nothing holds them up that others write to the disk).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use plimsoll_benches::crowd::{Worker, seconds_of, seconds_of_programs, work_if_asked};
use plimsoll_benches::{has_limits, report};
use plimsoll_domain::Bytes;
use plimsoll_pilot::Pilot;
use plimsoll_route::Factor;
use plimsoll_stow::{Container, Placement, Target, Writer};
use plimsoll_testbed::{Direction, DownOptions, Testbed, UpOptions};

const MIB: f64 = (1 << 20) as f64;
const TARGETS: usize = 4;
const LIMIT: f64 = 20.0 * MIB;
const RECORDS: [(&str, usize); 3] = [("4 KiB", 4 << 10), ("47 KiB", 47 << 10), ("1 MiB", 1 << 20)];

/// Each round runs everybody once: so many pairs with each rival.
const ROUNDS: usize = 9;

/// Who is compared with containers.
enum Rival {
    FilePerProcess,
    Bp5 { python: PathBuf },
    Plfs { writer: PathBuf },
}

impl Rival {
    fn name(&self) -> &'static str {
        match self {
            Rival::FilePerProcess => "a file for each process",
            Rival::Bp5 { .. } => "ADIOS2 BP5",
            Rival::Plfs { .. } => "PLFS",
        }
    }

    /// Those that are there; says who is not.
    fn all(folder: &Path) -> Result<Vec<Rival>> {
        let mut rivals = vec![Rival::FilePerProcess];
        match std::env::var_os("ADIOS2_PYTHON") {
            Some(python) => rivals.push(Rival::Bp5 { python: python.into() }),
            None => {
                println!("SKIPPED: ADIOS2 BP5, for which ADIOS2_PYTHON names a Python that has it")
            }
        }
        match std::env::var_os("PLFS") {
            Some(source) => {
                rivals.push(Rival::Plfs { writer: build_plfs_writer(Path::new(&source), folder)? });
            }
            None => println!("SKIPPED: PLFS, whose sources and library PLFS names"),
        }
        Ok(rivals)
    }
}

fn rivals_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("rivals")
}

fn build_plfs_writer(source: &Path, folder: &Path) -> Result<PathBuf> {
    let writer = folder.join("plfs_writer");
    let built = Command::new("c++")
        .args(["-O2", "-w", "-o"])
        .arg(&writer)
        .arg(rivals_folder().join("plfs_writer.cpp"))
        .arg("-I")
        .arg(source.join("build"))
        .arg("-I")
        .arg(source.join("src"))
        .arg(source.join("build/lib/libplfs.a"))
        .args(["-lpthread", "-ldl"])
        .status()
        .context("no C++ compiler")?;
    ensure!(built.success(), "the writer for PLFS does not build");
    Ok(writer)
}

fn main() -> Result<()> {
    if work_if_asked(worker)? {
        return Ok(());
    }
    let seconds = std::env::var("PLIMSOLL_BENCH_SECONDS").ok().and_then(|it| it.parse().ok());
    let seconds: f64 = seconds.unwrap_or(10.0);
    let folder = std::env::var_os("PLIMSOLL_BENCH_DIR").map_or("/var/tmp".into(), PathBuf::from);
    // PLFS takes no path with a part that begins with a dot.
    let base = tempfile::Builder::new().prefix("rivals-").tempdir_in(folder)?;
    let bed = Testbed::in_base(base.path(), "rivals")?;
    let size = Bytes::new((1.5 * seconds * LIMIT) as u64 + (128 << 20));
    let made = bed.up(&UpOptions::new(TARGETS as u64, size), &mut |_| {})?;
    let result = if has_limits(&made.lacking) {
        measure_all(&bed, base.path(), seconds)
    } else {
        println!("SKIPPED: the limits of the test bed need root, loop devices and cgroup v1");
        Ok(())
    };
    bed.down(DownOptions::default())?;
    result
}

fn measure_all(bed: &Testbed, base: &Path, seconds: f64) -> Result<()> {
    let mut targets = Vec::new();
    for target in bed.list()?.targets {
        bed.slow(target.name, format!("{}B/s", LIMIT as u64).parse()?, Direction::Write)?;
        targets.push(Target { name: target.name.to_string(), path: target.path });
    }
    let rivals = Rival::all(base)?;
    let wanted: Vec<String> = std::env::args().skip(1).filter(|it| !it.starts_with('-')).collect();
    for (name, record) in RECORDS {
        if !wanted.is_empty() && !wanted.iter().any(|it| name.contains(it.as_str())) {
            continue;
        }
        let count = (seconds * LIMIT / record as f64) as usize;
        let race = Race { base, targets: &targets, record, count };
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        println!("records of {name}, runs of {seconds} s, load {}", load.trim());
        let mut ratios: Vec<Vec<f64>> = rivals.iter().map(|_| Vec::new()).collect();
        let mut shares = Vec::new();
        for _ in 0..ROUNDS {
            let own = race.container()?;
            shares.push(seconds / own);
            for (rival, ratios) in rivals.iter().zip(&mut ratios) {
                ratios.push(race.of(rival)? / own);
            }
        }
        report(&format!("{name}: the container, of the combined limit"), shares);
        for (rival, ratios) in rivals.iter().zip(ratios) {
            report(&format!("{name}: the container's speed over that of {}", rival.name()), ratios);
        }
    }
    Ok(())
}

/// So many records of each process.
struct Race<'a> {
    base: &'a Path,
    targets: &'a [Target],
    record: usize,
    count: usize,
}

impl Race<'_> {
    fn container(&self) -> Result<f64> {
        let path = self.base.join("stowed");
        let made = Container::create(&path, self.targets)?;
        let took = self.crowd("container", &path);
        made.remove()?;
        took
    }

    /// Seconds that another one takes.
    fn of(&self, rival: &Rival) -> Result<f64> {
        let outputs: Vec<PathBuf> = self.targets.iter().map(|it| it.path.join("rival")).collect();
        let took = match rival {
            Rival::FilePerProcess => self.crowd("files", self.base),
            Rival::Bp5 { python } => {
                let program = |rank: usize| {
                    let mut command = Command::new(python);
                    command.arg(rivals_folder().join("bp5_writer.py"));
                    command.args([rank, TARGETS].map(|it| it.to_string())).arg(&outputs[rank]);
                    command.args([self.record, self.count].map(|it| it.to_string()));
                    command
                };
                seconds_of_programs((0..TARGETS).map(program))
            }
            Rival::Plfs { writer } => self.plfs(writer, &outputs),
        };
        for output in outputs {
            match std::fs::metadata(&output) {
                Ok(facts) if facts.is_dir() => std::fs::remove_dir_all(&output)?,
                Ok(_) => std::fs::remove_file(&output)?,
                Err(_) => {}
            }
        }
        took
    }

    fn plfs(&self, writer: &Path, backends: &[PathBuf]) -> Result<f64> {
        // A name, which nothing is mounted at. Builds by newer compilers take no longer one.
        let mount = Path::new("/plfs-bench");
        // PLFS skips white space behind a value and takes it as a failure if there is none, as newer C++ libraries tell it. It refuses spaces.
        let mut settings = format!(
            "- mount_point: {}\n  workload: \"shared_file\\t\"\n  backends:\n",
            mount.display()
        );
        for backend in backends {
            std::fs::create_dir(backend)?;
            settings += &format!("    - location: \"posix://{}\\t\"\n", backend.display());
        }
        let settings_path = self.base.join("plfsrc");
        std::fs::write(&settings_path, settings)?;
        let program = |rank: usize, count: usize| {
            let mut command = Command::new(writer);
            command.args([rank, TARGETS].map(|it| it.to_string())).arg(mount.join("f"));
            command.args([self.record, count].map(|it| it.to_string()));
            command.env("PLFSRC", &settings_path);
            command
        };
        ensure!(program(0, 0).status()?.success(), "PLFS does not make a file");
        seconds_of_programs((0..TARGETS).map(|rank| program(rank, self.count)))
    }

    fn crowd(&self, kind: &str, path: &Path) -> Result<f64> {
        let targets: Vec<String> =
            self.targets.iter().map(|it| it.path.to_string_lossy().into_owned()).collect();
        let (record, count) = (self.record.to_string(), self.count.to_string());
        seconds_of(TARGETS, &[kind, &path.to_string_lossy(), &record, &count, &targets.join(",")])
    }
}

fn worker(worker: Worker) -> Result<Box<dyn FnOnce() -> Result<()>>> {
    let [kind, path, record, count, targets] = &worker.work[..] else { bail!("what to do?") };
    let (record, count) = (record.parse::<usize>()?, count.parse::<usize>()?);
    let (rank, of) = (worker.rank, worker.of);
    let targets: Vec<&str> = targets.split(',').collect();
    let bytes = vec![rank as u8 + 1; record];
    if kind == "files" {
        // A file that all of it is written to in order, which is the best that a program can do that knows its targets.
        let file = File::create_new(Path::new(targets[rank]).join("rival"))?;
        return Ok(Box::new(move || {
            (0..count).try_for_each(|index| file.write_all_at(&bytes, (index * record) as u64))?;
            Ok(file.sync_data()?)
        }));
    }
    let target =
        |(index, path): (usize, &&str)| Target { name: format!("t{index}"), path: path.into() };
    let targets: Vec<Target> = targets.iter().enumerate().map(target).collect();
    let container = Arc::new(Container::open(Path::new(path), &targets)?);
    let placement = Placement::Routed(Box::new(Pilot::new(&container, Factor::NONE)?));
    let mut writer = Writer::open(container, placement)?;
    Ok(Box::new(move || {
        let offset = |index: usize| ((index * of + rank) * record) as u64;
        (0..count).try_for_each(|index| writer.write_at(&bytes, offset(index)))?;
        writer.sync()?;
        Ok(writer.close()?)
    }))
}
