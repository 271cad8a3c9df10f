//! The marker: what format a container has, and its id.

use std::io::{self, ErrorKind, Read};

use plimsoll_guarded::{Directory, Refusal};
use rustix::fs::{OFlags, fstat};

use crate::Id;
use crate::header::FORMAT_VERSION;

/// The file that tells a container from other directories.
pub const MARKER: &str = "plimsoll-container";

const FIRST_WORDS: &str = "plimsoll container";

/// Bytes of its words.
pub const WORDS_BYTES: usize = 57;
/// The version of small containers, which have their bytes in the marker: [`crate::small`].
pub const SMALL_VERSION: u32 = 2;
/// Where the version is, in one digit.
pub const VERSION_AT: u64 = FIRST_WORDS.len() as u64 + 1;
/// Where the id is.
pub const ID_AT: u64 = VERSION_AT + 5;

/// Returns what the marker of a new container says.
pub fn text(id: Id) -> String {
    format!("{}\nid {id}\n", first_line(FORMAT_VERSION))
}

/// Returns the words of a small container's marker.
pub fn small_text(id: Id) -> String {
    format!("{}\nid {id}\n", first_line(SMALL_VERSION))
}

/// Returns whether a marker begins as that of a small container does.
pub fn is_small(marker: &[u8]) -> bool {
    let line = first_line(SMALL_VERSION);
    marker.strip_prefix(line.as_bytes()).is_some_and(|rest| rest.starts_with(b"\n"))
}

/// Returns whether this is the marker of a container, of whatever format.
pub fn is_one(text: &str) -> bool {
    text.starts_with(FIRST_WORDS)
}

fn first_line(version: u32) -> String {
    format!("{FIRST_WORDS} {version}")
}

/// Reads the marker.
///
/// # Errors
/// Says what is wrong with it.
pub fn id_in(marker: &str) -> Result<Id, String> {
    let mut lines = marker.lines();
    let first = lines.next().unwrap_or_default();
    if first != first_line(FORMAT_VERSION) && first != first_line(SMALL_VERSION) {
        return Err(match first.strip_prefix(FIRST_WORDS) {
            Some(version) => {
                format!(
                    "it has format{version}, and this program knows {FORMAT_VERSION} and {SMALL_VERSION}"
                )
            }
            None => format!("its {MARKER} has other words"),
        });
    }
    let id = lines.next().and_then(|line| line.strip_prefix("id ")).and_then(Id::parse);
    id.ok_or_else(|| format!("its {MARKER} has no id"))
}

/// Returns the words of the marker in a directory; what follows them is no text. Whoever may write to a directory can put one there: only its owner's counts.
///
/// # Errors
/// If there is none that can be read, or if it is somebody else's.
pub fn words_in(directory: &Directory) -> io::Result<String> {
    let require = |owner: u32| -> io::Result<()> {
        let expected = directory.facts()?.st_uid;
        if owner == expected { Ok(()) } else { Err(Refusal::Owner { owner, expected }.into()) }
    };
    let file = match directory.open_file(MARKER, OFlags::RDONLY) {
        // Who has a lease on a file of theirs (F_SETLEASE) can have everybody wait to open it.
        Err(cause) if cause.kind() == ErrorKind::WouldBlock => {
            require(directory.facts_of(MARKER)?.st_uid)?;
            return Err(cause);
        }
        opened => opened?,
    };
    require(fstat(&file)?.st_uid)?;
    // Whoever forged it decides how long it is.
    let mut words = Vec::new();
    file.take(WORDS_BYTES as u64).read_to_end(&mut words)?;
    Ok(String::from_utf8_lossy(&words).into_owned())
}

/// Returns the id of the container that a directory is; `None` if it has no marker, and so is none.
///
/// # Errors
/// If nobody can tell, as the marker cannot be read at this moment, says nothing that is understood, or is not its owner's.
pub fn id_of(directory: &Directory) -> io::Result<Option<Id>> {
    match words_in(directory) {
        Ok(text) => id_in(&text).map(Some).map_err(io::Error::other),
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(None),
        Err(cause) => match Refusal::of(&cause) {
            Some(Refusal::NotAFile | Refusal::Symlink) => Ok(None),
            _ => Err(cause),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_says_format_and_id() {
        let id = Id::from_bytes([3; 16]);
        assert_eq!(id_in(&format!("plimsoll container 1\nid {id}\n")), Ok(id));
        let newer = id_in("plimsoll container 3\n").unwrap_err();
        assert_eq!(newer, "it has format 3, and this program knows 1 and 2");
        assert_eq!(id_in(&small_text(id)), Ok(id));
        assert_eq!((text(id).len(), small_text(id).len()), (WORDS_BYTES, WORDS_BYTES));
        assert!(is_small(small_text(id).as_bytes()) && !is_small(text(id).as_bytes()));
        assert!(!is_small(b"plimsoll container 22\n") && !is_small(b"plimsoll container 2"));
        let mut words = small_text(id).into_bytes();
        words[VERSION_AT as usize] = b'1';
        assert_eq!(words, text(id).into_bytes());
        assert_eq!(&words[ID_AT as usize..ID_AT as usize + 32], id.to_string().as_bytes());
        assert!(id_in("").unwrap_err().contains("other words"));
        assert!(id_in("plimsoll container 1\nid ../..\n").unwrap_err().contains("no id"));
    }

    /// The attack: a lease on one's own file keeps whoever opens it waiting, and a directory of others was none any more.
    #[test]
    fn a_marker_of_others_with_a_lease_is_none() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = folder.path().join(MARKER);
        std::fs::write(&path, text(Id::from_bytes([3; 16]))).unwrap();
        let leased = std::fs::File::options().read(true).write(true).open(&path).unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(&leased);
        // It tells of whoever waits by a signal that ends nobody.
        const F_SETSIG: i32 = 10;
        // SAFETY: the calls take numbers only.
        let has_lease = unsafe {
            libc::fcntl(number, F_SETSIG, libc::SIGURG) == 0
                && libc::fcntl(number, libc::F_SETLEASE, libc::F_WRLCK) == 0
        };
        let directory = Directory::open(folder.path()).unwrap();
        if has_lease {
            assert_eq!(words_in(&directory).unwrap_err().kind(), ErrorKind::WouldBlock);
        }
        if std::os::unix::fs::chown(&path, Some(65_533), None).is_err() {
            eprintln!("SKIPPED: only root can give files to another user");
            return;
        }
        let refusal = words_in(&directory).unwrap_err();
        assert!(matches!(Refusal::of(&refusal), Some(Refusal::Owner { owner: 65_533, .. })));
    }
}
