//! The size of a small file as the times of its marker tell it, so that looking at the file does not take reading it.
//!
//! Programs never see these times: a file has those of its anchor. Whoever changes the marker sets them afterwards, before others may change it: the second of the last change is true, the
//! nanoseconds have the size with a checksum, and those of the last access have all of that. A write sets the time of the last change before anything else, and so takes back what they tell: of a writer that was killed, of a
//! program that knows nothing of this, and of any other change, the marker is read as ever. The checksum is also of the marker's number and length, so that no copy is believed, and of what
//! the kernel is known by since it was started: what a power failure left is never told by times. Damage to bytes on the storage is not seen in times, and told by whoever reads the file.

use rustix::fs::{Stat, Timestamps, futimens};
use rustix::io::Errno;
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::held::Held;
use crate::container::boot_id;

/// Sizes that are told are smaller: most small files are, and so many fit into nanoseconds many times over.
const SIZES: u64 = 1 << 15;
/// Nanoseconds of a second.
const NANOS: u64 = 1_000_000_000;
/// What is left of them beside a size.
const CHECKS: u64 = NANOS / SIZES;
/// The access lies behind all changes, so that reading the marker does not set it (mount(8), relatime).
const ACCESSED_AFTER: i64 = 2;

/// The times of a marker that tell a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Told {
    changed: Timespec,
    accessed: Timespec,
}

impl Told {
    /// Returns those of a marker with this number and length, which was changed in this second.
    fn of(size: u64, (inode, length): (u64, u64), second: i64, boot: [u8; 16]) -> Option<Self> {
        if size >= SIZES {
            return None;
        }
        let words = [size, inode, length, second.cast_unsigned()].map(u64::to_le_bytes);
        let sum = u64::from(crc32c::crc32c_append(crc32c::crc32c(&boot), words.as_flattened()));
        let (check, nanos) = (sum % CHECKS, sum % NANOS);
        let changed = Timespec { tv_sec: second, tv_nsec: (check * SIZES + size) as i64 };
        let accessed = Timespec { tv_sec: second + ACCESSED_AFTER, tv_nsec: nanos as i64 };
        Some(Told { changed, accessed })
    }
}

/// Has the times of a marker tell the size of its file. Whoever writes to it must be kept out meanwhile.
///
/// # Errors
/// If it cannot be asked, or its times cannot be set.
pub(super) fn tell(held: &Held, size: u64) -> Result<(), Errno> {
    let facts = held.facts()?;
    let now = clock_gettime(ClockId::RealtimeCoarse);
    let Some(boot) = boot() else { return Ok(()) };
    match Told::of(size, known_by(&facts), now.tv_sec, boot) {
        Some(Told { changed, accessed }) => {
            futimens(held.file(), &Timestamps { last_access: accessed, last_modification: changed })
        }
        None => Ok(()),
    }
}

/// Returns the size of the small file with this marker, if its times tell one.
pub fn told_by(marker: &Stat) -> Option<u64> {
    let changed = Timespec { tv_sec: marker.st_mtime, tv_nsec: marker.st_mtime_nsec as i64 };
    let accessed = Timespec { tv_sec: marker.st_atime, tv_nsec: marker.st_atime_nsec as i64 };
    let size = changed.tv_nsec.cast_unsigned() % SIZES;
    // Most others are told apart by this alone.
    if accessed.tv_sec != changed.tv_sec + ACCESSED_AFTER {
        return None;
    }
    let told = Told::of(size, known_by(marker), changed.tv_sec, boot()?);
    (told == Some(Told { changed, accessed })).then_some(size)
}

fn known_by(marker: &Stat) -> (u64, u64) {
    (marker.st_ino, marker.st_size.cast_unsigned())
}

fn boot() -> Option<[u8; 16]> {
    boot_id().ok().map(|it| it.bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BOOT: [u8; 16] = [7; 16];

    fn size_in(told: Told) -> u64 {
        told.changed.tv_nsec.cast_unsigned() % SIZES
    }

    proptest! {
        #[test]
        fn what_is_told_is_the_size_and_times_that_exist(
            size in 0..SIZES, inode: u64, length: u64, second in 0i64..1 << 34,
        ) {
            let told = Told::of(size, (inode, length), second, BOOT).unwrap();
            prop_assert_eq!(size_in(told), size);
            prop_assert_eq!(told.changed.tv_sec, second);
            for it in [told.changed, told.accessed] {
                prop_assert!((0..NANOS as i64).contains(&it.tv_nsec));
            }
        }

        #[test]
        fn nothing_else_is_told_by_the_same_times(size in 0..SIZES, inode in 1..u64::MAX, length in 1u64..1 << 40) {
            let of = |size, inode, length, second, boot| {
                Told::of(size, (inode, length), second, boot)
            };
            let told = of(size, inode, length, 5, BOOT);
            prop_assert_ne!(told, of(size ^ 1, inode, length, 5, BOOT));
            prop_assert_ne!(told, of(size, inode - 1, length, 5, BOOT));
            prop_assert_ne!(told, of(size, inode, length - 1, 5, BOOT));
            prop_assert_ne!(told, of(size, inode, length, 6, BOOT));
            prop_assert_ne!(told, of(size, inode, length, 5, [8; 16]));
        }
    }

    #[test]
    fn a_size_that_does_not_fit_is_not_told() {
        assert!(Told::of(SIZES - 1, (1, 1), 1, BOOT).is_some());
        assert!(Told::of(SIZES, (1, 1), 1, BOOT).is_none());
    }
}
