//! What a container's file is: what its anchor is, with the size of what it holds.

use core::ffi::{CStr, c_char, c_int};
use std::sync::Arc;

use plimsoll_guarded::ACCESS_LIST;
use plimsoll_pilot::Crew;
use plimsoll_stow::{ANCHOR, Users, is_gone, keep_out, keep_out_of_logs, size_in};
use rustix::fs::{
    Access, AtFlags, CWD, Gid, Mode, Stat, StatxFlags, Timestamps, Uid, XattrFlags, accessat,
    chmod, chown, statx, utimensat,
};
use rustix::io::Errno;

use super::entry::{Entry, Used};
use super::found::{Found, Sought};
use super::held_file::HeldFile;
use super::names::{NamedAt, container_of, is_directory};
use super::{Outcome, number, registry};
use crate::backend::{Answer, AttributeRequest, Status};
use crate::sys;
use crate::thread::Serving;

/// Blocks are told in this unit, whatever a file system has.
const BLOCK_BYTES: u64 = 512;

/// Puts what a descriptor's file is where the program wants it.
pub fn of_descriptor(entry: &mut Used, fd: c_int, facts: Stat, status: &Status) -> Outcome {
    let size = size_for(entry, status)?;
    let is_others = facts.st_mode & OTHERS != 0 && entry.may_be_anothers();
    let untold = Untold { size, is_gone: entry.is_gone(), is_others };
    let file = sys::borrow(fd).ok_or(libc::EBADF)?;
    match *status {
        Status::Plain { .. } => put_plain(facts, untold, status),
        Status::Extended { flags, mask, .. } => {
            let flags = AtFlags::from_bits_retain(flags as u32) | AtFlags::EMPTY_PATH;
            put_extended(statx(file, c"", flags, wanted(mask)).map_err(number)?, untold, status)
        }
    }
}

/// What an anchor does not say of its file.
#[derive(Clone, Copy)]
struct Untold {
    /// `None` where that cannot be told.
    size: Option<u64>,
    /// Whether it has no name any more: the anchor keeps its own.
    is_gone: bool,
    /// Whether what it holds may be another container's, whose file may be private: what programs copy has the rights that they are told.
    is_others: bool,
}

impl Untold {
    /// Returns the mode that is told.
    fn mode(&self, mode: u32) -> u32 {
        if self.is_others { mode & (libc::S_IFMT | OWNER) } else { mode }
    }
}

const OWNER: u32 = 0o700;
const OTHERS: u32 = 0o077;

/// Does the same of the file that has a name. `None` where it is no container, and the kernel is to say what it is.
pub fn of_name(serving: &Serving, at: &NamedAt<'_>, status: &Status) -> Answer {
    let follow = follows(status.flags());
    for _ in 1..TRIES {
        let found = match Found::sought(at, follow) {
            Sought::Container(found) => found,
            // Not asked again: others may make a container of this name.
            Sought::Nothing => return Some(Err(libc::ENOENT)),
            Sought::Other => match at.facts() {
                // One has taken its place while it was looked at.
                Ok(facts) if is_directory(&facts) && !at.is_plain_directory() => continue,
                Err(error) => return Some(Err(number(error))),
                Ok(_) => return None,
            },
        };
        if at.ends_with_slash() {
            return Some(Err(libc::ENOTDIR));
        }
        let outcome = named(serving, &found, status, false);
        // What is being removed has nothing any more; another file may have its name by now.
        if !is_gone(found.directory()).unwrap_or(true) {
            return Some(outcome);
        }
    }
    let found = at.container(follow)?;
    Some(named(serving, &found, status, is_gone(found.directory()).unwrap_or(true)))
}

/// How often others may replace a file while it is looked at.
const TRIES: usize = 64;

