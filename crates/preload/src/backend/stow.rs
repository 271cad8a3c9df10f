//! Containers (crate `stow`) as the files of unmodified programs: `plimsoll stow run`.
//!
//! A file that a program makes below a directory, the *mount*, is a container there: a directory with an empty file in it, the anchor. The
//! descriptor that the program gets is a real one of the anchor, so that the kernel keeps what is hard to imitate: numbers, duplicates,
//! inheritance, the position that they share, flags, locks, rights and times. What the file holds is read and written here (`transfer`), by the
//! process's one writer and one reader of the container (`entry`), which are made when they are first needed and found by the
//! anchor's inode (`registry`), so that it does not matter how a descriptor was come by.
//!
//! A path call below the mount is made on the anchor (`names`, `status`); a container looks like a regular file in listings (`listing`).
//! All other paths are told by comparing them with the mount, without a system call.

mod as_open;
mod at_once;
mod copying;
mod counting;
mod descriptor_name;
mod entry;
mod fetched;
mod found;
mod held_file;
mod hold;
mod listing;
mod lock_change;
mod magic_link;
mod mapped;
mod memory;
mod names;
mod naming;
mod opening;
mod order;
mod places;
mod placing;
mod plain;
mod registry;
mod renaming;
mod replacing;
mod scope;
mod settings;
mod space;
mod status;
mod transfer;
mod view;
mod watching;

use core::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use plimsoll_trace::Op;
use rustix::fs::{SeekFrom, Stat};
use rustix::io::Errno;

use self::entry::Used;
use self::scope::STANDARD;
use super::{Answer, Backend, Name, NameRequest, Request};
use crate::own_descriptors::moved;
use crate::own_stack::on_own_stack;
use crate::sys;
use crate::thread::Serving;

/// The backend.
pub struct Stow;

/// What a request gives: a number, or the number of an error.
type Outcome = Result<usize, c_int>;

/// Returns whether there can be anything to serve in this program.
fn has_work() -> bool {
    settings::get().is_some_and(|it| it.scope.has_names())
        || STANDARD.into_iter().any(names::is_own_descriptor)
}

impl Backend for Stow {
    fn begin(&self) -> bool {
        if !settings::read() || !has_work() {
            return false;
        }
        plimsoll_guarded::move_descriptors(moved::out_of_sight);
        plimsoll_stow::watch(&watching::LogCalls);
        // SAFETY: a function that needs nothing.
        unsafe { libc::pthread_atfork(None, None, Some(after_fork)) };
        true
    }

    fn owns(&self, fd: c_int) -> bool {
        settings::get().is_some_and(|it| it.scope.has(fd)) && names::is_own_descriptor(fd)
    }

    fn on_descriptor(&self, fd: c_int, request: &Request) -> Answer {
        match *request {
            // They may wait, and signals must be able to end that.
            Request::Lock(request) => Some(hold::lock(fd, request)),
            Request::Move(ref transfer) => at_once::transfer(fd, transfer),
            Request::Copy { op, from, to, length, .. } => copying::copy(op, from, to, length),
            Request::Execute => serving(|_| plain::to_execute(fd)),
            Request::Entry(entry) => serving(|_| Some(Ok(listing::show(fd, entry)))),
            Request::Seek { offset, whence: libc::SEEK_SET | libc::SEEK_CUR } if offset >= 0 => {
                None
            }
            Request::ChangeMode { mode } => serving(|_| status::change_mode_of(fd, mode)),
            Request::Attribute(ref request) => serving(|_| status::change_list_of(fd, request)),
            Request::FileSystem(_) => None,
            _ => serving(|serving| on_own(serving, fd, request)),
        }
    }

    fn on_name(&self, name: &Name, request: &NameRequest) -> Answer {
        if !settings::get().is_some_and(|it| it.scope.has_names()) {
            return None;
        }
        if let Some(fd) = descriptor_name::of(name) {
            return serving(|serving| descriptor_name::serve(serving, fd, name, request));
        }
        let is_below = names::is_below(name);
        match *request {
            NameRequest::Rename { to, flags } if is_below || names::is_below(&to) => {
                serving(|serving| {
                    names::refused_in_container(&[name, &to])
                        .or_else(|| replacing::rename(serving, name, &to, flags))
                })
            }
            NameRequest::Link { to, .. } if !is_below && names::is_below(&to) => {
                serving(|_| names::refused_in_container(&[&to]))
            }
            _ if !is_below => None,
            _ => serving(|serving| on_own_name(serving, name, request)),
        }
    }

    fn forget(&self, first: u32, last: u32) {
        places::forget_range(first, last);
    }

    fn duplicated(&self, from: c_int, to: c_int) {
        serving(|serving| {
            if let Some(entry) = registry::known(serving, from) {
                entry.hold(serving).note(to);
            }
            None
        });
    }

    fn replace(&self, fd: c_int, kernel: &mut dyn FnMut() -> bool) {
        serving(|serving| {
            registry::replace(serving, fd, kernel);
            None
        });
        self.closed();
    }

    fn closed(&self) {
        if registry::has_work() {
            serving(|serving| {
                for left in registry::take_left(serving) {
                    let gone = left.entry.hold(serving).gone_to();
                    // With what it may still have open of the anchor.
                    drop(left.entry);
                    if let Some(path) = gone {
                        naming::discard(&path);
                    } else if let Some((path, key)) = left.program {
                        // What others still write stays a container, until it is executed.
                        let _ = plain::make_plain(&path, key, plain::is_program);
                    }
                }
                None
            });
        }
    }

