//! Who is missing, from what processes say about the programs that they start.

use std::path::Path;

use plimsoll_explain::{
    Missing, Options, ProcessState, Recording, UnseenProgram, analyze, conclusion, findings,
};
use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::layout::{Anchor, FileHeader, State};
use plimsoll_trace::{ProcessWriter, Program, Unseen};
use tempfile::TempDir;

const SECOND: u64 = 1_000_000_000;

/// A process of another node, so that nobody looks for it here.
struct Image<'a> {
    pid: u32,
    /// When the process began, and when this program of it did, in seconds.
    times: (u64, u64),
    program: &'a str,
    /// The program that it starts: its process, or 0 for itself; the reason; its path.
    started: &'a [(u32, u64, &'a [u8])],
    state: State,
}

impl Image<'_> {
    fn write(&self, directory: &Path) {
        let program = Program {
            pid: self.pid,
            host: "node7".into(),
            boot_id: [7; 16],
            program: self.program.into(),
            began_ns: self.times.0 * SECOND,
            ..Program::default()
        };
        let now = self.times.1 * SECOND;
        let anchor = Anchor { ticks: now, monotonic_ns: now, realtime_ns: now };
        let path = directory.join(format!("{}-{}.rec", self.pid, self.times.1));
        let mut writer = ProcessWriter::create(&path, &program, anchor).unwrap();
        for (pid, reason, path) in self.started {
            writer.define(DefinitionKind::Program, *pid, *reason, path).unwrap();
        }
        writer.finish_as(self.state).unwrap();
    }
}

