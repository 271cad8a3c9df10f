//! Many transfers in flight: io_uring.
//!
//! One system call submits what is ready and waits for the next completion. All completions that
//! are there are taken, and each slot that got free is filled at once, so that the queue is as
//! deep as was asked for whenever the kernel looks at it.

use std::io;
use std::os::fd::AsRawFd;

use io_uring::{CompletionQueue, IoUring, SubmissionQueue, Submitter, opcode, squeue, types};
use plimsoll_domain::burst::Operation;

use crate::EngineError;
use crate::files::BurstFile;
use crate::moved::Moved;
use crate::supply::Supply;
use crate::synchronous::{failed, stopped};
use crate::transfers::{Transfer, Transfers};

/// A queue that is set up for the files and the memory of a burst.
pub(crate) struct Queue {
    ring: IoUring,
    slots: Vec<Slot>,
    registered: Registered,
}

/// What the kernel keeps hold of, so that no call has to look it up.
#[derive(Debug, Clone, Copy)]
struct Registered {
    files: bool,
    memory: bool,
    /// Whether all slots use the same piece of memory.
    one_piece: bool,
}

/// A place for a transfer in flight.
#[derive(Debug, Clone, Copy)]
struct Slot {
    transfer: Transfer,
    memory: *mut u8,
    done: u32,
}

impl Queue {
    /// Sets everything up that can be before the first transfer.
    pub fn new(depth: u32, files: &[BurstFile], supply: &Supply) -> Result<Self, EngineError> {
        let ring = ring_of(depth).map_err(|cause| EngineError::NoUring { depth, cause })?;
        let descriptors: Vec<_> = files.iter().map(|it| it.file.as_raw_fd()).collect();
        let pieces: Vec<_> = supply
            .pieces()
            .into_iter()
            .map(|(start, length)| libc::iovec { iov_base: start.cast(), iov_len: length })
            .collect();
        // Limits (open files, locked memory) may refuse both; it works without, slower.
        let registered = Registered {
            files: ring.submitter().register_files(&descriptors).is_ok(),
            // SAFETY: the pieces are the supply's, which `Prepared` drops after the queue.
            memory: unsafe { ring.submitter().register_buffers(&pieces) }.is_ok(),
            one_piece: pieces.len() == 1,
        };
        let empty = Transfer { file: 0, offset: 0, length: 0 };
        let slot = Slot { transfer: empty, memory: std::ptr::null_mut(), done: 0 };
        Ok(Self { ring, slots: vec![slot; depth as usize], registered })
    }

    /// Moves all transfers.
    pub fn run(
        &mut self,
        operation: Operation,
        files: &[BurstFile],
        transfers: &Transfers,
        supply: &mut Supply,
        moved: &mut Moved,
    ) -> Result<(), EngineError> {
        let (submitter, submissions, mut completions) = self.ring.split();
        let (slots, registered) = (&mut self.slots[..], self.registered);
        let (next, in_flight) = (0, 0);
        let mut flow = Flow {
            operation,
            files,
            transfers,
            supply,
            moved,
            submitter,
            submissions,
            slots,
            registered,
            next,
            in_flight,
        };
        let result = flow.fill().and_then(|()| flow.drive(&mut completions));
        if result.is_err() {
            flow.drain(&mut completions);
        }
        result
    }
}

impl Drop for Queue {
    /// The kernel takes a queue apart later, in the background; files that it holds until then would
    /// keep their file system from being unmounted.
    fn drop(&mut self) {
        if self.registered.files {
            let _ = self.ring.submitter().unregister_files();
        }
        if self.registered.memory {
            let _ = self.ring.submitter().unregister_buffers();
        }
    }
}

/// A queue at work.
struct Flow<'a> {
    operation: Operation,
    files: &'a [BurstFile],
    transfers: &'a Transfers,
    supply: &'a mut Supply,
    moved: &'a mut Moved,
    submitter: Submitter<'a>,
    submissions: SubmissionQueue<'a>,
    slots: &'a mut [Slot],
    registered: Registered,
    /// The transfer that the next free slot takes.
    next: u64,
    /// Entries without a completion so far.
    in_flight: u32,
}

