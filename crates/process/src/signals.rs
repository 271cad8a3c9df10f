//! The signals that ask a process to end.

use std::ptr;

use libc::c_int;

/// What asks a process to end: the terminal is gone, Ctrl-C, and `kill` or a batch system. All three, because
/// whoever sends one of them means the program as a whole, of however many processes it consists. Not SIGQUIT:
/// it asks for a core dump of every process.
pub const ASK_TO_END: [c_int; 3] = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM];

/// Ends no more by a signal of [`ASK_TO_END`]. For processes that work for a coordinator: the terminal sends a
/// signal to all of them, a batch system to the whole job, and the coordinator has to hear the last of
/// its workers before they end. They end with their connection to it.
pub fn leave_end_to_coordinator() {
    for signal in ASK_TO_END {
        // A handler and not SIG_IGN, which programs that this one executes would inherit.
        let handler: extern "C" fn(c_int) = do_nothing;
        // SAFETY: all zeros is a valid sigaction: default action, empty mask, no flags. The pointer is to a
        // value that lives through the call; the handler does nothing and so is async-signal-safe.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(signal, &action, ptr::null_mut());
        }
    }
}

extern "C" fn do_nothing(_signal: c_int) {}
