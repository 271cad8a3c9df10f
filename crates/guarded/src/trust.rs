//! Directories that no other user can replace, nor anything above them.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Stat, readlinkat};
use thiserror::Error;

use crate::access_list::has_list;
use crate::{Directory, Refusal, acting_user};

const ROOT: u32 = 0;
const STICKY: u32 = 0o1000;
const GROUP_WRITES: u32 = 0o020;
pub(crate) const EVERYONE_WRITES: u32 = 0o002;

/// As many as the kernel follows (MAXSYMLINKS in include/linux/namei.h).
const LINKS_MAX: usize = 40;

/// A directory that nobody else can replace, and the part of its path that does not exist yet.
#[derive(Debug)]
pub struct Trusted {
    /// The last one that is there. Its path has no links.
    pub directory: Directory,
    /// The names below it that are missing.
    pub missing: Vec<OsString>,
}

impl Trusted {
    /// Returns the whole path, without links.
    pub fn path(&self) -> PathBuf {
        self.missing.iter().fold(self.directory.path().to_path_buf(), |path, name| path.join(name))
    }
}

/// Who could replace a directory.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each variant's message names its fields")]
pub enum Untrusted {
    /// Its owner.
    #[error("{} belongs to user {owner}, who could exchange what is in it", path.display())]
    Owner { path: PathBuf, owner: u32 },
    /// The members of its group.
    #[error("group {group} can write to {} (mode {mode:o})", path.display())]
    Group { path: PathBuf, group: u32, mode: u32 },
    /// Everyone.
    #[error("everyone can write to {} (mode {mode:o})", path.display())]
    Everyone { path: PathBuf, mode: u32 },
    /// The owner of a link on the way.
    #[error("{} is a symlink of user {owner}", path.display())]
    Link { path: PathBuf, owner: u32 },
    /// Who mounted it (FUSE).
    #[error("{} is a file system of user {user}, who says what is in it", path.display())]
    Served { path: PathBuf, user: u32 },
    /// It cannot be looked at.
    #[error("cannot open {}: {cause}", path.display())]
    File { path: PathBuf, cause: io::Error },
}

impl Untrusted {
    /// Why something cannot be opened.
    pub(crate) fn of(path: &Path, cause: io::Error) -> Self {
        let path = path.to_path_buf();
        match Refusal::of(&cause) {
            Some(Refusal::ServedBy { user }) => Untrusted::Served { path, user },
            _ => Untrusted::File { path, cause },
        }
    }
}

/// Opens a directory step by step from the root, and makes sure at each step that only this user and
/// root could replace what comes next: directories and links belong to them, and nobody else may
/// write to a directory unless it is sticky, like `/tmp`. Returns what is missing at the end.
///
/// # Errors
/// With the first step at which somebody else could.
pub fn open_trusted(path: &Path) -> Result<Trusted, Untrusted> {
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |cause: io::Error| Untrusted::of(&path, cause)
    };
    let absolute = std::path::absolute(path).map_err(failed(path))?;
    let mut pending = parts(&absolute);
    let mut chain = vec![root()?];
    let mut links = 0;
    while let Some(part) = pending.pop_front() {
        let Some(here) = chain.last() else { break };
        let name = match part {
            Part::Root => {
                chain.truncate(1);
                continue;
            }
            Part::Up => {
                chain.truncate((chain.len() - 1).max(1));
                continue;
            }
            Part::Down(name) => name,
        };
        let below = here.path().join(&name);
        match step(here, &name).map_err(failed(&below))? {
            Step::Directory(next, facts) => {
                check_maker(here, &facts, |owner| Untrusted::Owner { path: below, owner })?;
                check_directory(&next, &facts)?;
                chain.push(next);
            }
            Step::Link(target, facts) => {
                let path = below.clone();
                check_maker(here, &facts, |owner| Untrusted::Link { path, owner })?;
                links += 1;
                if links > LINKS_MAX {
                    return Err(failed(&below)(rustix::io::Errno::LOOP.into()));
                }
                let target = parts(Path::new(&target)).into_iter();
                target.rev().for_each(|part| pending.push_front(part));
            }
            Step::Missing(cause) => {
                let rest = pending.into_iter().map(Part::name).collect::<Option<Vec<_>>>();
                let rest = rest.ok_or(cause).map_err(failed(&below))?;
                let missing = std::iter::once(name).chain(rest).collect();
                return Ok(Trusted { directory: last(chain)?, missing });
            }
        }
    }
    Ok(Trusted { directory: last(chain)?, missing: Vec::new() })
}

/// Where a name leads.
enum Step {
    Directory(Directory, Stat),
    Link(OsString, Stat),
    Missing(io::Error),
}

fn step(here: &Directory, name: &OsStr) -> io::Result<Step> {
    let look = || -> io::Result<Step> {
        let facts = here.facts_of(name)?;
        if FileType::from_raw_mode(facts.st_mode) == FileType::Symlink {
            let target = readlinkat(here, name, Vec::new())?;
            return Ok(Step::Link(OsString::from_vec(target.into_bytes()), facts));
        }
        let next = here.child(name)?;
        let facts = next.facts()?;
        Ok(Step::Directory(next, facts))
    };
    match look() {
        // Perhaps since a moment only.
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Step::Missing(cause)),
        step => step,
    }
}

