//! Running a command in this process's place.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, getppid, set_parent_process_death_signal, waitid,
};

use crate::forward::Forwarding;
use crate::inherited::Children;

/// Starts the command and waits until it ends. Signals that other processes send to this one go to the command
/// meanwhile; a Ctrl-C in the terminal reaches it anyway. If this process is killed, so is the command. What this process was
/// started to ignore, the command ignores, too.
///
/// # Errors
/// Fails if the command cannot be started.
pub fn run_to_end(command: &mut Command) -> io::Result<ExitStatus> {
    let forwarding = Forwarding::begin();
    let children = Children::begin();
    children.hand_on(command);
    die_with_parent(command);
    let mut child = command.spawn()?;
    if let Some(forwarding) = &forwarding {
        forwarding.to(&child);
    }
    wait_without_reaping(&child)?;
    // While the ended process is not reaped, no other one can have its number.
    drop(forwarding);
    child.wait()
}

/// Becomes the command, which then has this process's number and ignores what this process was started to ignore. Returns why it could not.
pub fn execute(command: &mut Command) -> io::Error {
    Children::begin().hand_on(command);
    command.exec()
}

/// Asks the kernel to kill the command when this thread, which waits for it, is no more.
fn die_with_parent(command: &mut Command) {
    let parent = getpid();
    let ask = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // Killed already, before it could be asked for.
        if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
    };
    // SAFETY: between fork and exec only async-signal-safe calls are allowed (signal-safety(7)): these are prctl(2)
    // and getppid(2), and the error is a constant.
    unsafe {
        command.pre_exec(ask);
    }
}

fn wait_without_reaping(child: &Child) -> io::Result<()> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let ended = || waitid(WaitId::Pid(Pid::from_child(child)), options);
    Ok(rustix::io::retry_on_intr(ended).map(drop)?)
}
