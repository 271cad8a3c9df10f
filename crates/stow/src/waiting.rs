//! Files on the way to the name of another one, which they are exchanged with.
//!
//! Such a file waits under a name that programs do not see, and what it replaced has that name afterwards, for a moment. The name has the numbers of both, so that after a
//! kill it is known which of the two it is: the one that did not come gets its name back, the one that was replaced is removed.
//!
//! Whoever may write beside a container can give it such a name. So the owner marks a container before it is replaced, by a bit of its directory's mode, as of one that is removed
//! (module `gone`): only what has the mark and its own number in the name is removed. A plain file could be removed by whoever can give it a name.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use plimsoll_guarded::{Directory, acting_user, random_hex};
use rustix::fs::{AtFlags, FileType, Mode, RenameFlags, Stat, chmodat, fstat, renameat_with};
use rustix::io::Errno;

use crate::gone::{discard_gone, gone_name, mark_gone};
use crate::turn::Turn;
use crate::{Container, Target};

/// What the names begin with; the numbers of both files, a random number and the name follow.
const WAITING_PREFIX: &str = ".plimsoll-stow-moved-";
/// limits.h, NAME_MAX
const NAME_BYTES: usize = 255;
/// The bit of its directory's mode by which the owner says that a container is replaced.
const REPLACED: u32 = 0o4000;
/// A plain file that has changed its name since may still be on its way.
const SETTLED: Duration = Duration::from_secs(1);

/// Returns a name under which a file waits that is to replace another one, by the numbers of both.
///
/// # Errors
/// If the system has no random numbers.
pub fn waiting_name(name: &OsStr, source: u64, replaced: u64) -> io::Result<OsString> {
    let begin = format!("{WAITING_PREFIX}{source:x}-{replaced:x}-{}-", random_hex(8)?);
    let mut waiting = begin.into_bytes();
    waiting.extend(name.as_bytes());
    // What is cut off of a long name is missing only if it must be given back.
    waiting.truncate(NAME_BYTES);
    Ok(OsString::from_vec(waiting))
}

/// Marks a container as one that is about to be replaced, or takes the mark back.
///
/// # Errors
/// If it is another user's.
pub fn mark_replaced(directory: impl AsFd, replaced: bool) -> Result<(), Errno> {
    let now = fstat(&directory)?.st_mode & 0o7777;
    let wanted = if replaced { now | REPLACED } else { now & !REPLACED };
    match wanted == now {
        true => Ok(()),
        false => chmodat(&directory, c".", Mode::from_raw_mode(wanted), AtFlags::empty()),
    }
}

/// What such a name says.
#[derive(Debug, PartialEq, Eq)]
struct Waiting<'a> {
    source: u64,
    replaced: u64,
    /// What the source was called.
    name: &'a OsStr,
}

impl<'a> Waiting<'a> {
    fn of(name: &'a OsStr) -> Option<Self> {
        let rest = name.as_bytes().strip_prefix(WAITING_PREFIX.as_bytes())?;
        let mut parts = rest.splitn(4, |byte| *byte == b'-');
        let mut part = || parts.next();
        let number = |part: &[u8]| u64::from_str_radix(str::from_utf8(part).ok()?, 16).ok();
        let (source, replaced) = (number(part()?)?, number(part()?)?);
        part()?;
        let name = OsStr::from_bytes(part()?);
        let is_name = !name.is_empty() && name != "." && name != "..";
        is_name.then_some(Waiting { source, replaced, name })
    }
}

/// Ends what somebody began who was killed since: gives a file its name back, or removes what was replaced. Returns whether the name is that of such a file.
pub(crate) fn settle(directory: &Directory, hidden: &OsStr, targets: &[Target]) -> bool {
    let Some(waiting) = Waiting::of(hidden) else { return false };
    let facts = directory.facts_of(hidden).ok().filter(|it| it.st_uid == acting_user());
    let Some(facts) = facts else { return true };
    match FileType::from_raw_mode(facts.st_mode) {
        FileType::Directory => settle_container(directory, hidden, &waiting, targets),
        FileType::RegularFile if has_settled(&facts) => {
            if facts.st_ino == waiting.source {
                let _ = given_back(&waiting, |name| {
                    directory.link(hidden, name)?;
                    directory.remove_file(hidden)
                });
            } else if facts.st_ino == waiting.replaced {
                let _ = directory.remove_file(hidden);
            }
        }
        _ => {}
    }
    true
}

