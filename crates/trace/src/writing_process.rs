//! Whether the process that writes a file still runs. Only the kernel that it runs on can tell,
//! and only where process ids mean the same.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::time::{ClockId, clock_gettime};

use crate::layout::{FileHeader, get_text};
use crate::stat_line::StatLine;

/// What is known of the process that writes a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WritingProcess {
    /// It runs.
    Running,
    /// It is gone.
    Gone,
    /// It is, or was, on another node or among other process ids.
    Elsewhere,
}

/// How far apart start times of one process may be that were found out at different times: the
/// kernel tells hundredths of a second, and a busy node lets time pass between two readings. No
/// number is used again so soon.
const SAME_START_NS: u64 = 1_000_000_000;

impl WritingProcess {
    /// Looks for a process of this node by its number alone, for a file that does not tell more yet.
    pub fn of_number(pid: u32) -> Self {
        let stat = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
        match StatLine::parse(&stat) {
            Some(found) if !found.is_dead => WritingProcess::Running,
            _ => WritingProcess::Gone,
        }
    }

    /// Looks for the process of a file. `proc` is where the kernel tells about processes.
    pub(crate) fn find(header: &FileHeader, proc: &Path) -> Self {
        let identity = &header.identity;
        let boot = fs::read(proc.join("sys/kernel/random/boot_id")).unwrap_or_default();
        // A process without /proc could not tell its boot.
        if ![boot_id(&boot), [0; 16]].contains(&identity.boot_id) {
            let host = fs::read(proc.join("sys/kernel/hostname")).unwrap_or_default();
            let is_this_host = get_text(&identity.host) == host.trim_ascii_end();
            // A node that has booted since runs nothing of before.
            return if is_this_host { WritingProcess::Gone } else { WritingProcess::Elsewhere };
        }
        let namespace = fs::metadata(proc.join("self/ns/pid")).map_or(0, |it| it.ino());
        if ![0, namespace].contains(&header.pid_namespace) {
            return WritingProcess::Elsewhere;
        }
        match Self::is_of(header, &proc.join(identity.pid.to_string())) {
            Some(false) => WritingProcess::Gone,
            Some(true) | None => WritingProcess::Running,
        }
    }

    /// Returns whether a process, whose directory in /proc is given, runs and began when the process of the file did: numbers are used again.
    /// `None` for one that runs, if the file does not tell when its process began.
    pub fn is_of(header: &FileHeader, process: &Path) -> Option<bool> {
        let stat = fs::read(process.join("stat")).unwrap_or_default();
        let Some(found) = StatLine::parse(&stat).filter(|it| !it.is_dead) else {
            return Some(false);
        };
        let circumstances = &header.circumstances;
        if circumstances.is_known == 0 || circumstances.began_ns == 0 {
            return None;
        }
        // Each told by its own clock.
        let ahead_ns = clock_offset_ns(process) - clock_offset_ns(Path::new("/proc/self"));
        let began_ns = i128::from(began_ns(&found)) + ahead_ns;
        let apart_ns = began_ns.abs_diff(i128::from(circumstances.began_ns));
        Some(apart_ns <= u128::from(SAME_START_NS))
    }
}

/// Returns by how much CLOCK_MONOTONIC of a process is ahead of the node's (time_namespaces(7)); 0 where the kernel does not tell.
fn clock_offset_ns(process: &Path) -> i128 {
    let offsets = fs::read_to_string(process.join("timens_offsets")).unwrap_or_default();
    let mut words = offsets
        .lines()
        .find_map(|line| line.strip_prefix("monotonic"))
        .unwrap_or_default()
        .split_whitespace();
    let mut number = || words.next()?.parse::<i64>().ok();
    match (number(), number()) {
        (Some(seconds), Some(nanos)) => i128::from(seconds) * 1_000_000_000 + i128::from(nanos),
        _ => 0,
    }
}

/// When this very process began, on CLOCK_MONOTONIC.
pub(crate) fn own_start_ns() -> Option<u64> {
    Some(began_ns(&StatLine::parse(&fs::read("/proc/self/stat").ok()?)?))
}

/// Returns the bytes of a boot's id, which the kernel tells in hexadecimal digits.
pub fn boot_id(text: &[u8]) -> [u8; 16] {
    let mut id = [0u8; 16];
    let digits = text.iter().filter_map(|byte| (*byte as char).to_digit(16));
    for (index, digit) in digits.take(32).enumerate() {
        id[index / 2] = id[index / 2] << 4 | digit as u8;
    }
    id
}

