//! `plimsoll record` on MPI programs, with Open MPI and MPICH: what the program did and what the
//! recording has.

mod maps;
mod python;
mod runtime;
mod sieving;
pub mod stowed;
mod stowed_kills;
mod vanishing;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard};

use plimsoll_trace::encode::Outcome::Error;
use plimsoll_trace::layout::Loss;
use plimsoll_trace::{Event, Layer, Op};

use crate::support::command::{Outcome, binary, json};
use crate::support::recording::{
    Process, all_finished, assert_nothing_lost, has, library, processes, program, record,
};

/// A folder of its own on disk, and the machine: ranks that wait for each other spin, so that
/// two MPI programs at a time take many times as long as one after the other.
pub struct Run {
    folder: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Run {
    pub fn new() -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        Run { folder: tempfile::tempdir_in("/var/tmp").unwrap(), _alone: alone }
    }

    pub fn at(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_string()
    }

    /// Runs `mpirun -n RANKS COMMAND` under the recorder, which expects success.
    #[track_caller]
    fn recorded(&self, mpi: &str, way: Way, ranks: u32, command: &[&str]) -> (Outcome, PathBuf) {
        let mut names = (0..).map(|index| self.folder.path().join(format!("rec{index}")));
        let rec = names.find(|path| !path.exists()).unwrap();
        let outcome = way.run(mpi, &rec, ranks, command);
        assert_eq!(outcome.status, Some(0), "{mpi} {way:?} {command:?}: {}", outcome.stderr);
        (outcome, rec)
    }
}

/// Where `plimsoll record` stands.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    /// `plimsoll record -- mpirun app`
    Around,
    /// `mpirun plimsoll record -- app`
    Inside,
}

impl Way {
    fn run(self, mpi: &str, rec: &Path, ranks: u32, command: &[&str]) -> Outcome {
        let mut whole = match self {
            Way::Around => {
                let mut whole = record(rec);
                whole.arg("--").args(mpirun(mpi, ranks));
                whole
            }
            Way::Inside => {
                let mut whole = plain(mpi, ranks);
                whole.env("PLIMSOLL_LIBRARY", library());
                whole.arg(binary().get_program()).args(["record", "-o"]).arg(rec).arg("--");
                whole
            }
        };
        in_time(whole.args(command).envs(AS_ROOT)).output().unwrap().into()
    }
}

/// The command, ended after a minute: where one rank does not come, the others wait for ever.
pub fn in_time(command: &Command) -> Command {
    let mut limited = Command::new("timeout");
    limited.args(["--kill-after=5", "60"]).arg(command.get_program()).args(command.get_args());
    limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited.stdin(Stdio::null());
    limited
}

pub const AS_ROOT: [(&str, &str); 2] =
    [("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")];

fn mpirun(mpi: &str, ranks: u32) -> Vec<String> {
    let mut words = vec![format!("mpirun.{mpi}"), "-n".to_string(), ranks.to_string()];
    if mpi == "openmpi" {
        words.insert(1, "--oversubscribe".to_string());
    }
    words
}

/// `mpirun` without the recorder.
pub fn plain(mpi: &str, ranks: u32) -> Command {
    let words = mpirun(mpi, ranks);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).envs(AS_ROOT);
    command
}

/// The MPI libraries that are installed side by side, as Debian names them.
pub fn libraries(compiler: &str) -> impl Iterator<Item = &'static str> + use<'_> {
    let is_there = move |mpi: &&str| has(&[&format!("{compiler}.{mpi}"), &format!("mpirun.{mpi}")]);
    ["openmpi", "mpich"].into_iter().filter(is_there)
}

pub fn compiled(source: &str, compiler: &str, mpi: &str, flags: &[&str]) -> String {
    program(source, &format!("{compiler}.{mpi}"), flags).to_str().unwrap().to_string()
}

/// Calls, bytes asked for, bytes moved, sum of offsets and errors, by rank and name.
type Sums = BTreeMap<(u32, String), Vec<u64>>;

