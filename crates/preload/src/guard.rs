//! What happens when the file under a mapping is cut off: by the program itself, which may have
//! taken it for one of its own, or by somebody who cleans up. The next event would be SIGBUS, and
//! the program's end. Instead, zeros take the place of the pages that are gone, and recording stops.
//!
//! The program does not see it: what it wants to be done with the signal is kept here and done with every
//! one that is not for us, and when it asks, it is told that. Where it ignores or blocks the signal, a page
//! of ours that is gone still ends it: then nobody can be called.
//! Rows of `table` lead here and to `hooks`, and all of these call real functions of its rows: so they use each other.

use core::ffi::{c_int, c_void};
use core::mem::{MaybeUninit, transmute};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use crate::table::reals;
use crate::{process, sys, watched_pages};

/// Where an address is wrong for a file (sigaction(2)): not what `kill` sends.
const BUS_ADRERR: c_int = 2;

/// What the program wants to be done: its handler and its flags.
struct Wish {
    handler: AtomicUsize,
    flags: AtomicI32,
}

static WISH: Wish = Wish { handler: AtomicUsize::new(libc::SIG_DFL), flags: AtomicI32::new(0) };

impl Wish {
    fn get(&self) -> (usize, c_int) {
        (self.handler.load(Ordering::Acquire), self.flags.load(Ordering::Acquire))
    }

    fn set(&self, (handler, flags): (usize, c_int)) {
        self.flags.store(flags, Ordering::Release);
        self.handler.store(handler, Ordering::Release);
    }
}

/// True once our handler was set: from then on the program is told its own.
static STANDS: AtomicBool = AtomicBool::new(false);

/// Stands ready, also in front of a handler that is there already. Returns false where it cannot.
pub fn install() -> bool {
    let mut before = default_action();
    // SAFETY: the pointers are to actions of ours.
    unsafe {
        if set_action(ptr::null(), &raw mut before) != 0 || before.sa_sigaction == libc::SIG_IGN {
            return false;
        }
        if before.sa_sigaction == address() {
            return true;
        }
        WISH.set((before.sa_sigaction, before.sa_flags));
        STANDS.store(true, Ordering::Release);
        let ours = in_front_of(&before);
        set_action(&raw const ours, ptr::null_mut()) == 0
    }
}

/// Sets or tells an action for the program. A handler of its own comes behind ours; it is told what it has
/// set before.
///
/// # Safety
/// As `sigaction`.
pub unsafe fn action(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
    real: impl FnOnce(*const libc::sigaction) -> c_int,
) -> c_int {
    if signal != libc::SIGBUS || !STANDS.load(Ordering::Acquire) {
        return real(new);
    }
    let before = WISH.get();
    // SAFETY: null or an action, says the caller.
    let wanted = unsafe { new.as_ref() };
    let ours = wanted.map(|wanted| match wanted.sa_sigaction {
        libc::SIG_IGN => *wanted,
        _ => in_front_of(wanted),
    });
    if let Some(wanted) = wanted {
        WISH.set((wanted.sa_sigaction, wanted.sa_flags));
    }
    let result = real(ours.as_ref().map_or(ptr::null(), ptr::from_ref));
    if result != 0 {
        WISH.set(before);
        return result;
    }
    // SAFETY: null, or what the real function has just filled in.
    if let Some(old) = unsafe { old.as_mut() }
        && old.sa_sigaction == address()
    {
        (old.sa_sigaction, old.sa_flags) = before;
    }
    result
}

/// Does the same by the older call, which knows a handler only (signal(2)).
pub fn handler(signal: c_int, handler: usize, real: impl FnOnce() -> usize) -> usize {
    if signal != libc::SIGBUS || !STANDS.load(Ordering::Acquire) {
        return real();
    }
    let (mut new, mut old) = (default_action(), default_action());
    new.sa_sigaction = handler;
    new.sa_flags = libc::SA_RESTART;
    let place = &raw mut old;
    // SAFETY: the pointers are to actions of ours.
    let result = unsafe {
        let set = |ours| set_action(ours, place);
        action(signal, &raw const new, place, set)
    };
    if result == 0 { old.sa_sigaction } else { libc::SIG_ERR }
}

/// Returns the default action, with no flags and an empty mask.
fn default_action() -> libc::sigaction {
    // SAFETY: all zeros is one.
    unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() }
}

/// Our handler with the program's mask and flags, but for being called once only: that is the program's handler.
fn in_front_of(wanted: &libc::sigaction) -> libc::sigaction {
    let mut ours = *wanted;
    ours.sa_sigaction = address();
    ours.sa_flags = wanted.sa_flags & !libc::SA_RESETHAND | libc::SA_SIGINFO;
    if wanted.sa_sigaction == libc::SIG_DFL {
        ours.sa_flags |= libc::SA_NODEFER;
    }
    ours
}

/// Calls the real `sigaction` for SIGBUS.
///
/// # Safety
/// As that function.
unsafe fn set_action(new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    type Sigaction =
        unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
    let errno = sys::errno();
    // SAFETY: the address is of the function of that name, which has this type.
    let result = unsafe {
        let real = transmute::<*mut c_void, Sigaction>(reals::sigaction.address());
        real(libc::SIGBUS, new, old)
    };
    sys::set_errno(errno);
    result
}

fn address() -> usize {
    handle as *const c_void as usize
}

extern "C-unwind" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives a valid description of the signal.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    if code == BUS_ADRERR && is_replaced(address) {
        return;
    }
    let (theirs, flags) = WISH.get();
    if theirs != libc::SIG_DFL && theirs != libc::SIG_IGN {
        if flags & libc::SA_RESETHAND != 0 {
            WISH.set((libc::SIG_DFL, 0));
        }
        // SAFETY: the program has said that this is a handler. One that takes the signal's number only
        // does not look at the rest.
        unsafe { transmute::<usize, Handler>(theirs)(signal, info, context) };
        return;
    }
    // What would have happened without us. A fault happens again as soon as this returns.
    let default = default_action();
    // SAFETY: the pointer is to an action of ours.
    unsafe { set_action(&raw const default, ptr::null_mut()) };
    if code <= 0 {
        // Sent by somebody.
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::BUS);
    }
}

type Handler = unsafe extern "C-unwind" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// Puts another page where one of ours is gone. False when it is not one of ours.
fn is_replaced(address: usize) -> bool {
    let is_watched = watched_pages::has(address);
    if !is_watched {
        let Some(process) = process::current().filter(|process| process.has_mapped(address)) else {
            return false;
        };
        process.stop();
    }
    let page = rustix::param::page_size();
    let start = (address - address % page) as *mut c_void;
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    let flags = MapFlags::PRIVATE | MapFlags::FIXED;
    // SAFETY: a page of a mapping of ours, which cannot be read or written as it is.
    let is_there = unsafe { mmap_anonymous(start, page, protection, flags) }.is_ok();
    if is_there && is_watched {
        // SAFETY: the page that was just mapped, which others read as atomic words only.
        unsafe { ptr::write_bytes(start.cast::<u8>(), u8::MAX, page) };
    }
    is_there
}
