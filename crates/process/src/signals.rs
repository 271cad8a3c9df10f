//! Signals that do not end a process: those that ask it to, where another one decides, and that of a file that is too large.

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
    ASK_TO_END.into_iter().for_each(do_nothing_at);
}

/// Ends no more by writing beyond the limit on the size of files (RLIMIT_FSIZE): the write fails, which can be told in a line, and
/// what is half written is removed.
pub fn outlive_limit_of_file_size() {
    // Who ignores it already wants that also of the programs that this one executes.
    if !is_ignored(libc::SIGXFSZ) {
        do_nothing_at(libc::SIGXFSZ);
    }
}

pub(crate) fn is_ignored(signal: c_int) -> bool {
    // SAFETY: all zeros is a valid sigaction, and the pointer is to a value that lives through the call, which
    // changes nothing else.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, ptr::null(), &mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Handles a signal by doing nothing. A handler and not SIG_IGN, which programs that this one executes would inherit.
fn do_nothing_at(signal: c_int) {
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

extern "C" fn do_nothing(_signal: c_int) {}
