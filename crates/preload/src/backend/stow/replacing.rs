//! Giving files of a mount other names, of which some are those of other files, which are no more then.
//!
//! Where nobody else can give the two names to other files, they are exchanged: the one leads to the one file or the other at every moment. Where others can, what lies
//! in one directory must not come into the other, not even for a moment: it may be another user's link by then. There, what is replaced makes room in its own directory.

use core::ffi::c_int;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use plimsoll_guarded::acting_user;
use plimsoll_stow::{Container, aside_name, inherit, renew};
use rustix::fs::{
    AtFlags, FileType, Mode, RenameFlags, Stat, chmodat, fstat, renameat, renameat_with,
};
use rustix::io::Errno;

use super::entry::{Key, told};
use super::found::Found;
use super::names::{NamedAt, is_directory};
use super::naming::{HeldName, NAME_BYTES, make_empty, remove, targets, whole_path};
use super::renaming::{exchange, rename_aside, rename_to_free};
use super::{Outcome, names, number, opening};
use crate::backend::{Answer, Name};
use crate::thread::Serving;
use Ended::{Changed, Done};

/// Gives a file another name, of which one of the two is below the mount. `None` where no container is concerned.
pub fn rename(serving: &Serving, from: &Name, to: &Name, flags: u32) -> Answer {
    let is_to_below = names::is_below(to);
    let (from_name, to_name) = (from, to);
    let (from, to) = (NamedAt::of(from_name)?, NamedAt::of(to_name)?);
    let is_from_below = names::is_below(from_name);
    for _ in 0..TRIES {
        let source = if is_from_below { from.container_now() } else { None };
        let replaced = if is_to_below { to.container_now() } else { None };
        let done = rename_once(
            serving,
            (&from, source),
            (&to, replaced),
            (is_from_below, is_to_below, flags),
        );
        if let Done(answer) = done {
            return answer;
        }
    }
    Some(Err(libc::EBUSY))
}

/// How often others may give the names to other files while they are looked at.
const TRIES: usize = 64;

/// How an attempt ends.
enum Ended {
    /// With this.
    Done(Answer),
    /// Others have given a name to another file meanwhile, and nothing was done.
    Changed,
}

fn rename_once(
    serving: &Serving,
    (from, source): Named<'_, '_>,
    (to, replaced): Named<'_, '_>,
    (is_from_below, is_to_below, flags): (bool, bool, u32),
) -> Ended {
    if source.is_none() && replaced.is_none() {
        return Done(if is_to_below { directory_over(from, to, flags) } else { None });
    }
    if from.path.is_empty() || to.path.is_empty() {
        return Done(None);
    }
    let flags = RenameFlags::from_bits_retain(flags);
    if !are_valid(flags) {
        return Done(Some(Err(libc::EINVAL)));
    }
    if flags.contains(RenameFlags::NOREPLACE) && to.facts().is_ok() {
        return Done(Some(Err(libc::EEXIST)));
    }
    if from.ends_with_slash() || to.ends_with_slash() {
        return Done(Some(Err(libc::ENOTDIR)));
    }
    if source.is_some() && !is_to_below {
        // As between two file systems: programs copy then.
        return Done(Some(Err(libc::EXDEV)));
    }
    if source.is_none() && flags.contains(RenameFlags::EXCHANGE) && !is_from_below {
        return Done(Some(Err(libc::EXDEV)));
    }
    if let (Some(source), Some(replaced)) = (&source, &replaced)
        && source.key() == replaced.key()
    {
        // One name, or it got the other one just now.
        return if has(from, source) && has(to, source) { Done(Some(Ok(0))) } else { Changed };
    }
    match rename_held(serving, (from, source), (to, replaced), flags) {
        Ok(Some(done)) => Done(Some(Ok(done))),
        Ok(None) => Changed,
        Err(errno) => Done(Some(Err(errno))),
    }
}

