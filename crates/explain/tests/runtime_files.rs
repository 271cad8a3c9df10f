//! Files of the runtime are told apart from those of the program.

mod common;

use common::{Bed, MIB, MS, S};
use plimsoll_explain::{Analysis, Direction, Frame, Options, RuntimeKind, analyze, findings};
use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::encode::{Call, Outcome, UNKNOWN_OFFSET};
use plimsoll_trace::{Op, Program};

const MEMORY: u32 = 3;
const MODULE: u32 = 4;
const LIBRARY: u32 = 5;
const SETTINGS: u32 = 6;

/// A process that has files of the runtime beside its own, and does this with them.
fn process(program: Program, work: impl FnOnce(&mut common::Rank)) -> Bed {
    let bed = Bed::new();
    let mut process = bed.rank_with(0, 1, program);
    for (number, path) in [
        (MEMORY, "/dev/shm/ucx_shm_posix_1a2b"),
        (MODULE, "/usr/lib/python3.11/json/__pycache__/decoder.cpython-311.pyc"),
        (LIBRARY, "/home/anna/lib/libsolver.so.2"),
        (SETTINGS, "/etc/openmpi/openmpi-mca-params.conf"),
    ] {
        process.define(DefinitionKind::File, number, 0, path);
    }
    work(&mut process);
    process.finish_at(S);
    bed
}

fn program(arguments: &[&str]) -> Program {
    let arguments = arguments.iter().map(|it| it.to_string()).collect();
    Program { arguments, ..Program::default() }
}

fn names(analysis: &Analysis) -> Vec<&str> {
    let mut names: Vec<&str> = analysis.files.iter().map(|file| file.path.as_str()).collect();
    names.retain(|name| *name != "(no known file)");
    names.sort_unstable();
    names
}

fn kinds(analysis: &Analysis) -> Vec<(RuntimeKind, u64, u64)> {
    let of = |it: &plimsoll_explain::RuntimeSummary| (it.kind, it.files, it.ops.all().calls);
    analysis.runtime.iter().map(of).collect()
}

/// Everything that a runtime does with its files, and 1 MiB of the program's own.
fn runtime_and_data() -> Bed {
    process(program(&["app"]), |rank| {
        rank.data(Op::Write, MEMORY, 0, 4 * MIB, 100 * MS);
        rank.data(Op::Read, MODULE, 0, 9000, 10 * MS).call(Op::Stat, LIBRARY, MS);
        rank.data(Op::Fread, SETTINGS, 0, 3000, 10 * MS).call(Op::Fclose, SETTINGS, MS);
        rank.data(Op::Pwrite, 1, 0, MIB, 50 * MS);
    })
}

#[test]
fn they_are_shown_and_not_added_up() {
    let analysis = runtime_and_data().analyze();
    assert_eq!(names(&analysis), ["/shared"]);
    assert_eq!(
        kinds(&analysis),
        [(RuntimeKind::Mpi, 2, 3), (RuntimeKind::Language, 1, 1), (RuntimeKind::Libraries, 1, 1)]
    );
    assert_eq!(analysis.runtime[0].ops.bytes(Direction::Write), 4 * MIB);
    assert_eq!(analysis.runtime_files[0].path, "/dev/shm/ucx_shm_posix_1a2b", "most time first");
    assert_eq!(analysis.headline(Direction::Write).bytes, MIB);
    assert_eq!(analysis.headline(Direction::Read).layer, None);
    assert_eq!(analysis.own.bytes(Direction::Write), MIB);
    assert_eq!(analysis.own.total_calls(), 2, "the write and the call that ends the process");
    assert!((analysis.own.total_seconds() - 0.05).abs() < 1e-9);
    assert_eq!(analysis.processes[0].runtime.total_calls(), 5);
    assert_eq!(analysis.events, 7, "all that was recorded");
    assert_eq!(analysis.request_sizes.len(), 1);
}

/// Open MPI's launcher writes into the user's file what ranks print, long after their data.
#[test]
fn what_a_launcher_does_is_the_runtimes() {
    let recorded = |launcher: &str| {
        let bed = Bed::new();
        let mut rank = bed.rank_with(0, 1, program(&["app"]));
        rank.data(Op::Pwrite, 1, 0, MIB, 50 * MS);
        rank.finish_at(S);
        let program = Program { program: launcher.to_string(), ..Program::default() };
        let mut helper = bed.helper(1, program);
        helper.define(DefinitionKind::File, MEMORY, 0, "/home/anna/app.log");
        helper.pause(900 * MS).data(Op::Write, MEMORY, 0, MIB, 50 * MS);
        helper.finish_at(S);
        bed
    };
    let run = |launcher: &str| recorded(launcher).analyze();
    let analysis = run("/usr/bin/orterun");
    assert_eq!(names(&analysis), ["/shared"]);
    assert_eq!(analysis.io_share.processes, 1, "the rank");
    assert_eq!(analysis.headline(Direction::Write).bytes, MIB);
    let seconds = analysis.headline(Direction::Write).first_to_last_seconds;
    assert!((seconds - 0.05).abs() < 1e-9, "{seconds}");
    assert_eq!(kinds(&analysis), [(RuntimeKind::Mpi, 1, 2)], "the log, and the end on no file");
    let analysis = run("/home/anna/mylauncher");
    assert_eq!(names(&analysis), ["/home/anna/app.log", "/shared"], "any other program counts");
    assert_eq!(analysis.headline(Direction::Write).bytes, 2 * MIB);
    let all = Options { include_runtime: true, ..Options::default() };
    let analysis = analyze(&recorded("/usr/bin/orterun").open(), &all).unwrap();
    assert_eq!(analysis.headline(Direction::Write).bytes, 2 * MIB, "it counts when asked to");
}

