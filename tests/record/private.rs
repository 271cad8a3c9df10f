//! Who may read a recording, and what is not in it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use crate::support::command::{Outcome, binary};
use crate::support::recording::{library, record};

/// The permissions of a directory and of each file in it.
fn modes(directory: &Path) -> (u32, Vec<u32>) {
    let files = fs::read_dir(directory).unwrap().map(|it| it.unwrap().metadata().unwrap());
    let mut files: Vec<u32> = files.map(|it| it.mode() & 0o777).collect();
    files.sort();
    files.dedup();
    (fs::metadata(directory).unwrap().mode() & 0o777, files)
}

/// Records under a shell's mask.
fn run(folder: &Path, mask: &str, options: &str) -> Outcome {
    let script = format!("umask {mask}; exec \"$0\" record -o rec {options} -- cat /etc/hostname");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script]).arg(binary().get_program()).current_dir(folder);
    command.env("PLIMSOLL_LIBRARY", library()).output().unwrap().into()
}

#[test]
fn a_recording_is_its_owners_alone_unless_it_is_shared() {
    for mask in ["000", "022", "077"] {
        for (options, expected) in [
            ("", (0o700, vec![0o600])),
            ("--share", (0o755, vec![0o644])),
            ("--spool spool", (0o700, vec![0o600])),
            ("--share --spool spool", (0o755, vec![0o644])),
        ] {
            let folder = tempfile::tempdir_in("/var/tmp").unwrap();
            let outcome = run(folder.path(), mask, options);
            assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
            assert_eq!(modes(&folder.path().join("rec")), expected, "{mask} {options}");
        }
    }
}

#[test]
fn what_others_may_write_to_is_no_place_for_a_recording() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let open = folder.path().join("rec");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let outcome = run(folder.path(), "022", "");
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("others can write to it (mode 777)"), "{}", outcome.stderr);
    assert_eq!(fs::read_dir(&open).unwrap().count(), 0);
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
    let outcome = run(folder.path(), "022", "");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
}

#[test]
fn secrets_of_the_command_line_are_not_kept() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let rec = folder.path().join("rec");
    let arguments = ["--password=hidden1", "--token", "hidden2", "https://me:hidden3@host/"];
    let outcome: Outcome = record(&rec)
        .args(["--", "sh", "-c", "cat /etc/hostname", "sh"])
        .args(arguments)
        .output()
        .unwrap()
        .into();
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let mut looked_at = 0;
    for entry in fs::read_dir(&rec).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(6).any(|it| it == b"hidden"));
        looked_at += usize::from(bytes.windows(12).any(|it| it == b"password=***"));
    }
    assert!(looked_at >= 2, "the marker and the file of the process tell the rest");
}

/// Of a command line its beginning is kept: a secret that is cut off there was not known as one.
#[test]
fn secrets_at_the_end_of_what_is_kept_are_not_kept() {
    for padding in (960..1030).step_by(10) {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let rec = folder.path().join("rec");
        let mut command = record(&rec);
        command.args(["--", "sh", "-c", "cat /etc/hostname", &"x".repeat(padding)]);
        let outcome: Outcome =
            command.arg("https://me:hiddenhiddenhidden@host/").output().unwrap().into();
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        for entry in fs::read_dir(&rec).unwrap() {
            let bytes = fs::read(entry.unwrap().path()).unwrap();
            assert!(!bytes.windows(4).any(|it| it == b"hidd"), "after {padding} bytes");
        }
    }
}

/// Every user can read the arguments of every process; programs wipe secrets from their own.
#[test]
fn who_waits_for_a_program_does_not_show_its_arguments() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let script = "tr '\\0' ' ' < /proc/$PPID/cmdline; echo; cat /proc/$$/cmdline";
    let mut command = binary();
    command
        .env("PLIMSOLL_LIBRARY", library())
        .arg("record")
        .arg("-o")
        .arg(folder.path().join("rec"));
    command.args(["--", "sh", "-c", script, "me", "opensesame"]);
    let outcome = Outcome::from(command.output().unwrap());
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let (waiting, own) = outcome.stdout.split_once('\n').unwrap();
    assert!(waiting.contains("record") && waiting.trim_end().ends_with(" sh"), "{waiting:?}");
    assert!(own.contains("opensesame"), "the program has all of them: {own:?}");
}