fn missing(images: &[Image<'_>]) -> Missing {
    let folder = TempDir::new().unwrap();
    images.iter().for_each(|image| image.write(folder.path()));
    Recording::open(folder.path()).unwrap().missing().clone()
}

fn program(program: &str, reason: Unseen, processes: u64) -> UnseenProgram {
    UnseenProgram { program: program.into(), reason, detail: String::new(), processes }
}

const STATIC: u64 = Unseen::Static as u64;
const GO: u64 = Unseen::RawCalls as u64;

#[test]
fn a_chain_of_programs_is_one_process() {
    let images = [
        Image {
            pid: 9,
            times: (1, 1),
            program: "/bin/sh",
            started: &[(0, 0, b"/a")],
            state: State::Executed,
        },
        Image {
            pid: 9,
            times: (1, 2),
            program: "/a",
            started: &[(0, STATIC, b"/s")],
            state: State::Executed,
        },
        Image { pid: 9, times: (1, 3), program: "/b", started: &[], state: State::Finished },
    ];
    let expected = Missing {
        known_processes: 1,
        unseen_processes: 1,
        programs: vec![program("/s", Unseen::Static, 1)],
    };
    assert_eq!(missing(&images), expected);
}

/// As many as are remembered, and then very many attempts, of which each is looked at by itself: beside all that was
/// started before, they would take an hour.
#[test]
fn what_a_process_becomes_is_known_however_many_it_started() {
    let mut started: Vec<(u32, u64, &[u8])> =
        (1..=1 << 16).map(|pid| (pid, 0, &b"/a"[..])).collect();
    started.extend(std::iter::repeat_n((0, 0, &b"/b"[..]), 1 << 16));
    started.push((0, STATIC, b"/s"));
    let (program_of, state) = ("/bin/sh", State::Executed);
    let image = Image { pid: 9, times: (1, 1), program: program_of, started: &started, state };
    assert_eq!(missing(&[image]).programs, [program("/s", Unseen::Static, 1)]);
}

#[test]
fn a_number_that_is_used_again_is_another_process() {
    let image = |began, at, started, state| Image {
        pid: 9,
        times: (began, at),
        program: "/bin/sh",
        started,
        state,
    };
    let becomes: &[(u32, u64, &[u8])] = &[(0, STATIC, b"/s")];
    let images = [
        image(10, 10, becomes, State::Executed),
        image(60, 60, &[], State::Finished),
        image(90, 90, becomes, State::Executed),
    ];
    let missing = missing(&images);
    assert_eq!((missing.unseen_processes, missing.known_processes), (2, 3));
    assert_eq!(missing.programs, [program("/s", Unseen::Static, 2)]);
}

/// Shells try one place after the other, and a program may be refused.
#[test]
fn only_the_last_attempt_counts_and_only_if_it_was_one() {
    let image =
        |state, started| Image { pid: 9, times: (1, 1), program: "/bin/sh", started, state };
    let both: &[(u32, u64, &[u8])] = &[(0, STATIC, b"/s"), (0, GO, b"/go")];
    assert_eq!(
        missing(&[image(State::Executed, both)]).programs,
        [program("/go", Unseen::RawCalls, 1)]
    );
    let nothing = missing(&[image(State::Finished, both)]);
    assert_eq!((nothing.unseen_processes, nothing.programs), (0, Vec::new()));
}

#[test]
fn programs_in_processes_of_their_own_are_counted_each() {
    let started: &[(u32, u64, &[u8])] =
        &[(20, STATIC, b"/s"), (21, STATIC, b"/s"), (22, GO, b"/go"), (23, STATIC, b"/t")];
    let images = [
        Image { pid: 9, times: (1, 1), program: "/bin/sh", started, state: State::Finished },
        // A static program became one that can be seen.
        Image { pid: 23, times: (2, 2), program: "/b", started: &[], state: State::Finished },
    ];
    let missing = missing(&images);
    assert_eq!((missing.unseen_processes, missing.known_processes), (3, 5));
    let expected = [
        program("/s", Unseen::Static, 2),
        program("/t", Unseen::Static, 1),
        program("/go", Unseen::RawCalls, 1),
    ];
    assert_eq!(missing.programs, expected, "what is missing in part comes last");
}

#[test]
fn a_program_that_should_have_left_a_file_and_did_not_is_named() {
    let images = [
        Image {
            pid: 9,
            times: (1, 1),
            program: "/bin/sh",
            started: &[(0, 0, b"/a")],
            state: State::Executed,
        },
        Image { pid: 10, times: (1, 1), program: "/bin/sh", started: &[], state: State::Executed },
    ];
    let missing = missing(&images);
    assert_eq!(missing.programs, [program("/a", Unseen::NoFile, 1)], "old recordings do not say");
    assert_eq!((missing.unseen_processes, missing.known_processes), (1, 2));
}

#[test]
fn an_unfinished_process_of_another_node_may_run_or_not() {
    let folder = TempDir::new().unwrap();
    let image = |state| Image { pid: 9, times: (1, 1), program: "/a", started: &[], state };
    image(State::Running).write(folder.path());
    let recording = Recording::open(folder.path()).unwrap();
    assert_eq!(recording.processes()[0].state, ProcessState::Unfinished);
    assert!(recording.warnings().is_empty());
}

#[test]
fn a_recording_that_stopped_before_its_process_says_so() {
    let folder = TempDir::new().unwrap();
    let image = |state| Image { pid: 9, times: (1, 1), program: "/a", started: &[], state };
    image(State::Stopped).write(folder.path());
    let recording = Recording::open(folder.path()).unwrap();
    assert_eq!(recording.processes()[0].state, ProcessState::Stopped);
}

/// A file that is there and empty is that of a process that could not even begin.
#[test]
fn a_process_that_could_not_begin_its_file_is_unseen() {
    let folder = TempDir::new().unwrap();
    let image =
        |pid| Image { pid, times: (1, 1), program: "/a", started: &[], state: State::Finished };
    image(9).write(folder.path());
    image(10).write(folder.path());
    std::fs::write(folder.path().join("11-1.rec"), "").unwrap();
    let missing = Recording::open(folder.path()).unwrap().missing().clone();
    assert_eq!((missing.unseen_processes, missing.known_processes), (1, 3));
    assert_eq!(missing.programs, [program("(unknown)", Unseen::NoSpace, 1)]);
}

#[test]
fn of_very_many_programs_the_first_are_remembered() {
    let started: Vec<(u32, u64, &[u8])> =
        (10..70_010).map(|pid| (pid, STATIC, &b"/s"[..])).collect();
    let state = State::Finished;
    let shell = Image { pid: 9, times: (1, 1), program: "/bin/sh", started: &started, state };
    let missing = missing(&[shell]);
    assert_eq!((missing.unseen_processes, missing.known_processes), (1 << 16, (1 << 16) + 1));
}

/// The header counts children that could not be recorded, and has the reason.
#[test]
fn children_that_could_not_be_recorded_are_counted() {
    let folder = TempDir::new().unwrap();
    Image { pid: 9, times: (1, 1), program: "/a", started: &[], state: State::Finished }
        .write(folder.path());
    let path = folder.path().join("9-1.rec");
    let mut bytes = std::fs::read(&path).unwrap();
    let at = |field: usize| field..field + 4;
    let children = std::mem::offset_of!(FileHeader, unrecorded_children);
    let errno = std::mem::offset_of!(FileHeader, unrecorded_errno);
    bytes[at(children)].copy_from_slice(&3u32.to_le_bytes());
    bytes[at(errno)].copy_from_slice(&28u32.to_le_bytes());
    std::fs::write(&path, bytes).unwrap();
    let missing = Recording::open(folder.path()).unwrap().missing().clone();
    assert_eq!((missing.unseen_processes, missing.known_processes), (3, 4));
    assert_eq!(missing.programs[0].processes, 3);
    assert!(missing.programs[0].detail.contains("because of an error"), "{missing:?}");
}

/// What a process says of itself is told for each reason once, and of few reasons.
#[test]
fn parts_of_a_process_that_were_not_recorded_are_named() {
    let told = |gaps: &[(u64, &str)]| {
        let folder = TempDir::new().unwrap();
        let anchor = Anchor { ticks: 1, monotonic_ns: 1, realtime_ns: 1 };
        let program = Program { pid: 9, program: "/app".into(), ..Program::default() };
        let path = folder.path().join("9.rec");
        let mut writer = ProcessWriter::create(&path, &program, anchor).unwrap();
        for (reason, detail) in gaps {
            writer.define(DefinitionKind::Gap, 0, *reason, detail.as_bytes()).unwrap();
        }
        writer.finish().unwrap();
        Recording::open(folder.path()).unwrap().missing().clone()
    };
    let missing = told(&[(GO, "in /lib/a"), (GO, "in /lib/a"), (9999, "")]);
    assert_eq!((missing.known_processes, missing.unseen_processes), (1, 0));
    let detail = "in /lib/a".to_string();
    assert_eq!(
        missing.programs,
        [UnseenProgram { detail, ..program("/app", Unseen::RawCalls, 1) }]
    );
    let details: Vec<String> = (0..20).map(|it| format!("{it}")).collect();
    let many: Vec<(u64, &str)> = details.iter().map(|it| (GO, it.as_str())).collect();
    assert_eq!(told(&many).programs.len(), 16);
}

#[test]
fn a_process_that_still_runs_is_said_to() {
    let folder = TempDir::new().unwrap();
    let anchor = Anchor { ticks: 1, monotonic_ns: 1, realtime_ns: 1 };
    let path = folder.path().join("self.rec");
    let writer = ProcessWriter::create(&path, &Program::current(), anchor).unwrap();
    writer.finish_as(State::Running).unwrap();
    let recording = Recording::open(folder.path()).unwrap();
    assert_eq!(recording.processes()[0].state, ProcessState::Running);
    let said = "1 of 1 processes still ran when this was read";
    assert!(
        recording.warnings().iter().any(|it| it.starts_with(said)),
        "{:?}",
        recording.warnings()
    );
}

/// It keeps its number when it becomes another program, which may not have made a call yet.
#[test]
fn a_program_that_runs_may_still_leave_its_file() {
    let folder = TempDir::new().unwrap();
    let anchor = Anchor { ticks: 1, monotonic_ns: 1, realtime_ns: 1 };
    let path = folder.path().join("self.rec");
    let mut writer = ProcessWriter::create(&path, &Program::current(), anchor).unwrap();
    writer.define(DefinitionKind::Program, 0, 0, b"/a").unwrap();
    writer.finish_as(State::Executed).unwrap();
    let missing = Recording::open(folder.path()).unwrap().missing().clone();
    assert_eq!((missing.programs, missing.unseen_processes), (Vec::new(), 0));
}

/// Whoever reads only the conclusion has to know what it is not about.
#[test]
fn the_conclusion_says_who_is_missing() {
    let told = |started: &[(u32, u64, &[u8])]| {
        let folder = TempDir::new().unwrap();
        let (program, state) = ("/bin/sh", State::Finished);
        Image { pid: 9, times: (1, 1), program, started, state }.write(folder.path());
        let recording = Recording::open(folder.path()).unwrap();
        let analysis = analyze(&recording, &Options::default()).unwrap();
        conclusion(&analysis, &findings(&analysis))
    };
    let six: Vec<(u32, u64, Vec<u8>)> =
        (0..6).map(|it| (10 + it, STATIC, format!("/s{it}").into_bytes())).collect();
    let some = |count: usize| {
        let started: Vec<(u32, u64, &[u8])> =
            six[..count].iter().map(|it| (it.0, it.1, &it.2[..])).collect();
        told(&started)
    };
    assert!(some(4).ends_with("/s2 (statically linked), /s3 (statically linked)."), "{}", some(4));
    assert!(some(6).ends_with("/s3 (statically linked), and 2 more."), "{}", some(6));
    let nothing = "No I/O call on a file of the program itself was recorded.";
    assert_eq!(told(&[]), nothing);
    assert_eq!(
        told(&[(10, STATIC, b"/s"), (11, GO, b"/go"), (12, 0, b"/bin/cat")]),
        format!(
            "{nothing} 1 of 4 processes could not be recorded: /s (statically linked). A part is \
             missing: /go makes its system calls itself (Go)."
        )
    );
}