fn settle_container(
    directory: &Directory,
    hidden: &OsStr,
    waiting: &Waiting<'_>,
    targets: &[Target],
) {
    let Ok(container) = directory.child_not_mounted(hidden) else { return };
    // Whoever replaces one has the turn at it.
    let (Ok(facts), Some(turn)) = (container.facts(), Turn::now(&container)) else { return };
    if facts.st_uid != acting_user() || !Container::is_in(&container).unwrap_or(false) {
        return;
    }
    if facts.st_ino == waiting.source {
        let _ = given_back(waiting, |name| {
            let renamed = renameat_with(directory, hidden, directory, name, RenameFlags::NOREPLACE);
            match renamed {
                // Nothing that is in the way is replaced by a directory.
                Err(Errno::INVAL | Errno::NOSYS) => directory.rename(hidden, name),
                renamed => Ok(renamed?),
            }
        });
    } else if facts.st_ino == waiting.replaced
        && facts.st_mode & REPLACED != 0
        && let Ok(gone) = gone_name(&container)
        && mark_gone(&container, true).is_ok()
        && directory.rename_directory(hidden, &gone, &container).is_ok()
        && directory.require_same_directory(&gone, &container).is_ok()
    {
        drop(turn);
        discard_gone(&directory.path().join(gone), targets);
    }
}

/// Takes the marks from what files were to replace that still wait, as whoever began that was killed: with the mark, another user who
/// may rename here could have it removed.
pub(crate) fn keep_replaced(directory: &Directory, names: &[(OsString, FileType)]) {
    let replaced = |(name, _): &(OsString, FileType)| {
        let waiting = Waiting::of(name)?;
        let facts = directory.facts_of(name).ok()?;
        let is_source = facts.st_ino == waiting.source && facts.st_uid == acting_user();
        is_source.then_some(waiting.replaced)
    };
    // Others can make thousands of such names: all names are looked at once for all of them.
    let numbers: HashSet<u64> = names.iter().filter_map(replaced).collect();
    if numbers.is_empty() {
        return;
    }
    for (name, kind) in names {
        if matches!(kind, FileType::Directory | FileType::Unknown) {
            unmark_replaced(directory, name, &numbers);
        }
    }
}

fn unmark_replaced(directory: &Directory, name: &OsStr, numbers: &HashSet<u64>) {
    let is_it = directory.facts_of(name).is_ok_and(|it| {
        numbers.contains(&it.st_ino) && it.st_uid == acting_user() && it.st_mode & REPLACED != 0
    });
    if is_it && let Ok(container) = directory.child_not_mounted(name) {
        let turn = Turn::now(&container);
        if turn.is_some() && Container::is_in(&container).unwrap_or(false) {
            let _ = mark_replaced(&container, false);
        }
    }
}

/// Gives a file its name back, or one like it where something else has that: it must not stay where nobody sees it.
fn given_back(
    waiting: &Waiting<'_>,
    mut give: impl FnMut(&OsStr) -> io::Result<()>,
) -> io::Result<()> {
    match give(waiting.name) {
        Err(cause) if is_taken(&cause) => give(&name_beside(waiting.name)?),
        given => given,
    }
}

fn is_taken(cause: &io::Error) -> bool {
    use ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotADirectory};
    matches!(cause.kind(), AlreadyExists | DirectoryNotEmpty | NotADirectory)
}

/// Returns a name that says which one a file was to have.
fn name_beside(name: &OsStr) -> io::Result<OsString> {
    let end = format!(".left-{}", random_hex(4)?);
    let mut beside = name.as_bytes().to_vec();
    beside.truncate(NAME_BYTES - end.len());
    beside.extend(end.into_bytes());
    Ok(OsString::from_vec(beside))
}

