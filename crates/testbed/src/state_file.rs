//! The state file: what the kernel cannot know about a bed.

use std::io;

use plimsoll_domain::{Bytes, Limit};
use plimsoll_guarded::Directory;
use plimsoll_machine::DeviceNumber;
use serde::{Deserialize, Serialize};

use crate::marker::{Marker, path_text};
use crate::place::{NEW_STATE_FILE, Place, STATE_FILE};
use crate::synced_file::{one_line, replace_synced, version_of};
use crate::{FileSystem, Kind, Limits, TargetName, TestbedError};

/// The version that this program writes. Raised when an older program would
/// misunderstand the file; new optional fields do not raise it.
const VERSION: u32 = 1;

const PREFACE: &str = "# Written by plimsoll testbed. Remove the bed with: plimsoll testbed down\n";

/// In which condition the state file of a bed is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileCondition {
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
    /// What was set for each target, by its index.
    pub(crate) targets: Vec<TargetSetting>,
}

/// What was set for a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TargetSetting {
    pub(crate) limits: Limits,
    /// The device that has the limits: they stay in the kernel when somebody detaches it.
    pub(crate) device: Option<DeviceNumber>,
}

impl State {
    pub(crate) fn limits(&self, target: TargetName) -> Limits {
        self.targets.get(target.index() as usize).copied().unwrap_or_default().limits
    }

    pub(crate) fn set_limits(&mut self, target: TargetName, limits: Limits, device: DeviceNumber) {
        let device = (!limits.is_none()).then_some(device);
        if let Some(slot) = self.targets.get_mut(target.index() as usize) {
            *slot = TargetSetting { limits, device };
        }
    }

    /// Writes the file so that, whatever happens, either the old or the new one is there.
    pub(crate) fn save(&self, bed: &Directory, place: &Place) -> Result<(), TestbedError> {
        let unwritable = |reason| TestbedError::State { path: place.state_file(), reason };
        let text = self.to_text(place).map_err(unwritable)?;
        replace_synced(bed, STATE_FILE, NEW_STATE_FILE, &text)
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
            target: targets.map(|(target, setting)| TargetEntry::new(target, setting)).collect(),
        };
        toml::to_string(&file).map(|text| format!("{PREFACE}{text}")).map_err(|e| e.to_string())
    }

    fn from_text(text: &str, place: &Place) -> Result<Self, FileCondition> {
        let unreadable = |reason: String| FileCondition::Unreadable { reason };
        let version = version_of(text).map_err(unreadable)?;
        if version > VERSION {
            return Err(FileCondition::Newer { version });
        }
        let file: StateFile = toml::from_str(text).map_err(|e| unreadable(one_line(&e)))?;
        if file.directory != path_text(&place.directory()) || file.name != place.name() {
            return Err(unreadable(format!("it is that of the bed in {}", file.directory)));
        }
        let setting = |entry: &TargetEntry| entry.setting().map_err(unreadable);
        Ok(Self {
            kind: file.kind,
            file_system: file.file_system,
            size: file.size.parse().map_err(|e| unreadable(format!("{e}")))?,
            complete: file.complete,
            targets: file.target.iter().map(setting).collect::<Result<_, _>>()?,
        })
    }
}

/// Reads the state file of the bed with that marker; when it cannot be used, why.
pub(crate) fn load(
    bed: &Directory,
    place: &Place,
    marker: Marker,
) -> (Option<State>, FileCondition) {
    let text = match bed.read_small(STATE_FILE) {
        Ok(text) => text,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            return (None, FileCondition::Missing);
        }
        Err(cause) => return (None, FileCondition::Unreadable { reason: cause.to_string() }),
    };
    let agrees =
        |state: &State| state.kind == marker.kind && state.targets.len() == marker.targets as usize;
    match State::from_text(&text, place) {
        Ok(state) if !agrees(&state) => (
            None,
            FileCondition::Unreadable { reason: "it contradicts the bed's marker".to_owned() },
        ),
        Ok(state) if state.complete => (Some(state), FileCondition::Complete),
        Ok(state) => (Some(state), FileCondition::Unfinished),
        Err(condition) => (None, condition),
    }
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
    /// The device that the limits were set for, such as "7:0".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limited_device: Option<String>,
}

impl TargetEntry {
    fn new(target: TargetName, setting: &TargetSetting) -> Self {
        let text = |limit: Limit| (!limit.is_none()).then(|| limit.to_string());
        let Limits { read, write } = setting.limits;
        Self {
            name: target.to_string(),
            read_limit: text(read),
            write_limit: text(write),
            limited_device: setting.device.map(|device| device.to_string()),
        }
    }

    fn setting(&self) -> Result<TargetSetting, String> {
        let limit = |text: &Option<String>| match text {
            Some(text) => text.parse::<Limit>().map_err(|error| error.to_string()),
            None => Ok(Limit::NONE),
        };
        let limits = Limits { read: limit(&self.read_limit)?, write: limit(&self.write_limit)? };
        let device = self.limited_device.as_ref().map(|text| text.parse()).transpose();
        Ok(TargetSetting { limits, device: device.map_err(|error| format!("{error}"))? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    fn state() -> State {
        let limits = Limits { read: Limit::NONE, write: "20MiB/s,200op/s".parse().unwrap() };
        State {
            kind: Kind::Loop,
            file_system: FileSystem::Ext4,
            size: Bytes::new(32 << 20),
            complete: true,
            targets: vec![
                TargetSetting::default(),
                TargetSetting { limits, device: Some(DeviceNumber { major: 7, minor: 3 }) },
            ],
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
        fs::create_dir(place.directory()).unwrap();
        let bed = Directory::open(&place.directory()).unwrap();
        assert_eq!(load(&bed, &place, MARKER), (None, FileCondition::Missing));
        state().save(&bed, &place).unwrap();
        assert_eq!(load(&bed, &place, MARKER), (Some(state()), FileCondition::Complete));
        assert_eq!(bed.names().unwrap(), [STATE_FILE]);
    }

    #[test]
    fn a_file_of_another_bed_or_of_another_size_is_of_no_use() {
        let base = tempfile::tempdir().unwrap();
        let (own, other) = (place(base.path()), Place::new(base.path(), "other").unwrap());
        fs::create_dir(own.directory()).unwrap();
        fs::create_dir(other.directory()).unwrap();
        let [own_bed, other_bed] =
            [&own, &other].map(|place| Directory::open(&place.directory()).unwrap());
        state().save(&own_bed, &own).unwrap();
        fs::copy(own.state_file(), other.state_file()).unwrap();
        let (loaded, condition) = load(&other_bed, &other, MARKER);
        let FileCondition::Unreadable { reason } = condition else { panic!("{condition:?}") };
        assert!(loaded.is_none() && reason.contains("/bed"), "{reason}");
        let (loaded, _) = load(&own_bed, &own, Marker { targets: 3, ..MARKER });
        assert_eq!(loaded, None);
    }

    #[test]
    fn damaged_and_newer_files_are_told_apart() {
        let place = place(std::path::Path::new("/var/tmp"));
        let text = state().to_text(&place).unwrap();
        for length in 0..text.trim_end().len() {
            let cut = State::from_text(&text[..length], &place);
            let is_damaged = matches!(cut, Err(FileCondition::Unreadable { .. }));
            assert!(is_damaged || cut.is_ok(), "cut after {length} bytes: {cut:?}");
        }
        let newer = State::from_text("version = 7\nkind = \"tape\"\n", &place);
        assert_eq!(newer, Err(FileCondition::Newer { version: 7 }));
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
