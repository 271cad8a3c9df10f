//! A writer: one process that has data, and writes it where it is told.
//!
//! Its standard input is the connection to the coordinator. It ends when that does.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use plimsoll_engine::Memory;
use plimsoll_guarded::{Claim, WorkingDirectory};
use plimsoll_wire::clock::monotonic;
use plimsoll_wire::{receive, send};
use rustix::fs::OFlags;

use crate::order::{Answer, Flood, Order, Preparation, Way};
use crate::stamp::padded;
use crate::write_queue::WriteQueue;

/// Nobody else has to do with the files.
const MODE: u32 = 0o600;

/// Serves the coordinator until it is gone.
///
/// # Errors
/// When this was not started by a coordinator, or files cannot be written.
pub fn serve() -> io::Result<()> {
    let socket: OwnedFd = io::stdin().as_fd().try_clone_to_owned()?;
    let mut stream = UnixStream::from(socket);
    match receive::<Order>(&mut stream)? {
        Some(Order::Prepare(preparation)) => {
            let join = preparation.working.iter().map(join);
            let working: io::Result<Vec<WorkingDirectory>> = join.collect();
            let took_part = match &working {
                Ok(working) => take_part(&preparation, working, &mut stream),
                Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
            };
            let ended = took_part.unwrap_or_else(|error| {
                let _ = send(&mut stream, &Answer::Failed(error.to_string()));
                wait_for_the_end(&mut stream)
            });
            if ended == Ended::Abandoned {
                working.iter().flatten().for_each(|it| drop(it.remove()));
            }
            Ok(())
        }
        Some(Order::Flood(order)) => flood(&order, &mut stream)
            .or_else(|error| send(&mut stream, &Answer::Failed(error.to_string()))),
        _ => Ok(()),
    }
}

/// How a writer's service ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// It was told to leave.
    Dismissed,
    /// The coordinator is gone and has not cleaned up.
    Abandoned,
}

fn wait_for_the_end(stream: &mut UnixStream) -> Ended {
    loop {
        match receive::<Order>(stream) {
            Ok(Some(Order::Leave)) => return Ended::Dismissed,
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return Ended::Abandoned,
        }
    }
}

fn join(claim: &Claim) -> io::Result<WorkingDirectory> {
    WorkingDirectory::join(claim).map_err(|error| about("use", &claim.path, error))
}

fn take_part(
    preparation: &Preparation,
    working: &[WorkingDirectory],
    stream: &mut UnixStream,
) -> io::Result<Ended> {
    let files: io::Result<Vec<File>> =
        working.iter().map(|working| create(working, preparation)).collect();
    let mut queue =
        WriteQueue::new(files?, preparation.way, preparation.race, stream.as_fd().as_raw_fd())?;
    send(stream, &Answer::Ready)?;
    loop {
        let events = queue.wait()?;
        for ended in events.ended {
            let (slot, generation) = (ended.attempt.attempt.slot, ended.attempt.attempt.generation);
            let (file_offset, error) = (ended.file_offset, ended.error);
            send(stream, &Answer::Ended { slot, generation, file_offset, error })?;
        }
        if !events.has_order {
            continue;
        }
        match receive::<Order>(stream)? {
            None => return Ok(Ended::Abandoned),
            Some(Order::Leave) => return Ok(Ended::Dismissed),
            Some(Order::Begin) => submit(preparation, stream)?,
            Some(Order::Start(start)) => queue.start(start.attempt(preparation.writer))?,
            Some(Order::Finish { targets }) => finish(&queue, &targets, stream)?,
            Some(Order::Prepare(_) | Order::Flood(_)) => {
                return Err(io::Error::other("an order out of turn"));
            }
        }
    }
}

/// A sparse file as long as it can get: writes that make a file longer come one at a time.
fn create(working: &WorkingDirectory, preparation: &Preparation) -> io::Result<File> {
    let failed = |error| about("create", &working.path().join(&preparation.file), error);
    let flags = OFlags::WRONLY | preparation.way.flags();
    let file = working.directory().create(&preparation.file, flags, MODE).map_err(failed)?;
    let whole = padded(preparation.block_bytes).saturating_mul(u64::from(preparation.blocks));
    // Twice, as every write may be tried a second time.
    file.set_len(whole.saturating_mul(2)).map_err(failed)?;
    Ok(file)
}

fn about(what: &str, path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {what} {}: {error}", path.display()))
}

fn submit(preparation: &Preparation, stream: &mut UnixStream) -> io::Result<()> {
    for _ in 0..preparation.blocks {
        send(stream, &Answer::Submit { length_bytes: preparation.block_bytes })?;
    }
    send(stream, &Answer::Close)
}

/// All files at once: a slow target must not keep the others from being made durable.
fn finish(queue: &WriteQueue, targets: &[u16], stream: &mut UnixStream) -> io::Result<()> {
    let files = queue.files();
    let durable: io::Result<Vec<u64>> = std::thread::scope(|scope| {
        let sync = |target: &u16| {
            let file = files.get(usize::from(*target)).copied();
            scope.spawn(move || {
                file.map_or(Ok(()), File::sync_data)?;
                Ok(monotonic())
            })
        };
        let threads: Vec<_> = targets.iter().map(sync).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|it| it.unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))).collect()
    });
    send(stream, &Answer::Finished { durable_ns: durable? })
}

/// Writes one file again and again, as fast as the target takes it.
fn flood(order: &Flood, stream: &mut UnixStream) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    let Flood { ref working, ref file, write_bytes, file_bytes, way } = *order;
    let flags = if way == Way::Direct { OFlags::DIRECT } else { OFlags::DSYNC };
    let working = join(working)?;
    let file = working.directory().create(file, OFlags::WRONLY | flags, MODE)?;
    let memory = Memory::new(write_bytes as usize).map_err(io::Error::other)?;
    let data = &memory.bytes()[..write_bytes as usize];
    file.set_len(file_bytes)?;
    send(stream, &Answer::Ready)?;
    let mut offset = 0;
    loop {
        file.write_all_at(data, offset)?;
        offset += write_bytes;
        if offset + write_bytes > file_bytes {
            offset = 0;
        }
        // Nobody listens any more: done.
        if send(stream, &Answer::Flooded { bytes: write_bytes }).is_err() {
            return Ok(());
        }
    }
}
