//! What happens when the file under a mapping is cut off: by the program itself, which may have
//! taken it for one of its own, or by somebody who cleans up. The next event would be SIGBUS, and
//! the program's end. Instead, zeros take the place of the pages that are gone, and recording stops.
//!
//! The program does not see it: signals of its own do what they always did, a handler of its own takes
//! the place of ours, and when it asks what was there before, it is told that nothing was.
//! Rows of `table` lead here, and our own handler is set by the real function of one of them: the two files use each other.

use core::ffi::{c_int, c_void};
use core::mem::{MaybeUninit, transmute};
use core::ptr;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use crate::table::reals;
use crate::{hot, process, sys};

/// Where an address is wrong for a file (sigaction(2)): not what `kill` sends.
const BUS_ADRERR: c_int = 2;

/// Stands ready, unless the program has its own way with this signal already.
pub fn install() {
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all zeros is an action, and both pointers are to actions of ours.
    unsafe {
        if set_action(ptr::null(), before.as_mut_ptr()) != 0
            || before.assume_init_ref().sa_sigaction != libc::SIG_DFL
        {
            return;
        }
        let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        action.sa_sigaction = address();
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
        set_action(&raw const action, ptr::null_mut());
    }
}

/// `sigaction` for SIGBUS: the real one.
///
/// # Safety
/// As that function.
unsafe fn set_action(new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    type Sigaction =
        unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
    // SAFETY: the address is of the function of that name, which has this type.
    unsafe {
        let real = transmute::<*mut c_void, Sigaction>(reals::sigaction.address());
        real(libc::SIGBUS, new, old)
    }
}

/// The program sets or asks for an action: it is told the one before without ours.
pub fn action(signal: c_int, old: *mut libc::sigaction, real: impl FnOnce() -> c_int) -> c_int {
    let result = real();
    if signal == libc::SIGBUS && result == 0 {
        stand_ready();
    }
    if signal == libc::SIGBUS && result == 0 && !old.is_null() {
        // SAFETY: the real function has just filled it in.
        unsafe {
            if (*old).sa_sigaction == address() {
                (*old).sa_sigaction = libc::SIG_DFL;
                (*old).sa_flags = 0;
            }
        }
    }
    result
}

/// The program sets a handler; it is told the one before without ours.
pub fn handler(signal: c_int, real: impl FnOnce() -> usize) -> usize {
    let before = real();
    if signal == libc::SIGBUS && before != libc::SIG_ERR {
        stand_ready();
    }
    if before == address() { libc::SIG_DFL } else { before }
}

/// Stands ready again where the program has gone back to what was there before.
fn stand_ready() {
    if hot::is_on() {
        let before = sys::errno();
        install();
        sys::set_errno(before);
    }
}

fn address() -> usize {
    handle as *const c_void as usize
}

extern "C" fn handle(_signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the kernel gives a valid description of the signal.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    if code == BUS_ADRERR && is_replaced(address) {
        return;
    }
    // What would have happened without us. A fault happens again as soon as this returns.
    // SAFETY: all zeros but for the default action.
    unsafe {
        let mut default = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        default.sa_sigaction = libc::SIG_DFL;
        set_action(&raw const default, ptr::null_mut());
    }
    if code <= 0 {
        // Sent by somebody.
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::BUS);
    }
}

/// Puts zeros where a page of ours is gone. False when it is not one of ours.
fn is_replaced(address: usize) -> bool {
    let Some(process) = process::current().filter(|process| process.has_mapped(address)) else {
        return false;
    };
    process.stop();
    let page = rustix::param::page_size();
    let start = (address - address % page) as *mut c_void;
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    let flags = MapFlags::PRIVATE | MapFlags::FIXED;
    // SAFETY: a page of a mapping of ours, which cannot be read or written as it is.
    unsafe { mmap_anonymous(start, page, protection, flags) }.is_ok()
}
