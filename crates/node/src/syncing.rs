//! Whether data is on its target, asked of a kernel that has no `cachestat`: it is told to make a file durable, and says when that is done. Nobody waits for it.

use std::ffi::{c_long, c_ulong};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::fs::fstat;

/// Requests at a time for one file: the next one can be on its way before the last one has ended.
const OF_FILE: usize = 2;

/// Requests at a time. The machine has room for 65,536 of all processes, usually.
const REQUESTS_MAX: usize = 32;

/// Files of which something is known.
const FILES_MAX: usize = 256;

/// `IOCB_CMD_FDSYNC` of linux/aio_abi.h.
const DATA_SYNC: u16 = 3;

/// Files that the kernel is making durable.
#[derive(Debug, Default)]
pub(crate) struct Syncing {
    context: Option<Context>,
    files: Vec<Known>,
}

/// What is known of a file.
#[derive(Debug)]
struct Known {
    device: u64,
    number: u64,
    /// When the kernel was asked, of what is under way.
    asked_ns: [Option<u64>; OF_FILE],
    /// All that was written until then is durable.
    durable_ns: u64,
    has_failed: bool,
}

impl Syncing {
    /// Returns whether what was written to a file until `written_ns` is durable; asks the kernel for it if nobody has.
    ///
    /// # Errors
    /// Fails if the kernel cannot be asked, or could not make the file durable.
    pub fn is_durable(
        &mut self,
        file: BorrowedFd<'_>,
        written_ns: u64,
        now_ns: u64,
    ) -> io::Result<bool> {
        self.take_ended()?;
        let place = self.place(file)?;
        let known = &mut self.files[place];
        if std::mem::take(&mut known.has_failed) {
            return Err(io::ErrorKind::Other.into());
        }
        if known.durable_ns > written_ns {
            return Ok(true);
        }
        let is_asked = known.asked_ns.iter().flatten().any(|asked_ns| *asked_ns > written_ns);
        let free = known.asked_ns.iter().position(Option::is_none);
        if let Some(free) = free.filter(|_| !is_asked && written_ns < now_ns) {
            self.ask(file, place, free, now_ns)?;
        }
        Ok(false)
    }

    /// Returns the place of a file, which is new if nothing is known of it.
    fn place(&mut self, file: BorrowedFd<'_>) -> io::Result<usize> {
        let facts = fstat(file)?;
        let (device, number) = (facts.st_dev, facts.st_ino);
        let is_it = |known: &Known| known.device == device && known.number == number;
        let known = self.files.iter().position(is_it);
        let new =
            Known { device, number, asked_ns: [None; OF_FILE], durable_ns: 0, has_failed: false };
        match known {
            Some(place) => return Ok(place),
            None if self.files.len() < FILES_MAX => {
                self.files.push(new);
                return Ok(self.files.len() - 1);
            }
            None => {}
        }
        let is_idle = |known: &Known| known.asked_ns.iter().all(Option::is_none);
        let place = self.files.iter().position(is_idle).ok_or(io::ErrorKind::QuotaExceeded)?;
        self.files[place] = new;
        Ok(place)
    }

    fn ask(
        &mut self,
        file: BorrowedFd<'_>,
        place: usize,
        free: usize,
        now_ns: u64,
    ) -> io::Result<()> {
        let context = match self.context.take() {
            Some(context) => context,
            None => Context::new()?,
        };
        let asked = context.sync(file, place * OF_FILE + free);
        self.context = Some(context);
        match asked {
            Ok(()) => self.files[place].asked_ns[free] = Some(now_ns),
            // All requests are under way.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => {
                self.forget();
                return Err(error);
            }
        }
        Ok(())
    }

    fn take_ended(&mut self) -> io::Result<()> {
        let Some(context) = &self.context else { return Ok(()) };
        let mut events = [Event::default(); REQUESTS_MAX];
        let Ok(ended) = context.ended(&mut events) else {
            // A forked child does not inherit it.
            self.forget();
            return Ok(());
        };
        for event in &events[..ended] {
            let (place, which) = (event.data as usize / OF_FILE, event.data as usize % OF_FILE);
            let Some(known) = self.files.get_mut(place) else { continue };
            let Some(asked_ns) = known.asked_ns[which].take() else { continue };
            if event.result < 0 {
                known.has_failed = true;
            } else {
                known.durable_ns = known.durable_ns.max(asked_ns);
            }
        }
        Ok(())
    }

    fn forget(&mut self) {
        self.context = None;
        self.files.clear();
    }
}