/// Returns whether the kernel knows these flags, and takes them together.
fn are_valid(flags: RenameFlags) -> bool {
    let others = RenameFlags::NOREPLACE | RenameFlags::WHITEOUT;
    let known = others | RenameFlags::EXCHANGE;
    known.bits() & flags.bits() == flags.bits()
        && !(flags.contains(RenameFlags::EXCHANGE) && flags.intersects(others))
}

/// Gives a directory the name of another one in which programs see nothing. `None` of what are not two directories.
fn directory_over(from: &NamedAt<'_>, to: &NamedAt<'_>, flags: u32) -> Answer {
    let are_two = to.facts().is_ok_and(|it| is_directory(&it))
        && from.facts().is_ok_and(|it| is_directory(&it));
    if flags != 0 || !are_two {
        return None;
    }
    let moved = || renameat(from.directory, from.path, to.directory, to.path);
    let renamed = match moved() {
        Err(Errno::NOTEMPTY | Errno::EXIST) => {
            make_empty(to);
            moved()
        }
        renamed => renamed,
    };
    Some(renamed.map(|()| 0).map_err(number))
}

/// Does so with names in directories that are held. `None` if others have given one of them to another file meanwhile, and nothing was done.
fn rename_held(
    serving: &Serving,
    (from, source): Named<'_, '_>,
    (to, replaced): Named<'_, '_>,
    flags: RenameFlags,
) -> Result<Option<usize>, c_int> {
    let (held_from, held_to) = (HeldName::of(from)?, HeldName::of(to)?);
    let (from, to) = (held_from.at()?, held_to.at()?);
    let (old, new) = ((from.directory, from.path), (to.directory, to.path));
    if flags.intersects(RenameFlags::EXCHANGE | RenameFlags::WHITEOUT) {
        // What is left behind by the latter would have to be left before what is replaced goes.
        if flags.contains(RenameFlags::WHITEOUT) && replaced.is_some() {
            return Err(libc::EINVAL);
        }
        let renamed = renameat_with(old.0, old.1, new.0, new.1, flags);
        return renamed.map(|()| Some(0)).map_err(number);
    }
    let target = to.facts();
    if replaced.is_none() && target.is_ok_and(|it| is_directory(&it)) {
        return Err(libc::EISDIR);
    }
    if is_directory(&from.facts().map_err(number)?) && source.is_none() {
        return Err(libc::ENOTDIR);
    }
    if target.is_err() {
        return match rename_to_free(old, new) {
            Err(Errno::EXIST) if flags.is_empty() => Ok(None),
            Err(errno) => Err(number(errno)),
            Ok(()) => {
                note_home(&to);
                Ok(Some(0))
            }
        };
    }
    if flags.contains(RenameFlags::NOREPLACE) {
        return Err(libc::EEXIST);
    }
    // Before anything is done: what is replaced must be given up by its owner, and the other one must be able to come there.
    let is_others =
        |it: &Found| fstat(it.directory()).map_or(true, |it| it.st_uid != acting_user());
    if acting_user() != 0 && replaced.as_ref().is_some_and(is_others) {
        return Err(libc::EPERM);
    }
    if fstat(from.directory).map_err(number)?.st_dev != fstat(to.directory).map_err(number)?.st_dev
    {
        return Err(libc::EXDEV);
    }
    match can_be_exchanged(&from, &to, replaced.as_ref()) {
        true => by_exchange(serving, (&from, source), (&to, replaced)),
        false => by_steps(serving, (&from, source), (&to, replaced)),
    }
}

/// A name, and the container that it is of, if it is of one.
type Named<'a, 'b> = (&'a NamedAt<'b>, Option<Found>);

/// Returns whether what has the names can be exchanged: in one directory, or where nobody else can give them to other files, so that nothing of theirs comes into another directory.
/// What is replaced is kept from those who may come into the directory that it is in for a moment, and could not come to where it was.
fn can_be_exchanged(from: &NamedAt<'_>, to: &NamedAt<'_>, replaced: Option<&Found>) -> bool {
    let above = [from, to].map(|it| fstat(it.directory));
    let [Ok(above_from), Ok(above_to)] = above else { return false };
    if Key::of(&above_from) == Key::of(&above_to) {
        return true;
    }
    is_safe(from, &above_from) && is_safe(to, &above_to) && {
        const OTHERS: u32 = 0o077;
        const ALL_ENTER: u32 = 0o001;
        let is_shown = above_from.st_mode & OTHERS != 0 && above_to.st_mode & ALL_ENTER == 0;
        !is_shown || is_closed(to, replaced)
    }
}

