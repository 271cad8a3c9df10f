//! The writes of one process: io_uring, many under way at once, none changes its target.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use io_uring::{IoUring, opcode, squeue, types};
use plimsoll_engine::{Memory, ring_of};
use plimsoll_route::Attempt;

use crate::order::Way;
use crate::stamp::{Stamps, padded};

/// Writes that the kernel has at once; further ones wait here. The router's windows
/// are far below: 128 leases of 4 MiB are half a gigabyte.
const IN_FLIGHT_MAX: usize = 128;

/// Entries of the queue: one for each write, and one for the connection.
const ENTRIES: u32 = 256;

/// What the connection's entry is called.
const CONNECTION: u64 = u64::MAX;

/// Flag of sync_file_range: write out what is dirty, and wait before and after.
const PUSH_AND_WAIT: u32 = libc::SYNC_FILE_RANGE_WAIT_BEFORE
    | libc::SYNC_FILE_RANGE_WRITE
    | libc::SYNC_FILE_RANGE_WAIT_AFTER;

/// A file that only grows, and where the next write goes.
struct Log {
    file: File,
    next_offset: u64,
}

/// A write that ended.
pub(crate) struct EndedWrite {
    pub attempt: Attempt,
    pub file_offset: u64,
    pub error: Option<i32>,
}

/// What a wait brought.
#[derive(Default)]
pub(crate) struct Events {
    pub ended: Vec<EndedWrite>,
    /// The coordinator has said something.
    pub has_order: bool,
}

/// A write that waits for its turn has its place already, so that files grow in the order of the
/// orders, but no memory.
struct WaitingWrite {
    attempt: Attempt,
    file_offset: u64,
}

/// A write that the kernel has.
struct WriteUnderWay {
    attempt: Attempt,
    memory: Memory,
    file_offset: u64,
    /// Bytes on the device, padding included.
    length_bytes: u64,
    done_bytes: u64,
    is_pushing: bool,
}

/// The queue.
pub(crate) struct WriteQueue {
    ring: IoUring,
    connection: RawFd,
    is_watching: bool,
    logs: Vec<Log>,
    way: Way,
    stamps: Stamps,
    slots: Vec<Option<WriteUnderWay>>,
    waiting: VecDeque<WaitingWrite>,
    /// Memory that is filled with this race's pattern.
    spare: Vec<Memory>,
}

impl WriteQueue {
    /// For the files of one writer and the connection to the coordinator.
    pub fn new(files: Vec<File>, way: Way, race: u64, connection: RawFd) -> io::Result<Self> {
        Ok(WriteQueue {
            ring: ring_of(ENTRIES).map_err(no_queue)?,
            connection,
            is_watching: false,
            logs: files.into_iter().map(|file| Log { file, next_offset: 0 }).collect(),
            way,
            stamps: Stamps::new(race),
            slots: Vec::new(),
            waiting: VecDeque::new(),
            spare: Vec::new(),
        })
    }

    /// Begins a write at the end of its target's file.
    pub fn start(&mut self, attempt: Attempt) -> io::Result<()> {
        let unknown = || io::Error::other("an order for a target that is not there");
        let log = self.logs.get_mut(attempt.target.index()).ok_or_else(unknown)?;
        let file_offset = log.next_offset;
        log.next_offset += padded(attempt.length_bytes);
        self.waiting.push_back(WaitingWrite { attempt, file_offset });
        self.begin_waiting()
    }

    /// Submits what is ready and waits until something ended or the coordinator speaks, at most so long.
    pub fn wait(&mut self, most: Option<Duration>) -> io::Result<Events> {
        if !self.is_watching {
            let poll = opcode::PollAdd::new(types::Fd(self.connection), libc::POLLIN as u32);
            self.push(&poll.build().user_data(CONNECTION))?;
            self.is_watching = true;
        }
        let waited = match most {
            None => self.ring.submit_and_wait(1),
            Some(most) => {
                let timeout = types::Timespec::from(most);
                let arguments = types::SubmitArgs::new().timespec(&timeout);
                self.ring.submitter().submit_with_args(1, &arguments)
            }
        };
        match waited {
            Err(cause) if !is_passing(cause.raw_os_error().unwrap_or(0)) => return Err(cause),
            _ => {}
        }
        let mut events = Events::default();
        let ended: Vec<(u64, i32)> =
            self.ring.completion().map(|entry| (entry.user_data(), entry.result())).collect();
        for (name, result) in ended {
            if name == CONNECTION {
                (events.has_order, self.is_watching) = (true, false);
            } else {
                self.went_on(name as usize, result, &mut events)?;
            }
        }
        self.begin_waiting()?;
        Ok(events)
    }

    /// The files, by target.
    pub fn files(&self) -> Vec<&File> {
        self.logs.iter().map(|log| &log.file).collect()
    }

