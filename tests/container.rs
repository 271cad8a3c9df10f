//! `plimsoll record` around programs that get another root directory, as containers have: the
//! library or the recording may not exist there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use plimsoll_trace::Op;

use crate::support::command::{Outcome, binary, copy_program};
use crate::support::recording::{calls, has, library, processes, record, run_recorded};

/// A root directory with a shell and a few programs, and the libraries that they need.
struct Root {
    folder: tempfile::TempDir,
}

const PROGRAMS: [&str; 3] = ["sh", "ls", "cat"];

/// What is run in it: output, messages, a file, children and a status of its own.
const SCRIPT: &str = "echo out; echo err >&2; echo text > /data/new; ls /data; cat /data/*; exit 7";

impl Root {
    /// `None` without the right to change the root directory.
    fn new() -> Option<Self> {
        if !has(&["chroot", "ldd", "sh", "ls", "cat"]) {
            return None;
        }
        let root = Root { folder: tempfile::tempdir_in("/var/tmp").unwrap() };
        fs::create_dir_all(root.at("/data")).unwrap();
        fs::write(root.at("/data/old"), "old\n").unwrap();
        for name in PROGRAMS {
            let found = Command::new("sh").args(["-c", &format!("command -v {name}")]).output();
            let path = String::from_utf8(found.unwrap().stdout).unwrap().trim().to_string();
            fs::create_dir_all(root.at("/bin")).unwrap();
            copy_program(&path, &root.at(&format!("/bin/{name}")));
            root.copy_in_needs_of(Path::new(&path));
        }
        // Of the C library all is there in a real one.
        root.copy_in_needs_of(library());
        let may =
            Command::new("chroot").arg(root.folder.path()).args(["/bin/sh", "-c", ":"]).output();
        if !may.unwrap().status.success() {
            eprintln!("SKIPPED: needs the right to change the root directory");
            return None;
        }
        Some(root)
    }

    /// Where a path of the new root directory is now.
    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path.trim_start_matches('/'))
    }

    /// Copies a file to the same path.
    fn copy_in(&self, path: &Path) {
        let copy = self.at(path.to_str().unwrap());
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        copy_program(path, &copy);
    }

    /// Copies the libraries that a program or library needs.
    fn copy_in_needs_of(&self, path: &Path) {
        let needed = Command::new("ldd").arg(path).output().unwrap();
        let needed = String::from_utf8(needed.stdout).unwrap();
        for needed in needed.split_whitespace().filter(|word| word.starts_with('/')) {
            self.copy_in(Path::new(needed));
        }
    }

    fn command(&self) -> [&str; 5] {
        ["chroot", self.folder.path().to_str().unwrap(), "/bin/sh", "-c", SCRIPT]
    }

    /// Nothing of the recorder shows: output, messages and status are as without it.
    #[track_caller]
    fn assert_unharmed(&self, recorded: &Outcome) {
        let [program, rest @ ..] = self.command();
        let plain: Outcome = Command::new(program).args(rest).output().unwrap().into();
        assert_eq!((plain.status, plain.stderr.as_str()), (Some(7), "err\n"));
        assert_eq!(recorded.status, plain.status, "{}", recorded.stderr);
        assert_eq!(recorded.stdout, plain.stdout);
        assert_eq!(recorded.stderr, plain.stderr);
    }
}

/// What the report says below its tables.
fn notes(recording: &Path) -> String {
    let report = binary().args(["report", "--json"]).arg(recording).output().unwrap();
    assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    report["result"]["notes"].to_string()
}

#[test]
fn a_root_without_the_library_leaves_a_note_and_no_message() {
    let Some(root) = Root::new() else { return };
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let rec = folder.path().join("rec");
    root.assert_unharmed(&run_recorded(&rec, &root.command()));
    let expected = format!(
        "1 of 1 process could not be recorded: /bin/sh (cannot reach {})",
        library().display()
    );
    let notes = notes(&rec);
    assert!(notes.contains(&expected), "{notes}");
}

#[test]
fn other_libraries_are_still_preloaded_there() {
    let Some(root) = Root::new() else { return };
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let script = "echo $LD_PRELOAD";
    // Where the dynamic linker finds no library of that name it says so and goes on.
    let other = "/lib/plimsoll-test-other.so";
    let outcome: Outcome = record(&folder.path().join("rec"))
        .args(["--", "chroot", root.folder.path().to_str().unwrap(), "/bin/sh", "-c", script])
        .env("LD_PRELOAD", other)
        .output()
        .unwrap()
        .into();
    assert_eq!(outcome.stdout.trim_end_matches([':', '\n']), other, "{}", outcome.stderr);
}

#[test]
fn a_root_without_the_recording_leaves_a_note_too() {
    let Some(root) = Root::new() else { return };
    root.copy_in(library());
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let rec = folder.path().join("rec");
    root.assert_unharmed(&run_recorded(&rec, &root.command()));
    let notes = notes(&rec);
    let expected = format!("/bin/sh (cannot reach {})", rec.display());
    assert!(notes.contains(&expected), "{notes}");
    // With a spool, which is brought home from outside.
    let (rec, spool) = (folder.path().join("spooled"), folder.path().join("spool"));
    let outcome = record(&rec).arg("--spool").arg(&spool).arg("--").args(root.command()).output();
    root.assert_unharmed(&outcome.unwrap().into());
    assert!(self::notes(&rec).contains("/bin/sh (cannot reach "));
}

#[test]
fn a_recording_that_cannot_be_written_does_no_harm() {
    let output = Command::new("sh")
        .args(["-c", "cat /etc/hostname > /dev/null; echo fine; exit 3"])
        .env("LD_PRELOAD", library())
        .env("PLIMSOLL_RECORD_DIR", "/nonexistent/directory")
        .stdin(Stdio::null())
        .output();
    let outcome: Outcome = output.unwrap().into();
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(3), "fine\n"));
    assert_eq!(outcome.stderr, "");
}

/// As the manual says: library and recording bound to the same paths.
#[test]
fn a_root_with_both_is_recorded() {
    let Some(root) = Root::new() else { return };
    if !has(&["unshare", "mount"]) {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let rec = folder.path().join("rec");
    let bound = [library().parent().unwrap().to_str().unwrap(), rec.to_str().unwrap()];
    for directory in bound {
        fs::create_dir_all(root.at(directory)).unwrap();
    }
    let path = root.folder.path().display();
    let binds = bound.map(|directory| format!("mount --bind {directory} {path}{directory} && "));
    let script = format!("{} exec chroot {path} /bin/sh -c '{SCRIPT}'", binds.concat());
    // The mounts are in a namespace that ends with the program.
    let command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", &script];
    let may = Command::new(command[0]).args(["--mount", "true"]).output().unwrap();
    if !may.status.success() {
        eprintln!("SKIPPED: needs the right to make mount namespaces");
        return;
    }
    let outcome = run_recorded(&rec, &command);
    root.assert_unharmed(&outcome);
    let recorded = processes(&rec);
    assert_eq!(calls(&recorded, Op::Write, "/data/new"), (1, 5));
    assert_eq!(calls(&recorded, Op::Read, "/data/old").1, 4);
    assert!(!notes(&rec).contains("could not be recorded"));
}