fn named(serving: &Serving, found: &Found, status: &Status, is_gone: bool) -> Outcome {
    // Most of those that nobody has open are small.
    let small = match registry::find(serving, found.key()) {
        None => found.told_size.or_else(|| size_in(found.directory())),
        Some(_) => None,
    };
    let (size, is_others) = match small {
        Some(size) => (Some(size), false),
        None => {
            let entry = used(serving, found)?;
            let mut entry = entry.hold(serving);
            let size = size_for(&mut entry, status)?;
            (size, found.anchor.st_mode & OTHERS != 0 && entry.may_be_anothers())
        }
    };
    let untold = Untold { size, is_gone, is_others };
    match *status {
        Status::Plain { .. } => put_plain(found.anchor, untold, status),
        Status::Extended { flags, mask, .. } => {
            let flags = AtFlags::from_bits_retain(flags as u32) | AtFlags::SYMLINK_NOFOLLOW;
            let facts = statx(found.directory(), ANCHOR, flags, wanted(mask));
            put_extended(facts.map_err(number)?, untold, status)
        }
    }
}

/// Returns a container as this process uses it, or opens it for this call alone.
pub fn used(serving: &Serving, found: &Found) -> Result<Arc<Entry>, c_int> {
    match registry::find(serving, found.key()) {
        Some(entry) => Ok(entry),
        // What is written to it are notes at most.
        None => Ok(Arc::new(Entry::new(found.key(), found.open()?, None, Crew::new(0)))),
    }
}

/// Returns the size; `None` where that cannot be told and the program does not want to know: names can be listed and removed all the same.
fn size_for(entry: &mut Used, status: &Status) -> Result<Option<u64>, c_int> {
    match (entry.size(), status) {
        (Err(libc::EIO), Status::Extended { mask, .. }) if !wanted(*mask).intersects(SIZES) => {
            Ok(None)
        }
        (size, _) => size.map(Some),
    }
}

/// What is told from the size.
const SIZES: StatxFlags = StatxFlags::SIZE.union(StatxFlags::BLOCKS);

fn wanted(mask: u32) -> StatxFlags {
    StatxFlags::from_bits_retain(mask)
}

fn put_plain(mut facts: Stat, untold: Untold, status: &Status) -> Outcome {
    let Status::Plain { to, .. } = *status else { return Err(libc::EINVAL) };
    let size = untold.size.ok_or(libc::EIO)?;
    if untold.is_gone {
        facts.st_nlink = 0;
    }
    facts.st_mode = untold.mode(facts.st_mode);
    facts.st_size = size as i64;
    facts.st_blocks = size.div_ceil(BLOCK_BYTES) as i64;
    if to.is_null() {
        return Err(libc::EFAULT);
    }
    // SAFETY: the program's room for one, which the C library would fill in the same way.
    unsafe { to.cast::<Stat>().write_unaligned(facts) };
    Ok(0)
}

fn put_extended(mut facts: rustix::fs::Statx, untold: Untold, status: &Status) -> Outcome {
    let Status::Extended { to, .. } = *status else { return Err(libc::EINVAL) };
    // Of 16 bits.
    facts.stx_mode = untold.mode(facts.stx_mode.into()) as u16;
    facts.stx_size = untold.size.unwrap_or_default();
    facts.stx_blocks = facts.stx_size.div_ceil(BLOCK_BYTES);
    if untold.is_gone {
        facts.stx_nlink = 0;
    }
    match untold.size {
        Some(_) => facts.stx_mask |= SIZES.bits(),
        None => facts.stx_mask &= !SIZES.bits(),
    }
    if to.is_null() {
        return Err(libc::EFAULT);
    }
    // SAFETY: as above.
    unsafe { to.cast::<rustix::fs::Statx>().write_unaligned(facts) };
    Ok(0)
}

/// Returns whether a call is about what a link leads to.
pub fn follows(flags: c_int) -> bool {
    flags & libc::AT_SYMLINK_NOFOLLOW == 0
}

