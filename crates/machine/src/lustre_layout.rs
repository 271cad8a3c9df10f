//! How files lie on the targets of Lustre.
//!
//! Paths come from recordings, which may be somebody else's and name anything: what another user serves (FUSE) and never answers, or what is
//! mounted when it is looked at. So the list of mounts is asked first, and nothing but what is below a mount of Lustre is looked up:
//! step by step from there, over no links and to no other mount.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use plimsoll_guarded::Directory;
use plimsoll_lustre::{LAYOUT_ATTRIBUTE, LAYOUT_BYTES_MAX, LayoutHead, SUPER_MAGIC, StripedLayout};
use rustix::fs::{fstatfs, getxattr};

use crate::Machine;

/// Files on the Lustre file systems that are mounted.
#[derive(Debug, Default)]
pub struct LustreFiles {
    points: Vec<PathBuf>,
}

impl LustreFiles {
    /// Returns those of a machine, as its list of mounts says now: none where there is no list.
    pub fn of(machine: &Machine) -> Self {
        let mounts = machine.lustre_mounts().unwrap_or_default();
        LustreFiles { points: mounts.into_iter().map(|it| it.point).collect() }
    }

    /// Returns the layout of a file; `None` if there is none: not Lustre, no such file, not ours to read.
    pub fn layout(&self, path: &Path) -> Option<LayoutHead> {
        LayoutHead::parse(&self.attribute(path)?)
    }

    /// Returns the targets of a file, in the order of its stripes; `None` as above, and if the layout is not the same all over the file.
    pub fn stripes(&self, path: &Path) -> Option<StripedLayout> {
        StripedLayout::parse(&self.attribute(path)?)
    }

    fn attribute(&self, path: &Path) -> Option<Vec<u8>> {
        let below = self.points.iter().filter(|it| path.starts_with(it));
        let point = below.max_by_key(|it| it.components().count())?;
        let mount = Directory::open_by_own_links(point).ok()?;
        fstatfs(&mount).ok().filter(|it| it.f_type as u64 == SUPER_MAGIC)?;
        let file = held_below(mount, path.strip_prefix(point).ok()?).ok()?;
        let mut attribute = vec![0u8; LAYOUT_BYTES_MAX];
        let held = format!("/proc/self/fd/{}", file.as_raw_fd());
        let length = getxattr(held, LAYOUT_ATTRIBUTE, &mut attribute[..]).ok()?;
        attribute.truncate(length);
        Some(attribute)
    }
}

/// Holds a file below a directory, without opening it, if it is on the same mount and no link leads there.
fn held_below(directory: Directory, path: &Path) -> io::Result<OwnedFd> {
    let mut at = directory;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else { break };
        if parts.peek().is_none() {
            return at.held_not_mounted(name);
        }
        at = at.child_not_mounted(name)?;
    }
    Err(io::ErrorKind::InvalidInput.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn elsewhere_files_have_none() {
        let files = LustreFiles::of(&Machine::host());
        for path in ["/", "/nowhere", "relative", ""] {
            assert_eq!(files.layout(Path::new(path)), None, "{path}");
            assert_eq!(files.stripes(Path::new(path)), None, "{path}");
        }
        // The list of mounts is not of this moment.
        let stale = LustreFiles { points: vec!["/".into(), "/nowhere".into()] };
        assert_eq!(stale.layout(Path::new("/etc/hostname")), None);
        assert_eq!(stale.layout(Path::new("/nowhere/x")), None);
    }

    #[test]
    fn files_are_found_below_a_mount_over_no_links() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("inner")).unwrap();
        fs::write(folder.path().join("inner/file"), "").unwrap();
        symlink("inner", folder.path().join("link")).unwrap();
        let held = |path: &str| {
            let file = held_below(Directory::open(folder.path()).unwrap(), Path::new(path));
            file.map(|it| fs::File::from(it).metadata().unwrap().ino()).ok()
        };
        let expected = fs::metadata(folder.path().join("inner/file")).unwrap().ino();
        assert_eq!(held("inner/file"), Some(expected));
        for path in ["", "link/file", "inner/../inner/file", "inner/none", "/etc/hostname"] {
            assert_eq!(held(path), None, "{path}");
        }
        let proc = Directory::open(Path::new("/")).unwrap();
        assert!(held_below(proc, Path::new("proc/self/status")).is_err(), "another mount");
        let proc = Directory::open(Path::new("/")).unwrap();
        assert!(held_below(proc, Path::new("proc")).is_err(), "another mount");
    }
}