/// Returns when a process began, on CLOCK_MONOTONIC.
fn began_ns(found: &StatLine) -> u64 {
    let nanos = |clock| {
        let now = clock_gettime(clock);
        (now.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec as u64)
    };
    // The kernel counts from boot, time asleep included, which CLOCK_MONOTONIC leaves out.
    let asleep_ns = nanos(ClockId::Boottime).saturating_sub(nanos(ClockId::Monotonic));
    found.start_ns(rustix::param::clock_ticks_per_second()).saturating_sub(asleep_ns)
}

#[cfg(test)]
mod tests {
    use zerocopy::FromZeros;

    use super::*;

    /// Returns the header of this very process.
    fn own_header() -> FileHeader {
        let mut header = FileHeader::new_zeroed();
        header.identity.pid = std::process::id();
        header.identity.boot_id = boot_id(&fs::read("/proc/sys/kernel/random/boot_id").unwrap());
        header.pid_namespace = fs::metadata("/proc/self/ns/pid").unwrap().ino();
        header
    }

    fn find(header: &FileHeader) -> WritingProcess {
        WritingProcess::find(header, Path::new("/proc"))
    }

    #[test]
    fn this_process_runs_and_others_do_not() {
        let mut header = own_header();
        assert_eq!(find(&header), WritingProcess::Running);
        header.circumstances.is_known = 1;
        assert_eq!(find(&header), WritingProcess::Running, "when it began is not known");
        header.circumstances.began_ns = 1;
        assert_eq!(find(&header), WritingProcess::Gone, "the number is used again");
        header.identity.pid = 1 << 30;
        assert_eq!(find(&header), WritingProcess::Gone);
    }

    #[test]
    fn clocks_of_other_namespaces_are_ahead_or_behind() {
        let folder = tempfile::tempdir().unwrap();
        let offset = |text: &str| {
            fs::write(folder.path().join("timens_offsets"), text).unwrap();
            clock_offset_ns(folder.path())
        };
        assert_eq!(offset("monotonic           7         5\nboottime  1 2\n"), 7_000_000_005);
        assert_eq!(offset("monotonic          -7 500000000\n"), -6_500_000_000);
        assert_eq!((offset(""), offset("monotonic x 1\n")), (0, 0));
        assert_eq!(clock_offset_ns(Path::new("/proc/none")), 0);
    }

    #[test]
    fn a_process_began_before_now() {
        let (began, now) = (own_start_ns().unwrap(), crate::layout::Anchor::now().monotonic_ns);
        assert!(began <= now, "{began} {now}");
        let mut header = own_header();
        header.circumstances.is_known = 1;
        header.circumstances.began_ns = began;
        assert_eq!(find(&header), WritingProcess::Running);
    }

    #[test]
    fn a_boots_id_is_read_from_its_digits() {
        let id = boot_id(b"01234567-89ab-cdef-FEDC-ba9876543210\n");
        assert_eq!(id, 0x0123_4567_89ab_cdef_fedc_ba98_7654_3210u128.to_be_bytes());
        assert_eq!(boot_id(b""), [0; 16]);
    }

    #[test]
    fn a_number_alone_tells_whether_a_process_runs() {
        assert_eq!(WritingProcess::of_number(std::process::id()), WritingProcess::Running);
        assert_eq!(WritingProcess::of_number(1 << 30), WritingProcess::Gone);
        let mut child = std::process::Command::new("true").spawn().unwrap();
        while WritingProcess::of_number(child.id()) == WritingProcess::Running {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert!(Path::new("/proc").join(child.id().to_string()).exists());
        child.wait().unwrap();
    }

    #[test]
    fn a_process_that_nobody_waited_for_is_gone() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let header = FileHeader {
            identity: crate::layout::Identity { pid: child.id(), ..own_header().identity },
            ..own_header()
        };
        // It ends by itself; until it is waited for its number is taken.
        while find(&header) == WritingProcess::Running {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert!(Path::new("/proc").join(child.id().to_string()).exists());
        child.wait().unwrap();
    }

    #[test]
    fn other_nodes_and_namespaces_are_elsewhere_and_earlier_boots_are_over() {
        let mut header = own_header();
        header.pid_namespace += 1;
        assert_eq!(find(&header), WritingProcess::Elsewhere);
        let mut header = own_header();
        header.identity.boot_id[0] ^= 1;
        header.identity.host[..5].copy_from_slice(b"other");
        assert_eq!(find(&header), WritingProcess::Elsewhere);
        let host = fs::read("/proc/sys/kernel/hostname").unwrap();
        crate::layout::put_text(&mut header.identity.host, host.trim_ascii_end());
        assert_eq!(find(&header), WritingProcess::Gone);
    }
}