/// What the program says that it did: lines `expect RANK NAME CALLS BYTES ...`.
fn expected(stdout: &str) -> Sums {
    let mut sums = Sums::new();
    for line in stdout.lines().filter_map(|line| line.strip_prefix("expect ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let numbers = words[2..].iter().map(|word| word.parse().unwrap()).collect();
        sums.insert((words[0].parse().unwrap(), words[1].to_string()), numbers);
    }
    sums
}

/// The same from the recording.
fn found(recorded: &[Process]) -> Sums {
    let mut sums = Sums::new();
    for process in recorded {
        for event in process.events.iter().filter(|event| event.op.layer() == Layer::Mpi) {
            let rank = process.rank.expect("an MPI call of a process without a rank");
            let sum = sums.entry((rank, event.op.name().to_string())).or_insert(vec![0; 5]);
            sum[0] += 1;
            if let Error(_) = event.outcome {
                sum[4] += 1;
                continue;
            }
            sum[1] += event.length;
            sum[2] += event.bytes();
            sum[3] += event.offset.unwrap_or(0);
        }
    }
    sums
}

/// The recording has what the program said, all of it and nothing else, and is sound.
#[track_caller]
fn assert_as_expected(stdout: &str, recorded: &[Process], ranks: u32) {
    let expected = expected(stdout);
    let mut found = found(recorded);
    let columns = expected.values().next().expect("the program said nothing").len();
    found.values_mut().for_each(|sums| sums.truncate(columns));
    let differing: Vec<_> = expected
        .keys()
        .chain(found.keys())
        .filter(|key| expected.get(key) != found.get(key))
        .map(|key| (key, expected.get(key), found.get(key)))
        .collect();
    assert!(differing.is_empty(), "expected and found: {differing:#?}");
    assert!(all_finished(recorded));
    // When a rank ends, a handler of mpirun does I/O. If the recorder is just at work there, that call is counted as lost.
    let is_of_handler = |it: &&Process| {
        it.program.ends_with("/orterun") && it.lost == it.losses[Loss::Reentered as usize]
    };
    assert_nothing_lost(recorded.iter().filter(|it| !is_of_handler(it)));
    let mut known: Vec<u32> = of_ranks(recorded).filter_map(|process| process.rank).collect();
    known.sort_unstable();
    assert_eq!(known, (0..ranks).collect::<Vec<_>>());
}

/// Processes that used MPI: not mpirun, nor what it was before it became the program.
fn of_ranks(recorded: &[Process]) -> impl Iterator<Item = &Process> {
    recorded.iter().filter(|process| process.events.iter().any(|it| it.op.layer() == Layer::Mpi))
}

fn paths_of_data(recorded: &[Process]) -> Vec<&str> {
    let mut paths: Vec<&str> = Vec::new();
    for process in recorded {
        let is_mpi_data = |it: &&Event| it.op.layer() == Layer::Mpi && it.op.class().is_data();
        for event in process.events.iter().filter(is_mpi_data).filter(|it| !is_error(it)) {
            paths.push(process.files.get(&event.file).map_or("none", String::as_str));
        }
    }
    paths.sort_unstable();
    paths.dedup();
    paths
}

fn is_error(event: &Event) -> bool {
    matches!(event.outcome, Error(_))
}

#[test]
fn summaries_of_parts_give_the_report_of_the_whole() {
    for mpi in libraries("mpicc") {
        let app = compiled("mpi_io.c", "mpicc", mpi, &[]);
        let run = Run::new();
        let (_, rec) = run.recorded(mpi, Way::Around, 3, &[&app, &run.at("out"), "2"]);
        crate::report::summaries::assert_parts_give_the_whole(&rec);
    }
}

#[test]
fn every_mpi_io_call_is_there_with_bytes_offsets_and_errors() {
    for mpi in libraries("mpicc") {
        let app = compiled("mpi_io.c", "mpicc", mpi, &[]);
        for way in [Way::Around, Way::Inside] {
            let run = Run::new();
            let out = run.at("out");
            let (outcome, rec) = run.recorded(mpi, way, 2, &[&app, &out, "2"]);
            let recorded = processes(&rec);
            assert_as_expected(&outcome.stdout, &recorded, 2);
            assert_eq!(paths_of_data(&recorded), [&out], "{mpi} {way:?}");
            if way == Way::Inside {
                assert_eq!(recorded.len(), 2, "mpirun itself is not recorded");
            }
            for process in of_ranks(&recorded) {
                assert!(process.program.contains("mpi_io.c"), "{}", process.program);
                let hints = process.hints.join("\n");
                assert!(hints.contains("cb_buffer_size=1048576"), "{mpi} {way:?}: {hints}");
            }
        }
    }
}

#[test]
fn fortran_programs_are_recorded_through_both_modules() {
    for mpi in libraries("mpifort") {
        for flags in [&[][..], &["-DUSE_MPI_F08"]] {
            let app = compiled("mpi_io.F90", "mpifort", mpi, flags);
            let run = Run::new();
            let (outcome, rec) = run.recorded(mpi, Way::Around, 2, &[&app, &run.at("out")]);
            let recorded = processes(&rec);
            assert_as_expected(&outcome.stdout, &recorded, 2);
            for process in of_ranks(&recorded) {
                let hints = process.hints.join("\n");
                assert!(hints.contains("romio_ds_write=disable"), "{mpi} {flags:?}: {hints}");
            }
        }
    }
}

#[test]
fn ranks_share_one_time() {
    for mpi in libraries("mpicc") {
        let app = compiled("mpi_io.c", "mpicc", mpi, &[]);
        let run = Run::new();
        let (_, rec) = run.recorded(mpi, Way::Around, 4, &[&app, &run.at("out"), "1"]);
        let recorded = processes(&rec);
        let mut closed = Vec::new();
        for process in of_ranks(&recorded) {
            let at = |place| process.barriers.iter().filter(move |it| it.0 == place).map(|it| it.1);
            let (begun, ended) = (at(0).max().unwrap(), at(1).min().unwrap());
            let span =
                [process.span.0, process.barriers[0].1, process.barriers[1].1, process.span.1];
            assert!(span.is_sorted(), "{mpi}: {span:?}");
            let is_inside = |it: &Event| {
                let (from, to) = match it.op.layer() {
                    Layer::Mpi => (begun, ended),
                    _ => process.span,
                };
                [from, it.start, it.end, to].is_sorted()
            };
            let outside: Vec<&Event> = process.events.iter().filter(|it| !is_inside(it)).collect();
            assert!(outside.is_empty(), "{mpi}: outside {span:?}: {outside:?}");
            let close = process.events.iter().find(|it| it.op == Op::MpiClose).unwrap();
            closed.push(close.end);
        }
        assert_eq!(closed.len(), 4);
        // Rank 0 deletes the file after a barrier that comes after every rank's close.
        let all = of_ranks(&recorded).flat_map(|process| &process.events);
        let deleted = all.filter(|it| it.op == Op::MpiDelete).map(|it| it.start).min().unwrap();
        assert!(closed.iter().all(|close| *close <= deleted), "{mpi}: {closed:?} {deleted}");
        let report = json(&format!("report {}", rec.display()));
        assert_eq!(report["clock_error_seconds"].as_f64(), Some(0.0), "{mpi}");
        // The launcher, which is recorded as well, has handlers of signals, which may interrupt the recorder.
        assert_nothing_lost(of_ranks(&recorded));
    }
}

#[test]
fn a_killed_rank_loses_none_of_the_calls_that_returned() {
    for mpi in libraries("mpicc") {
        let app = compiled("mpi_killed.c", "mpicc", mpi, &[]);
        let run = Run::new();
        let out = run.at("out");
        let status = in_time(plain(mpi, 3).args([&app, &out, "200"])).output().unwrap().status;
        assert_ne!(status.code(), Some(0));
        for way in [Way::Around, Way::Inside] {
            fs::remove_file(run.at("out.counts")).unwrap();
            let rec = run.folder.path().join(format!("{way:?}"));
            let outcome = way.run(mpi, &rec, 3, &[&app, &out, "200"]);
            assert_eq!(outcome.status, status.code(), "{mpi} {way:?}: {}", outcome.stderr);
            let counts = fs::read(run.at("out.counts")).unwrap();
            let recorded = processes(&rec);
            assert_eq!(of_ranks(&recorded).count(), 3, "{mpi} {way:?}");
            for process in of_ranks(&recorded) {
                let rank = process.rank.unwrap() as usize;
                let returned = u64::from_le_bytes(counts[8 * rank..][..8].try_into().unwrap());
                let writes = process.events.iter().filter(|it| it.op == Op::MpiWriteAt).count();
                // One may have been recorded and not yet counted by the program.
                let possible = [returned, returned + u64::from(rank != 1)];
                let what =
                    format!("{mpi} {way:?}: rank {rank}: {writes} recorded, {returned} returned");
                assert!(returned >= 100 && possible.contains(&(writes as u64)), "{what}");
                assert_eq!(process.lost, 0);
            }
        }
    }
}

/// Totals of a part of the ranks were shown as those of all.
#[test]
fn ranks_whose_files_are_missing_are_told() {
    for mpi in libraries("mpicc") {
        let app = compiled("mpi_io.c", "mpicc", mpi, &[]);
        let run = Run::new();
        let (_, rec) = run.recorded(mpi, Way::Inside, 3, &[&app, &run.at("out"), "2"]);
        let unseen = || {
            let report = json(&format!("report {}", rec.display()));
            (report["unseen_processes"].clone(), report.to_string())
        };
        assert_eq!(unseen().0, 0, "{mpi}");
        let files = fs::read_dir(&rec).unwrap().map(|it| it.unwrap().path());
        let mut files = files.filter(|it| it.extension().is_some_and(|it| it == "rec"));
        fs::remove_file(files.next().unwrap()).unwrap();
        let (processes, text) = unseen();
        assert_eq!(processes, 1, "{mpi}: {text}");
        assert!(text.contains("a rank that is not here"), "{mpi}: {text}");
    }
}

/// A rank that saw the marker of the recording before its text refused to join, and the others
/// waited in MPI_Init for ever.
#[test]
fn ranks_that_start_at_once_join_one_recording() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    for round in 0..20 {
        let rec = folder.path().join(round.to_string());
        let start = |rank: u32| {
            let mut command = record(&rec);
            command.env("OMPI_COMM_WORLD_RANK", rank.to_string());
            command.env("OMPI_MCA_ess_base_jobid", "4711").args(["--", "true"]);
            command.stderr(Stdio::piped()).spawn().unwrap()
        };
        for rank in (0..16).map(start).collect::<Vec<_>>() {
            let outcome: Outcome = rank.wait_with_output().unwrap().into();
            assert_eq!(outcome.status, Some(0), "round {round}: {}", outcome.stderr);
        }
    }
}