/// An event of linux/aio_abi.h (struct io_event).
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Event {
    data: u64,
    request: u64,
    result: i64,
    result2: i64,
}

/// A request of linux/aio_abi.h (struct iocb). The key, which the kernel sets, and flags, which stay 0, are in another order on machines with the high byte first.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Request {
    data: u64,
    key_and_flags: u64,
    operation: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    length: u64,
    offset: i64,
    reserved: u64,
    more_flags: u32,
    event_file: u32,
}

/// Asynchronous requests of a process (io_setup(2)).
#[derive(Debug)]
struct Context(c_ulong);

impl Context {
    fn new() -> io::Result<Self> {
        let mut context: c_ulong = 0;
        // SAFETY: the kernel writes one number, which outlives the call.
        let result = unsafe { libc::syscall(libc::SYS_io_setup, REQUESTS_MAX, &raw mut context) };
        checked(result).map(|_| Context(context))
    }

    /// Has the data of a file made durable.
    fn sync(&self, file: BorrowedFd<'_>, data: usize) -> io::Result<()> {
        let file = file.as_raw_fd() as u32;
        let mut request =
            Request { data: data as u64, operation: DATA_SYNC, file, ..Request::default() };
        let mut requests = [&raw mut request];
        // SAFETY: the kernel reads one pointer and the request behind it, and writes its key; both outlive the call, and nothing is used later.
        let result =
            unsafe { libc::syscall(libc::SYS_io_submit, self.0, 1, requests.as_mut_ptr()) };
        checked(result).map(|_| ())
    }

    /// Returns how many requests have ended, which are in `events` then. Does not wait.
    fn ended(&self, events: &mut [Event; REQUESTS_MAX]) -> io::Result<usize> {
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the kernel writes so many events at most, and reads the time; both outlive the call.
        let result = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.0,
                0,
                REQUESTS_MAX,
                events.as_mut_ptr(),
                &raw const at_once,
            )
        };
        checked(result).map(|count| count as usize)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the call takes a number only. Of a context of another process it fails.
        let _ = unsafe { libc::syscall(libc::SYS_io_destroy, self.0) };
    }
}

fn checked(result: c_long) -> io::Result<c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use super::*;
    use crate::kernel::now_ns;

    /// Asks until it is durable.
    fn wait_for(syncing: &mut Syncing, file: BorrowedFd<'_>, written_ns: u64) {
        while !syncing.is_durable(file, written_ns, now_ns()).unwrap() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_was_written_is_durable_after_a_while_and_later_writes_are_asked_for_anew() {
        let mut file = tempfile::tempfile().unwrap();
        let mut syncing = Syncing::default();
        for _ in 0..3 {
            file.write_all(&[1; 5000]).unwrap();
            let written_ns = now_ns();
            assert!(!syncing.is_durable(file.as_fd(), written_ns, now_ns()).unwrap());
            wait_for(&mut syncing, file.as_fd(), written_ns);
            assert!(syncing.is_durable(file.as_fd(), written_ns, now_ns()).unwrap());
        }
    }

    #[test]
    fn many_files_are_told_apart_and_what_cannot_be_made_durable_is_an_error() {
        let mut syncing = Syncing::default();
        let files: Vec<_> = (0..FILES_MAX + 3).map(|_| tempfile::tempfile().unwrap()).collect();
        for file in &files {
            wait_for(&mut syncing, file.as_fd(), now_ns());
        }
        assert_eq!(syncing.files.len(), FILES_MAX);
        let (pipe, _other) = io::pipe().unwrap();
        assert!(syncing.is_durable(pipe.as_fd(), 0, now_ns()).is_err());
        // That was the file's fault: others can be asked for as before.
        wait_for(&mut syncing, files[0].as_fd(), now_ns());
    }

    #[test]
    fn a_context_that_is_not_this_processes_is_replaced() {
        let file = tempfile::tempfile().unwrap();
        let mut syncing = Syncing::default();
        wait_for(&mut syncing, file.as_fd(), now_ns());
        // As in a forked child.
        let other = syncing.context.replace(Context(4096));
        wait_for(&mut syncing, file.as_fd(), now_ns());
        drop(other);
    }
}
