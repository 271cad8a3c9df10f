//! The file that makes a directory a recording: who began it, and with what.

use std::ffi::{OsStr, OsString};
use std::fs::Permissions;
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use plimsoll_guarded::{Directory, SMALL_BYTES_MAX, random_hex};
use plimsoll_machine::Machine;
pub use plimsoll_trace::marker::NAME;
use plimsoll_trace::marker::{FIRST_LINE, ID};
use plimsoll_trace::secrets;
use rustix::fs::OFlags;

use crate::{RecordError, key};

/// Ranks of one run start within this time of each other.
const JOINING: Duration = Duration::from_secs(300);

/// Of the command, to be shown. The marker must stay one that is read as a small file.
const COMMAND_BYTES_MAX: usize = SMALL_BYTES_MAX as usize / 4;

/// Begins the recording, or joins it when it is of the same run. Returns its id, which one of before has not.
pub(crate) fn join(
    directory: &Directory,
    program: &OsStr,
    arguments: &[OsString],
    is_shared: bool,
) -> Result<Option<String>, RecordError> {
    let failed = |action| RecordError::io(action, &directory.path().join(NAME));
    let id = random_hex(8).map_err(failed("create"))?;
    // Nobody else has that of one that was not launched with others.
    let key = key::of_this_run().unwrap_or_else(|| id.clone());
    let mode = if is_shared { 0o644 } else { 0o600 };
    match publish(directory, NAME, &text(&id, &key, program, arguments), mode) {
        Ok(()) => Ok(Some(id)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let text = directory.read_small(NAME).map_err(failed("read"))?;
            may_join(directory, &text, &key, &shown(program, arguments))?;
            Ok(id_in(&text))
        }
        Err(error) => Err(failed("create")(error)),
    }
}

/// Creates a file with its text at once: ranks that start together see all of it or nothing.
fn publish(directory: &Directory, name: &str, text: &str, mode: u32) -> std::io::Result<()> {
    let draft = format!("{NAME}.{}.{}", host(), std::process::id());
    let mut file = directory.create(&draft, OFlags::WRONLY, mode)?;
    let linked = file
        .set_permissions(Permissions::from_mode(mode))
        .and_then(|()| file.write_all(text.as_bytes()))
        .and_then(|()| directory.link(&draft, name));
    // A draft that stays would be ignored; the outcome is what matters.
    let _ = directory.remove_file(&draft);
    linked
}

/// Process ids are unique on a node only.
fn host() -> String {
    Machine::host().hostname().unwrap_or_default()
}

/// Returns what `record` knew about the program, in recordings of before the recording said it itself.
pub fn notes(directory: &Directory) -> Vec<String> {
    values(directory, "note ")
}

/// Returns the command that was recorded, if `record` ran it.
pub fn command(directory: &Directory) -> Option<String> {
    values(directory, COMMAND).into_iter().next()
}

/// Returns the id of a recording, which one of before, or one that somebody asked for by variables alone, has not.
pub(crate) fn id(directory: &Directory) -> Option<String> {
    id_in(&directory.read_small(NAME).ok()?)
}

fn id_in(text: &str) -> Option<String> {
    text.lines().find_map(|line| line.strip_prefix(ID)).map(str::to_string)
}

/// Returns what is behind a word at the beginning of lines.
fn values(directory: &Directory, word: &str) -> Vec<String> {
    let text = directory.read_small(NAME).unwrap_or_default();
    let mut lines = text.lines();
    if lines.next() != Some(FIRST_LINE) {
        return Vec::new();
    }
    lines.filter_map(|line| line.strip_prefix(word)).map(str::to_string).collect()
}

fn text(id: &str, key: &str, program: &OsStr, arguments: &[OsString]) -> String {
    let (host, command) = (host(), shown(program, arguments));
    format!("{FIRST_LINE}\n{ID}{id}\nrun {key}\n{HOST}{host}\n{COMMAND}{command}\n")
}

/// Returns a command as it is shown, in one line.
fn shown(program: &OsStr, arguments: &[OsString]) -> String {
    let words = std::iter::once(program).chain(arguments.iter().map(OsString::as_os_str));
    let mut words: Vec<u8> = words.collect::<Vec<_>>().join(OsStr::new("\0")).into_vec();
    secrets::mask(&mut words);
    let words = String::from_utf8_lossy(&words);
    let mut words = words.trim_end_matches('\0').replace(['\0', '\n'], " ");
    if words.len() > COMMAND_BYTES_MAX {
        let cut = (0..=COMMAND_BYTES_MAX).rev().find(|at| words.is_char_boundary(*at));
        words.truncate(cut.unwrap_or(0));
        words.push_str(" …");
    }
    words
}

/// What lines of the host that began it, and of the command, begin with.
const HOST: &str = "host ";
const COMMAND: &str = "command ";

/// A recording takes processes of its own run: the same job, a `record` inside a `record`, or
/// ranks that a launcher without job names started together.
fn may_join(
    directory: &Directory,
    text: &str,
    key: &str,
    command: &str,
) -> Result<(), RecordError> {
    let path = directory.path();
    if key::recording_around().is_some_and(|it| it == path) {
        return Ok(());
    }
    let has =
        |word: &str, value: &str| text.lines().any(|line| line.strip_prefix(word) == Some(value));
    if has("run ", key) {
        return Ok(());
    }
    // On this node, it would have the same launcher.
    let is_of_other_node = !has(HOST, &host()) && has(COMMAND, command) && is_young(directory);
    let is_later_rank = key::job().is_none() && key::rank().is_some_and(|it| it > 0);
    if is_later_rank && is_of_other_node && is_launcher_of_this_node(directory, key) {
        return Ok(());
    }
    Err(RecordError::Another { path: path.to_path_buf() })
}

fn is_young(directory: &Directory) -> bool {
    let began = directory.facts_of(NAME).ok().and_then(|it| u64::try_from(it.st_mtime).ok());
    began
        .map(|it| SystemTime::UNIX_EPOCH + Duration::from_secs(it))
        .and_then(|it| SystemTime::now().duration_since(it).ok())
        .is_some_and(|age| age < JOINING)
}

/// Whether ranks of this node in this recording have this launcher, which the first of them notes: those of the next run have another.
fn is_launcher_of_this_node(directory: &Directory, key: &str) -> bool {
    let name = format!("{NAME}.{}", host());
    match publish(directory, &name, key, 0o600) {
        Ok(()) => true,
        Err(_) => directory.read_small(&name).is_ok_and(|it| it == key),
    }
}
