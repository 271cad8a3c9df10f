//! A file takes the place of another one: at every moment its name leads to the one or to the other.
//!
//! The two exchange their names at once. A name is free meanwhile only where nobody else can take it, or where the file goes to another directory: what lies in one directory
//! never comes into another but for the file itself.
//!
//! | The directories | First | What is exchanged |
//! |---|---|---|
//! | nobody else makes names in either | the file waits beside its name, hidden | that and the name it gets |
//! | one, in which others make names | nothing | the two names |
//! | two, and others make names in one | the file waits beside the name it gets, hidden | that and the name it gets |
//!
//! A file that waits has a name by which it is given back after a kill, and what was replaced is removed (`stow/waiting.rs`). Where names cannot be exchanged, what is replaced makes
//! room beside its name (`stow/aside.rs`).

use core::ffi::{CStr, c_int};
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use plimsoll_guarded::acting_user;
use plimsoll_stow::{Container, Turn, aside_name, inherit, mark_replaced, renew, waiting_name};
use rustix::fd::BorrowedFd;
use rustix::fs::{AtFlags, FileType, Mode, RenameFlags, Stat, chmodat, fstat, renameat_with};
use rustix::io::Errno;

use super::as_open::is_as_open;
use super::entry::{Key, told};
use super::found::Found;
use super::names::{NamedAt, is_directory};
use super::naming::{held_directory, remove_in_turn, targets, unlink_plain};
use super::number;
use super::renaming::{rename_aside, rename_to_free};
use crate::message::Message;
use crate::thread::Serving;

/// A name in a directory that is held, and the container that it is of, if it is of one.
pub type Named<'a, 'b> = (&'a NamedAt<'b>, Option<Found>);

