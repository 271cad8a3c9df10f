//! A recording that a test made: every call in it, and the library and programs that made it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use plimsoll_trace::layout::State;
use plimsoll_trace::{Event, Op, ProcessFile, ThreadDecoder};

use crate::support::command::{Outcome, binary};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The preload library: the one of `PLIMSOLL_LIBRARY`, or built once for all tests the way a
/// release is.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        if let Some(given) = std::env::var_os("PLIMSOLL_LIBRARY") {
            return PathBuf::from(given).canonicalize().unwrap();
        }
        build_library("preload", "")
    })
}

/// Builds the preload library with these features, in a directory of its own below `target`.
pub fn build_library(directory: &str, features: &str) -> PathBuf {
    let target = root().join("target").join(directory);
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "--manifest-path"])
        .arg(root().join("crates/preload/Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .args(["--features", features])
        .status()
        .unwrap();
    assert!(built.success(), "the preload library does not build");
    target.join("release/libplimsoll.so")
}

/// A program of tests/programs, compiled once by this compiler with these flags. What it includes
/// is in a folder of its name, or in `check.h`.
pub fn program(source: &str, compiler: &str, flags: &[&str]) -> PathBuf {
    static COMPILING: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one_at_a_time = COMPILING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = root().join("target/test-programs");
    std::fs::create_dir_all(&folder).unwrap();
    let name = format!("{source}-{compiler}{}", flags.concat()).replace(['/', '='], "_");
    let (source, binary) = (root().join("tests/programs").join(source), folder.join(name));
    let time = |path: &Path| std::fs::metadata(path).and_then(|it| it.modified()).ok();
    let included = std::fs::read_dir(source.with_extension("")).into_iter().flatten();
    let of_all = [time(&source), time(&source.with_file_name("check.h"))];
    let changed = included.map(|entry| time(&entry.unwrap().path())).chain(of_all).max();
    if time(&binary) <= changed.flatten() {
        let mut command = Command::new(compiler);
        command.args(["-O2", "-g", "-pthread", "-o"]).arg(&binary).arg(&source).args(flags);
        assert!(command.status().unwrap().success(), "{command:?}");
    }
    binary
}

/// `plimsoll record --quiet -o DIR -- COMMAND`, ready to run.
pub fn record(directory: &Path) -> Command {
    let mut command = binary();
    command.env("PLIMSOLL_LIBRARY", library()).args(["record", "--quiet", "-o"]).arg(directory);
    command
}

/// Records a command and gives how it ended.
pub fn run_recorded(directory: &Path, command: &[&str]) -> Outcome {
    record(directory).arg("--").args(command).output().unwrap().into()
}

/// One process of a recording.
pub struct Process {
    pub program: String,
    pub rank: Option<u32>,
    pub state: u32,
    pub lost: u64,
    /// The same by `plimsoll_trace::layout::Loss`.
    pub losses: Vec<u64>,
    pub files: BTreeMap<u32, String>,
    pub hints: Vec<String>,
    /// Exits of the barriers that align clocks: place in the run and ticks.
    pub barriers: Vec<(u32, u64)>,
    /// Ticks of the beginning and of the latest moment that it knows.
    pub span: (u64, u64),
    pub events: Vec<Event>,
}

/// Fails if a call is missing, and says of which program and why.
#[track_caller]
pub fn assert_nothing_lost<'a>(recorded: impl IntoIterator<Item = &'a Process>) {
    let lossy = recorded.into_iter().filter(|it| it.lost > 0);
    let told: Vec<_> = lossy.map(|it| (&it.program, it.rank, &it.losses)).collect();
    assert!(told.is_empty(), "calls are missing: {told:?}");
}