/// Returns whether nobody but this user and root can give the name to another file.
fn is_safe(at: &NamedAt<'_>, above: &Stat) -> bool {
    const OTHERS_WRITE: u32 = 0o022;
    const STICKY: u32 = 0o1000;
    let own = acting_user();
    let is_private = above.st_uid == own && above.st_mode & OTHERS_WRITE == 0;
    let is_sticky = above.st_mode & STICKY != 0 && (above.st_uid == own || above.st_uid == 0);
    is_private || is_sticky && at.facts().is_ok_and(|it| it.st_uid == own)
}

/// Keeps all others from what is about to be replaced, which they could not come to anyway; returns whether that was possible.
fn is_closed(at: &NamedAt<'_>, replaced: Option<&Found>) -> bool {
    const OTHERS: u32 = 0o077;
    let private = |it: &Stat| Mode::from_raw_mode(it.st_mode & 0o7777 & !OTHERS);
    match replaced {
        Some(found) => fstat(found.directory()).is_ok_and(|it| {
            chmodat(found.directory(), c".", private(&it), AtFlags::empty()).is_ok()
        }),
        // The other names of a plain file show it, too.
        None => at.facts().is_ok_and(|it| {
            it.st_nlink == 1
                && FileType::from_raw_mode(it.st_mode) == FileType::RegularFile
                && chmodat(at.directory, at.path, private(&it), AtFlags::empty()).is_ok()
        }),
    }
}

fn by_exchange(
    serving: &Serving,
    (from, source): Named<'_, '_>,
    (to, replaced): Named<'_, '_>,
) -> Result<Option<usize>, c_int> {
    // Of several who rename the same file one does, and nobody finds what is replaced under its name. By this one it is given back if this process is killed.
    let aside = aside_of(from)?;
    if aside.count_bytes() > NAME_BYTES {
        return exchanged(serving, (from, source), (to, replaced));
    }
    let claimed = NamedAt { directory: from.directory, path: &aside };
    rename_aside(from.directory, from.path, claimed.path).map_err(number)?;
    // Another one has taken its place since it was looked at.
    let is_other = match &source {
        Some(source) => !has(&claimed, source),
        None => claimed.container_now().is_some(),
    };
    let done = match is_other {
        true => Ok(None),
        false => exchanged(serving, (&claimed, source), (to, replaced)),
    };
    if !matches!(done, Ok(Some(_))) {
        let _ = rename_to_free((claimed.directory, claimed.path), (from.directory, from.path));
    }
    done
}

fn exchanged(
    serving: &Serving,
    (from, source): Named<'_, '_>,
    (to, replaced): Named<'_, '_>,
) -> Result<Option<usize>, c_int> {
    match exchange(from, to) {
        Err(libc::ENOENT) => return Ok(None),
        exchanged => exchanged?,
    }
    // Another one may have taken the place of what was looked at: what is here now is what was replaced.
    let Ok(left) = from.facts() else { return Ok(Some(0)) };
    let replaced = replaced.filter(|it| has(from, it)).or_else(|| from.container_now());
    if let Some(source) = &source {
        note_home(to);
        // A copy that takes the place of its original has the logs then, or leaves it where it was: they would go with the original.
        if let Some(replaced) = &replaced
            && let Err(errno) = hand_over(replaced, source)
        {
            exchange(from, to)?;
            return Err(errno);
        }
    }
    if replaced.is_none() && is_directory(&left) {
        // Somebody has put a directory there, which nothing can replace.
        exchange(from, to)?;
        return Err(libc::EISDIR);
    }
    discarded(serving, from, replaced)
}

