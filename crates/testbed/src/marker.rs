//! The marker: the file that makes a directory a bed, and says which one.
//!
//! It is written before anything else of a bed and removed after everything else. It
//! names the directory that it is for, so that a copy of a bed is not mistaken for one.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use plimsoll_guarded::{Directory, acting_user};
use serde::{Deserialize, Serialize};

use crate::error::file_error;
use crate::place::{MARKER, NEW_MARKER, Place};
use crate::synced_file::{one_line, replace_synced, version_of};
use crate::{Kind, TestbedError};

/// The version that this program writes; raised when an older program would
/// misunderstand the file.
const VERSION: u32 = 1;

const PREFACE: &str = "# Marks a test bed. Remove the bed with: plimsoll testbed down\n";

/// What the marker says of a bed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marker {
    pub(crate) kind: Kind,
    /// How many targets the bed has, or would have if it were finished.
    pub(crate) targets: u32,
    /// True when the bed's directory was not there before.
    pub(crate) made_directory: bool,
}

/// Whether a directory is a bed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mark {
    /// It is.
    Own(Marker),
    /// It has no marker.
    None,
    /// It has one that is not its own or cannot be used.
    Foreign {
        /// Why.
        reason: String,
    },
}

impl Mark {
    /// Returns the marker of a directory that is a bed.
    pub(crate) fn own(&self) -> Option<Marker> {
        match self {
            Self::Own(marker) => Some(*marker),
            Self::None | Self::Foreign { .. } => None,
        }
    }

    /// Reads the marker of the bed at that place, if its directory is there.
    pub(crate) fn read(bed: Option<&Directory>, place: &Place) -> Self {
        let Some(bed) = bed else { return Self::None };
        let text = match bed.read_small(MARKER) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Self::None,
            Err(cause) => return foreign(&cause),
            Ok(text) => text,
        };
        understood(&text, bed, place).map_or_else(|reason| foreign(&reason), Self::Own)
    }
}

fn foreign(reason: &impl std::fmt::Display) -> Mark {
    Mark::Foreign { reason: format!("its marker {MARKER} is of no use: {reason}") }
}

fn understood(text: &str, bed: &Directory, place: &Place) -> Result<Marker, String> {
    let damaged = |error: toml::de::Error| one_line(&error);
    let version = version_of(text)?;
    if version > VERSION {
        return Err(format!("written by a newer program (version {version})"));
    }
    let file: MarkerFile = toml::from_str(text).map_err(damaged)?;
    let directory = place.directory();
    if file.directory != path_text(&directory) || file.name != place.name() {
        return Err(format!("it is that of the bed in {}", file.directory));
    }
    let owner = bed.facts().map_err(|cause| cause.to_string())?.st_uid;
    if file.owner != owner {
        return Err(format!("user {} made it, but the directory is user {owner}'s", file.owner));
    }
    Ok(Marker { kind: file.kind, targets: file.targets, made_directory: file.made_directory })
}

impl Marker {
    /// Writes the marker so that it is either there in full or not at all.
    pub(crate) fn write(self, bed: &Directory, place: &Place) -> Result<(), TestbedError> {
        let text = self.to_text(place).map_err(file_error("write", bed.path().join(MARKER)))?;
        replace_synced(bed, MARKER, NEW_MARKER, &text)
    }

    fn to_text(self, place: &Place) -> io::Result<String> {
        let file = MarkerFile {
            version: VERSION,
            name: place.name().to_owned(),
            directory: path_text(&place.directory()),
            owner: acting_user(),
            kind: self.kind,
            targets: self.targets,
            made_directory: self.made_directory,
        };
        let text = toml::to_string(&file).map_err(io::Error::other)?;
        Ok(format!("{PREFACE}{text}"))
    }
}

/// Returns a path as text that no other path has.
pub(crate) fn path_text(path: &Path) -> String {
    path.as_os_str().as_bytes().escape_ascii().to_string()
}

#[derive(Serialize, Deserialize)]
struct MarkerFile {
    version: u32,
    name: String,
    directory: String,
    owner: u32,
    kind: Kind,
    targets: u32,
    made_directory: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const MARKER_OF_TWO: Marker = Marker { kind: Kind::Loop, targets: 2, made_directory: true };

    fn marked() -> (tempfile::TempDir, Place) {
        let base = tempfile::tempdir().unwrap();
        let place = Place::new(base.path(), "bed").unwrap();
        fs::create_dir(place.directory()).unwrap();
        MARKER_OF_TWO.write(&Directory::open(&place.directory()).unwrap(), &place).unwrap();
        (base, place)
    }

    fn read(place: &Place) -> Mark {
        Mark::read(Directory::open(&place.directory()).ok().as_ref(), place)
    }

    fn marker(place: &Place) -> std::path::PathBuf {
        place.directory().join(MARKER)
    }

    fn reason(place: &Place) -> String {
        match read(place) {
            Mark::Foreign { reason } => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let (_base, place) = marked();
        assert_eq!(read(&place), Mark::Own(MARKER_OF_TWO));
        assert!(!place.directory().join(NEW_MARKER).exists());
        fs::remove_file(marker(&place)).unwrap();
        assert_eq!(read(&place), Mark::None);
        fs::remove_dir(place.directory()).unwrap();
        assert_eq!(read(&place), Mark::None);
    }

    #[test]
    fn a_copy_is_not_the_bed() {
        let (base, place) = marked();
        let copy = Place::new(base.path(), "copy").unwrap();
        fs::create_dir(copy.directory()).unwrap();
        fs::copy(marker(&place), marker(&copy)).unwrap();
        assert!(reason(&copy).contains("/bed"), "{}", reason(&copy));
    }

    #[test]
    fn a_damaged_a_newer_and_a_foreign_marker_are_of_no_use() {
        let (_base, place) = marked();
        let text = fs::read_to_string(marker(&place)).unwrap();
        for length in 0..text.len() - 1 {
            fs::write(marker(&place), &text[..length]).unwrap();
            let cut = read(&place);
            assert!(matches!(cut, Mark::Foreign { .. }), "cut after {length} bytes: {cut:?}");
        }
        fs::write(marker(&place), "version = 9\n").unwrap();
        assert!(reason(&place).contains("version 9"), "{}", reason(&place));
        let owner = format!("owner = {}", rustix::process::geteuid().as_raw());
        fs::write(marker(&place), text.replace(&owner, "owner = 4242")).unwrap();
        assert!(reason(&place).contains("user 4242"), "{}", reason(&place));
        fs::remove_file(marker(&place)).unwrap();
        fs::create_dir(marker(&place)).unwrap();
        assert!(reason(&place).contains("not a regular file"), "{}", reason(&place));
    }
}
