//! What this process was started with and a command that it runs in the user's place must have, too: signals that are ignored.
//!
//! Rust's runtime ignores SIGPIPE before `main`, and starts commands with its default; so what was there before is noted when the
//! program is loaded.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use libc::c_int;

use crate::signals::is_ignored;

static IGNORED_PIPES: AtomicBool = AtomicBool::new(false);

#[used]
// SAFETY: the loader calls what is there with arguments that a function may leave unread.
#[unsafe(link_section = ".init_array")]
static NOTE: extern "C" fn() = note;

extern "C" fn note() {
    IGNORED_PIPES.store(is_ignored(libc::SIGPIPE), Ordering::Relaxed);
}

/// While it lives, this process can wait for its children. Where SIGCHLD is ignored, the kernel forgets how they ended.
pub(crate) struct Children {
    were_ignored: bool,
}

impl Children {
    pub fn begin() -> Self {
        let were_ignored = is_ignored(libc::SIGCHLD);
        if were_ignored {
            set(libc::SIGCHLD, libc::SIG_DFL);
        }
        Children { were_ignored }
    }

    /// Has a command ignore what this process was told to ignore.
    pub fn hand_on(&self, command: &mut Command) {
        let pipes = IGNORED_PIPES.load(Ordering::Relaxed).then_some(libc::SIGPIPE);
        let children = self.were_ignored.then_some(libc::SIGCHLD);
        let ignore = move || {
            for signal in [pipes, children].into_iter().flatten() {
                set(signal, libc::SIG_IGN);
            }
            io::Result::Ok(())
        };
        // SAFETY: between fork and exec only async-signal-safe calls are allowed (signal-safety(7)): this is sigaction(2).
        unsafe {
            command.pre_exec(ignore);
        }
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        if self.were_ignored {
            set(libc::SIGCHLD, libc::SIG_IGN);
        }
    }
}

fn set(signal: c_int, disposition: libc::sighandler_t) {
    // SAFETY: all zeros is a valid sigaction with an empty mask and no flags, and the pointer is to a value that lives through the call.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = disposition;
        libc::sigaction(signal, &action, ptr::null_mut());
    }
}