/// Tells whether the file may be used so.
pub fn access(at: &NamedAt<'_>, mode: c_int, flags: c_int) -> Answer {
    let found = at.container(follows(flags))?;
    let access = Access::from_bits_retain(mode as u32);
    let flags = AtFlags::from_bits_retain(flags as u32 & libc::AT_EACCESS as u32);
    Some(accessat(found.directory(), ANCHOR, access, flags).map(|()| 0).map_err(number))
}

/// Changes the rights of the file, and keeps those out of its container to whom it is not readable any more.
pub fn change_mode(at: &NamedAt<'_>, mode: u32, flags: c_int) -> Answer {
    let change = |file: &HeldFile| match file.is_link() {
        true => Err(Errno::OPNOTSUPP),
        false => chmod(file.path().as_c_str(), Mode::from_raw_mode(mode)),
    };
    let found = at.container(follows(flags)).filter(|_| are_known(flags));
    let Some(found) = found else { return on_held(at, flags, change) };
    // The very one that was found: others may exchange names meanwhile.
    let users = Users::of_container(found.directory()).with_mode(mode);
    let anchor = keep_private(&found, &users).and_then(|()| HeldFile::of_container(&found));
    Some(anchor.and_then(|anchor| change(&anchor).map_err(number)).map(|()| 0))
}

/// Does the same by a descriptor of the file, which is the anchor's: that of the anchor the kernel changes.
pub fn change_mode_of(fd: c_int, mode: u32) -> Answer {
    // One that is removed nobody can look into.
    let found = container_of(fd).ok().flatten()?;
    let users = Users::of_container(found.directory()).with_mode(mode);
    keep_private(&found, &users).err().map(Err)
}

/// Does so before the file that a descriptor is of, which is the anchor's, gets another group.
pub fn change_group_of(fd: c_int, group: u32) -> Answer {
    if group == u32::MAX {
        return None;
    }
    let found = container_of(fd).ok().flatten()?;
    let users = Users::of_container(found.directory()).with_group(group);
    keep_private(&found, &users).err().map(Err)
}

/// Before a list of those who may use the file is given to the file that a descriptor is of, or taken from it: nobody else comes to its parts any more, until the owner opens them.
pub fn change_list_of(fd: c_int, request: &AttributeRequest) -> Answer {
    if !is_of_list(request) {
        return None;
    }
    let found = container_of(fd).ok().flatten()?;
    keep_private(&found, &Users::NONE).err().map(Err)
}

fn is_of_list(request: &AttributeRequest) -> bool {
    match *request {
        AttributeRequest::Set { name, .. } | AttributeRequest::Remove { name }
            if !name.is_null() =>
        {
            // SAFETY: the name that a program gave to such a call.
            unsafe { CStr::from_ptr(name) }.to_bytes() == ACCESS_LIST.as_bytes()
        }
        _ => false,
    }
}

/// Keeps those out of a container and its logs to whom a file of these users is not readable.
fn keep_private(found: &Found, users: &Users) -> Result<(), c_int> {
    keep_out(found.directory(), users).map_err(number)?;
    // Few take rights away, and the logs of all others need no look.
    if !users.are_all()
        && let Ok(container) = found.open()
    {
        let _ = keep_out_of_logs(&container, users);
    }
    Ok(())
}

/// Changes the owner of the file, and keeps those out of its container who are not of the new group. The owner of the container stays, which only that one can write to.
pub fn change_owner(at: &NamedAt<'_>, owner: u32, group: u32, flags: c_int) -> Answer {
    if group != u32::MAX
        && let Some(found) = at.container(follows(flags)).filter(|_| are_known(flags))
    {
        let users = Users::of_container(found.directory()).with_group(group);
        if let Err(error) = keep_private(&found, &users) {
            return Some(Err(error));
        }
    }
    let owner = (owner != u32::MAX).then(|| Uid::from_raw(owner));
    let group = (group != u32::MAX).then(|| Gid::from_raw(group));
    on_held(at, flags, |file| chown(file.path().as_c_str(), owner, group))
}

