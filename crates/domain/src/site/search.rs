//! Where a site file is looked for when none is named.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use plimsoll_guarded::acting_user;

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

/// A site file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSite {
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

    /// Returns the site file of the project, or else the user's, or else the system's. Files that others than this
    /// user and root have made, may change or may exchange are passed over.
    pub fn find(&self) -> Option<FoundSite> {
        let project = self.here.ancestors().map(|it| (it.join(FILE_NAME), Origin::Project));
        let settings = |directory: &Path| directory.join("plimsoll").join(FILE_NAME);
        let user = self.user.iter().map(|it| (settings(it), Origin::User));
        let system = std::iter::once((settings(&self.system), Origin::System));
        let mut places = project.chain(user).chain(system);
        places.find(|(path, _)| is_trusted(path)).map(|(path, origin)| FoundSite { path, origin })
    }
}

fn is_trusted(path: &Path) -> bool {
    let me = acting_user();
    let is_ours = |facts: &std::fs::Metadata| [0, me].contains(&facts.uid());
    let is_closed = |facts: &std::fs::Metadata| facts.mode() & 0o002 == 0;
    let is_sticky = |facts: &std::fs::Metadata| facts.mode() & 0o1000 != 0;
    let file = std::fs::symlink_metadata(path);
    let directory = path.parent().and_then(|it| std::fs::metadata(it).ok());
    file.is_ok_and(|it| it.is_file() && is_ours(&it) && is_closed(&it))
        && directory.is_some_and(|it| is_ours(&it) && (is_closed(&it) || is_sticky(&it)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown};

    #[test]
    fn the_nearest_comes_first_and_strangers_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for directory in ["work/run/1", "config/plimsoll", "etc/plimsoll"] {
            fs::create_dir_all(at(directory)).unwrap();
        }
        let path =
            SearchPath { here: at("work/run/1"), user: Some(at("config")), system: at("etc") };
        let found = |origin| path.find().filter(|it| it.origin == origin).map(|it| it.path);
        assert_eq!(path.find(), None);
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
        fs::set_permissions(at("work"), fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(found(Origin::Project), None, "anybody may exchange it");
        fs::set_permissions(at("work"), fs::Permissions::from_mode(0o1777)).unwrap();
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
