//! Programs, found by searching the directories of PATH.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::Machine;

/// Where programs for administrators live; often not in an ordinary user's PATH
/// (Filesystem Hierarchy Standard 3.0, sections 3.16, 4.10 and 4.9.1).
const ADMINISTRATOR_DIRECTORIES: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

impl Machine {
    /// Returns the program of that name in PATH, as the shell would find it.
    ///
    /// Only absolute directories of PATH are searched: what "." holds depends on
    /// where the caller stands.
    pub fn find_program(&self, name: impl AsRef<OsStr>) -> Option<PathBuf> {
        let directories = std::env::split_paths(self.search_path()).collect::<Vec<_>>();
        self.search(name.as_ref(), &directories)
    }

    /// Returns the program of that name in PATH or, after it, in the directories for
    /// administrators (`/usr/sbin` and the like), where mkfs and losetup live.
    pub fn find_system_program(&self, name: impl AsRef<OsStr>) -> Option<PathBuf> {
        self.find_program(&name)
            .or_else(|| self.search(name.as_ref(), &ADMINISTRATOR_DIRECTORIES.map(PathBuf::from)))
    }

    fn search(&self, name: &OsStr, directories: &[PathBuf]) -> Option<PathBuf> {
        if name.is_empty() || Path::new(name).components().count() != 1 {
            return None;
        }
        directories
            .iter()
            .filter(|directory| directory.is_absolute())
            .map(|directory| directory.join(name))
            .find(|candidate| is_executable_file(&self.locate(candidate)))
    }
}

fn is_executable_file(path: &Path) -> bool {
    const ANY_EXECUTE_BIT: u32 = 0o111;
    std::fs::metadata(path).is_ok_and(|metadata| {
        metadata.is_file() && metadata.permissions().mode() & ANY_EXECUTE_BIT != 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn install(root: &Path, path: &str, mode: u32) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn finds_the_first_executable_file() {
        let root = tempfile::tempdir().unwrap();
        install(root.path(), "one/tool", 0o644);
        install(root.path(), "two/tool", 0o755);
        install(root.path(), "usr/sbin/mkfs.ext4", 0o755);
        fs::create_dir_all(root.path().join("one/directory")).unwrap();
        let machine = Machine::at(root.path(), ".::/one:/two");
        assert_eq!(machine.find_program("tool"), Some("/two/tool".into()));
        assert_eq!(machine.find_program("directory"), None);
        assert_eq!(machine.find_program("mkfs.ext4"), None);
        assert_eq!(machine.find_system_program("mkfs.ext4"), Some("/usr/sbin/mkfs.ext4".into()));
    }

    #[test]
    fn a_path_is_not_a_name() {
        let root = tempfile::tempdir().unwrap();
        install(root.path(), "two/tool", 0o755);
        let machine = Machine::at(root.path(), "/two:/");
        for name in ["", "two/tool", "../two/tool", "/two/tool", ".."] {
            assert_eq!(machine.find_program(name), None, "{name:?}");
        }
    }
}