/// Returns whether a name is that of a container.
fn has(at: &NamedAt<'_>, container: &Found) -> bool {
    at.facts().is_ok_and(|it| Key::of(&it) == container.itself)
}

/// Returns a name under which a file makes room for another one, or waits to take its place.
fn aside_of(at: &NamedAt<'_>) -> Result<CString, c_int> {
    let aside = aside_name(OsStr::from_bytes(at.path.to_bytes())).map_err(|_| libc::EIO)?;
    CString::new(aside.into_vec()).map_err(|_| libc::EINVAL)
}

/// Removes what was replaced: a container, or whatever somebody has put there meanwhile, as another's link must not stay in its place. Once the other one has its name, nothing
/// is reported of a name that somebody else has taken away.
fn discarded(
    serving: &Serving,
    at: &NamedAt<'_>,
    replaced: Option<Found>,
) -> Result<Option<usize>, c_int> {
    let removed = match replaced {
        Some(found) => remove(serving, at, &found),
        None => opening::unlink_plain(at).map(|()| 0).map_err(number),
    };
    match removed {
        Err(libc::ENOENT) => Ok(Some(0)),
        removed => removed.map(Some),
    }
}

fn by_steps(
    serving: &Serving,
    (from, source): Named<'_, '_>,
    (to, replaced): Named<'_, '_>,
) -> Result<Option<usize>, c_int> {
    // By its name it is given back if this process is killed.
    let aside = aside_of(to)?;
    let aside = NamedAt { directory: to.directory, path: &aside };
    match rename_aside(to.directory, to.path, aside.path) {
        Err(Errno::NOENT) => return Ok(None),
        made_room => made_room.map_err(number)?,
    }
    // Of no container, if somebody has given the name to another file meanwhile.
    let replaced = replaced.filter(|it| has(&aside, it)).or_else(|| aside.container_now());
    let Err(errno) = take(from, &source, to, &replaced, &aside) else {
        return discarded(serving, &aside, replaced);
    };
    let given_back = rename_to_free((aside.directory, aside.path), (to.directory, to.path));
    match errno {
        // Another one has the name: what made room for this one makes room for that.
        libc::EEXIST if given_back.is_err() => discarded(serving, &aside, replaced).map(|_| None),
        libc::EEXIST => Ok(None),
        errno => Err(errno),
    }
}

/// Takes a name whose file has made room.
fn take(
    from: &NamedAt<'_>,
    source: &Option<Found>,
    to: &NamedAt<'_>,
    replaced: &Option<Found>,
    aside: &NamedAt<'_>,
) -> Result<(), c_int> {
    if replaced.is_none() && aside.facts().is_ok_and(|it| is_directory(&it)) {
        return Err(libc::EISDIR);
    }
    let handed = match (replaced, source) {
        (Some(replaced), Some(source)) => {
            hand_over(replaced, source).map(|_| Some((replaced, source)))?
        }
        _ => None,
    };
    rename_to_free((from.directory, from.path), (to.directory, to.path)).map_err(|errno| {
        if let Some((replaced, source)) = handed {
            let _ = hand_over(source, replaced);
        }
        number(errno)
    })?;
    if source.is_some() {
        note_home(to);
    }
    Ok(())
}

/// Notes beside the logs of a container that they are those of its copy.
fn hand_over(original: &Found, copy: &Found) -> Outcome {
    let (Ok(original), Ok(copy)) = (original.open(), copy.open()) else { return Ok(0) };
    if original.id() != copy.id() {
        return Ok(0);
    }
    let noted = inherit(&copy, &original).map_err(|error| {
        let _ = inherit(&original, &copy);
        told(error)
    });
    noted.map(|()| 0)
}

/// Notes beside the logs where their container is now, if they are its own.
fn note_home(at: &NamedAt<'_>) {
    if let Some(path) = whole_path(at)
        && let Ok(container) = Container::open(&path, targets())
    {
        let _ = renew(&container);
    }
}
