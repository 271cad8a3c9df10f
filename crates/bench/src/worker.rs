//! A worker: one process of one client, on the coordinator's machine.
//!
//! Its standard input is the socket to the coordinator and its standard output the page with the release:
//! both are handed over by the ordinary means of starting a process. It ends when the socket does.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use plimsoll_engine::{Burst, Prepared};

use crate::clock::{monotonic, wall_offset};
use crate::message::{Answer, Done, Order, receive, send};
use crate::release::Release;

/// Serves the coordinator until it is gone.
///
/// # Errors
/// When this was not started by a coordinator.
pub fn serve() -> io::Result<()> {
    // A session of its own: kernels that share the cores fairly among sessions (sched_autogroup) would
    // otherwise let all workers together have as much as one other program. Refused only to a
    // process that leads a group already.
    let _ = rustix::process::setsid();
    let socket: OwnedFd = io::stdin().as_fd().try_clone_to_owned()?;
    let mut stream = UnixStream::from(socket);
    let release = Release::map(io::stdout().as_fd())?;
    let mut directories = Vec::new();
    // An error here means that the coordinator was killed: clean up all the same.
    while let Ok(Some(order)) = receive::<Order>(&mut stream) {
        match order {
            Order::Hello { directories: made } => directories = made,
            Order::Burst { burst, generation } => {
                let answer = one_burst(&burst, &mut stream, &release, generation);
                if send(&mut stream, &answer).is_err() {
                    break;
                }
            }
        }
    }
    remove(&directories);
    Ok(())
}

fn one_burst(burst: &Burst, stream: &mut UnixStream, release: &Release, generation: u32) -> Answer {
    let coordinator = rustix::process::getppid();
    let prepared = match Prepared::open(burst) {
        Ok(prepared) => prepared,
        Err(error) => return Answer::Failed(error.to_string()),
    };
    if send(stream, &Answer::Ready).is_err() {
        return Answer::CalledOff;
    }
    // A worker whose coordinator is gone is handed over to another parent.
    match release.wait(generation, || rustix::process::getppid() != coordinator) {
        Some(released_at) => measured(prepared, released_at),
        None => Answer::CalledOff,
    }
}

/// Transfers, and takes the time from the release.
pub(crate) fn measured(mut prepared: Prepared, released_at: u64) -> Answer {
    if let Err(error) = prepared.transfer() {
        return Answer::Failed(error.to_string());
    }
    let ended_at = monotonic();
    let offset = wall_offset();
    match prepared.finish() {
        Ok(finished) => Answer::Done(Done {
            start: released_at + offset,
            end: ended_at + offset,
            bytes: finished.bytes.get(),
            page_cache: finished.page_cache,
            lustre_targets: finished
                .layouts
                .into_iter()
                .next()
                .flatten()
                .map_or_else(Vec::new, |layout| layout.targets),
        }),
        Err(error) => Answer::Failed(error.to_string()),
    }
}

/// The coordinator removes its directories before it closes the socket, so that nothing is left to
/// do here unless it was killed. Several workers may do this at once.
fn remove(directories: &[PathBuf]) {
    for directory in directories {
        let _ = fs::remove_dir_all(directory);
    }
}