impl Flow<'_> {
    fn fill(&mut self) -> Result<(), EngineError> {
        (0..self.slots.len()).try_for_each(|slot| self.start_next(slot))
    }

    fn drive(&mut self, completions: &mut CompletionQueue<'_>) -> Result<(), EngineError> {
        while self.in_flight > 0 {
            self.submit_and_wait()?;
            completions.sync();
            for completion in &mut *completions {
                self.complete(completion.user_data() as usize, completion.result())?;
            }
        }
        Ok(())
    }

    fn submit_and_wait(&mut self) -> Result<(), EngineError> {
        // Before the call the kernel learns what is new, and after it we learn what it took.
        self.submissions.sync();
        let submitted = self.submitter.submit_and_wait(1);
        self.submissions.sync();
        match submitted {
            // A signal, or a queue of completions that has to be emptied first.
            Err(cause) if !is_passing(&cause) => {
                Err(EngineError::Queue { operation: "submit transfers", cause })
            }
            _ => Ok(()),
        }
    }

    /// Takes a result: the slot goes on with what is missing of its transfer, or with the next.
    fn complete(&mut self, at: usize, result: i32) -> Result<(), EngineError> {
        self.in_flight -= 1;
        self.moved.calls += 1;
        let Slot { transfer, done, .. } = self.slots[at];
        let file = &self.files[transfer.file as usize];
        match result {
            0 => return Err(stopped(self.operation, file, &transfer, done)),
            count if count > 0 => {
                self.moved.bytes += count as u64;
                self.slots[at].done += count as u32;
            }
            error => {
                let cause = io::Error::from_raw_os_error(-error);
                if !is_passing(&cause) {
                    return Err(failed(self.operation, file, &transfer, done, cause));
                }
            }
        }
        if self.slots[at].done < transfer.length {
            return self.push(at);
        }
        let path = &file.path;
        self.supply.check(at, &transfer).map_err(|(offset, mismatch)| EngineError::Wrong {
            path: path.clone(),
            offset,
            mismatch,
        })?;
        self.start_next(at)
    }

    fn start_next(&mut self, at: usize) -> Result<(), EngineError> {
        if self.next == self.transfers.count() {
            return Ok(());
        }
        let transfer = self.transfers.nth(self.next);
        self.next += 1;
        let memory = self.supply.memory_for(at, &transfer);
        self.slots[at] = Slot { transfer, memory, done: 0 };
        self.push(at)
    }

    fn push(&mut self, at: usize) -> Result<(), EngineError> {
        let entry = self.entry(at);
        // SAFETY: the memory of a slot belongs to the supply and is used by this transfer alone
        // (or only read, by writes from the tape) until its completion; `run` does not return
        // before all completions arrived, and files stay open as long.
        let pushed = unsafe { self.submissions.push(&entry) };
        // There are as many entries as slots.
        pushed.map_err(|full| {
            let cause = io::Error::other(full.to_string());
            EngineError::Queue { operation: "queue a transfer", cause }
        })?;
        self.in_flight += 1;
        Ok(())
    }

    fn entry(&self, at: usize) -> squeue::Entry {
        let Slot { transfer, memory, done } = self.slots[at];
        // SAFETY: `done` is less than the transfer's length, which the memory has.
        let start = unsafe { memory.add(done as usize) };
        let (length, offset) = (transfer.length - done, transfer.offset + u64::from(done));
        let piece = if self.registered.one_piece { 0 } else { at as u16 };
        // A macro, as the trait that both kinds of files have is not public.
        macro_rules! entry_for {
            ($file:expr) => {
                match (self.operation, self.registered.memory) {
                    (Operation::Write, true) => {
                        opcode::WriteFixed::new($file, start, length, piece).offset(offset).build()
                    }
                    (Operation::Write, false) => {
                        opcode::Write::new($file, start, length).offset(offset).build()
                    }
                    (Operation::Read, true) => {
                        opcode::ReadFixed::new($file, start, length, piece).offset(offset).build()
                    }
                    (Operation::Read, false) => {
                        opcode::Read::new($file, start, length).offset(offset).build()
                    }
                }
            };
        }
        let entry = if self.registered.files {
            entry_for!(types::Fixed(transfer.file))
        } else {
            entry_for!(types::Fd(self.files[transfer.file as usize].file.as_raw_fd()))
        };
        entry.user_data(at as u64)
    }

    /// Waits after an error: what is in flight uses memory that the caller is about to give back.
    fn drain(&mut self, completions: &mut CompletionQueue<'_>) {
        while self.in_flight > 0 {
            completions.sync();
            self.in_flight -= completions.by_ref().count() as u32;
            if self.in_flight > 0 && self.submit_and_wait().is_err() {
                // The queue itself is broken, and nobody knows what the kernel still does.
                self.supply.never_give_back();
                return;
            }
        }
    }
}

/// Sets up a queue in the newest way that the kernel knows: one thread submits, and completions are worked on when it
/// asks for them (6.1), or at least without interrupting it (5.19), or as ever.
///
/// # Errors
/// When the kernel gives no queue, or none so deep.
pub fn ring_of(depth: u32) -> io::Result<IoUring> {
    let newest = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_coop_taskrun()
        .build(depth);
    let is_unknown = |cause: &io::Error| cause.raw_os_error() == Some(libc::EINVAL);
    match newest {
        Err(cause) if is_unknown(&cause) => {}
        result => return result,
    }
    match IoUring::builder().setup_coop_taskrun().build(depth) {
        Err(cause) if is_unknown(&cause) => IoUring::new(depth),
        result => result,
    }
}

fn is_passing(cause: &io::Error) -> bool {
    matches!(cause.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::burst::tests_support::burst;
    use crate::files::open_all;

    #[test]
    fn works_with_nothing_registered() {
        let folder = tempfile::tempdir().unwrap();
        for (files, memory) in [(true, true), (true, false), (false, true), (false, false)] {
            let burst = burst(folder.path().join("file"));
            let transfers = Transfers::new(&burst);
            let opened = open_all(&burst, crate::Source::Paths, &transfers).unwrap();
            let mut supply = Supply::new(&burst, 3).unwrap();
            let Ok(mut queue) = Queue::new(3, &opened, &supply) else {
                println!("SKIPPED: needs io_uring");
                return;
            };
            if !files && queue.registered.files {
                queue.ring.submitter().unregister_files().unwrap();
                queue.registered.files = false;
            }
            if !memory && queue.registered.memory {
                queue.ring.submitter().unregister_buffers().unwrap();
                queue.registered.memory = false;
            }
            let mut moved = Moved::default();
            let run = queue.run(burst.operation, &opened, &transfers, &mut supply, &mut moved);
            run.unwrap();
            assert_eq!((moved.bytes, moved.calls), (64 << 10, 16));
        }
    }
}
