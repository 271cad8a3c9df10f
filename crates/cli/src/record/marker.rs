//! The file that makes a directory a recording: who began it, and with what.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use plimsoll_machine::Machine;

use super::key;

/// Its name.
pub const MARKER: &str = "recording.txt";

const FIRST_LINE: &str = "plimsoll recording 1";

/// Ranks of one run start within this time of each other.
const JOINING: Duration = Duration::from_secs(300);

/// Begins the recording, or joins it when it is of the same run.
pub fn join(directory: &Path, command: &[OsString]) -> Result<()> {
    let path = directory.join(MARKER);
    let key = key::of_this_run();
    match create(&path, &text(&key, command)) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => may_join(directory, &path, &key),
        Err(error) => Err(error).with_context(|| format!("cannot create {}", path.display())),
    }
}

/// Creates the file with its text at once: ranks that start together see all of it or nothing.
fn create(path: &Path, text: &str) -> std::io::Result<()> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}.{}", host(), std::process::id()));
    let draft = PathBuf::from(draft);
    let linked = fs::write(&draft, text).and_then(|()| fs::hard_link(&draft, path));
    // A draft that stays would be ignored; the outcome is what matters.
    let _ = fs::remove_file(&draft);
    linked
}

/// Process ids are unique on a node only.
fn host() -> String {
    Machine::host().hostname().unwrap_or_default()
}

/// What `record` knew about the program, in recordings of before the recording said it itself.
pub fn notes(directory: &Path) -> Vec<String> {
    values(directory, "note ")
}

/// The command that was recorded, if `record` ran it.
pub fn command(directory: &Path) -> Option<String> {
    values(directory, "command ").into_iter().next()
}

/// What is behind a word at the beginning of lines.
fn values(directory: &Path, word: &str) -> Vec<String> {
    let text = fs::read_to_string(directory.join(MARKER)).unwrap_or_default();
    let mut lines = text.lines();
    if lines.next() != Some(FIRST_LINE) {
        return Vec::new();
    }
    lines.filter_map(|line| line.strip_prefix(word)).map(str::to_string).collect()
}

fn text(key: &str, command: &[OsString]) -> String {
    let words: Vec<String> =
        command.iter().map(|it| it.to_string_lossy().replace('\n', " ")).collect();
    format!("{FIRST_LINE}\nrun {key}\ncommand {}\n", words.join(" "))
}

/// A recording takes processes of its own run: the same job, a `record` inside a `record`, or
/// ranks that a launcher without job names started together.
fn may_join(directory: &Path, path: &Path, key: &str) -> Result<()> {
    if std::env::var_os("PLIMSOLL_RECORD_DIR").is_some_and(|it| Path::new(&it) == directory) {
        return Ok(());
    }
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let same_run = text.lines().any(|line| line == format!("run {key}"));
    let began = fs::metadata(path).and_then(|it| it.modified()).ok();
    let is_young = began
        .and_then(|it| SystemTime::now().duration_since(it).ok())
        .is_some_and(|age| age < JOINING);
    if same_run || (key::job().is_none() && key::rank().is_some_and(|it| it > 0) && is_young) {
        return Ok(());
    }
    bail!(
        "{} holds another recording; hint: choose another -o DIR, or remove it",
        directory.display()
    )
}
