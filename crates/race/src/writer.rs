//! A writer: one process that has data, and writes it where it is told.
//!
//! Its standard input is the connection to the coordinator. It ends when that does.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use plimsoll_engine::Memory;
use plimsoll_guarded::{Claim, WorkingDirectory};
use plimsoll_wire::{receive, send};
use rustix::fs::OFlags;

use crate::files::{MODE, about, create, make_durable};
use crate::order::{Answer, Flood, Order, Preparation, Way};
use crate::sharer::Sharer;
use crate::write_queue::WriteQueue;

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
                let memory = preparation.memory.iter().flat_map(WorkingDirectory::join);
                memory.for_each(|it| drop(it.remove()));
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
    if let Some(memory) = &preparation.memory {
        let sharer = Sharer::join(preparation, memory, working)?;
        send(stream, &Answer::Ready)?;
        return match receive::<Order>(stream)? {
            Some(Order::Begin) => {
                sharer.take_part(stream)?;
                Ok(wait_for_the_end(stream))
            }
            Some(Order::Leave) => Ok(Ended::Dismissed),
            _ => Ok(Ended::Abandoned),
        };
    }
    let flags = preparation.way.flags();
    let files: io::Result<Vec<File>> =
        working.iter().map(|working| create(working, preparation, flags)).collect();
    let mut queue =
        WriteQueue::new(files?, preparation.way, preparation.race, stream.as_fd().as_raw_fd())?;
    send(stream, &Answer::Ready)?;
    let mut blocks = Blocks::default();
    loop {
        let events = queue.wait(blocks.next_in())?;
        blocks.go_on(preparation, stream)?;
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
            Some(Order::Begin) => blocks.begin(preparation, stream)?,
            Some(Order::Start(start)) => queue.start(start.attempt(preparation.writer))?,
            Some(Order::Finish { targets }) => finish(&queue, &targets, stream)?,
            Some(Order::Prepare(_) | Order::Flood(_)) => {
                return Err(io::Error::other("an order out of turn"));
            }
        }
    }
}

/// What the program does whose data it is: it submits blocks, and computes in between.
#[derive(Default)]
struct Blocks {
    submitted: u32,
    /// When it has computed long enough.
    next: Option<Instant>,
}

impl Blocks {
    fn begin(&mut self, preparation: &Preparation, stream: &mut UnixStream) -> io::Result<()> {
        self.next = Some(Instant::now());
        self.go_on(preparation, stream)
    }

    fn next_in(&self) -> Option<Duration> {
        self.next.map(|next| next.saturating_duration_since(Instant::now()))
    }

    fn go_on(&mut self, preparation: &Preparation, stream: &mut UnixStream) -> io::Result<()> {
        while self.next.is_some_and(|next| next <= Instant::now()) {
            if self.submitted == preparation.blocks {
                self.next = None;
                return send(stream, &Answer::Close);
            }
            send(stream, &Answer::Submit { length_bytes: preparation.block_bytes })?;
            self.submitted += 1;
            let is_last = self.submitted == preparation.blocks;
            let thinking = preparation.thinking(self.submitted - 1);
            self.next = Some(Instant::now() + if is_last { Duration::ZERO } else { thinking });
        }
        Ok(())
    }
}

fn finish(queue: &WriteQueue, targets: &[u16], stream: &mut UnixStream) -> io::Result<()> {
    let all = queue.files();
    let files: Vec<&File> =
        targets.iter().filter_map(|target| all.get(usize::from(*target)).copied()).collect();
    send(stream, &Answer::Finished { durable_ns: make_durable(&files)? })
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
