//! What does `stow run` cost calls and tools while everything is in the page cache? Calls on files outside of the mount, reading back what several
//! processes wrote, and cp, cat, grep and md5sum of a large container (Wright, table 5.2), each beside the same without the library. Needs `make build`.
//!
//! `PLIMSOLL_BENCH_DIR` says where, `PLIMSOLL_BENCH_MIB` how large the file for the tools is; arguments choose lines by a part of their name.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use plimsoll_benches::crowd::{Worker, cpu_seconds_of_copies, work_if_asked};
use plimsoll_benches::read_back::{read_plain, write_both};
use plimsoll_benches::stow_run::{StowRun, root};
use plimsoll_benches::{
    PAIRS, children_cpu_seconds, interleaved, load, report, setting, show, wanted,
};
use plimsoll_stow::{Container, Target};

const MIB: usize = 1 << 20;

/// Pairs of batches of calls in each round of `added`, and opens of `calls`.
const BATCH_PAIRS: &str = "150";
const OPENS: &str = "50000";

/// Bytes of each record, and of the file.
const READS: [(&str, usize, usize); 3] =
    [("4 KiB", 4 << 10, 128 * MIB), ("47 KiB", 47 << 10, 128 * MIB), ("1 MiB", MIB, 256 * MIB)];

/// What a tool does: its name, its words before the file, and whether it writes a copy beside it.
const TOOLS: [(&str, &[&str], bool); 5] = [
    ("cat", &["cat"], false),
    ("grep", &["grep", "-c", "no line has this"], false),
    ("md5sum", &["md5sum"], false),
    ("cp out of the mount", &["cp"], true),
    ("cp into the mount", &["cp"], true),
];
const INTO: &str = "cp into the mount";

fn main() -> Result<()> {
    if work_if_asked(|worker: Worker| read_plain(&worker))? {
        return Ok(());
    }
    let base = std::env::var_os("PLIMSOLL_BENCH_DIR").map_or("/var/tmp".into(), PathBuf::from);
    let folder = tempfile::tempdir_in(base)?;
    let target = |index: usize| {
        let name = format!("t{index}");
        Target { path: folder.path().join(&name), name }
    };
    let bench = Bench {
        folder: folder.path().to_path_buf(),
        mount: folder.path().join("mount"),
        targets: (0..4).map(target).collect(),
        stow_run: StowRun::find()?,
    };
    fs::create_dir(&bench.mount)?;
    bench.targets.iter().try_for_each(|it| fs::create_dir(&it.path))?;
    println!("in {}; load {}", folder.path().display(), load());
    bench.outside()?;
    println!("bytes read for each second of CPU time over those of the plain file");
    for (name, record, all) in READS {
        bench.reads(name, record, all)?;
    }
    println!("speed of tools over theirs with the plain file");
    bench.tools()?;
    println!("load {}", load());
    Ok(())
}

struct Bench {
    folder: PathBuf,
    mount: PathBuf,
    targets: Vec<Target>,
    stow_run: StowRun,
}

/// Whether a program runs under `stow run`.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Plain,
    Stowed,
}

impl Bench {
    fn command(&self, program: &Path, way: Way) -> Command {
        match way {
            Way::Plain => Command::new(program),
            Way::Stowed => self.stow_run.by_variables(program, &self.mount, &self.targets),
        }
    }

    /// Calls on files outside of the mount, in ns of CPU time.
    fn outside(&self) -> Result<()> {
        let data = self.folder.join("data");
        let data = data.to_str().context("no text")?;
        let what = "outside, pwrite: ns added";
        if wanted(what) {
            // Calls through the library and past it take turns in one process.
            let program = self.compiled("added")?;
            let added = || self.figure(&program, &["strided", data, BATCH_PAIRS, "1"], Way::Stowed);
            show(what, (0..PAIRS).map(|_| added()).collect::<Result<_>>()?)?;
        }
        let what = "outside, open and close: ns added";
        if wanted(what) {
            let program = self.compiled("calls")?;
            let (mut plain, mut added) = (Vec::new(), Vec::new());
            for _ in 0..PAIRS {
                let [without, with] = [Way::Plain, Way::Stowed]
                    .map(|way| self.figure(&program, &["open", data, OPENS, "1"], way));
                plain.push(without?);
                added.push(with? - plain[plain.len() - 1]);
            }
            show("outside, open and close: ns without", plain)?;
            show(what, added)?;
        }
        Ok(())
    }

    fn compiled(&self, name: &str) -> Result<PathBuf> {
        let program = self.folder.join(name);
        let source = root()?.join(format!("tests/programs/{name}.c"));
        let mut command = Command::new("cc");
        command.args(["-O2", "-pthread", "-o"]).arg(&program).arg(source).arg("-ldl");
        ensure!(command.status()?.success(), "{name}.c does not compile");
        Ok(program)
    }

    /// The figure that a program prints.
    fn figure(&self, program: &Path, arguments: &[&str], way: Way) -> Result<f64> {
        let mut command = self.command(program, way);
        let output = command.args(arguments).output()?;
        ensure!(output.status.success(), "{command:?} failed");
        String::from_utf8_lossy(&output.stdout).trim().parse().context("no figure")
    }

