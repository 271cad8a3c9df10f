//! Where a site file, or one of settings, is looked for when none is named.

use std::path::{Path, PathBuf};

use plimsoll_guarded::{Untrusted, is_mine_or_roots, is_there, open_trusted_file};

/// What a site file is called.
pub const FILE_NAME: &str = "site.toml";

/// Whose site file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// That of the working directory or of one above it.
    Project,
    /// The user's own.
    User,
    /// That of the machine.
    System,
}

impl Origin {
    /// Returns it in words.
    pub const fn words(self) -> &'static str {
        match self {
            Origin::Project => "of this directory or one above it",
            Origin::User => "the user's",
            Origin::System => "the system's",
        }
    }
}

/// A file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// Where it is.
    pub path: PathBuf,
    /// Whose it is.
    pub origin: Origin,
}

/// Where to look.
#[derive(Debug, Clone)]
pub struct SearchPath {
    /// The working directory.
    pub here: PathBuf,
    /// The user's directory of settings.
    pub user: Option<PathBuf>,
    /// The machine's.
    pub system: PathBuf,
}

impl SearchPath {
    /// Returns the places of this process: its working directory, XDG_CONFIG_HOME or ~/.config, and /etc.
    pub fn of_process() -> Self {
        let variable = |name| std::env::var_os(name).map(PathBuf::from);
        let absolute = |path: PathBuf| path.is_absolute().then_some(path);
        let home = || variable("HOME").and_then(absolute).map(|home| home.join(".config"));
        SearchPath {
            here: std::env::current_dir().unwrap_or_default(),
            user: variable("XDG_CONFIG_HOME").and_then(absolute).or_else(home),
            system: PathBuf::from("/etc"),
        }
    }

    /// Returns the site file of the project, or else the user's, or else the system's.
    pub fn find(&self) -> Option<FoundFile> {
        self.find_each(FILE_NAME).into_iter().next()
    }

    /// Returns the nearest file of that name in the working directory or one above it that is passed over, if it is nearer than the one
    /// that is found.
    pub fn passed_over(&self, name: &str) -> Option<PassedOver> {
        let paths = self.here.ancestors().map(|it| it.join(name));
        let mut passed =
            paths.take_while(|path| !is_own(path)).filter(|it| is_there(it).is_ok_and(|it| it));
        let path = passed.next()?;
        open_trusted_file(&path).err().map(|cause| PassedOver { path, cause })
    }

    /// Returns the file of that name of the project, the user and the system, as far as there are such files. Files that others
    /// than this user and root have made or put there, may change or may exchange are passed over, so what is found is still
    /// the same when it is opened by its path.
    pub fn find_each(&self, name: &str) -> Vec<FoundFile> {
        let project = || self.here.ancestors().map(|it| it.join(name)).find(is_own);
        let below = |directory: &Path| directory.join("plimsoll").join(name);
        let user = || self.user.as_deref().map(below).filter(is_own);
        let system = || Some(below(&self.system)).filter(is_trusted);
        let found =
            [(project(), Origin::Project), (user(), Origin::User), (system(), Origin::System)];
        let named =
            |(path, origin): (Option<PathBuf>, Origin)| Some(FoundFile { path: path?, origin });
        found.into_iter().filter_map(named).collect()
    }
}

/// Why a file is not used that is nearer than the one that was found.
#[derive(Debug)]
pub struct PassedOver {
    /// Where it is.
    pub path: PathBuf,
    /// Who could have put it there, or could change it.
    pub cause: Untrusted,
}

/// In a container for one user, all others are shown alike, root among them: their files may be root's in a directory of the
/// system, and anybody's elsewhere.
#[allow(clippy::ptr_arg, reason = "what filters of paths are given")]
fn is_own(path: &PathBuf) -> bool {
    open_trusted_file(path).is_ok_and(|file| is_mine_or_roots(&file))
}

#[allow(clippy::ptr_arg, reason = "what filters of paths are given")]
fn is_trusted(path: &PathBuf) -> bool {
    open_trusted_file(path).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown};

    #[test]
    fn the_nearest_comes_first_and_strangers_are_passed_over() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let at = |path: &str| folder.path().join(path);
        for directory in ["work/run/1", "config/plimsoll", "etc/plimsoll"] {
            fs::create_dir_all(at(directory)).unwrap();
        }
        let path =
            SearchPath { here: at("work/run/1"), user: Some(at("config")), system: at("etc") };
        let found = |origin| path.find().filter(|it| it.origin == origin).map(|it| it.path);
        assert_eq!(path.find(), None);
        assert!(path.passed_over(FILE_NAME).is_none(), "there is none");
        for (name, origin) in [
            ("etc/plimsoll/site.toml", Origin::System),
            ("config/plimsoll/site.toml", Origin::User),
            ("work/site.toml", Origin::Project),
            ("work/run/1/site.toml", Origin::Project),
        ] {
            fs::write(at(name), "version = 1").unwrap();
            assert_eq!(found(origin), Some(at(name)));
        }
        fs::set_permissions(at("work/run/1/site.toml"), fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(
            found(Origin::Project),
            Some(at("work/site.toml")),
            "anybody may change the other"
        );
        let passed = path.passed_over(FILE_NAME).unwrap();
        assert_eq!(passed.path, at("work/run/1/site.toml"));
        assert!(passed.cause.to_string().starts_with("everyone can write to "), "{}", passed.cause);
        fs::set_permissions(at("work"), fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(found(Origin::Project), None, "anybody may exchange it");
        fs::set_permissions(at("work"), fs::Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(found(Origin::Project), None, "anybody may have moved it there");
        fs::set_permissions(at("work"), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(found(Origin::Project), Some(at("work/site.toml")));
        fs::remove_file(at("work/site.toml")).unwrap();
        std::os::unix::fs::symlink(at("etc/plimsoll/site.toml"), at("work/site.toml")).unwrap();
        assert_eq!(
            found(Origin::User),
            Some(at("config/plimsoll/site.toml")),
            "a link may lead anywhere"
        );
        if chown(at("config/plimsoll/site.toml"), Some(65_533), None).is_err() {
            println!("SKIPPED: a file of somebody else needs root");
            return;
        }
        assert_eq!(found(Origin::System), Some(at("etc/plimsoll/site.toml")));
    }
}
