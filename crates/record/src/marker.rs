//! The file that makes a directory a recording: who began it, and with what.

use std::ffi::{OsStr, OsString};
use std::fs::Permissions;
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use plimsoll_guarded::{Directory, SMALL_BYTES_MAX, random_hex};
use plimsoll_machine::Machine;
pub use plimsoll_trace::marker::NAME;
use plimsoll_trace::marker::{FIRST_LINE, ID, split_variable};
use plimsoll_trace::{secrets, variables};
use rustix::fs::OFlags;

use crate::{RecordError, key};

/// Ranks of one run start within this time of each other.
const JOINING: Duration = Duration::from_secs(300);

/// Of the command, to be shown. The marker must stay one that is read as a small file.
const COMMAND_BYTES_MAX: usize = SMALL_BYTES_MAX as usize / 4;

/// Begins the recording that was asked for by this path, or joins it when it is of the same run. Returns its id, which one of before has not.
pub(crate) fn join(
    directory: &Directory,
    asked: &Path,
    program: &OsStr,
    arguments: &[OsString],
    is_shared: bool,
) -> Result<Option<String>, RecordError> {
    let failed = |action| RecordError::io(action, &directory.path().join(NAME));
    let id = random_hex(8).map_err(failed("create"))?;
    // Nobody else has that of one that was not launched with others.
    let key = key::of_this_run().unwrap_or_else(|| id.clone());
    let mode = if is_shared { 0o644 } else { 0o600 };
    let text = text(asked, &id, &key, &shown(program, arguments));
    match publish(directory, NAME, &text, mode) {
        Ok(()) => {
            // For those who come later to be told from it.
            let _ = is_of_same_run(directory, &key);
            Ok(Some(id))
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let text = directory.read_small(NAME).map_err(failed("read"))?;
            may_join(directory, asked, &text, &key, &shown(program, arguments))?;
            Ok(id_in(&text))
        }
        Err(error) => Err(failed("create")(error)),
    }
}

/// Creates a file with its text at once: ranks that start together see all of it or nothing.
fn publish(directory: &Directory, name: &str, text: &str, mode: u32) -> std::io::Result<()> {
    // Numbers of processes are the same in one container as in the next.
    let draft = format!("{NAME}.{}", random_hex(8)?);
    let mut file = directory.create(&draft, OFlags::WRONLY, mode)?;
    let linked = file
        .set_permissions(Permissions::from_mode(mode))
        .and_then(|()| file.write_all(text.as_bytes()))
        .and_then(|()| directory.link(&draft, name));
    // A draft that stays would be ignored; the outcome is what matters.
    let _ = directory.remove_file(&draft);
    linked
}

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

/// Returns whether a directory has a recording that was begun under this path, or nothing but what one begins with.
pub(crate) fn may_begin_or_began_as(directory: &Directory, asked: &Path) -> bool {
    match values(directory, CALLED).first() {
        Some(began) => *began == called(asked),
        None => directory.names().is_ok_and(|names| {
            names.iter().all(|it| it.as_encoded_bytes().starts_with(NAME.as_bytes()))
        }),
    }
}

fn text(asked: &Path, id: &str, key: &str, command: &str) -> String {
    let (host, path, ranks) = (host(), called(asked), ranks());
    format!(
        "{FIRST_LINE}\n{ID}{id}\nrun {key}\n{HOST}{host}\n{RANKS}{ranks}\n{CALLED}{path}\n{COMMAND}{command}\n"
    )
}

/// Returns the path by which a recording was asked for, in one line. Not the one that its directory has at some moment: whoever may rename it chooses that.
fn called(asked: &Path) -> String {
    format!("{:?}", std::path::absolute(asked).unwrap_or_else(|_| asked.into()))
}

/// Returns the number of ranks, in words if nobody tells it.
fn ranks() -> String {
    key::ranks().map_or_else(|| "unknown".into(), |it| it.to_string())
}

/// Returns a command as it is shown, in one line.
fn shown(program: &OsStr, arguments: &[OsString]) -> String {
    let words = std::iter::once(program).chain(arguments.iter().map(OsString::as_os_str));
    let mut words: Vec<u8> = words.collect::<Vec<_>>().join(OsStr::new("\0")).into_vec();
    let is_cut = secrets::mask_kept(&mut words, COMMAND_BYTES_MAX);
    let words = String::from_utf8_lossy(&words);
    let mut words = words.trim_end_matches('\0').replace(['\0', '\n'], " ");
    if is_cut || words.len() > COMMAND_BYTES_MAX {
        let cut = (0..=COMMAND_BYTES_MAX).rev().find(|at| words.is_char_boundary(*at));
        words.truncate(cut.unwrap_or(0));
        words.push_str(" …");
    }
    words
}

