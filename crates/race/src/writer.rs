//! A writer: one process that has data, and writes it where it is told.
//!
//! Its standard input is the connection to the coordinator. It ends when that does.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use plimsoll_bench::clock::monotonic;
use plimsoll_bench::{receive, send};
use plimsoll_engine::Memory;

use crate::flights::Flights;
use crate::order::{Answer, Order, Preparation, Way};
use crate::stamp::padded;

/// Serves the coordinator until it is gone.
///
/// # Errors
/// When this was not started by a coordinator, or files cannot be written.
pub fn serve() -> io::Result<()> {
    let socket: OwnedFd = io::stdin().as_fd().try_clone_to_owned()?;
    let mut stream = UnixStream::from(socket);
    match receive::<Order>(&mut stream)? {
        Some(Order::Prepare(preparation)) => {
            let ended = take_part(&preparation, &mut stream).unwrap_or_else(|error| {
                let _ = send(&mut stream, &Answer::Failed(error.to_string()));
                wait_for_the_end(&mut stream)
            });
            if ended == Ended::Abandoned {
                for directory in &preparation.directories {
                    let _ = fs::remove_dir_all(directory);
                }
            }
            Ok(())
        }
        Some(Order::Flood { file, write_bytes, file_bytes, way }) => {
            flood(&file, (write_bytes, file_bytes), way, &mut stream)
        }
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

fn take_part(preparation: &Preparation, stream: &mut UnixStream) -> io::Result<Ended> {
    let files: io::Result<Vec<File>> =
        preparation.files.iter().map(|path| open(path, preparation)).collect();
    let mut flights =
        Flights::new(files?, preparation.way, preparation.race, stream.as_fd().as_raw_fd())?;
    send(stream, &Answer::Ready)?;
    loop {
        let events = flights.wait()?;
        for landed in events.landed {
            let (slot, generation) =
                (landed.attempt.attempt.slot, landed.attempt.attempt.generation);
            let (file_offset, error) = (landed.file_offset, landed.error);
            send(stream, &Answer::Ended { slot, generation, file_offset, error })?;
        }
        if !events.has_order {
            continue;
        }
        match receive::<Order>(stream)? {
            None => return Ok(Ended::Abandoned),
            Some(Order::Leave) => return Ok(Ended::Dismissed),
            Some(Order::Begin) => submit(preparation, stream)?,
            Some(Order::Start(start)) => flights.start(start.attempt(preparation.writer))?,
            Some(Order::Finish { targets }) => finish(&flights, &targets, stream)?,
            Some(Order::Prepare(_) | Order::Flood { .. }) => {
                return Err(io::Error::other("an order out of turn"));
            }
        }
    }
}

/// A sparse file as long as it can get: writes that make a file longer come one at a time.
fn open(path: &Path, preparation: &Preparation) -> io::Result<File> {
    let flag = if preparation.way == Way::Direct { libc::O_DIRECT } else { 0 };
    let file = OpenOptions::new().write(true).create_new(true).custom_flags(flag).open(path);
    let file = file.map_err(|error| about(path, error))?;
    let whole = padded(preparation.block_bytes).saturating_mul(u64::from(preparation.blocks));
    // Twice, as every write may be tried a second time.
    file.set_len(whole.saturating_mul(2)).map_err(|error| about(path, error))?;
    Ok(file)
}

fn about(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot open {}: {error}", path.display()))
}

fn submit(preparation: &Preparation, stream: &mut UnixStream) -> io::Result<()> {
    for _ in 0..preparation.blocks {
        send(stream, &Answer::Submit { length_bytes: preparation.block_bytes })?;
    }
    send(stream, &Answer::Close)
}

/// All files at once: a slow target must not keep the others from being made durable.
fn finish(flights: &Flights, targets: &[u16], stream: &mut UnixStream) -> io::Result<()> {
    let files = flights.files();
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
fn flood(
    path: &Path,
    (write_bytes, file_bytes): (u64, u64),
    way: Way,
    stream: &mut UnixStream,
) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    let flag = if way == Way::Direct { libc::O_DIRECT } else { libc::O_DSYNC };
    let file = OpenOptions::new().write(true).create_new(true).custom_flags(flag).open(path)?;
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