/// A step of a path.
enum Part {
    Root,
    Up,
    Down(OsString),
}

impl Part {
    fn name(self) -> Option<OsString> {
        match self {
            Part::Down(name) => Some(name),
            Part::Root | Part::Up => None,
        }
    }
}

fn parts(path: &Path) -> VecDeque<Part> {
    let part = |component| match component {
        Component::RootDir | Component::Prefix(_) => Some(Part::Root),
        Component::ParentDir => Some(Part::Up),
        Component::CurDir => None,
        Component::Normal(name) => Some(Part::Down(OsStr::to_os_string(name))),
    };
    path.components().filter_map(part).collect()
}

fn root() -> Result<Directory, Untrusted> {
    let path = Path::new("/");
    let failed = |cause| Untrusted::File { path: path.to_path_buf(), cause };
    let directory = Directory::open(path).map_err(failed)?;
    check_directory(&directory, &directory.facts().map_err(failed)?)?;
    Ok(directory)
}

fn last(mut chain: Vec<Directory>) -> Result<Directory, Untrusted> {
    let none = || Untrusted::File { path: "/".into(), cause: Refusal::NotADirectory.into() };
    chain.pop().ok_or_else(none)
}

/// Makes sure that this user or root made what was found in a directory. In a container for one user, root's cannot be
/// told from anybody else's: it passes where only root can have made it, and not where everyone can.
pub(crate) fn check_maker(
    parent: &Directory,
    facts: &Stat,
    untrusted: impl FnOnce(u32) -> Untrusted,
) -> Result<(), Untrusted> {
    let is_shared = || parent.facts().map_or(true, |it| it.st_mode & STICKY != 0);
    if is_mine_or_roots(facts) || is_unmapped(facts) && !is_shared() {
        Ok(())
    } else {
        Err(untrusted(facts.st_uid))
    }
}

pub(crate) fn check_directory(directory: &Directory, facts: &Stat) -> Result<(), Untrusted> {
    let path = directory.path().to_path_buf();
    let (owner, group, mode) = (facts.st_uid, facts.st_gid, facts.st_mode & 0o7777);
    if !is_mine_or_roots(facts) && !is_unmapped(facts) {
        return Err(Untrusted::Owner { path, owner });
    }
    if mode & STICKY != 0 {
        // Others may add to it, but rename and remove only what is theirs (inode(7)).
        return Ok(());
    }
    if mode & EVERYONE_WRITES != 0 {
        Err(Untrusted::Everyone { path, mode })
    } else if is_writable_by_others(directory, facts) {
        Err(Untrusted::Group { path, group, mode })
    } else {
        Ok(())
    }
}

/// Returns true if a file or directory of this user can be written to by somebody else. Where it has an access control list, the
/// bits of the group are those of everybody in the list (acl(5)).
pub(crate) fn is_writable_by_others(opened: &impl AsFd, facts: &Stat) -> bool {
    let mode = facts.st_mode;
    let is_groups_alone = || is_private_group(facts.st_gid) && !has_list(opened);
    mode & EVERYONE_WRITES != 0 || mode & GROUP_WRITES != 0 && !is_groups_alone()
}

pub(crate) fn is_mine_or_roots(facts: &Stat) -> bool {
    [ROOT, acting_user()].contains(&facts.st_uid)
}

/// Returns true for what may be the machine's root's, seen from inside a container.
fn is_unmapped(facts: &Stat) -> bool {
    facts.st_uid == UNMAPPED && is_root_unmapped()
}

/// What users are shown as who are none in this container (user_namespaces(7)), the machine's root among them.
const UNMAPPED: u32 = 65_534;

/// True in a container for one user, where everybody else is shown alike.
fn is_root_unmapped() -> bool {
    std::fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| !maps_all(&map))
}

/// Lines of a first user inside, the same outside, and how many.
fn maps_all(map: &str) -> bool {
    let users = |line: &str| line.split_whitespace().nth(2)?.parse::<u64>().ok();
    map.lines().filter_map(users).sum::<u64>() >= u64::from(u32::MAX)
}

/// Many systems give each user a group of the same number with nobody else in it, and let that group
/// write by default. Whether somebody else is in it is asked; a group that is not listed may have any members.
fn is_private_group(group: u32) -> bool {
    let me = acting_user();
    let text = |path| std::fs::read_to_string(path).unwrap_or_default();
    me != ROOT && group == me && is_of_one(&text("/etc/group"), &text("/etc/passwd"), me)
}