/// What lines begin with: of the host that began it, the number of ranks, what its directory was called, and the command.
const HOST: &str = "host ";
const RANKS: &str = "ranks ";
const CALLED: &str = "called ";
const COMMAND: &str = "command ";

/// A recording takes processes of its own run: the same job, a `record` inside a `record`, or
/// ranks that a launcher without job names started together.
fn may_join(
    directory: &Directory,
    asked: &Path,
    text: &str,
    key: &str,
    command: &str,
) -> Result<(), RecordError> {
    let path = directory.path();
    let another = || Err(RecordError::Another { path: path.to_path_buf() });
    if key::recording_around().is_some_and(|it| it == path) {
        // Somebody may have put another recording in its place.
        return if is_around(text) { Ok(()) } else { another() };
    }
    let has =
        |word: &str, value: &str| text.lines().any(|line| line.strip_prefix(word) == Some(value));
    // One that was given another name may be that of another run of the same job, and somebody else may have done so.
    let began = text.lines().find_map(|line| line.strip_prefix(CALLED));
    if let Some(began) = began.filter(|it| *it != called(asked)) {
        return Err(RecordError::Moved { path: asked.to_path_buf(), called: began.into() });
    }
    if has("run ", key) {
        // Of runs without a number of their own or of ranks, the command tells some apart.
        let is_told = key::job().is_some() && key::ranks().is_some() || has(COMMAND, command);
        let is_alike = !key::is_of_unseen_launcher() || is_young(directory) && is_told;
        return if is_alike && is_of_same_run(directory, key) { Ok(()) } else { another() };
    }
    // On this node, it would have the same launcher.
    let is_alike = has(COMMAND, command) && has(RANKS, &ranks());
    let is_of_other_node = !has(HOST, &host()) && is_alike && is_young(directory);
    let is_rank = key::job().is_none() && key::rank().is_some();
    // A rank that is there already is of a run before, unless this one noted it.
    let is_joined = || match is_new_rank(directory, key) {
        true => is_launcher_of_this_node(directory, key),
        false => is_rank_of_this_run(directory, key),
    };
    if is_rank && is_of_other_node && is_joined() { Ok(()) } else { another() }
}

/// Whether this is the marker of the recording that this process is part of itself, which has an id unless somebody asked for it by variables alone.
fn is_around(text: &str) -> bool {
    let told = std::env::var_os(variables::RECORDING_ID).unwrap_or_default();
    let (id, _) = split_variable(told.as_bytes());
    id.is_empty() || id_in(text).is_none_or(|it| it.as_bytes() == id)
}

/// Whether a process with the key of a recording is of the same run: keys of launchers come again.
fn is_of_same_run(directory: &Directory, key: &str) -> bool {
    if let Some(launcher) = key::launcher_of_numbered_run() {
        return is_launcher_of_this_node(directory, &launcher);
    }
    let is_unseen = key::is_of_unseen_launcher();
    if key::job().is_some() && !is_unseen {
        return true;
    }
    // The launcher may be in no container of its ranks: the next run's are the same ranks.
    let is_new = is_new_rank(directory, key);
    is_new || !is_unseen
}

/// Notes that this rank is in a recording; returns whether it was not. Only where a launcher numbers no runs, or is not seen.
fn is_new_rank(directory: &Directory, key: &str) -> bool {
    rank_file().is_none_or(|name| publish(directory, &name, key, 0o600).is_ok())
}

/// Whether it was this run that noted the rank.
fn is_rank_of_this_run(directory: &Directory, key: &str) -> bool {
    rank_file().is_some_and(|name| directory.read_small(name).is_ok_and(|it| it == key))
}

fn rank_file() -> Option<String> {
    key::rank().map(|rank| format!("{NAME}.rank.{rank}"))
}

fn is_young(directory: &Directory) -> bool {
    let began = directory.facts_of(NAME).ok().and_then(|it| u64::try_from(it.st_mtime).ok());
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    // The clock of a server may be ahead of this node's.
    began.is_some_and(|it| now.abs_diff(Duration::from_secs(it)) < JOINING)
}

/// Whether ranks of this node in this recording have this launcher, which the first of them notes: those of the next run have another.
fn is_launcher_of_this_node(directory: &Directory, key: &str) -> bool {
    publish(directory, &node_file(), key, 0o600).is_ok()
        || has_launcher_of_this_node(directory, key)
}

fn has_launcher_of_this_node(directory: &Directory, key: &str) -> bool {
    directory.read_small(node_file()).is_ok_and(|it| it == key)
}

fn node_file() -> String {
    format!("{NAME}.node.{}", host())
}
