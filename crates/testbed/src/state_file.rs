//! The state file: what the kernel cannot know about a bed.

use std::fs::{self, File};
use std::io::{self, Write};

use plimsoll_domain::{Bytes, Limit};
use serde::{Deserialize, Serialize};

use crate::error::file_error;
use crate::marker::{Marker, path_text};
use crate::place::Place;
use crate::{FileSystem, Kind, Limits, TargetName, TestbedError, small_file};

/// The version that this program writes. Raised when an older program would
/// misunderstand the file; new optional fields do not raise it.
const VERSION: u32 = 1;

const PREFACE: &str = "# Written by plimsoll testbed. Remove the bed with: plimsoll testbed down\n";

/// What the state file says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// The bed was made to the end.
    Complete,
    /// The bed was begun and not finished.
    Unfinished,
    /// There is none.
    Missing,
    /// It is damaged.
    Unreadable {
        /// In which way.
        reason: String,
    },
    /// It was written by a newer program.
    Newer {
        /// Its version.
        version: u32,
    },
}

/// The contents of the state file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) kind: Kind,
    pub(crate) file_system: FileSystem,
    pub(crate) size: Bytes,
    pub(crate) complete: bool,
    /// The limits of each target, by its index.
    pub(crate) targets: Vec<Limits>,
}

impl State {
    pub(crate) fn limits(&self, target: TargetName) -> Limits {
        self.targets.get(target.index() as usize).copied().unwrap_or_default()
    }

    pub(crate) fn set_limits(&mut self, target: TargetName, limits: Limits) {
        if let Some(slot) = self.targets.get_mut(target.index() as usize) {
            *slot = limits;
        }
    }

    /// Writes the file so that, whatever happens, either the old or the new one is there.
    pub(crate) fn save(&self, place: &Place) -> Result<(), TestbedError> {
        let (path, new) = (place.state_file(), place.new_state_file());
        let text = self
            .to_text(place)
            .map_err(|reason| TestbedError::State { path: path.clone(), reason })?;
        write_synced(&new, &text).map_err(file_error("write", &new))?;
        fs::rename(&new, &path).map_err(file_error("replace", &path))?;
        sync_directory(place)
    }

    fn to_text(&self, place: &Place) -> Result<String, String> {
        let targets = TargetName::first(self.targets.len() as u32).zip(&self.targets);
        let file = StateFile {
            version: VERSION,
            name: place.name().to_owned(),
            directory: path_text(&place.directory()),
            kind: self.kind,
            file_system: self.file_system,
            size: self.size.to_string(),
            complete: self.complete,
            target: targets.map(|(target, limits)| TargetEntry::new(target, limits)).collect(),
        };
        toml::to_string(&file).map(|text| format!("{PREFACE}{text}")).map_err(|e| e.to_string())
    }

    fn from_text(text: &str, place: &Place) -> Result<Self, Record> {
        let unreadable = |reason: String| Record::Unreadable { reason };
        let header: Header = toml::from_str(text).map_err(|e| unreadable(one_line(&e)))?;
        if header.version > VERSION {
            return Err(Record::Newer { version: header.version });
        }
        let file: StateFile = toml::from_str(text).map_err(|e| unreadable(one_line(&e)))?;
        if file.directory != path_text(&place.directory()) || file.name != place.name() {
            return Err(unreadable(format!("it is that of the bed in {}", file.directory)));
        }
        let limits = |entry: &TargetEntry| entry.limits().map_err(unreadable);
        Ok(Self {
            kind: file.kind,
            file_system: file.file_system,
            size: file.size.parse().map_err(|e| unreadable(format!("{e}")))?,
            complete: file.complete,
            targets: file.target.iter().map(limits).collect::<Result<_, _>>()?,
        })
    }
}

/// Reads the state file of the bed with that marker; when it cannot be used, why.
pub(crate) fn load(place: &Place, marker: Marker) -> (Option<State>, Record) {
    let text = match small_file::read(&place.state_file()) {
        Ok(text) => text,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return (None, Record::Missing),
        Err(cause) => return (None, Record::Unreadable { reason: cause.to_string() }),
    };
    let agrees =
        |state: &State| state.kind == marker.kind && state.targets.len() == marker.targets as usize;
    match State::from_text(&text, place) {
        Ok(state) if !agrees(&state) => {
            (None, Record::Unreadable { reason: "it contradicts the bed's marker".to_owned() })
        }
        Ok(state) if state.complete => (Some(state), Record::Complete),
        Ok(state) => (Some(state), Record::Unfinished),
        Err(record) => (None, record),
    }
}