/// Returns whether a plain file got its name a while ago.
fn has_settled(facts: &Stat) -> bool {
    let changed = u64::try_from(facts.st_ctime).unwrap_or_default();
    let nanos = u32::try_from(facts.st_ctime_nsec).unwrap_or_default();
    let changed = UNIX_EPOCH + Duration::new(changed, nanos);
    SystemTime::now().duration_since(changed).is_ok_and(|it| it > SETTLED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    fn number(path: &Path) -> u64 {
        std::fs::symlink_metadata(path).unwrap().ino()
    }

    #[test]
    fn names_tell_both_files() {
        let named = waiting_name(OsStr::new("a-b"), 0x2a, 7).unwrap();
        let told = Waiting::of(&named).unwrap();
        assert_eq!(told, Waiting { source: 0x2a, replaced: 7, name: OsStr::new("a-b") });
        let long = waiting_name(OsStr::new(&"x".repeat(255)), u64::MAX, u64::MAX).unwrap();
        assert_eq!(long.len(), NAME_BYTES);
        assert!(Waiting::of(&long).is_some());
        for other in ["x", ".plimsoll-stow-moved-", ".plimsoll-stow-moved-1-2-3-"] {
            assert_eq!(Waiting::of(OsStr::new(other)), None, "{other}");
        }
    }

    /// The attack: what lies there is another file than either, or a container that its owner did not mark.
    #[test]
    fn what_did_not_come_gets_its_name_back_and_what_was_replaced_goes() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        let at = |name: &OsStr| folder.path().join(name);
        let made = |words: &str| {
            let draft = folder.path().join("draft");
            std::fs::write(&draft, words).unwrap();
            number(&draft)
        };
        let hide = |name: &str, source: u64, replaced: u64| {
            let hidden = waiting_name(OsStr::new(name), source, replaced).unwrap();
            std::fs::rename(folder.path().join("draft"), at(&hidden)).unwrap();
            hidden
        };
        let source = made("source");
        let source = hide("free", source, 0);
        let taken = made("taken");
        let taken = hide("occupied", taken, 0);
        std::fs::write(folder.path().join("occupied"), "another").unwrap();
        let replaced = made("replaced");
        let replaced = hide("gone", 0, replaced);
        made("neither");
        let neither = hide("neither", 0, 0);
        let all = [&source, &taken, &replaced, &neither];
        assert!(all.iter().all(|it| settle(&directory, it, &[])));
        assert!(all.iter().all(|it| at(it).exists()), "they may be on their way");
        std::thread::sleep(SETTLED + Duration::from_millis(100));
        assert!(all.iter().all(|it| settle(&directory, it, &[])));
        assert!(at(&neither).exists());
        std::fs::remove_file(at(&neither)).unwrap();
        let names = directory.names().unwrap();
        let mut told: Vec<(bool, String)> = names
            .iter()
            .map(|it| {
                let is_beside = it.as_bytes().starts_with(b"occupied.left-");
                (is_beside, std::fs::read_to_string(at(OsStr::new(it))).unwrap())
            })
            .collect();
        told.sort();
        let expected = [(false, "another"), (false, "source"), (true, "taken")];
        assert_eq!(told, expected.map(|(is_beside, words)| (is_beside, words.to_string())));
    }

    #[test]
    fn a_container_is_removed_only_if_its_owner_marked_it() {
        let folder = tempfile::tempdir().unwrap();
        let targets = [Target { name: "t".into(), path: folder.path().join("target") }];
        std::fs::create_dir(&targets[0].path).unwrap();
        let mount = folder.path().join("mount");
        std::fs::create_dir(&mount).unwrap();
        let directory = Directory::open(&mount).unwrap();
        for (is_marked, is_own) in [(true, true), (false, true), (true, false)] {
            drop(Container::create(&mount.join("it"), &targets).unwrap());
            let container = std::fs::File::open(mount.join("it")).unwrap();
            mark_replaced(&container, is_marked).unwrap();
            let replaced = if is_own { number(&mount.join("it")) } else { 1 };
            let hidden = waiting_name(OsStr::new("it"), 2, replaced).unwrap();
            std::fs::rename(mount.join("it"), mount.join(&hidden)).unwrap();
            let turn = Turn::now(&container);
            assert!(settle(&directory, &hidden, &targets));
            assert!(mount.join(&hidden).exists(), "somebody has the turn");
            drop(turn);
            assert!(settle(&directory, &hidden, &targets));
            assert_eq!(mount.join(&hidden).exists(), !(is_marked && is_own));
        }
        // The one that did not come.
        drop(Container::create(&mount.join("it"), &targets).unwrap());
        let hidden = waiting_name(OsStr::new("it"), number(&mount.join("it")), 1).unwrap();
        std::fs::rename(mount.join("it"), mount.join(&hidden)).unwrap();
        assert!(settle(&directory, &hidden, &targets));
        assert!(mount.join("it").exists());
    }

    /// The attack: a kill between the mark and the exchange leaves a mark on a file that stays, and another user renames it so that it looks replaced.
    #[test]
    fn what_was_not_replaced_after_all_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let targets = [Target { name: "t".into(), path: folder.path().join("target") }];
        std::fs::create_dir(&targets[0].path).unwrap();
        let mount = folder.path().join("mount");
        std::fs::create_dir(&mount).unwrap();
        for name in ["source", "kept"] {
            drop(Container::create(&mount.join(name), &targets).unwrap());
        }
        let [source, kept] = ["source", "kept"].map(|it| number(&mount.join(it)));
        let hidden = waiting_name(OsStr::new("source"), source, kept).unwrap();
        std::fs::rename(mount.join("source"), mount.join(hidden)).unwrap();
        mark_replaced(std::fs::File::open(mount.join("kept")).unwrap(), true).unwrap();
        let forged = format!("{WAITING_PREFIX}1-{kept:x}-ff-kept");
        std::fs::rename(mount.join("kept"), mount.join(&forged)).unwrap();
        crate::gone::discard_all_gone(Directory::open(&mount).unwrap(), true, &targets);
        assert!(mount.join("source").exists(), "it got its name back");
        assert!(mount.join(&forged).join("anchor").exists(), "it was not removed");
        let mode = std::fs::metadata(mount.join(&forged)).unwrap().mode();
        assert_eq!(mode & REPLACED, 0);
    }
}
