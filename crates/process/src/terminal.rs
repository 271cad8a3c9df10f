//! A terminal that a program takes over, and gives back however it ends.

use std::io;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, Ordering};

/// How the terminal was before; nothing while nobody has it.
static BEFORE: AtomicPtr<libc::termios> = AtomicPtr::new(ptr::null_mut());

static WATCHED: Once = Once::new();

/// Its own screen, and a cursor.
const AS_BEFORE: &[u8] = b"\x1b[?1049l\x1b[?25h";

/// The terminal that standard output is, as long as this is there. Whoever has it may make it raw, go to its other screen and hide
/// the cursor: all of this is undone when this is dropped, before the message of a panic is printed, where the process aborts, as it does when the system has no
/// more memory for it, and where [`limit_memory`](crate::limit_memory) ends it.
#[derive(Debug)]
pub struct TakenTerminal(());

impl TakenTerminal {
    /// Takes the terminal.
    ///
    /// # Errors
    /// If standard output is none.
    pub fn take() -> io::Result<Self> {
        let mut before = Box::new(std::mem::MaybeUninit::<libc::termios>::uninit());
        // SAFETY: the pointer is to room for what it writes.
        if unsafe { libc::tcgetattr(libc::STDOUT_FILENO, before.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // What a handler may look at is never freed; a program takes its terminal once.
        BEFORE.store(Box::leak(before).as_mut_ptr(), Ordering::Release);
        WATCHED.call_once(watch);
        Ok(TakenTerminal(()))
    }
}

impl Drop for TakenTerminal {
    fn drop(&mut self) {
        give_back_terminal();
    }
}

fn watch() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        give_back_terminal();
        hook(info);
    }));
    // SAFETY: the handler calls only what handlers may (signal-safety(7)).
    unsafe { libc::signal(libc::SIGABRT, on_abort as *const () as libc::sighandler_t) };
}

extern "C" fn on_abort(signal: libc::c_int) {
    give_back_terminal();
    // SAFETY: both may be called by handlers. The signal comes again when this one returns, and ends the process.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// Makes the terminal as it was, once. Neither allocates nor waits for other threads: it may be called anywhere.
pub(crate) fn give_back_terminal() {
    let before = BEFORE.swap(ptr::null_mut(), Ordering::AcqRel);
    if before.is_null() {
        return;
    }
    // SAFETY: what was stored is never freed, and both calls only read. A terminal that is gone needs nothing.
    unsafe {
        libc::write(libc::STDOUT_FILENO, AS_BEFORE.as_ptr().cast(), AS_BEFORE.len());
        libc::tcsetattr(libc::STDOUT_FILENO, libc::TCSANOW, before);
    }
}