    fn known_name<'a>(&self, told: &'a [u8]) -> &'a [u8] {
        names::without_anchor(told)
    }

    fn has_mapped(&self, address: usize) -> bool {
        serving(|_| Some(Ok(usize::from(mapped::is_copy(address))))) == Some(Ok(1))
    }

    fn directory_changed(&self) {
        names::forget_working_directory();
    }

    fn ends(&self) {
        serving(|serving| {
            registry::close_all(serving);
            None
        });
    }
}

/// Works for the calling thread, without being interrupted, on a stack that is large enough. Within such work, calls are the kernel's. A
/// mistake of ours fails the call, and does not unwind through the program.
fn serving(work: impl FnOnce(&Serving) -> Answer) -> Answer {
    let serving = Serving::begin()?;
    let before = sys::errno();
    let caught = || catch_unwind(AssertUnwindSafe(|| work(&serving)));
    // SAFETY: what unwinds is caught in it.
    let answer = unsafe { on_own_stack(&serving, caught) };
    sys::set_errno(before);
    answer.unwrap_or(Some(Err(libc::EIO)))
}

fn number<T: Into<Errno>>(error: T) -> c_int {
    error.into().raw_os_error()
}

extern "C" fn after_fork() {
    places::begin_anew();
    registry::forget_all();
    moved::close_inherited();
}

/// Serves a call on an anchor's descriptor. Directories are the kernel's.
fn on_own(serving: &Serving, fd: c_int, request: &Request) -> Answer {
    if let Request::Close = request {
        return registry::close(serving, fd);
    }
    let mut tries = 0;
    loop {
        tries += 1;
        let (entry, facts) = match registry::of(serving, fd) {
            Ok(Some(found)) => found,
            Ok(None) => return None,
            // Or it had two names while it was looked at, of the one and the other.
            Err(libc::ESTALE) if tries < TRIES => continue,
            Err(error) => return Some(Err(error)),
        };
        let mut held = entry.hold(serving);
        // While this waited, another thread may have given the number to another file.
        if held.has(fd) || registry::is_of(fd, entry.key) {
            held.note(fd);
            return on_held(&mut held, fd, facts, request);
        }
    }
}

/// How often other threads may give a number to another file while it is looked at.
const TRIES: usize = 16;

/// Serves a call on an anchor's descriptor, while no other thread uses its container.
fn on_held(entry: &mut Used, fd: c_int, facts: Stat, request: &Request) -> Answer {
    Some(match *request {
        Request::Move(ref request) => transfer::transfer(entry, fd, request),
        Request::Seek { offset, whence } => transfer::seek(entry, fd, offset, whence),
        Request::Status(status) => status::of_descriptor(entry, fd, facts, &status),
        Request::Truncate { length } => space::truncate(entry, fd, length),
        Request::Allocate { mode, offset, length } => {
            space::allocate(entry, fd, mode, offset, length)
        }
        Request::Sync { op: Op::SyncFileRange } => Ok(0),
        Request::Sync { .. } => entry.sync(),
        Request::Map(request) => mapped::map(entry, fd, &request),
        Request::Link => Err(libc::EPERM),
        _ => return None,
    })
}

fn on_own_name(serving: &Serving, name: &Name, request: &NameRequest) -> Answer {
    let at = names::NamedAt::of(name)?;
    if at.is_in_container() {
        return Some(Err(libc::ENOTDIR));
    }
    match *request {
        NameRequest::Open { flags, mode } => opening::open(serving, &at, flags, mode),
        // As of a kernel that does not know the call: programs have another way then.
        NameRequest::OpenWithin => Some(Err(libc::ENOSYS)),
        NameRequest::Unlink { flags } => naming::unlink(serving, &at, flags),
        NameRequest::Status(status) => status::of_name(serving, &at, &status),
        NameRequest::Truncate { length } => space::truncate_name(serving, &at, length),
        NameRequest::Execute => plain::before_execution(&at),
        NameRequest::ChangeDirectory => Some(opening::enter(&at)),
        NameRequest::Link { to, .. } => names::refused_in_container(&[&to])
            .or_else(|| at.container(true).map(|_| Err(libc::EPERM))),
        NameRequest::Access { mode, flags } => status::access(&at, mode, flags),
        NameRequest::ChangeMode { mode, flags } => status::change_mode(&at, mode, flags),
        NameRequest::Attribute { request, flags } => status::attribute(&at, &request, flags),
        NameRequest::ChangeOwner { owner, group, flags } => {
            status::change_owner(&at, owner, group, flags)
        }
        NameRequest::ChangeTimes { times, flags } => status::change_times(&at, times, flags),
        NameRequest::Symlink { .. }
        | NameRequest::ReadLink { .. }
        | NameRequest::MakeDirectory { .. }
        | NameRequest::FileSystem(_)
        | NameRequest::Rename { .. } => None,
    }
}

/// Moves the position of a descriptor on by so many bytes; returns where it was. Others that share it go on behind these.
fn reserve(fd: c_int, length: usize) -> Result<u64, Errno> {
    let file = sys::borrow(fd).ok_or(Errno::BADF)?;
    rustix::fs::seek(file, SeekFrom::Current(length as i64)).map(|after| after - length as u64)
}