#[test]
fn they_count_when_asked_to() {
    let options = Options { include_runtime: true, ..Options::default() };
    let bed = runtime_and_data();
    assert!(Frame::new(bed.open(), &options).gather_all().includes_runtime());
    assert!(!Frame::new(bed.open(), &Options::default()).gather_all().includes_runtime());
    let analysis = analyze(&bed.open(), &options).unwrap();
    assert_eq!(names(&analysis).len(), 5);
    assert!(analysis.runtime.is_empty() && analysis.runtime_files.is_empty());
    assert_eq!(analysis.headline(Direction::Write).bytes, 5 * MIB);
}

#[test]
fn there_is_no_advice_on_them() {
    let storm = |file: u32| {
        process(program(&["app"]), |rank| {
            for _ in 0..2000 {
                rank.call(Op::Stat, file, 200_000);
            }
        })
    };
    let ids = |bed: &Bed| findings(&bed.analyze()).iter().map(|it| it.id).collect::<Vec<_>>();
    assert_eq!(ids(&storm(SETTINGS)), [""; 0]);
    assert_eq!(ids(&storm(1)), ["metadata-storm"]);
}

fn make(rank: &mut common::Rank, file: u32) {
    // O_WRONLY, O_CREAT and O_TRUNC.
    let (outcome, offset) = (Outcome::Value(3), UNKNOWN_OFFSET);
    let start = common::START + rank.now;
    let (op, length, argument) = (Op::Open, 0, 0o1101);
    let call = Call { op, file, offset, length, outcome, argument, start, end: start + MS };
    rank.writer.call(1, &call).unwrap();
    rank.pause(MS);
}

#[test]
fn a_library_that_is_written_or_read_is_data() {
    let linker = process(program(&["ld"]), |rank| {
        rank.call(Op::Stat, LIBRARY, MS);
        make(rank, LIBRARY);
        rank.data(Op::Fwrite, LIBRARY, 0, MIB, MS).call(Op::Fclose, LIBRARY, MS);
    });
    let analysis = linker.analyze();
    assert_eq!(names(&analysis), ["/home/anna/lib/libsolver.so.2"]);
    assert_eq!(analysis.files[0].ops.all().calls, 4, "also what came before it was written");
    assert_eq!(analysis.headline(Direction::Write).bytes, MIB);
    let reader = process(program(&["ld"]), |rank| {
        rank.call(Op::Stat, LIBRARY, MS).data(Op::Read, LIBRARY, 0, 832, MS);
    });
    assert_eq!(names(&reader.analyze()), ["/home/anna/lib/libsolver.so.2"]);
    assert_eq!(reader.analyze().headline(Direction::Read).bytes, 832);
}

#[test]
fn what_the_command_line_names_is_data() {
    let reads = |arguments: &[&str]| {
        let bed = process(program(arguments), |rank| {
            rank.data(Op::Read, SETTINGS, 0, 3000, MS).data(Op::Read, MODULE, 0, 3000, MS);
        });
        names(&bed.analyze()).iter().map(|it| it.to_string()).collect::<Vec<_>>()
    };
    let settings = "/etc/openmpi/openmpi-mca-params.conf";
    assert_eq!(reads(&["tar", "cf", "etc.tar", "/etc"]), [settings]);
    assert_eq!(reads(&["cat", settings]), [settings]);
    assert_eq!(reads(&["tool", "--input=/etc/openmpi"]), [settings]);
    assert_eq!(reads(&["/etc"]), [""; 0], "its own name is no argument");
    assert_eq!(
        reads(&["tar", "cf", "usr.tar", "/usr"]),
        [""; 0],
        "byte code is always the runtime's"
    );
}

#[test]
fn a_file_may_be_data_for_one_process_and_runtime_for_another() {
    let bed = Bed::new();
    for rank in 0..2 {
        let mut process = bed.rank_with(rank, 2, program(&["app"]));
        process.define(DefinitionKind::File, LIBRARY, 0, "/opt/app/libsolver.so");
        match rank {
            0 => process.data(Op::Write, LIBRARY, 0, MIB, MS),
            _ => process.call(Op::Stat, LIBRARY, MS),
        };
        process.finish_at(S);
    }
    let analysis = bed.analyze();
    assert_eq!((names(&analysis).len(), analysis.files[0].processes), (1, 1));
    assert_eq!(kinds(&analysis), [(RuntimeKind::Libraries, 1, 1)]);
}

#[test]
fn shared_memory_inside_mpi_calls_is_waiting() {
    let bed = process(program(&["app"]), |rank| {
        rank.around(Op::MpiWriteAtAll, 1, 0, MIB, |rank| {
            rank.pause(MS).data(Op::Write, MEMORY, 0, MIB, 30 * MS);
            rank.data(Op::Pwrite, 1, 0, MIB, 20 * MS);
        });
    });
    let time = bed.analyze().mpi_time;
    assert_eq!((time.write_nanos, time.waiting_nanos()), (20 * MS, 31 * MS));
}
