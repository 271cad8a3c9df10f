//! The spool: the directory in which events are buffered while the program runs.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use plimsoll_guarded::{Directory, open_trusted, random_hex};
use plimsoll_machine::Machine;
use plimsoll_trace::{marker, variables};

use crate::RecordError;

/// The least space that a spool should have; /dev/shm in a container often has 64 MiB.
const BYTES_MIN: u64 = 1 << 30;

/// Returns the directory to buffer in: the given one; the recording itself if it is local; otherwise a
/// place on this node with enough space, on a disk rather than in memory.
pub fn choose(
    directory: &Path,
    said: Option<&Path>,
    machine: &Machine,
) -> Result<PathBuf, RecordError> {
    // A `record` around this one has chosen already, if it is of the same recording.
    let variable = |name| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let around = variable(variables::SPOOL);
    let is_inside = variable(variables::RECORD_DIR).is_some_and(|around| around == directory);
    if let Some(inherited) = around.as_deref().filter(|_| is_inside && said.is_none()) {
        return Ok(inherited.to_path_buf());
    }
    // Without one, whoever set the variable says it.
    let is_alone = variable(variables::RECORD_DIR).is_none();
    if let Some(said) = said.or(around.as_deref().filter(|_| is_alone)) {
        let spool = in_place(said, directory).map_err(RecordError::io("use the spool", said))?;
        return if spool.path() != directory && is_recording(&spool) {
            Err(RecordError::SpoolIsRecording { spool: said.to_path_buf() })
        } else {
            Ok(spool.path().to_path_buf())
        };
    }
    // A mapping of a file on another machine is slow, and the load would disturb what is measured.
    if !machine.space(directory).is_ok_and(|space| space.is_remote()) {
        return Ok(directory.to_path_buf());
    }
    let mut spools = candidates().into_iter().filter(|place| has_room(machine, place));
    let spool = spools.find_map(|place| own_in(&trusted(&place).ok()?, directory).ok());
    Ok(spool.map_or_else(|| directory.to_path_buf(), |it| it.path().to_path_buf()))
}

/// Returns the spools of this recording on this node that nobody else could write to: the given one, and
/// those that `record` chooses by itself. None is another recording, and no link of somebody else leads to one.
pub fn existing(directory: &Path, said: Option<&Path>) -> Result<Vec<Directory>, RecordError> {
    let mut spools = Vec::new();
    let name = spool_name(directory);
    for place in candidates().iter().map(PathBuf::as_path).chain(said) {
        // In others, somebody may have given that name to another directory of this user's.
        let place = trusted(place);
        spools.extend(place.ok().into_iter().flat_map(|place| own_spools(&place, &name)));
    }
    let Some(said) = said else { return Ok(spools) };
    let spool = trusted(said);
    match spool.and_then(|spool| spool.require_own().map(|()| spool)) {
        Ok(spool) if is_recording(&spool) => {
            return Err(RecordError::SpoolIsRecording { spool: said.to_path_buf() });
        }
        Ok(spool) => spools.push(spool),
        Err(cause) if cause.kind() == ErrorKind::NotFound => {}
        // Then it is in a directory of its own there.
        Err(_) if !spools.is_empty() => {}
        Err(cause) => return Err(RecordError::ForeignSpool { spool: said.to_path_buf(), cause }),
    }
    Ok(spools)
}

/// Returns this user's spools of that name in a place, and those that have more behind the name.
fn own_spools(place: &Directory, name: &str) -> Vec<Directory> {
    let is_named = |it: &OsString| {
        let rest = it.as_bytes().strip_prefix(name.as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"-"))
    };
    let names = place.names().unwrap_or_else(|_| vec![name.into()]).into_iter().filter(is_named);
    // A link of that name would lead to another recording of this user's, and a mount to whatever its server says.
    let spools = names.filter_map(|name| place.child_not_mounted(name).ok());
    spools.filter(|spool| spool.require_own().is_ok() && !is_recording(spool)).collect()
}

/// Returns true for a directory whose files are brought home already.
fn is_recording(directory: &Directory) -> bool {
    directory.kind_of(marker::NAME).is_ok()
}

/// Returns this directory if only this user can write to it; in one that others may write to, such as /tmp,
/// a directory of its own.
fn in_place(said: &Path, directory: &Path) -> io::Result<Directory> {
    Directory::make_by_own_links(said, PRIVATE)?;
    let place = trusted(said)?;
    match place.require_own() {
        Ok(()) => Ok(place),
        Err(_) => own_in(&place, directory),
    }
}

/// Makes a directory for this user alone in one that may be open to everybody, or takes the one that is there. Everybody
/// can know its name, so that it can be found again after a crash; if somebody else has taken the name, there is
/// something behind it that nobody can know.
fn own_in(place: &Directory, directory: &Path) -> io::Result<Directory> {
    let name = spool_name(directory);
    let make = |name: &str| -> io::Result<Directory> {
        let spool = place.make(name, PRIVATE)?;
        let is_own = spool.require_own();
        is_own.map_err(|cause| io::Error::other(format!("{name}: {cause}")))?;
        Ok(spool)
    };
    match make(&name) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        made => return made,
    }
    match own_spools(place, &name).into_iter().next() {
        Some(spool) => Ok(spool),
        None => make(&format!("{name}-{}", random_hex(8)?)),
    }
}

/// Opens a place where nobody else can replace what this user puts there, such as a sticky directory: processes
/// reach the spool by its path.
fn trusted(place: &Path) -> io::Result<Directory> {
    let hint = "choose a directory of your own, or a sticky one as /tmp is";
    let trusted = open_trusted(place)
        .map_err(|untrusted| io::Error::other(format!("{untrusted}; hint: {hint}")))?;
    if trusted.missing.is_empty() {
        return Ok(trusted.directory);
    }
    Err(ErrorKind::NotFound.into())
}

const PRIVATE: u32 = 0o700;

/// Disks first: what is in memory is taken from the program that is measured.
fn candidates() -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> =
        std::env::var_os("TMPDIR").map(PathBuf::from).into_iter().collect();
    places.extend(["/var/tmp", "/tmp", "/dev/shm"].map(PathBuf::from));
    places
}

fn has_room(machine: &Machine, place: &Path) -> bool {
    machine.space(place).is_ok_and(|space| !space.is_remote() && space.available.get() >= BYTES_MIN)
}

/// One name for one recording on every node: the user and a number made from the path.
fn spool_name(directory: &Path) -> String {
    // FNV-1a, 64 bits: stable over versions, which the standard library's hash is not.
    let number =
        directory.as_os_str().as_bytes().iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    format!("{PREFIX}{}-{number:016x}", rustix::process::getuid().as_raw())
}

const PREFIX: &str = "plimsoll-spool-";

/// Returns true for a directory that was made as a spool.
pub fn is_made_here(spool: &Path) -> bool {
    spool.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
}