/// Changes the times of the file.
pub fn change_times(at: &NamedAt<'_>, times: [libc::timespec; 2], flags: c_int) -> Answer {
    let time = |it: libc::timespec| rustix::fs::Timespec { tv_sec: it.tv_sec, tv_nsec: it.tv_nsec };
    let times = Timestamps { last_access: time(times[0]), last_modification: time(times[1]) };
    on_held(at, flags, |file| utimensat(CWD, file.path().as_c_str(), &times, AtFlags::empty()))
}

/// Returns whether the kernel knows what is asked for.
fn are_known(flags: c_int) -> bool {
    flags & !(libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH) == 0
}

/// Changes a file, be it a container's or another: the very one that was looked at.
fn on_held(
    at: &NamedAt<'_>,
    flags: c_int,
    change: impl FnOnce(&HeldFile) -> Result<(), Errno>,
) -> Answer {
    if !are_known(flags) {
        return Some(Err(libc::EINVAL));
    }
    let held = HeldFile::of(at, follows(flags));
    Some(held.and_then(|held| change(&held).map_err(number)).map(|()| 0))
}

/// Reads or changes an extended attribute of the file.
pub fn attribute(at: &NamedAt<'_>, request: &AttributeRequest, flags: c_int) -> Answer {
    if is_of_list(request)
        && let Some(found) = at.container(follows(flags))
        && let Err(error) = keep_private(&found, &Users::NONE)
    {
        return Some(Err(error));
    }
    let changes = matches!(request, AttributeRequest::Set { .. } | AttributeRequest::Remove { .. });
    let held = match changes {
        true => HeldFile::of(at, follows(flags)),
        // What others are, the kernel tells.
        false => HeldFile::of_container(&at.container(follows(flags))?),
    };
    // SAFETY: names and memory that the program says are there.
    let done = |held: HeldFile| unsafe { on_attribute(held.path().as_c_str(), request) };
    Some(held.and_then(|held| done(held).map_err(number)))
}

/// linux/limits.h
const LARGEST_ATTRIBUTE: usize = 65536;

/// # Safety
/// The request is what a program gave to such a call.
unsafe fn on_attribute(path: &CStr, request: &AttributeRequest) -> Result<usize, Errno> {
    let name = |name: *const c_char| {
        // SAFETY: as the caller says.
        if name.is_null() { Err(Errno::FAULT) } else { Ok(unsafe { CStr::from_ptr(name) }) }
    };
    // Where only a size is asked for, which rustix does not tell of an empty buffer.
    let scratch = |size| if size == 0 { vec![0; LARGEST_ATTRIBUTE] } else { Vec::new() };
    match *request {
        AttributeRequest::Get { name: of, value, size } => {
            let mut room = scratch(size);
            // SAFETY: as the caller says.
            let value = unsafe { room_at(value.cast(), size) };
            rustix::fs::getxattr(path, name(of)?, if size == 0 { &mut room } else { value })
        }
        AttributeRequest::Set { name: of, value, size, flags } => {
            // SAFETY: as the caller says.
            let value = unsafe { room_at(value.cast_mut().cast(), size) };
            let flags = XattrFlags::from_bits_retain(flags as u32);
            rustix::fs::setxattr(path, name(of)?, value, flags).map(|()| 0)
        }
        AttributeRequest::List { list, size } => {
            let mut room = scratch(size);
            // SAFETY: as the caller says.
            let list = unsafe { room_at(list.cast(), size) };
            rustix::fs::listxattr(path, if size == 0 { &mut room } else { list })
        }
        AttributeRequest::Remove { name: of } => {
            rustix::fs::removexattr(path, name(of)?).map(|()| 0)
        }
    }
}

/// # Safety
/// The program says that there are as many bytes.
unsafe fn room_at<'a>(address: *mut u8, size: usize) -> &'a mut [u8] {
    if address.is_null() || size == 0 {
        return &mut [];
    }
    // SAFETY: as the caller says.
    unsafe { core::slice::from_raw_parts_mut(address, size) }
}
