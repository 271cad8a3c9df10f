//! Programs that a preloaded library cannot see, or not all of: the report names them, wherever they
//! are in the tree of processes.

mod asynchronous;
mod rights;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_trace::Op;
use plimsoll_trace::layout::State;
use serde_json::Value;

use crate::support::command::{Outcome, binary};
use crate::support::recording::{
    Process, calls, has, processes, program, python, record, root, run_recorded,
};

/// The report's result.
fn report(recording: &Path) -> Value {
    let report = binary().args(["report", "--json"]).arg(recording).output().unwrap();
    assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
    serde_json::from_slice::<Value>(&report.stdout).unwrap()["result"].take()
}

/// Processes that could not be recorded, of all that are known.
fn counts(report: &Value) -> (u64, u64) {
    let number = |key: &str| report[key].as_u64().unwrap_or_else(|| panic!("no {key}"));
    (number("unseen_processes"), number("known_processes"))
}

/// What is missing: the program's name, the reason and how many processes ran it.
fn unseen(report: &Value) -> Vec<(String, String, u64)> {
    let rows = report["unseen"].as_array().map_or(&[][..], Vec::as_slice);
    let name = |path: &str| path.rsplit('/').next().unwrap().to_string();
    let row = |it: &Value| {
        let text = |key: &str| it[key].as_str().unwrap().to_string();
        (name(&text("program")), text("why"), it["processes"].as_u64().unwrap())
    };
    rows.iter().map(row).collect()
}

fn one(name: &str, why: &str, processes: u64) -> Vec<(String, String, u64)> {
    vec![(name.to_string(), why.to_string(), processes)]
}

fn notes(report: &Value) -> String {
    report["notes"].to_string()
}

/// The program that writes, in a folder with everything that other users need.
struct Bed {
    folder: tempfile::TempDir,
}

