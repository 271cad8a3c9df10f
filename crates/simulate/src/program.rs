//! The program that writes: all processes compute, then all write a burst.
//!
//! A process hands its blocks over at once, or paced: the next only when few bytes are
//! outstanding, as one that calls write() and is held back. It closes by the same rule. Before each block it may
//! compute for a while of its own.
//! A process that has a cache goes on when what it has not yet got rid of fits there; the
//! next compute begins when all can go on, as at a barrier.

use std::collections::VecDeque;

use plimsoll_route::prefetch;

use crate::bursts::Bursts;
use crate::scenario::Application;
use crate::think::{Thinkers, Thought};

/// The processes and where they are.
#[derive(Debug)]
pub struct Program {
    /// Blocks come from elsewhere, one by one, and in no bursts.
    is_fed: bool,
    processes: Vec<Process>,
    cache_bytes: u64,
    block_bytes: u64,
    blocks: u32,
    last_burst: u32,
    /// A process hands over more, or closes, while at most this many bytes are outstanding.
    outstanding_max: u64,
    think: Option<Thinkers>,
    /// Processes that may have something to hand over; some may be there twice.
    ready: VecDeque<u32>,
    /// Bytes that processes had but never handed over: they died, or gave up.
    kept_bytes: u64,
    open: u32,
    /// What began, and who waits for it.
    pub bursts: Bursts,
    /// What does not add up, if anything.
    pub broken: Option<String>,
}

/// Half a cache line, because one is changed at every commit.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(32))]
struct Process {
    /// Bytes that it handed over and that are not durable.
    outstanding_bytes: u64,
    committed_bytes: u64,
    end_ns: u64,
    /// Blocks that it has not handed over.
    blocks: u32,
    is_waiting: bool,
    is_dead: bool,
    /// It will hand over no more.
    has_closed: bool,
    /// The router reported its end.
    is_closed: bool,
}

/// What a process does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// It hands over a block of this many bytes.
    Submit(u64),
    /// It hands over no more.
    Close,
    /// It computes for so many nanoseconds.
    Think(u64),
}

impl Process {
    /// True while few enough of its bytes are handed over and not durable.
    fn may_call(&self, outstanding_max: u64) -> bool {
        !self.is_dead && !self.has_closed && self.outstanding_bytes <= outstanding_max
    }

    /// Bytes of bursts that began and that are not durable, handed over or not.
    fn left_bytes(&self, block_bytes: u64) -> u64 {
        self.outstanding_bytes + u64::from(self.blocks) * block_bytes
    }

    /// What it has not handed over it never will. Tells how much that is.
    fn drop_rest(&mut self, block_bytes: u64) -> u64 {
        u64::from(std::mem::take(&mut self.blocks)) * block_bytes
    }
}

impl Program {
    /// Nothing is written yet. The seed is for what is drawn at random.
    pub fn new(application: &Application, seed: u64) -> Self {
        Program {
            is_fed: false,
            processes: vec![Process::default(); application.processes as usize],
            cache_bytes: application.cache.get(),
            block_bytes: application.block.get(),
            blocks: application.blocks,
            last_burst: application.bursts,
            outstanding_max: application.outstanding_max(),
            think: Thinkers::new(application, seed),
            ready: VecDeque::new(),
            kept_bytes: 0,
            open: application.processes,
            bursts: Bursts::default(),
            broken: None,
        }
    }

    /// As [`Program::new`], where blocks come from elsewhere ([`Program::feed`]) until there are no more.
    pub fn fed(application: &Application) -> Self {
        Program { is_fed: true, think: None, last_burst: 1, ..Self::new(application, 0) }
    }

    /// A process has one block more to hand over.
    pub fn feed(&mut self, process: u32) {
        self.processes[process as usize].blocks += 1;
        self.ready.push_back(process);
    }

    /// No more blocks come: processes close when they have handed over theirs.
    pub fn end_feeding(&mut self) {
        self.bursts.begun = self.last_burst;
        self.ready.extend(0..self.processes.len() as u32);
    }

    /// Processes that have not reported their end.
    pub fn open(&self) -> u32 {
        self.open
    }

    /// True while a process of the burst cannot go on, or the last burst is not done. False while
    /// any computes by itself, or all do.
    pub fn is_waiting(&self) -> bool {
        let is_thinking = self.think.as_ref().is_some_and(Thinkers::are_thinking);
        !is_thinking && (self.bursts.are_waited_for() || self.is_last_burst() && self.open > 0)
    }

    fn is_last_burst(&self) -> bool {
        self.bursts.begun == self.last_burst
    }

    /// False for a process that died: it writes no more.
    pub fn is_alive(&self, process: u32) -> bool {
        !self.processes[process as usize].is_dead
    }

    /// Asks for the memory of a process's books.
    pub fn prefetch(&self, process: u32) {
        self.processes.get(process as usize).map(prefetch);
    }