/// Reads every process of a recording. Any damage is a failure.
pub fn processes(directory: &Path) -> Vec<Process> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "rec"));
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Process {
    use plimsoll_trace::definition::DefinitionKind;
    let file = ProcessFile::open(path).unwrap();
    let (mut files, mut hints, mut barriers) = (BTreeMap::new(), Vec::new(), Vec::new());
    let (chunks, damage) = file
        .scan(|definition| {
            let text = String::from_utf8_lossy(definition.text).into_owned();
            match definition.kind {
                Some(DefinitionKind::File) => drop(files.insert(definition.number, text)),
                Some(DefinitionKind::Hint) => hints.push(text),
                Some(DefinitionKind::Barrier) => {
                    barriers.push((definition.number, definition.value));
                }
                _ => {}
            }
        })
        .unwrap();
    assert_eq!(damage, plimsoll_trace::Damage::default(), "{}", path.display());
    let (mut events, mut buffer) = (Vec::new(), Vec::new());
    let (mut decoder, mut thread) = (ThreadDecoder::new(), None);
    for chunk in &chunks {
        if thread.replace(chunk.thread) != Some(chunk.thread) {
            decoder = ThreadDecoder::new();
        }
        let payload = file.payload(chunk, &mut buffer).unwrap();
        assert_eq!(decoder.decode(chunk.base_ticks, payload, |event| events.push(event)), 0);
    }
    let header = file.header();
    Process {
        program: String::from_utf8_lossy(plimsoll_trace::layout::get_text(
            &header.identity.program,
        ))
        .into_owned(),
        rank: u32::try_from(header.rank).ok(),
        state: header.state,
        lost: header.lost.iter().sum(),
        losses: header.lost.to_vec(),
        files,
        hints,
        barriers,
        span: (header.identity.start.ticks, header.latest.ticks),
        events,
    }
}

/// True when all these programs are installed; else says which ones a test is skipped for.
pub fn has(programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &&&str| std::env::split_paths(&path).any(|at| at.join(name).is_file());
    let missing: Vec<&&str> = programs.iter().filter(|name| !is_there(name)).collect();
    if !missing.is_empty() {
        eprintln!("SKIPPED: needs {missing:?}");
    }
    missing.is_empty()
}

/// The system's Python, whose modules are the distribution's.
pub fn python() -> &'static str {
    let system = "/usr/bin/python3";
    if Path::new(system).is_file() { system } else { "python3" }
}

/// True when the system's Python has this module; else says that a test is skipped for it.
pub fn has_module(module: &str) -> bool {
    let import = Command::new(python()).args(["-c", &format!("import {module}")]).output();
    let has = import.is_ok_and(|output| output.status.success());
    if !has {
        eprintln!("SKIPPED: needs the Python module {module}");
    }
    has
}

/// Calls and bytes of an operation on files whose path ends so, over all processes.
pub fn calls(processes: &[Process], op: Op, path: &str) -> (u64, u64) {
    let mut sum = (0, 0);
    for process in processes {
        let on_it = |event: &&Event| {
            event.op == op && process.files.get(&event.file).is_some_and(|it| it.ends_with(path))
        };
        for event in process.events.iter().filter(on_it) {
            sum = (sum.0 + 1, sum.1 + event.bytes());
        }
    }
    sum
}

/// True when every process ended its file properly.
pub fn all_finished(processes: &[Process]) -> bool {
    let ends = [State::Finished as u32, State::Executed as u32];
    processes.iter().all(|process| ends.contains(&process.state))
}

/// Runs a trap of tests/programs/traps.c under the recorder; the file it writes is named out.
pub fn trap(name: &str, count: u64) -> (Outcome, Vec<Process>) {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (rec, out) = (folder.path().join("rec"), folder.path().join("out"));
    let traps = program("traps.c", "cc", &[]);
    let command = [traps.to_str().unwrap(), name, out.to_str().unwrap(), &count.to_string()];
    let outcome = run_recorded(&rec, &command);
    if name == "daemon" {
        wait_for(&folder.path().join("out.done"));
    }
    (outcome, processes(&rec))
}

/// A daemon is nobody's child; it says when it is done by a file.
fn wait_for(path: &Path) {
    for _ in 0..1000 {
        if path.exists() {
            // Its last act after the file is to end.
            std::thread::sleep(std::time::Duration::from_millis(300));
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{} never came", path.display());
}
