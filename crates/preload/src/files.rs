//! Numbers for files: one for each path, defined when it is first used.
//!
//! Paths are not kept, only 96 bits of hash: among 65,536 names the chance that any two share
//! them is below 10^-19, and a fixed table needs no allocation.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::encode::NO_FILE;

use crate::lock::Held;
use crate::process::{self, Process};
use crate::thread::Busy;
use crate::{config, definitions};

/// Number of files that a filter keeps out: calls on them are not recorded.
pub const EXCLUDED: u32 = u32::MAX;

/// Names in the table.
const NAMES: usize = 1 << 16;

/// Beyond this, searching takes long: later names are numbered anew each time.
const NAMES_MAX: u32 = (NAMES / 4 * 3) as u32;

/// As far is searched from a name's place. It is never as far unless somebody chooses names for that, who would have to know the seed.
const STEPS_MAX: usize = 1024;

/// The table. Zeros are empty.
#[repr(C)]
pub struct Names {
    names: [NameEntry; NAMES],
    /// Names in the table. Guarded by the process's lock, as is what follows.
    used: AtomicU32,
    /// The last number that was given.
    last: AtomicU32,
}

#[repr(C)]
struct NameEntry {
    /// The hash; 0 when free. Written last.
    hash: AtomicU64,
    /// More of the hash.
    check: AtomicU32,
    number: AtomicU32,
}

/// Returns the number of the file at this absolute path, or of whatever has this name.
pub fn number(busy: &Busy, path: &[u8]) -> u32 {
    let Some(process) = process::current() else { return NO_FILE };
    let (hash, check) = hash(path, seed());
    if let Search::Found(number) = process.names.search(hash, check) {
        return number;
    }
    let is_wanted = is_wanted(path);
    let Some(process) = process::recording(busy) else { return NO_FILE };
    let held = process.lock.hold(busy);
    process.names.insert(process, &held, path, is_wanted, hash, check)
}

enum Search {
    Found(u32),
    Free(usize),
    Nothing,
}

impl Names {
    fn search(&self, hash: u64, check: u32) -> Search {
        for step in 0..STEPS_MAX {
            let index = (hash as usize).wrapping_add(step) % NAMES;
            let Some(name) = self.names.get(index) else { break };
            match name.hash.load(Ordering::Acquire) {
                0 => return Search::Free(index),
                found if found == hash && name.check.load(Ordering::Relaxed) == check => {
                    return Search::Found(name.number.load(Ordering::Relaxed));
                }
                _ => {}
            }
        }
        Search::Nothing
    }

    fn insert(
        &self,
        process: &Process,
        held: &Held<'_>,
        path: &[u8],
        is_wanted: bool,
        hash: u64,
        check: u32,
    ) -> u32 {
        // Another thread may have been faster.
        let free = match self.search(hash, check) {
            Search::Found(number) => return number,
            Search::Free(index) => self.names.get(index),
            Search::Nothing => None,
        };
        let number = if is_wanted {
            let number = self.last.load(Ordering::Relaxed).wrapping_add(1);
            self.last.store(number, Ordering::Relaxed);
            // Defined before any event can use the number, so that a kill leaves no riddle.
            definitions::write(process, held, DefinitionKind::File, number, 0, path);
            number
        } else {
            EXCLUDED
        };
        let used = self.used.load(Ordering::Relaxed);
        if let Some(name) = free.filter(|_| used < NAMES_MAX) {
            self.used.store(used + 1, Ordering::Relaxed);
            name.check.store(check, Ordering::Relaxed);
            name.number.store(number, Ordering::Relaxed);
            name.hash.store(hash, Ordering::Release);
        }
        number
    }
}

/// Two hashes depend on this, which is another one for each program that is started: whoever chooses names of files must not choose their places, too. 0 until it is known.
static SEED: AtomicU64 = AtomicU64::new(0);

#[inline]
fn seed() -> u64 {
    match SEED.load(Ordering::Relaxed) {
        0 => first_seed(),
        seed => seed,
    }
}

/// Takes it from the bytes that the kernel gives each program (AT_RANDOM, getauxval(3)): threads that do so at once take the same.
#[cold]
fn first_seed() -> u64 {
    // SAFETY: a function that needs nothing.
    let address = unsafe { libc::getauxval(libc::AT_RANDOM) };
    let bytes = core::ptr::with_exposed_provenance::<[u8; 8]>(address as usize);
    // SAFETY: the kernel has put 16 bytes there, which stay.
    let seed = unsafe { bytes.as_ref() }.map_or(1, |it| u64::from_ne_bytes(*it)) | 1;
    SEED.store(seed, Ordering::Relaxed);
    seed
}