/// Returns true if the group that has the user's number has no other members (group(5), passwd(5)).
fn is_of_one(groups: &str, users: &str, user: u32) -> bool {
    let number = user.to_string();
    let user_line = |line: &&str| line.split(':').nth(2) == Some(&number);
    let name = users.lines().find(user_line).and_then(|line| line.split(':').next());
    let Some(group) = groups.lines().find(|line| line.split(':').nth(2) == Some(&number)) else {
        return false;
    };
    let members = group.split(':').nth(3).unwrap_or_default();
    let mut members = members.split(',').filter(|member| !member.is_empty());
    let has_group = |line: &&str| line.split(':').nth(3) == Some(&number);
    let mut users = users.lines().filter(has_group);
    members.all(|member| Some(member) == name) && users.all(|line| user_line(&line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn containers_of_one_user_are_known_by_their_map() {
        assert!(maps_all("         0          0 4294967295\n"));
        assert!(!maps_all("      1000       1000          1\n"));
        assert!(!maps_all("0 1000 1\n1 100000 65536\n"));
    }

    #[test]
    fn a_group_of_ones_own_number_is_private_if_nobody_else_is_in_it() {
        let users = "root:x:0:0::/root:/bin/sh\nme:x:7:7::/home/me:/bin/sh\nyou:x:8:8::/:/bin/sh\n";
        assert!(is_of_one("root:x:0:\nme:x:7:\n", users, 7));
        assert!(is_of_one("me:x:7:me\n", users, 7));
        assert!(!is_of_one("me:x:7:you\n", users, 7), "a member");
        assert!(!is_of_one("me:x:7:me,you\n", users, 7), "a member beside");
        assert!(!is_of_one("you:x:8:\n", users, 7), "not listed: who knows");
        assert!(!is_of_one("me:x:7:\n", &format!("{users}it:x:9:7::/:\n"), 7), "first group");
        assert!(is_of_one("me:x:7:\n", "", 7), "a user that is not listed");
        assert!(!is_of_one("me:x:7:me\n", "", 7));
    }

    #[test]
    fn what_is_missing_is_told() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let real = folder.path().canonicalize().unwrap();
        let trusted = open_trusted(&real.join("one/two")).unwrap();
        assert_eq!(trusted.directory.path(), real);
        assert_eq!(trusted.missing, ["one", "two"]);
        assert_eq!(trusted.path(), real.join("one/two"));
        assert!(open_trusted(&real).unwrap().missing.is_empty());
        assert!(open_trusted(&real.join("one/../two")).is_err(), "above what is not there");
    }

    #[test]
    fn others_must_not_be_able_to_write_above() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let base = folder.path().join("base/deep");
        fs::create_dir_all(&base).unwrap();
        let shared = folder.path().join("base");
        open_trusted(&base).unwrap();
        mode(&shared, 0o777);
        let error = open_trusted(&base).unwrap_err().to_string();
        assert!(error.starts_with("everyone can write to ") && error.contains("777"), "{error}");
        mode(&shared, 0o1777);
        open_trusted(&base).unwrap();
        if rustix::process::geteuid().is_root() {
            mode(&shared, 0o775);
            assert!(matches!(open_trusted(&base), Err(Untrusted::Group { mode: 0o775, .. })));
        }
        mode(&shared, 0o755);
        mode(&base, 0o777);
        assert!(matches!(open_trusted(&base), Err(Untrusted::Everyone { .. })), "the last one too");
    }

    #[test]
    fn the_owner_above_counts_and_that_of_links() {
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED: needs root");
            return;
        }
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let (theirs, link) = (folder.path().join("theirs"), folder.path().join("link"));
        fs::create_dir_all(theirs.join("mine")).unwrap();
        symlink(theirs.join("mine"), &link).unwrap();
        assert_eq!(
            open_trusted(&link).unwrap().path(),
            theirs.canonicalize().unwrap().join("mine")
        );
        std::os::unix::fs::chown(&theirs, Some(65533), None).unwrap();
        for path in [theirs.clone(), theirs.join("mine"), theirs.join("no/such"), link.clone()] {
            let error = open_trusted(&path).unwrap_err();
            assert!(matches!(error, Untrusted::Owner { owner: 65533, .. }), "{error}");
        }
        std::os::unix::fs::chown(&theirs, Some(0), None).unwrap();
        std::os::unix::fs::lchown(&link, Some(65533), None).unwrap();
        let error = open_trusted(&link).unwrap_err();
        assert!(matches!(error, Untrusted::Link { owner: 65533, .. }), "{error}");
    }

    #[test]
    fn links_are_resolved_as_the_kernel_does_and_not_for_ever() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let real = folder.path().canonicalize().unwrap();
        fs::create_dir_all(real.join("a/b")).unwrap();
        symlink("../a/./b/..", real.join("a/up")).unwrap();
        symlink("round", real.join("round")).unwrap();
        assert_eq!(open_trusted(&real.join("a/up/b")).unwrap().path(), real.join("a/b"));
        let error = open_trusted(&real.join("round")).unwrap_err().to_string();
        assert!(error.contains("symbolic links"), "{error}");
        fs::write(real.join("file"), "").unwrap();
        let error = open_trusted(&real.join("file/x")).unwrap_err().to_string();
        assert!(error.ends_with("file: it is not a directory"), "{error}");
    }
}
