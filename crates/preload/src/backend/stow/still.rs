//! Files kept still: who writes to a plain file that may grow into a container keeps others from making one of it just then.
//!
//! A file is known here by a number. Who writes shares a byte of a file that only this user can open; who makes a container of it has that byte alone. The lock is that of this process's open file, so that a kill
//! gives it back, and threads of a process take turns. A process that cannot open that file has nothing to do with files that grow.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};

use plimsoll_pilot::place_of_user;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{OFlags, Stat, Timespec, fstat};
use rustix::thread::nanosleep;

use crate::lock::{Held, Lock};
use crate::open_file::OwnFile;
use crate::own_descriptors::OwnDescriptor;
use crate::sys;
use crate::thread::Serving;

/// The file, in the user's place.
const NAME: &str = "growing";
const PRIVATE: u32 = 0o600;

static FILE: OwnDescriptor = OwnDescriptor::none();

/// By what processes that have the same file know each other; 0 while there is none.
static DOMAIN: AtomicU32 = AtomicU32::new(0);

/// Threads of a process take turns at files that have one of these in common.
const TURNS: usize = 256;

static ALL: [Lock; TURNS] = [const { Lock::new() }; TURNS];

/// How long is waited at most, and between two looks at first and at last, in nanoseconds.
const WAIT_MAX: u64 = 60_000_000_000;
const PAUSE_FIRST: u64 = 20_000;
const PAUSE_LAST: u64 = 5_000_000;

/// How a file is kept still.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Others may write to it, too.
    Shared,
    /// Nobody else does anything with it.
    Alone,
}

/// By what a file is known here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number(u32);

impl Number {
    /// Returns that of a file.
    pub fn of(file: &Stat) -> Self {
        Self::mixed(file.st_dev, file.st_ino)
    }

    /// Returns that of a name in a directory, of which there may be no file yet.
    pub fn of_name(directory: &Stat, name: &[u8]) -> Self {
        let mixed = |so_far: u64, byte: &u8| (so_far ^ u64::from(*byte)).wrapping_mul(PRIME);
        Self::mixed(directory.st_dev, name.iter().fold(directory.st_ino.wrapping_add(1), mixed))
    }

    fn mixed(one: u64, other: u64) -> Self {
        let mixed = (one.rotate_left(32) ^ other).wrapping_mul(GOLDEN);
        Number((mixed ^ (mixed >> 29)).wrapping_mul(GOLDEN).wrapping_shr(32) as u32)
    }

    fn turn(self) -> usize {
        self.0 as usize % TURNS
    }
}

/// As FNV-1a mixes bytes.
const PRIME: u64 = 0x0100_0000_01b3;
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Proof that a file is kept still.
pub struct Still {
    number: Number,
    /// The last to go.
    _turn: Option<Held<'static>>,
}

impl Drop for Still {
    fn drop(&mut self) {
        if let Some(file) = FILE.get() {
            let mut lock = byte(libc::F_UNLCK, self.number);
            let _ = sys::control(file.as_raw_fd(), libc::F_OFD_SETLK, &raw mut lock);
        }
    }
}

/// Returns whether this process can keep files still.
pub fn is_possible() -> bool {
    FILE.get().is_some() || open().is_some()
}

/// Returns by what processes that keep each other's files still know each other, in 20 bits; 0 in one that keeps none.
pub fn domain() -> u32 {
    DOMAIN.load(Ordering::Relaxed)
}

/// Keeps a file still.
///
/// # Errors
/// EAGAIN if somebody keeps it so for a minute, who must be stopped; EMFILE if the user's file cannot be opened.
pub fn keep(serving: &Serving, number: Number, way: Way) -> Result<Still, c_int> {
    let turn = ALL.get(number.turn()).map(|it| it.hold_serving(serving));
    take(number, way)?;
    Ok(Still { number, _turn: turn })
}

/// Keeps two files still that others may write to.
pub fn keep_both(
    serving: &Serving,
    one: Number,
    other: Number,
) -> Result<(Option<Still>, Still), c_int> {
    // Everybody takes turns in one order.
    let (first, second) = if one.turn() <= other.turn() { (one, other) } else { (other, one) };
    let still = keep(serving, first, Way::Shared)?;
    if first == second {
        return Ok((None, still));
    }
    if first.turn() != second.turn() {
        return Ok((Some(keep(serving, second, Way::Shared)?), still));
    }
    // This thread has that turn already, and gives it up last.
    take(second, Way::Shared)?;
    Ok((Some(Still { number: second, _turn: None }), still))
}

fn take(number: Number, way: Way) -> Result<(), c_int> {
    // Without it, there are no descriptors left.
    let file = FILE.get().or_else(|| open().and_then(|()| FILE.get())).ok_or(libc::EMFILE)?;
    let kind = if way == Way::Alone { libc::F_WRLCK } else { libc::F_RDLCK };
    let (mut waited, mut pause) = (0, PAUSE_FIRST);
    loop {
        let mut lock = byte(kind, number);
        match sys::control(file.as_raw_fd(), libc::F_OFD_SETLK, &raw mut lock) {
            Ok(_) => return Ok(()),
            Err(libc::EAGAIN | libc::EACCES) if waited < WAIT_MAX => {}
            Err(error) => return Err(error),
        }
        let _ = nanosleep(&Timespec { tv_sec: 0, tv_nsec: pause as _ });
        waited += pause;
        pause = (2 * pause).min(PAUSE_LAST);
    }
}

fn byte(kind: c_int, number: Number) -> libc::flock {
    libc::flock {
        l_type: kind as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: libc::off_t::from(number.0),
        l_len: 1,
        l_pid: 0,
    }
}

/// Opens the file, and makes it if nobody has.
fn open() -> Option<()> {
    let place = place_of_user().ok()?;
    let opened = || place.open_own_file(NAME, OFlags::RDWR);
    let file = opened().or_else(|_| {
        // Another process may be quicker.
        place.create(NAME, OFlags::RDWR, PRIVATE).or_else(|_| opened())
    });
    let file = OwnFile::from(OwnedFd::from(file.ok()?));
    let facts = fstat(&file).ok()?;
    FILE.keep(file).ok()?;
    let Number(mixed) = Number::of(&facts);
    DOMAIN.store(1 + mixed % (DOMAINS - 1), Ordering::Relaxed);
    Some(())
}

/// How many domains are told apart.
pub const DOMAINS: u32 = 1 << 20;

/// Begins anew in a forked child: it must not hold what its parent holds, and threads that it has not got have no turns.
pub fn begin_anew() {
    FILE.close();
    ALL.iter().for_each(Lock::open_in_child);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_directory_have_numbers_of_their_own() {
        let directory = rustix::fs::stat("/").unwrap();
        let number = |name: &[u8]| Number::of_name(&directory, name);
        assert!(number(b"a") == number(b"a") && number(b"a") != number(b"b"));
        assert!(number(b"ab") != number(b"ba") && number(b"") != Number::of(&directory));
    }
}