    /// When each process had everything durable, of those that had.
    pub fn ends_ns(&self) -> impl Iterator<Item = u64> + '_ {
        let blocks = u64::from(self.blocks) * u64::from(self.last_burst);
        let everything = blocks * self.block_bytes;
        let is_fed = self.is_fed;
        let done = move |process: &&Process| match is_fed {
            true => process.committed_bytes > 0 && process.left_bytes(1) == 0,
            false => process.committed_bytes == everything,
        };
        self.processes.iter().filter(done).map(|process| process.end_ns)
    }

    /// Blocks that each process submitted, in whole ones.
    pub fn blocks_of_each(&self) -> impl Iterator<Item = u64> + '_ {
        let blocks = |it: &Process| (it.committed_bytes + it.outstanding_bytes) / self.block_bytes;
        self.processes.iter().map(blocks)
    }

    /// Bytes that processes submitted.
    pub fn submitted_bytes(&self) -> u64 {
        let submitted = |books: &Process| books.committed_bytes + books.outstanding_bytes;
        self.processes.iter().map(submitted).sum()
    }

    /// Bytes that processes had in bursts that began and that they never handed over.
    pub fn kept_bytes(&self) -> u64 {
        self.kept_bytes
    }

    /// All processes that live have a burst to write from now on; all are ready.
    pub fn begin_burst(&mut self, now_ns: u64) {
        let mut waiting = 0;
        for (index, process) in self.processes.iter_mut().enumerate() {
            if process.is_dead {
                continue;
            }
            process.blocks += self.blocks;
            process.is_waiting = process.left_bytes(self.block_bytes) > self.cache_bytes;
            waiting += u32::from(process.is_waiting);
            self.ready.push_back(index as u32);
        }
        self.bursts.begin(now_ns, waiting);
    }

    /// A process that may have something to hand over, or to close.
    pub fn take_ready(&mut self) -> Option<u32> {
        self.ready.pop_front()
    }

    /// What a process does now; `None` if it must wait, or has nothing to do.
    pub fn next_call(&mut self, process: u32) -> Option<Call> {
        let is_last = self.is_last_burst();
        let books = &mut self.processes[process as usize];
        if !books.may_call(self.outstanding_max) {
            return None;
        }
        if books.blocks > 0 {
            match self.think.as_mut().map(|think| think.before_block(process)) {
                None | Some(Thought::Done) => {}
                Some(Thought::Takes(nanoseconds)) => return Some(Call::Think(nanoseconds)),
                Some(Thought::GoesOn) => return None,
            }
            books.blocks -= 1;
            books.outstanding_bytes += self.block_bytes;
            return Some(Call::Submit(self.block_bytes));
        }
        books.has_closed = is_last;
        is_last.then_some(Call::Close)
    }

    /// A process has computed: it is ready.
    pub fn has_thought(&mut self, process: u32) {
        if let Some(think) = &mut self.think {
            think.done(process);
            self.ready.push_back(process);
        }
    }

    /// Processes hand over no more and close; those that have not closed are ready. False if
    /// all have.
    pub fn give_up(&mut self) -> bool {
        self.bursts.begun = self.last_burst;
        self.outstanding_max = u64::MAX;
        for (index, process) in self.processes.iter_mut().enumerate() {
            if !process.is_dead && !process.has_closed {
                self.kept_bytes += process.drop_rest(self.block_bytes);
                self.ready.push_back(index as u32);
            }
        }
        !self.ready.is_empty()
    }

    /// Some bytes of a process are durable.
    pub fn committed(&mut self, now_ns: u64, process: u32, bytes: u64) {
        let books = &mut self.processes[process as usize];
        books.committed_bytes += bytes;
        books.end_ns = now_ns;
        let Some(outstanding) = books.outstanding_bytes.checked_sub(bytes) else {
            self.broken = Some(format!("process {process} committed more than it submitted"));
            return;
        };
        books.outstanding_bytes = outstanding;
        if books.may_call(self.outstanding_max) {
            self.ready.push_back(process);
        }
        if books.is_waiting && books.left_bytes(self.block_bytes) <= self.cache_bytes {
            books.is_waiting = false;
            self.bursts.go_on(now_ns);
        }
    }

    /// A process is done: what was committed and lost must be what it submitted.
    pub fn closed(&mut self, now_ns: u64, process: u32, committed_bytes: u64, lost_bytes: u64) {
        let books = &mut self.processes[process as usize];
        let adds_up =
            books.committed_bytes == committed_bytes && books.outstanding_bytes == lost_bytes;
        if books.is_closed || !adds_up {
            self.broken = Some(format!(
                "process {process} committed {} bytes, did not commit {}, and reports \
                 {committed_bytes} committed and {lost_bytes} lost",
                books.committed_bytes, books.outstanding_bytes
            ));
            return;
        }
        books.is_closed = true;
        self.open -= u32::from(!books.is_dead);
        if books.is_waiting {
            // What is lost is not waited for.
            books.is_waiting = false;
            self.bursts.go_on(now_ns);
        }
    }

    /// A process dies: nobody waits for it any more. True if it lived.
    pub fn die(&mut self, now_ns: u64, process: u32) -> bool {
        let books = &mut self.processes[process as usize];
        let lived = !books.is_dead;
        books.is_dead = true;
        self.kept_bytes += books.drop_rest(self.block_bytes);
        self.open -= u32::from(lived && !books.is_closed);
        if books.is_waiting {
            books.is_waiting = false;
            self.bursts.go_on(now_ns);
        }
        lived
    }
}

#[cfg(test)]
mod tests;
