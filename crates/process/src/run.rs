//! Running a command in this process's place.

use std::io;
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::forward::Forwarding;

/// Starts the command and waits until it ends. Signals that ask this process to end (SIGHUP, SIGINT,
/// SIGTERM) go to the command meanwhile; a Ctrl-C in the terminal reaches it anyway.
///
/// # Errors
/// Fails if the command cannot be started.
pub fn run_to_end(command: &mut Command) -> io::Result<ExitStatus> {
    let forwarding = Forwarding::begin();
    let mut child = command.spawn()?;
    if let Some(forwarding) = &forwarding {
        forwarding.to(&child);
    }
    wait_without_reaping(&child)?;
    // While the ended process is not reaped, no other one can have its number.
    drop(forwarding);
    child.wait()
}

fn wait_without_reaping(child: &Child) -> io::Result<()> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let ended = || waitid(WaitId::Pid(Pid::from_child(child)), options);
    Ok(rustix::io::retry_on_intr(ended).map(drop)?)
}
