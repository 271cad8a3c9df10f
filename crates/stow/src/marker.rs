//! The marker: what format a container has, and its id.

use std::io::{self, ErrorKind};

use plimsoll_guarded::{Directory, Refusal};

use crate::Id;
use crate::header::FORMAT_VERSION;

/// The file that tells a container from other directories.
pub const MARKER: &str = "plimsoll-container";

const FIRST_WORDS: &str = "plimsoll container";

/// Returns what the marker of a new container says.
pub fn text(id: Id) -> String {
    format!("{}\nid {id}\n", first_line())
}

/// Returns whether this is the marker of a container, of whatever format.
pub fn is_one(text: &str) -> bool {
    text.starts_with(FIRST_WORDS)
}

fn first_line() -> String {
    format!("{FIRST_WORDS} {FORMAT_VERSION}")
}

/// Reads the marker.
///
/// # Errors
/// Says what is wrong with it.
pub fn id_in(marker: &str) -> Result<Id, String> {
    let mut lines = marker.lines();
    let first = lines.next().unwrap_or_default();
    if first != first_line() {
        return Err(match first.strip_prefix(FIRST_WORDS) {
            Some(version) => {
                format!("it has format{version}, and this program knows {FORMAT_VERSION}")
            }
            None => format!("its {MARKER} has other words"),
        });
    }
    let id = lines.next().and_then(|line| line.strip_prefix("id ")).and_then(Id::parse);
    id.ok_or_else(|| format!("its {MARKER} has no id"))
}

/// Returns the id of the container that a directory is; `None` if it has no marker, and so is none.
///
/// # Errors
/// If nobody can tell, as the marker cannot be read at this moment, or says nothing that is understood.
pub fn id_of(directory: &Directory) -> io::Result<Option<Id>> {
    match directory.read_small(MARKER) {
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
        let newer = id_in("plimsoll container 2\n").unwrap_err();
        assert_eq!(newer, "it has format 2, and this program knows 1");
        assert!(id_in("").unwrap_err().contains("other words"));
        assert!(id_in("plimsoll container 1\nid ../..\n").unwrap_err().contains("no id"));
    }
}
