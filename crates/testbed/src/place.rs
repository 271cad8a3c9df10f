//! Where the files of a bed are.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use plimsoll_guarded::{Directory, Refusal};

use crate::{TargetName, TestbedError};

/// Others may look into the directories of a bed but not change them.
pub(crate) const DIRECTORY_MODE: u32 = 0o755;

/// The file that marks a directory as a test bed.
pub(crate) const MARKER: &str = ".plimsoll-testbed";
/// The marker while it is written.
pub(crate) const NEW_MARKER: &str = ".plimsoll-testbed.new";
pub(crate) const STATE_FILE: &str = "testbed.toml";
/// The state file while it is written.
pub(crate) const NEW_STATE_FILE: &str = "testbed.toml.new";

/// The files that belong to a bed and to no target; the marker last.
pub(crate) const BOOKKEEPING: [&str; 4] = [NEW_STATE_FILE, STATE_FILE, NEW_MARKER, MARKER];

const LONGEST_NAME: usize = 64;

/// The paths of one bed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// As the user named it.
    given: PathBuf,
    base: PathBuf,
    name: String,
}

impl Place {
    /// Returns the bed of that name in that base directory. Paths are made free of symlinks,
    /// as the kernel names backing files and mount points.
    pub(crate) fn new(base: &Path, name: &str) -> Result<Self, TestbedError> {
        if !is_good_name(name) {
            return Err(TestbedError::BedName { name: name.to_owned() });
        }
        let refuse = |reason: String| TestbedError::Base { base: base.to_path_buf(), reason };
        let resolved = resolve(base).map_err(|cause| refuse(cause.to_string()))?;
        let has = |bad: fn(&u8) -> bool| resolved.as_os_str().as_bytes().iter().any(bad);
        if has(|byte| *byte == b':') {
            return Err(refuse("a colon separates paths in PLIMSOLL_TARGETS".to_owned()));
        }
        if has(u8::is_ascii_control) {
            return Err(refuse("it has a control character in its name".to_owned()));
        }
        Ok(Self { given: base.to_path_buf(), base: resolved, name: name.to_owned() })
    }

    /// Returns the base directory as the user named it, links included.
    pub(crate) fn given_base(&self) -> &Path {
        &self.given
    }

    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the bed's own directory.
    pub(crate) fn directory(&self) -> PathBuf {
        self.base.join(&self.name)
    }

    /// Returns the name of the lock file, which lies beside the bed's directory, as it must outlive it.
    pub(crate) fn lock_name(&self) -> String {
        format!(".{}.lock", self.name)
    }

    pub(crate) fn lock_file(&self) -> PathBuf {
        self.base.join(self.lock_name())
    }

    pub(crate) fn state_file(&self) -> PathBuf {
        self.directory().join(STATE_FILE)
    }

    /// Returns the backing file of a target.
    pub(crate) fn image(&self, target: TargetName) -> PathBuf {
        self.directory().join(target.image_name())
    }

    /// Returns the directory of a target, on which its file system is mounted.
    pub(crate) fn point(&self, target: TargetName) -> PathBuf {
        self.directory().join(target.to_string())
    }

    /// Returns the target whose backing file this is.
    pub(crate) fn target_of_image(&self, file: &Path) -> Option<TargetName> {
        (file.parent() == Some(&self.directory())).then_some(())?;
        TargetName::of_image(file.file_name()?)
    }
}

/// Paths for a message.
pub(crate) fn listed(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    names.join(", ")
}

fn is_good_name(name: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !name.is_empty()
        && name.len() <= LONGEST_NAME
        && name.chars().all(good)
        && !name.starts_with(['.', '-'])
}

/// Returns the path without symlinks, although its last parts may not exist (any more).
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    if absolute.components().any(|part| part == Component::ParentDir) {
        return without_links(&absolute);
    }
    let mut missing = Vec::new();
    let mut existing = absolute.as_path();
    loop {
        match without_links(existing) {
            // Every command refuses it, each in its words.
            Err(cause) if is_served_by_others(&cause) => return Ok(absolute),
            Ok(real) => return Ok(missing.iter().rev().fold(real, |path, part| path.join(part))),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                missing.push(existing.file_name().ok_or(cause)?);
                existing = existing.parent().unwrap_or(Path::new("/"));
            }
            Err(cause) => return Err(cause),
        }
    }
}

/// What another user serves is not asked for links.
fn without_links(path: &Path) -> io::Result<PathBuf> {
    match Directory::open_by_own_links(path).and_then(Directory::with_whole_path) {
        Ok(directory) => Ok(directory.path().to_path_buf()),
        // Wherever a link of somebody else leads, nobody goes.
        Err(cause) if matches!(Refusal::of(&cause), Some(Refusal::LinkOf { .. })) => {
            std::path::absolute(path)
        }
        Err(cause) => Err(cause),
    }
}

fn is_served_by_others(cause: &io::Error) -> bool {
    matches!(Refusal::of(cause), Some(Refusal::ServedBy { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_plain_file_name() {
        for name in ["default", "bench-2", "a.b_c", "7"] {
            assert!(Place::new(Path::new("/var/tmp"), name).is_ok(), "{name:?}");
        }
        for name in ["", ".", "..", ".x", "-x", "a/b", "a b", "a:b", "ü", &"x".repeat(65)] {
            assert!(Place::new(Path::new("/var/tmp"), name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn symlinks_are_resolved_also_above_what_is_missing() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("disk")).unwrap();
        std::os::unix::fs::symlink(real.join("disk"), real.join("link")).unwrap();
        let place = Place::new(&real.join("link/not/yet"), "bed").unwrap();
        assert_eq!(place.directory(), real.join("disk/not/yet/bed"));
    }

    #[test]
    fn a_colon_or_a_control_character_is_refused() {
        let refused = |base: &str| Place::new(Path::new(base), "bed").unwrap_err().to_string();
        assert!(refused("/var/tmp/a:b").contains("PLIMSOLL_TARGETS"));
        for base in ["/var/tmp/a\nb", "/var/tmp/a\u{1b}[31m", "/var/tmp/\u{7f}"] {
            assert!(refused(base).contains("control character"), "{base:?}");
            assert!(!refused(base).contains(char::is_control), "{base:?}");
        }
    }

    #[test]
    fn knows_its_own_images_only() {
        let place = Place::new(Path::new("/var/tmp"), "bed").unwrap();
        let target = TargetName::new(3).unwrap();
        assert_eq!(place.target_of_image(&place.image(target)), Some(target));
        assert_eq!(place.target_of_image(Path::new("/elsewhere/t3.img")), None);
        assert_eq!(place.target_of_image(&place.directory().join("deep/t3.img")), None);
    }
}