/// Returns two hashes, made in one pass of eight bytes a step (multiply and fold, as in wyhash).
fn hash(path: &[u8], seed: u64) -> (u64, u32) {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    const OTHER: u64 = 0xd6e8_feb8_6659_fd93;
    let mix = |value: u64, factor: u64| {
        let product = u128::from(value) * u128::from(factor);
        product as u64 ^ (product >> 64) as u64
    };
    let (mut one, mut two) = (path.len() as u64 ^ FACTOR ^ seed, OTHER ^ seed.rotate_left(32));
    let mut chunks = path.chunks_exact(8);
    for eight in &mut chunks {
        let mut word = [0u8; 8];
        word.copy_from_slice(eight);
        let word = u64::from_le_bytes(word);
        one = mix(one ^ word, FACTOR);
        two = mix(two.wrapping_add(word), OTHER);
    }
    let rest = chunks.remainder().iter().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
    one = mix(one ^ rest, FACTOR);
    two = mix(two.wrapping_add(rest), OTHER);
    // The table tells free places by zero.
    (mix(one ^ two, FACTOR).max(1), mix(two ^ one.rotate_left(32), OTHER) as u32)
}

/// Asks the filters.
fn is_wanted(path: &[u8]) -> bool {
    let config = config::get();
    if any_glob(config.exclude.as_bytes(), path) {
        return false;
    }
    match config.include.as_bytes() {
        // Not pipes and sockets, whose names do not begin with a slash, and not files that store
        // nothing. Shared memory is where many programs keep files.
        [] => {
            let stores_nothing = [&b"/proc/"[..], b"/sys/", b"/dev/"];
            path.starts_with(b"/dev/shm/")
                || path.starts_with(b"/")
                    && !stores_nothing.iter().any(|prefix| path.starts_with(prefix))
        }
        include => any_glob(include, path),
    }
}

/// Returns whether a path is what one of these globs means, which have colons between them.
pub fn any_glob(list: &[u8], path: &[u8]) -> bool {
    list.split(|byte| *byte == b':').any(|glob| !glob.is_empty() && matches(glob, path))
}

/// Returns whether a text is what a glob means: `*` is any bytes, slashes too; `?` is one byte.
fn matches(glob: &[u8], text: &[u8]) -> bool {
    let (mut glob_at, mut text_at) = (0, 0);
    // Where to go on when what follows the last star does not match: one byte further.
    let mut star: Option<(usize, usize)> = None;
    while let Some(byte) = text.get(text_at) {
        match glob.get(glob_at) {
            Some(b'*') => {
                star = Some((glob_at + 1, text_at));
                glob_at += 1;
            }
            Some(wanted) if wanted == byte || *wanted == b'?' => {
                glob_at += 1;
                text_at += 1;
            }
            _ => match star {
                Some((after, from)) => {
                    star = Some((after, from + 1));
                    glob_at = after;
                    text_at = from + 1;
                }
                None => return false,
            },
        }
    }
    glob.get(glob_at..).is_some_and(|rest| rest.iter().all(|byte| *byte == b'*'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_as_in_a_shell_but_stars_cross_slashes() {
        for (glob, text) in [
            ("*", ""),
            ("*", "/a/b"),
            ("/a/*", "/a/b/c"),
            ("*.h5", "/x/y.h5"),
            ("/?/b", "/a/b"),
            ("*a*b*", "xxaxxbxx"),
            ("a*a*a", "aaa"),
        ] {
            assert!(matches(glob.as_bytes(), text.as_bytes()), "{glob} {text}");
        }
        for (glob, text) in
            [("", "a"), ("?", ""), ("/a/*", "/b/a/"), ("*.h5", "/x.h5.tmp"), ("a*a*a", "aa")]
        {
            assert!(!matches(glob.as_bytes(), text.as_bytes()), "{glob} {text}");
        }
        assert!(any_glob(b"/x:*.h5", b"/a.h5") && !any_glob(b"/x::*.h5", b"/y"));
        assert!(!any_glob(b"", b"") && !any_glob(b":", b""));
    }

    #[test]
    fn hashes_tell_names_of_all_lengths_apart_and_are_never_zero() {
        let mut seen = std::collections::HashSet::new();
        for length in 0..64 {
            for byte in [0, b'a', 0xff] {
                let name = vec![byte; length];
                let (hash, check) = hash(&name, 1);
                assert_ne!(hash, 0);
                // Of no bytes there is only one name.
                assert!(seen.insert((hash, check)) || length == 0);
            }
        }
        assert_ne!(hash(b"/run/rank.00001", 1), hash(b"/run/rank.00010", 1));
    }

    /// The attack: names whose places lie side by side, so that each look at one passes all others.
    #[test]
    fn names_that_meet_in_one_program_do_not_meet_in_another() {
        let places = |names: &[String], seed: u64| {
            let place = |name: &String| hash(name.as_bytes(), seed).0 as usize % NAMES;
            names.iter().filter(|name| place(name) < 8).count()
        };
        let names = (0..1_000_000).map(|number| format!("/project/data/{number:06}"));
        let chosen: Vec<String> =
            names.filter(|it| places(std::slice::from_ref(it), 1) == 1).collect();
        assert!(chosen.len() > 50);
        assert!((2..12).map(|seed| places(&chosen, 2 * seed + 1)).sum::<usize>() < 10);
        assert!(seed() != 0 && seed() == seed());
    }
}