/// Makes the names in the bed's directory durable.
pub(crate) fn sync_directory(place: &Place) -> Result<(), TestbedError> {
    let directory = place.directory();
    File::open(&directory)
        .and_then(|opened| opened.sync_all())
        .map_err(file_error("sync", directory))
}

/// Writes a new file to the disk in place of what may be there.
pub(crate) fn write_synced(path: &std::path::Path, text: &str) -> io::Result<()> {
    // A remainder of a killed process, or a symlink that must not be followed.
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
        _ => (),
    }
    let mut file = File::create_new(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// What is wrong with a file, in one line.
pub(crate) fn one_line(error: &toml::de::Error) -> String {
    error.message().lines().collect::<Vec<_>>().join(" ")
}

#[derive(Deserialize)]
struct Header {
    version: u32,
}

#[derive(Serialize, Deserialize)]
struct StateFile {
    version: u32,
    name: String,
    directory: String,
    kind: Kind,
    file_system: FileSystem,
    size: String,
    complete: bool,
    #[serde(default)]
    target: Vec<TargetEntry>,
}

#[derive(Serialize, Deserialize)]
struct TargetEntry {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    read_limit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    write_limit: Option<String>,
}

impl TargetEntry {
    fn new(target: TargetName, limits: &Limits) -> Self {
        let text = |limit: Limit| (!limit.is_none()).then(|| limit.to_string());
        let (read_limit, write_limit) = (text(limits.read), text(limits.write));
        Self { name: target.to_string(), read_limit, write_limit }
    }

    fn limits(&self) -> Result<Limits, String> {
        let limit = |text: &Option<String>| match text {
            Some(text) => text.parse::<Limit>().map_err(|error| error.to_string()),
            None => Ok(Limit::NONE),
        };
        Ok(Limits { read: limit(&self.read_limit)?, write: limit(&self.write_limit)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn state() -> State {
        let limits = Limits { read: Limit::NONE, write: "20MiB/s,200op/s".parse().unwrap() };
        State {
            kind: Kind::Loop,
            file_system: FileSystem::Ext4,
            size: Bytes::new(32 << 20),
            complete: true,
            targets: vec![Limits::NONE, limits],
        }
    }

    const MARKER: Marker = Marker { kind: Kind::Loop, targets: 2, made_directory: true };

    fn place(base: &std::path::Path) -> Place {
        Place::new(base, "bed").unwrap()
    }

    #[test]
    fn what_is_written_reads_back() {
        let base = tempfile::tempdir().unwrap();
        let place = place(base.path());
        assert_eq!(load(&place, MARKER), (None, Record::Missing));
        fs::create_dir(place.directory()).unwrap();
        state().save(&place).unwrap();
        assert_eq!(load(&place, MARKER), (Some(state()), Record::Complete));
        assert!(!place.new_state_file().exists());
    }

    #[test]
    fn a_file_of_another_bed_or_of_another_size_is_of_no_use() {
        let base = tempfile::tempdir().unwrap();
        let (own, other) = (place(base.path()), Place::new(base.path(), "other").unwrap());
        fs::create_dir(own.directory()).unwrap();
        fs::create_dir(other.directory()).unwrap();
        state().save(&own).unwrap();
        fs::copy(own.state_file(), other.state_file()).unwrap();
        let (loaded, record) = load(&other, MARKER);
        let Record::Unreadable { reason } = record else { panic!("{record:?}") };
        assert!(loaded.is_none() && reason.contains("/bed"), "{reason}");
        let (loaded, _) = load(&own, Marker { targets: 3, ..MARKER });
        assert_eq!(loaded, None);
    }

    #[test]
    fn damaged_and_newer_files_are_told_apart() {
        let place = place(std::path::Path::new("/var/tmp"));
        let text = state().to_text(&place).unwrap();
        for length in 0..text.trim_end().len() {
            let cut = State::from_text(&text[..length], &place);
            let is_damaged = matches!(cut, Err(Record::Unreadable { .. }));
            assert!(is_damaged || cut.is_ok(), "cut after {length} bytes: {cut:?}");
        }
        let newer = State::from_text("version = 7\nkind = \"tape\"\n", &place);
        assert_eq!(newer, Err(Record::Newer { version: 7 }));
        let with_more = State::from_text(&text.replace("kind", "colour = 1\nkind"), &place);
        assert_eq!(with_more, Ok(state()), "unknown fields are passed over");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(version = 1\n|[a-z_]+ = |\\[\\[target\\]\\]\n|.|\n){0,40}") {
            let _ = State::from_text(&text, &place(std::path::Path::new("/var/tmp")));
        }
    }
}
