//! A worker: one process of one client, on the coordinator's machine.
//!
//! Its standard input is the socket to the coordinator and its standard output the page with the release:
//! both are handed over by the ordinary means of starting a process. It ends when the socket does.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use plimsoll_engine::{Burst, Prepared, Source};
use plimsoll_wire::clock::{monotonic, wall_offset};
use plimsoll_wire::{receive, send};

use crate::message::{Answer, Done, Order};
use crate::release::Release;
use crate::workplace::Workplace;

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
    let mut workplace = Ok(Workplace::default());
    // An error here means that the coordinator was killed: clean up all the same.
    while let Ok(Some(order)) = receive::<Order>(&mut stream) {
        match order {
            Order::Hello { working } => workplace = Workplace::join(&working),
            Order::Burst { burst, generation } => {
                let answer = match &workplace {
                    Ok(workplace) => {
                        one_burst(&burst, workplace, (&mut stream, &release, generation))
                    }
                    Err(error) => Answer::Failed(error.to_string()),
                };
                if send(&mut stream, &answer).is_err() {
                    break;
                }
            }
        }
    }
    // The coordinator removes its directories before it closes the socket, so that nothing is left to
    // do here unless it was killed. Several workers may do this at once.
    if let Ok(workplace) = workplace {
        let _ = workplace.remove();
    }
    Ok(())
}

fn one_burst(
    burst: &Burst,
    workplace: &Workplace,
    (stream, release, generation): (&mut UnixStream, &Release, u32),
) -> Answer {
    let coordinator = rustix::process::getppid();
    let directories = match workplace.directories() {
        Ok(directories) => directories,
        Err(error) => return Answer::Failed(error.to_string()),
    };
    let prepared = match Prepared::open(burst, Source::Directories(&directories)) {
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
pub(crate) fn measured(mut prepared: Prepared<'_>, released_at: u64) -> Answer {
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