impl Bed {
    /// With copies of these: a name and flags of the compiler.
    fn new(programs: &[(&str, &[&str])]) -> Self {
        let bed = Bed { folder: tempfile::tempdir_in("/var/tmp").unwrap() };
        fs::set_permissions(bed.folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        for (name, flags) in programs {
            fs::copy(program("unseen.c", "cc", flags), bed.at(name)).unwrap();
        }
        bed
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Records a shell's script in the folder.
    fn record(&self, name: &str, script: &str) -> Value {
        let rec = self.at(name);
        let mut command = record(&rec);
        let outcome = command.args(["--", "sh", "-c", script]).current_dir(&self.folder).output();
        let outcome: Outcome = outcome.unwrap().into();
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{name}");
        report(&rec)
    }
}

const STATIC: &[&str] = &["-static"];
const STATICALLY: &str = "statically linked";

/// False with a word about it where the C library cannot be linked statically.
fn has_static_libc() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("a.c");
    fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let mut compile = Command::new("cc");
    compile.args(["-static", "-o"]).arg(folder.path().join("a")).arg(&source);
    let has = compile.output().is_ok_and(|output| output.status.success());
    if !has {
        eprintln!("SKIPPED: needs a C library that can be linked statically");
    }
    has
}

#[test]
fn a_static_program_is_named_also_when_it_is_the_command() {
    if !has_static_libc() {
        return;
    }
    let bed = Bed::new(&[("still", STATIC)]);
    let (rec, program) = (bed.at("rec"), bed.at("still"));
    let out = bed.at("out");
    let command = [program.to_str().unwrap(), "writes", out.to_str().unwrap()];
    let outcome = run_recorded(&rec, &command);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    let report = report(&rec);
    assert_eq!((counts(&report), unseen(&report)), ((1, 1), one("still", STATICALLY, 1)));
    let notes = notes(&report);
    let expected =
        format!("1 of 1 process could not be recorded: {} ({STATICALLY})", program.display());
    assert!(notes.contains(&expected), "{notes}");
    // What cannot be run was not missed.
    let outcome = run_recorded(&bed.at("failed"), &[bed.at("nowhere").to_str().unwrap()]);
    assert_eq!(outcome.status, Some(127));
}

#[test]
fn static_programs_are_counted_wherever_they_are_started() {
    if !has_static_libc() {
        return;
    }
    let bed = Bed::new(&[("still", STATIC), ("moving", &[])]);
    let report = bed.record(
        "nested",
        "./still w a; sh -c './still w b; ./moving w c'; sh -c 'exec ./still w d'",
    );
    assert_eq!(unseen(&report), one("still", STATICALLY, 3));
    // The shell, its two children that are shells, of which one becomes the program, and four.
    assert_eq!(counts(&report), (3, 6), "{report}");
    assert_eq!(calls(&processes(&bed.at("nested")), Op::Write, "/c"), (1, 1000));

    // A static program that becomes one that can be seen: that one is recorded.
    let report = bed.record("onward", "./still w a ./moving w b; ./moving w c");
    assert_eq!((unseen(&report), counts(&report)), (one("still", STATICALLY, 1), (1, 3)));
    assert_eq!(calls(&processes(&bed.at("onward")), Op::Write, "/b"), (1, 1000));

    // Scripts are as their interpreters are. This one writes to itself.
    fs::write(bed.at("script"), format!("#!{} writes\n", bed.at("still").display())).unwrap();
    fs::set_permissions(bed.at("script"), fs::Permissions::from_mode(0o755)).unwrap();
    let report = bed.record("script.rec", "./script");
    assert_eq!(unseen(&report), one("script", STATICALLY, 1));

    let report = bed.record("none", "./moving w a; ./nowhere 2> /dev/null; test -x ./still");
    assert_eq!((unseen(&report), counts(&report).0), (Vec::new(), 0));
}

#[test]
fn static_programs_that_python_starts_are_counted_however_it_starts_them() {
    if !has_static_libc() {
        return;
    }
    let bed = Bed::new(&[("still", STATIC)]);
    let script = "
import multiprocessing, os, subprocess
def run(number):
    subprocess.run(['./still', 'w', 'out%d' % number], check=True)
if __name__ == '__main__':
    for number in range(3):
        run(number)
    with multiprocessing.get_context('spawn').Pool(2) as pool:
        pool.map(run, range(10, 14))
        pool.close()
        pool.join()
    pid = os.posix_spawn('./still', ['still', 'w', 'out'], os.environ)
    os.waitpid(pid, 0)
    os.system('./still w out; true')
";
    fs::write(bed.at("script.py"), script).unwrap();
    let report = bed.record("rec", &format!("exec {} script.py", python()));
    assert_eq!(unseen(&report), one("still", STATICALLY, 9));
    assert_eq!(counts(&report).0, 9);
}

#[test]
fn a_program_that_is_killed_before_its_first_call_has_a_file() {
    if !has(&["timeout", "sleep"]) {
        return;
    }
    let bed = Bed::new(&[]);
    let script = "exec 2> /dev/null; timeout -s KILL 0.3 sleep 30; test $? = 137";
    let report = bed.record("rec", script);
    assert_eq!((unseen(&report), counts(&report)), (Vec::new(), (0, 3)));
    let recorded = processes(&bed.at("rec"));
    let sleep = recorded.iter().find(|it| it.program.ends_with("/sleep")).unwrap();
    assert_eq!((sleep.events.len(), sleep.state), (0, State::Running as u32));
}

/// Where there is no room for a file, an empty one says so.
#[test]
fn processes_without_room_for_a_file_are_counted() {
    let bed = Bed::new(&[("moving", &[])]);
    let report = bed.record("rec", "./moving w a; ulimit -f 7; ./moving w b; (./moving w c; true)");
    let why = "no space for its file, a quota or a limit of the size of files";
    // The subshell forks the last of them.
    assert_eq!((unseen(&report), counts(&report)), (one("(unknown)", why, 3), (3, 5)));
    assert_eq!(calls(&processes_that_can_be_read(&bed.at("rec")), Op::Write, "/a"), (1, 1000));
}

/// Without the files that are empty.
fn processes_that_can_be_read(recording: &Path) -> Vec<Process> {
    for entry in fs::read_dir(recording).unwrap().flatten() {
        if entry.metadata().unwrap().len() == 0 {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    processes(recording)
}

#[test]
fn go_programs_are_named() {
    if !has(&["go"]) {
        return;
    }
    let bed = Bed::new(&[]);
    let source = |import: &str, more: &str| {
        format!(
            "package main\nimport (\n\"os\"\n{import}\n)\nfunc main() {{\n{more}\n\
             os.WriteFile(os.Args[1], make([]byte, 1000), 0644)\n}}\n"
        )
    };
    fs::write(bed.at("still.go"), source("", "")).unwrap();
    fs::write(bed.at("linked.go"), source("\"os/user\"", "user.Current()")).unwrap();
    for name in ["still", "linked"] {
        let built = Command::new("go")
            .args(["build", "-o", name, &format!("{name}.go")])
            .env("GOCACHE", root().join("target/go-cache"))
            .env("GOFLAGS", "-mod=mod")
            .env("CGO_ENABLED", if name == "linked" { "1" } else { "0" })
            .current_dir(&bed.folder)
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    }
    let report = bed.record("rec", "./still a; ./linked b; true");
    let mut expected = one("still", STATICALLY, 1);
    expected.extend(one("linked", "makes its system calls itself (Go)", 1));
    assert_eq!((unseen(&report), counts(&report)), (expected, (1, 3)));
    assert!(notes(&report).contains("a part is missing: "), "{report}");
}

#[test]
fn programs_for_another_c_library_run_unharmed_and_are_named() {
    if !has(&["musl-gcc"]) {
        return;
    }
    let bed = Bed::new(&[]);
    fs::copy(program("unseen.c", "musl-gcc", &[]), bed.at("small")).unwrap();
    let report = bed.record("rec", "./small w a && test -s a");
    assert_eq!(unseen(&report), one("small", "linked to another C library", 1));
    let (rec, small, out) = (bed.at("direct"), bed.at("small"), bed.at("b"));
    let outcome = run_recorded(&rec, &[small.to_str().unwrap(), "w", out.to_str().unwrap()]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    assert_eq!(unseen(&self::report(&rec)), one("small", "linked to another C library", 1));
}
