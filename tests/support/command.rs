//! Running the real binary.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// How the program ended.
pub struct Outcome {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        Outcome {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// The binary that cargo built for these tests.
pub fn binary() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.env("NO_COLOR", "1");
    command
}

/// Copies a program or library. Another process does so: a child that a thread of ours forks meanwhile would have the copy open to write, and it could not be
/// started ("Text file busy").
#[track_caller]
pub fn copy_program(from: impl AsRef<OsStr>, to: &Path) {
    let copied = Command::new("cp").arg(from.as_ref()).arg(to).output().unwrap();
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
}

/// Runs with arguments separated by blanks.
pub fn plimsoll(arguments: &str) -> Outcome {
    binary().args(arguments.split_whitespace()).output().unwrap().into()
}

/// Runs, expects success, and gives what was printed.
#[track_caller]
pub fn text(arguments: &str) -> String {
    let outcome = plimsoll(arguments);
    assert_eq!(outcome.status, Some(0), "{arguments}: {}", outcome.stderr);
    outcome.stdout
}

/// Runs with --json, expects success, and gives the result.
#[track_caller]
pub fn json(arguments: &str) -> Value {
    let document: Value = serde_json::from_str(&text(&format!("{arguments} --json"))).unwrap();
    let schema = document["schema"].as_str().unwrap();
    let version = schema.strip_prefix("plimsoll.").and_then(|it| it.rsplit_once('/'));
    assert!(version.is_some_and(|(_, version)| ["1", "2"].contains(&version)), "{schema}");
    document["result"].clone()
}

/// The folder of captured samples, or `None` with a word about what is skipped.
pub fn samples(what: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples");
    let folder = std::env::var_os("PLIMSOLL_SAMPLES").map_or(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED: {what} needs captured samples (PLIMSOLL_SAMPLES names their folder)");
    None
}
