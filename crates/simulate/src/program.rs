//! The program that writes: all processes compute, then all write a burst.
//!
//! A process that has a cache goes on when what it has not yet got rid of fits there; the
//! next compute begins when all can go on, as at a barrier.

use plimsoll_route::prefetch;

use crate::scenario::Application;

/// The processes and where they are.
#[derive(Debug)]
pub struct Program {
    processes: Vec<Process>,
    cache_bytes: u64,
    burst_bytes: u64,
    /// Processes of the burst that cannot go on yet.
    waiting: u32,
    /// All could go on since it was last asked.
    is_released: bool,
    open: u32,
    /// Bursts that began.
    pub bursts: u32,
    burst_begin_ns: u64,
    /// How long all had to wait in each burst.
    pub stalls_ns: Vec<u64>,
    /// When all could go on after the last burst.
    pub released_ns: u64,
    /// What does not add up, if anything.
    pub broken: Option<String>,
}

/// Half a cache line, because one is changed at every commit.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(32))]
struct Process {
    /// Bytes that were submitted and are not committed.
    outstanding_bytes: u64,
    committed_bytes: u64,
    end_ns: u64,
    is_waiting: bool,
    is_dead: bool,
    is_closed: bool,
}

impl Program {
    /// Nothing is written yet.
    pub fn new(application: &Application) -> Self {
        Program {
            processes: vec![Process::default(); application.processes as usize],
            cache_bytes: application.cache.get(),
            burst_bytes: application.burst_bytes(),
            waiting: 0,
            is_released: false,
            open: application.processes,
            bursts: 0,
            burst_begin_ns: 0,
            stalls_ns: Vec::new(),
            released_ns: 0,
            broken: None,
        }
    }

    /// Processes that have not reported their end.
    pub fn open(&self) -> u32 {
        self.open
    }

    /// True while a process of the burst cannot go on, or the last burst is not done.
    pub fn is_waiting(&self) -> bool {
        self.waiting > 0 || self.stalls_ns.len() == self.bursts as usize && self.open > 0
    }

    /// True once for each burst, when every process can go on.
    pub fn take_release(&mut self) -> bool {
        std::mem::take(&mut self.is_released)
    }

    /// False for a process that died: it writes no more.
    pub fn is_alive(&self, process: u32) -> bool {
        !self.processes[process as usize].is_dead
    }

    /// Asks for the memory of a process's books.
    pub fn prefetch(&self, process: u32) {
        self.processes.get(process as usize).map(prefetch);
    }

    /// When each process had everything durable.
    pub fn ends_ns(&self) -> impl Iterator<Item = u64> + '_ {
        self.processes.iter().filter(|process| !process.is_dead).map(|process| process.end_ns)
    }

    /// Bytes that processes submitted.
    pub fn submitted_bytes(&self) -> u64 {
        let submitted = |books: &Process| books.committed_bytes + books.outstanding_bytes;
        self.processes.iter().map(submitted).sum()
    }

    /// All processes that live write a burst now.
    pub fn begin_burst(&mut self, now_ns: u64) {
        self.bursts += 1;
        self.burst_begin_ns = now_ns;
        for process in self.processes.iter_mut().filter(|process| !process.is_dead) {
            process.outstanding_bytes += self.burst_bytes;
            process.is_waiting = process.outstanding_bytes > self.cache_bytes;
            self.waiting += u32::from(process.is_waiting);
        }
        self.note_release(now_ns);
    }

    /// Some bytes of a process are durable.
    pub fn committed(&mut self, now_ns: u64, process: u32, bytes: u64) {
        let books = &mut self.processes[process as usize];
        books.committed_bytes += bytes;
        books.end_ns = now_ns;
        let Some(left) = books.outstanding_bytes.checked_sub(bytes) else {
            self.broken = Some(format!("process {process} committed more than it submitted"));
            return;
        };
        books.outstanding_bytes = left;
        if books.is_waiting && left <= self.cache_bytes {
            books.is_waiting = false;
            self.waiting -= 1;
            self.note_release(now_ns);
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
            self.waiting -= 1;
            self.note_release(now_ns);
        }
    }

    /// A process dies: nobody waits for it any more. True if it lived.
    pub fn die(&mut self, now_ns: u64, process: u32) -> bool {
        let books = &mut self.processes[process as usize];
        let lived = !books.is_dead;
        books.is_dead = true;
        self.open -= u32::from(lived && !books.is_closed);
        if books.is_waiting {
            books.is_waiting = false;
            self.waiting -= 1;
            self.note_release(now_ns);
        }
        lived
    }

    fn note_release(&mut self, now_ns: u64) {
        if self.waiting == 0 && self.stalls_ns.len() < self.bursts as usize {
            self.stalls_ns.push(now_ns - self.burst_begin_ns);
            self.released_ns = now_ns;
            self.is_released = true;
        }
    }
}
