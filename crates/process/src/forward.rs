//! Forwards signals to a command.

use std::process::Child;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard};

use libc::{c_int, c_void, siginfo_t};

use crate::signals::ASK_TO_END;

/// Beside those that ask to end: what people, batch systems and programs send to a program so that it does something, such
/// as writing a checkpoint, and what would end a process that does not expect it. Not what stops and continues one: whoever
/// looks at this process wants to see it stopped.
const MEANT_FOR_THE_PROGRAM: [c_int; 16] = [
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGXCPU,
    libc::SIGXFSZ,
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGSTKFLT,
    libc::SIGABRT,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGWINCH,
    libc::SIGURG,
];

/// The process that gets the signals; zero when there is none yet.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// A signal that came before there was a process to get it.
static EARLY: AtomicI32 = AtomicI32::new(0);

/// Handlers belong to the whole process, so that one command has them at a time.
static HANDLERS: Mutex<()> = Mutex::new(());

/// While it lives, signals that other processes send to this one go to a command instead.
pub(crate) struct Forwarding {
    earlier: Vec<(c_int, libc::sigaction)>,
    _only: MutexGuard<'static, ()>,
}

impl Forwarding {
    /// To be called before the command starts, so that no signal is lost. `None` while
    /// another command of this process has the signals.
    pub(crate) fn begin() -> Option<Self> {
        let only = HANDLERS.try_lock().ok()?;
        CHILD.store(0, Ordering::SeqCst);
        EARLY.store(0, Ordering::SeqCst);
        let of_real_time = libc::SIGRTMIN()..=libc::SIGRTMAX();
        let all = ASK_TO_END.into_iter().chain(MEANT_FOR_THE_PROGRAM).chain(of_real_time);
        let earlier = all.filter_map(|signal| Some((signal, handle(signal)?)));
        Some(Self { earlier: earlier.collect(), _only: only })
    }

    /// Names the process that gets the signals from now on, and those that came before.
    pub(crate) fn to(&self, child: &Child) {
        let pid = c_int::try_from(child.id()).unwrap_or(0);
        CHILD.store(pid, Ordering::SeqCst);
        let early = EARLY.swap(0, Ordering::SeqCst);
        if early != 0 {
            send(pid, early);
        }
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        CHILD.store(0, Ordering::SeqCst);
        for (signal, earlier) in &self.earlier {
            // SAFETY: `earlier` is what sigaction(2) gave for this very signal.
            unsafe { libc::sigaction(*signal, earlier, ptr::null_mut()) };
        }
    }
}

/// Installs the handler and gives the earlier action; `None` when the signal is ignored,
/// as under nohup(1), and shall stay so.
fn handle(signal: c_int) -> Option<libc::sigaction> {
    // SAFETY: all zeros is a valid sigaction: default action, empty mask, no flags. Both
    // pointers are to values that live through the calls.
    unsafe {
        let mut earlier: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, ptr::null(), &mut earlier) != 0
            || earlier.sa_sigaction == libc::SIG_IGN
        {
            return None;
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = forward;
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        (libc::sigaction(signal, &action, ptr::null_mut()) == 0).then_some(earlier)
    }
}

/// The handler: loads, stores and kill(2) only, which are all async-signal-safe
/// (signal-safety(7)).
extern "C" fn forward(signal: c_int, information: *mut siginfo_t, _context: *mut c_void) {
    let child = CHILD.load(Ordering::SeqCst);
    if child == 0 {
        EARLY.store(signal, Ordering::SeqCst);
        return;
    }
    // SAFETY: with SA_SIGINFO the kernel passes a valid pointer (sigaction(2)).
    let code = unsafe { (*information).si_code };
    // Positive for signals from the kernel: the terminal sends those to the command too,
    // which is in the same process group.
    if code <= 0 {
        send(child, signal);
    }
}

fn send(pid: c_int, signal: c_int) {
    // SAFETY: kill(2) takes any numbers. The errno of the interrupted code is kept.
    unsafe {
        let errno = *libc::__errno_location();
        libc::kill(pid, signal);
        *libc::__errno_location() = errno;
    }
}