    fn reads(&self, name: &str, record: usize, all: usize) -> Result<()> {
        let lines = ["sequential", "random"].map(|order| {
            [1, 4].map(|count| (order, count, format!("read {name}, {order}, {count}")))
        });
        let lines: Vec<_> = lines.into_iter().flatten().filter(|it| wanted(&it.2)).collect();
        if lines.is_empty() {
            return Ok(());
        }
        let [stowed, path] = [&self.mount, &self.folder].map(|it| it.join("file"));
        let made = Arc::new(Container::create(&stowed, &self.targets)?);
        write_both(&made, &File::create_new(&path)?, record, all)?;
        let own = std::env::current_exe()?;
        let (record, all) = (record.to_string(), all.to_string());
        for (order, processes, what) in lines {
            let speed = |path: &Path, way: Way| -> Result<f64> {
                let path = path.to_str().context("no text")?;
                let work = ["read", path, &record, &all, order];
                Ok(1.0 / cpu_seconds_of_copies(processes, &work, || Ok(self.command(&own, way)))?)
            };
            let ratios = interleaved(
                PAIRS,
                || number(speed(&stowed, Way::Stowed)),
                || number(speed(&path, Way::Plain)),
            );
            report(&what, ratios);
        }
        Container::open(&stowed, &self.targets)?.remove()?;
        Ok(fs::remove_file(&path)?)
    }

    fn tools(&self) -> Result<()> {
        if !TOOLS.iter().any(|it| wanted(it.0)) {
            return Ok(());
        }
        let [stowed, plain] = [&self.mount, &self.folder].map(|it| it.join("text"));
        write_text(&plain)?;
        let mut copy = self.command(Path::new("cp"), Way::Stowed);
        ensure!(copy.arg(&plain).arg(&stowed).status()?.success(), "the file cannot be copied");
        rustix::fs::sync();
        for (name, words, is_copy) in TOOLS.iter().filter(|it| wanted(it.0)) {
            let side = |way: Way, took: &mut Vec<[f64; 2]>| {
                let copied_into =
                    if way == Way::Stowed && *name == INTO { &self.mount } else { &self.folder };
                let copied = copied_into.join("copy");
                let file = if way == Way::Stowed && *name != INTO { &stowed } else { &plain };
                let mut command = self.command(Path::new(words[0]), way);
                command.args(&words[1..]).arg(file).env("LC_ALL", "C");
                if *is_copy {
                    command.arg(&copied);
                }
                let measured = times(&mut command);
                if *is_copy {
                    self.remove(&copied);
                }
                took.push(measured.unwrap_or([f64::NAN; 2]));
                0.0
            };
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            interleaved(PAIRS, || side(Way::Stowed, &mut ours), || side(Way::Plain, &mut theirs));
            for (kind, clock) in ["time", "CPU time"].into_iter().enumerate() {
                let ratios = ours.iter().zip(&theirs).map(|(own, plain)| plain[kind] / own[kind]);
                report(&format!("{name}, by {clock}"), ratios.collect());
            }
        }
        Container::open(&stowed, &self.targets)?.remove()?;
        Ok(())
    }

    /// Removes a copy, whichever it is.
    fn remove(&self, copied: &Path) {
        let removed = match Container::open(copied, &self.targets) {
            Ok(container) => container.remove().map(|_| ()).map_err(anyhow::Error::from),
            Err(_) => fs::remove_file(copied).map_err(anyhow::Error::from),
        };
        if let Err(error) = removed {
            eprintln!("{error:#}");
        }
    }
}

/// Writes lines of text, as many as were asked for.
fn write_text(path: &Path) -> Result<()> {
    let all = setting("PLIMSOLL_BENCH_MIB", 1024.0) as u64 * MIB as u64;
    let mut file = BufWriter::new(File::create_new(path)?);
    let (mut written, mut number) = (0, 0u64);
    while written < all {
        let line = format!(
            "step {number}: residual {:.6e}, energy {:.9}\n",
            1.0 / (number + 1) as f64,
            number as f64 * 0.37
        );
        file.write_all(line.as_bytes())?;
        (written, number) = (written + line.len() as u64, number + 1);
    }
    Ok(file.into_inner().context("not written")?.sync_all()?)
}

/// Seconds that passed, and of processors.
fn times(command: &mut Command) -> Result<[f64; 2]> {
    let (start, before) = (Instant::now(), children_cpu_seconds());
    let status = command.stdout(Stdio::null()).status()?;
    let took = [start.elapsed().as_secs_f64(), children_cpu_seconds() - before];
    // grep that found nothing says so by its status.
    ensure!(matches!(status.code(), Some(0 | 1)), "{command:?} failed");
    Ok(took)
}

fn number(measured: Result<f64>) -> f64 {
    measured.unwrap_or_else(|error| {
        eprintln!("{error:#}");
        f64::NAN
    })
}
