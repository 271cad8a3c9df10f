//! Giving files of a mount other names, of which some are those of other files, which are no more then (module `placing`).

use core::ffi::c_int;

use rustix::fs::{RenameFlags, renameat, renameat_with};
use rustix::io::Errno;

use super::entry::Key;
use super::found::Found;
use super::names::{NamedAt, is_directory};
use super::naming::{HeldName, make_empty};
use super::placing::{self, Named, note_home};
use super::renaming::rename_to_free;
use super::{names, number};
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
    // A container may have got the name since it was looked at.
    let refused =
        |at: &NamedAt<'_>, errno| if at.is_plain_directory() { Err(errno) } else { Ok(None) };
    if replaced.is_none() && target.is_ok_and(|it| is_directory(&it)) {
        return refused(&to, libc::EISDIR);
    }
    let moved = from.facts().map_err(number)?;
    if is_directory(&moved) && source.is_none() {
        return refused(&from, libc::ENOTDIR);
    }
    if source.as_ref().is_some_and(|it| it.itself != Key::of(&moved)) {
        return Ok(None);
    }
    if target.is_err() {
        return match rename_to_free(old, new) {
            Err(Errno::EXIST) if flags.is_empty() => Ok(None),
            Err(errno) => Err(number(errno)),
            // Whatever had the old name in that moment: the kernel renames that as well. Somebody may have taken it on by now.
            Ok(()) => {
                note_home(&to);
                Ok(Some(0))
            }
        };
    }
    if flags.contains(RenameFlags::NOREPLACE) {
        return Err(libc::EEXIST);
    }
    placing::place(serving, (&from, &source), (&to, replaced))
}

/// Returns whether a name is that of a container.
fn has(at: &NamedAt<'_>, container: &Found) -> bool {
    at.facts().is_ok_and(|it| Key::of(&it) == container.itself)
}