    fn memory_for(&mut self, length: usize) -> io::Result<Memory> {
        if let Some(at) = self.spare.iter().position(|memory| memory.length() >= length) {
            return Ok(self.spare.swap_remove(at));
        }
        let mut memory = Memory::new(length).map_err(io::Error::other)?;
        self.stamps.fill(memory.bytes_mut());
        Ok(memory)
    }

    fn begin_waiting(&mut self) -> io::Result<()> {
        while !self.waiting.is_empty() {
            let free = self.slots.iter().position(Option::is_none);
            let slot = match free {
                Some(slot) => slot,
                None if self.slots.len() < IN_FLIGHT_MAX => {
                    self.slots.push(None);
                    self.slots.len() - 1
                }
                None => return Ok(()),
            };
            let Some(waiting) = self.waiting.pop_front() else { return Ok(()) };
            self.slots[slot] = Some(self.load(waiting)?);
            self.push_step(slot)?;
        }
        Ok(())
    }

    fn load(&mut self, waiting: WaitingWrite) -> io::Result<WriteUnderWay> {
        let WaitingWrite { attempt, file_offset } = waiting;
        let length_bytes = padded(attempt.length_bytes);
        let mut memory = self.memory_for(length_bytes as usize)?;
        self.stamps.put(&attempt, &mut memory.bytes_mut()[..length_bytes as usize]);
        let (done_bytes, is_pushing) = (0, false);
        Ok(WriteUnderWay { attempt, memory, file_offset, length_bytes, done_bytes, is_pushing })
    }

    /// The next call for a write: what is left of it, or pushing it out.
    fn push_step(&mut self, slot: usize) -> io::Result<()> {
        let Some(write) = &self.slots[slot] else { return Ok(()) };
        let file = types::Fd(self.logs[write.attempt.target.index()].file.as_raw_fd());
        let entry = if write.is_pushing {
            let push = opcode::SyncFileRange::new(file, write.length_bytes as u32);
            push.offset(write.file_offset).flags(PUSH_AND_WAIT).build()
        } else {
            let start = write.memory.at(write.done_bytes as usize);
            let left = (write.length_bytes - write.done_bytes) as u32;
            let offset = write.file_offset + write.done_bytes;
            opcode::Write::new(file, start, left).offset(offset).build()
        };
        self.push(&entry.user_data(slot as u64))
    }

    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        loop {
            // SAFETY: the memory belongs to the slot until its completion is taken, files stay open
            // as long as the queue, and `Drop` waits for what is under way.
            let pushed = unsafe { self.ring.submission().push(entry) };
            match pushed {
                Ok(()) => return Ok(()),
                Err(_) => self.ring.submit().map(drop)?,
            }
        }
    }

    fn went_on(&mut self, slot: usize, result: i32, events: &mut Events) -> io::Result<()> {
        let Some(write) = self.slots.get_mut(slot).and_then(Option::as_mut) else {
            return Ok(());
        };
        let error = match result {
            failed if failed < 0 && !is_passing(-failed) => Some(-failed),
            0 if !write.is_pushing => Some(libc::ENOSPC),
            _ => None,
        };
        if error.is_none() {
            let was_pushing = write.is_pushing;
            write.done_bytes += if was_pushing { 0 } else { result.max(0) as u64 };
            let is_written = write.done_bytes == write.length_bytes;
            let is_durable = is_written && (self.way == Way::Direct || was_pushing && result >= 0);
            if !is_durable {
                write.is_pushing = is_written;
                return self.push_step(slot);
            }
        }
        if let Some(write) = self.slots[slot].take() {
            let WriteUnderWay { attempt, memory, file_offset, .. } = write;
            self.spare.push(memory);
            events.ended.push(EndedWrite { attempt, file_offset, error });
        }
        Ok(())
    }
}

impl Drop for WriteQueue {
    /// The kernel may still read the memory of what is under way.
    fn drop(&mut self) {
        while self.slots.iter().any(Option::is_some) {
            if self.ring.submit_and_wait(1).is_err() {
                // Nobody knows what the kernel still does.
                let under_way = self.slots.iter_mut().flatten();
                under_way.for_each(|write| write.memory.never_give_back());
                return;
            }
            let ended: Vec<u64> = self.ring.completion().map(|entry| entry.user_data()).collect();
            for name in ended.into_iter().filter(|name| *name != CONNECTION) {
                self.slots[name as usize] = None;
            }
        }
    }
}

fn no_queue(cause: io::Error) -> io::Error {
    let hint = "hint: containers often forbid it";
    io::Error::new(cause.kind(), format!("io_uring is not available: {cause}; {hint}"))
}

fn is_passing(error: i32) -> bool {
    matches!(error, libc::EINTR | libc::EAGAIN | libc::EBUSY | libc::ETIME)
}