/// Has a file take the place of another one, of which one at least is a container's. `None` if others have given one of the names to another file meanwhile, and nothing was done.
///
/// # Errors
/// As of rename(2). EBUSY if another file got the name of one that could not be given it back: it has a hidden name then, which is said on standard error.
pub fn place(
    serving: &Serving,
    (from, source): (&NamedAt<'_>, &Option<Found>),
    (to, replaced): Named<'_, '_>,
) -> Result<Option<usize>, c_int> {
    let above = [from, to].map(|it| fstat(it.directory).map_err(number));
    let [above_from, above_to] = [above[0]?, above[1]?];
    if above_from.st_dev != above_to.st_dev {
        return Err(libc::EXDEV);
    }
    let is_quiet = is_quiet(&above_from) && is_quiet(&above_to);
    let turns = turns_of(source.as_ref(), replaced.as_ref(), (to, is_quiet));
    // What was looked at may have been renamed by whoever had the turn.
    let (Ok(new), Ok(old)) = (from.facts(), to.facts()) else { return Ok(None) };
    let is_it = |found: Option<&Found>, facts: &Stat| match found {
        Some(found) => found.itself == Key::of(facts),
        None => !is_directory(facts),
    };
    if !is_it(source.as_ref(), &new) || !is_it(replaced.as_ref(), &old) {
        return Ok(None);
    }
    // Before anything is done.
    if !may_go(&above_from, &new) || !may_go(&above_to, &old) {
        return Err(libc::EPERM);
    }
    if acting_user() != 0 && replaced.is_some() && old.st_uid != acting_user() {
        return Err(libc::EPERM);
    }
    let is_one = is_same(&above_from, &above_to);
    let pair = Pair { from, to, replaced: replaced.as_ref(), new, old, is_one };
    let handed = match (source, &replaced) {
        (Some(source), Some(replaced)) => hand_over(replaced, source)?,
        _ => false,
    };
    let placed = match (is_quiet, is_one) {
        (true, true) => pair.waiting_in(from.directory),
        (true, false) if pair.is_hidden(&above_from) => pair.waiting_in(from.directory),
        (false, true) => pair.exchanged(from),
        (_, false) => pair.waiting_in(to.directory),
    };
    match placed {
        Ok(Some(left)) => {
            if source.is_some() {
                note_home(to);
            }
            left.discarded(serving, replaced, turns).map(Some)
        }
        failed => {
            pair.show_again();
            if let (true, Some(source), Some(replaced)) = (handed, source, &replaced) {
                let _ = hand_over(source, replaced);
            }
            failed.map(|_| None)
        }
    }
}

/// Turns at both files.
type Turns = (Option<Turn>, Option<Turn>);

/// Waits for the turn at the containers: of several processes of this user that rename or replace one, one does at a time.
fn turns_of(
    source: Option<&Found>,
    replaced: Option<&Found>,
    (to, is_quiet): (&NamedAt<'_>, bool),
) -> Turns {
    let turn = |it: Option<&Found>| it.and_then(|it| Turn::at(it.directory()));
    match (source, replaced) {
        // All in the same order.
        (Some(one), Some(other)) if one.anchor.st_ino > other.anchor.st_ino => {
            (turn(replaced), turn(source))
        }
        // A plain file has no directory of its own.
        (Some(_), None) if !is_quiet => (turn(source), Turn::at(to.directory)),
        _ => (turn(source), turn(replaced)),
    }
}

/// Returns whether the kernel lets this user take a file out of a directory: out of a sticky one its owner, and the file's, may.
fn may_go(above: &Stat, file: &Stat) -> bool {
    const STICKY: u32 = 0o1000;
    let own = acting_user();
    above.st_mode & STICKY == 0 || own == 0 || above.st_uid == own || file.st_uid == own
}

/// Returns whether nobody but this user and root can make or take names in a directory.
fn is_quiet(above: &Stat) -> bool {
    const OTHERS_WRITE: u32 = 0o022;
    above.st_uid == acting_user() && above.st_mode & OTHERS_WRITE == 0
}

/// What a mode lets others do than the owner.
const OTHERS: u32 = 0o077;

/// Two files, of which one takes the other's place.
struct Pair<'a, 'b> {
    from: &'a NamedAt<'b>,
    to: &'a NamedAt<'b>,
    /// The container that is replaced, if it is one.
    replaced: Option<&'a Found>,
    new: Stat,
    old: Stat,
    /// Both are in the same directory.
    is_one: bool,
}

/// What was replaced, under the name that it has now, and what it is known by; of nothing, if that is not this user's any more.
struct Displaced(Option<(BorrowedFd<'static>, CString, Key)>);

impl Pair<'_, '_> {
    /// Has the file wait under a hidden name in this directory, and take its place from there.
    fn waiting_in(&self, directory: BorrowedFd<'static>) -> Result<Option<Displaced>, c_int> {
        let name = OsStr::from_bytes(self.from.path.to_bytes());
        let waiting = hidden(waiting_name(name, self.new.st_ino, self.old.st_ino))?;
        let waiting = NamedAt { directory, path: &waiting };
        let mark =
            |is_marked| self.replaced.map_or(Ok(()), |it| mark_replaced(it.directory(), is_marked));
        let moved = rename_to_free(
            (self.from.directory, self.from.path),
            (waiting.directory, waiting.path),
        );
        let placed = match moved {
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(number(errno)),
            Ok(()) => {
                // Whoever may write there can have given the name to another file.
                let placed = match has(&waiting, &self.new) {
                    // Only now: with the mark and without a file that waits, nobody could take it back after a kill.
                    true => mark(true).map_err(number).and_then(|()| self.exchanged(&waiting)),
                    false => Ok(None),
                };
                match placed {
                    Ok(Some(left)) => return Ok(Some(left)),
                    failed => self.give_back(&waiting).and(failed),
                }
            }
        };
        let _ = mark(false);
        placed
    }

    /// Gives the file its name back that did not come to the other's place.
    fn give_back(&self, waiting: &NamedAt<'_>) -> Result<(), c_int> {
        let from = (self.from.directory, self.from.path);
        match rename_to_free((waiting.directory, waiting.path), from) {
            // Somebody else has given it back already.
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(_) => {}
        }
        // Another file has got its name. It stays beside that, and gets the name once that is free.
        let beside = NamedAt { directory: self.from.directory, path: waiting.path };
        let moved = (waiting.directory, waiting.path);
        let _ = self.is_one || rename_to_free(moved, (beside.directory, beside.path)).is_ok();
        say_taken(self.from, beside.path);
        Err(libc::EBUSY)
    }

    /// Exchanges a name of the file with the one that it gets, or does the same step by step. What is left is what was replaced.
    fn exchanged(&self, at: &NamedAt<'_>) -> Result<Option<Displaced>, c_int> {
        let swapped = || {
            let flags = RenameFlags::EXCHANGE;
            renameat_with(at.directory, at.path, self.to.directory, self.to.path, flags)
        };
        match swapped() {
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::INVAL | Errno::NOSYS) => return self.step_by_step(at),
            Err(errno) => return Err(number(errno)),
            Ok(()) => {}
        }
        let Ok(facts) = at.facts() else { return Ok(Some(Displaced(None))) };
        let came = Key::of(&facts);
        let is_own = is_same(&facts, &self.new);
        let is_replaced = is_same(&facts, &self.old)
            // Others have put another file there, which a rename replaces as well.
            || !is_directory(&facts)
            || facts.st_uid == acting_user()
                && at.container_now().is_some_and(|it| it.itself == came);
        if is_replaced && !is_own {
            return Ok(Some(Displaced(Some((at.directory, at.path.to_owned(), came)))));
        }
        // A directory, or another user's container, came there just now. What has come to the other name since stays there: somebody was told that it has it.
        if has(self.to, &self.new) {
            let _ = swapped();
            if has(at, &self.new) {
                return Ok(None);
            }
        }
        self.give_up(at)
    }

    /// Frees a name that the file had for another thing that has come to it; the file has got its own, and may have been moved on.
    fn give_up(&self, at: &NamedAt<'_>) -> Result<Option<Displaced>, c_int> {
        let to = (self.to.directory, self.to.path);
        if let Ok(other) = at.facts()
            && rename_to_free((at.directory, at.path), to).is_err()
        {
            let name = OsStr::from_bytes(self.to.path.to_bytes());
            let kept = hidden(waiting_name(name, other.st_ino, 0))?;
            let _ = rename_to_free((at.directory, at.path), (at.directory, kept.as_c_str()));
        }
        Ok(Some(Displaced(None)))
    }

    /// Does so where names cannot be exchanged: what is replaced makes room, and is given back if the other one does not come.
    fn step_by_step(&self, at: &NamedAt<'_>) -> Result<Option<Displaced>, c_int> {
        let to = (self.to.directory, self.to.path);
        let aside = hidden(aside_name(OsStr::from_bytes(self.to.path.to_bytes())))?;
        let aside = NamedAt { directory: self.to.directory, path: &aside };
        match rename_aside(to.0, to.1, aside.path) {
            Err(Errno::NOENT) => return Ok(None),
            made_room => made_room.map_err(number)?,
        }
        let came = match has(&aside, &self.old) {
            true => rename_to_free((at.directory, at.path), to).map_err(number),
            false => Err(libc::EEXIST),
        };
        let Err(errno) = came else {
            let left = (aside.directory, aside.path.to_owned(), Key::of(&self.old));
            return Ok(Some(Displaced(Some(left))));
        };
        if rename_to_free((aside.directory, aside.path), to).is_ok() {
            return if errno == libc::EEXIST { Ok(None) } else { Err(errno) };
        }
        // Another user's file has its name. It is kept under one by which it is not taken for one that was replaced.
        let name = OsStr::from_bytes(self.to.path.to_bytes());
        let kept = hidden(waiting_name(name, self.old.st_ino, 0))?;
        let renamed = rename_aside(aside.directory, aside.path, kept.as_c_str());
        say_taken(self.to, if renamed.is_ok() { &kept } else { aside.path });
        Err(libc::EBUSY)
    }

    /// Returns whether what is replaced may come to where the other one was for a moment: those who may look there could come to it before, or it is kept from all others now.
    fn is_hidden(&self, above_from: &Stat) -> bool {
        above_from.st_mode & OTHERS == 0
            || self.old.st_mode & OTHERS == 0
            || is_as_open(self.to.directory, self.from.directory)
            || match self.replaced {
                Some(_) => self.set_mode(self.old.st_mode & !OTHERS),
                // The other names of a plain file show it, too.
                None => {
                    self.old.st_nlink == 1
                        && FileType::from_raw_mode(self.old.st_mode) == FileType::RegularFile
                        && self.set_mode(self.old.st_mode & !OTHERS)
                }
            }
    }

    /// Changes the mode of what is to be replaced; returns whether it did.
    fn set_mode(&self, mode: u32) -> bool {
        let mode = Mode::from_raw_mode(mode & 0o7777);
        let changed = match self.replaced {
            Some(found) => chmodat(found.directory(), c".", mode, AtFlags::empty()),
            None => chmodat(self.to.directory, self.to.path, mode, AtFlags::empty()),
        };
        changed.is_ok()
    }

    /// Lets others at what was not replaced, as before.
    fn show_again(&self) {
        let was_open = self.old.st_mode & OTHERS != 0;
        let Some(now) = self.to.facts().ok().filter(|it| is_same(it, &self.old)) else { return };
        if was_open && now.st_mode & OTHERS == 0 {
            self.set_mode(now.st_mode | self.old.st_mode & OTHERS);
        }
    }
}

impl Displaced {
    /// Removes what was replaced: a container, or whatever somebody has put there meanwhile, as another's link must not stay in its place. Once the other one has its name, nothing
    /// is reported of a name that somebody else has taken away.
    fn discarded(
        self,
        serving: &Serving,
        replaced: Option<Found>,
        turns: Turns,
    ) -> Result<usize, c_int> {
        let Some((directory, name, key)) = self.0 else { return Ok(0) };
        let at = NamedAt { directory, path: &name };
        // What has come to the name since is not what was replaced.
        let is_it = |it: &Found| {
            it.itself == key && at.facts().is_ok_and(|facts| Key::of(&facts) == it.itself)
        };
        let came = || at.container_now().filter(is_it);
        let removed = match replaced.filter(is_it).or_else(came) {
            Some(found) => remove_in_turn(serving, &at, &found, turns),
            None => unlink_plain(&at),
        };
        match removed {
            Err(libc::ENOENT | libc::EISDIR) => Ok(0),
            removed => removed,
        }
    }
}

fn is_same(one: &Stat, other: &Stat) -> bool {
    Key::of(one) == Key::of(other)
}

fn has(at: &NamedAt<'_>, file: &Stat) -> bool {
    at.facts().is_ok_and(|it| is_same(&it, file))
}

fn hidden(name: io::Result<OsString>) -> Result<CString, c_int> {
    CString::new(name.map_err(|_| libc::EIO)?.into_vec()).map_err(|_| libc::EINVAL)
}

/// Says that another file got a name while it was free, and what the one is called now that had it.
fn say_taken(at: &NamedAt<'_>, now: &CStr) {
    let above = held_directory(&NamedAt { directory: at.directory, path: c"." });
    let mut message = Message::new(b"another file got the name ");
    message.quote(at.path.to_bytes());
    message.push(b" while it was free; the one that had it gets it back when a `stow run` there ends, and is ");
    message.quote(above.as_ref().map_or(b"", |it| it.path().as_os_str().as_bytes()));
    message.push(b"/");
    message.quote(now.to_bytes());
    message.say();
}

/// Notes beside the logs where their container is now, if they are its own.
pub fn note_home(at: &NamedAt<'_>) {
    if let Some(directory) = held_directory(at)
        && let Ok(container) = Container::open_in(directory, targets())
    {
        let _ = renew(&container);
    }
}

/// Notes beside the logs of a container that they are those of its copy; returns whether it is one.
fn hand_over(original: &Found, copy: &Found) -> Result<bool, c_int> {
    let (Ok(original), Ok(copy)) = (original.open(), copy.open()) else { return Ok(false) };
    if original.id() != copy.id() {
        return Ok(false);
    }
    inherit(&copy, &original).map(|()| true).map_err(|error| {
        let _ = inherit(&original, &copy);
        told(error)
    })
}
