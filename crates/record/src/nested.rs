//! Processes of this node that know themselves by other ids than this process does, as in containers (pid_namespaces(7)).

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use plimsoll_trace::layout::FileHeader;
use plimsoll_trace::{StatLine, WritingProcess, boot_id};

/// The namespace of process ids that all others are inside of (PROC_PID_INIT_INO in include/linux/proc_ns.h).
const FIRST_NAMESPACE: u64 = 0xEFFF_FFFC;

/// Processes that are in namespaces inside of that of this process.
#[derive(Debug)]
pub struct Nested {
    /// The ids by which they know themselves.
    found: HashSet<u32>,
    /// Whether there can be none elsewhere on this node.
    are_all: bool,
}

impl Nested {
    /// Looks for all that run now.
    pub fn look() -> Self {
        Self::look_in(Path::new("/proc"))
    }

    fn look_in(proc: &Path) -> Self {
        let namespace = fs::metadata(proc.join("self/ns/pid")).map_or(0, |it| it.ino());
        let entries = fs::read_dir(proc);
        let mut nested = Nested { found: HashSet::new(), are_all: entries.is_ok() };
        nested.are_all &= namespace == FIRST_NAMESPACE;
        for entry in entries.into_iter().flatten() {
            let Ok(entry) = entry else {
                nested.are_all = false;
                continue;
            };
            // One that cannot be read has ended since.
            let status = fs::read(entry.path().join("status")).unwrap_or_default();
            let Some(id) = nested_id(&status) else { continue };
            let stat = fs::read(entry.path().join("stat")).unwrap_or_default();
            nested.found.extend(StatLine::parse(&stat).filter(|it| !it.is_dead).map(|_| id));
        }
        nested
    }

    /// Looks for one by the id that it knows itself by. Several may have it, and the one in question be none of them.
    pub fn of_number(&self, pid: u32) -> WritingProcess {
        match self.found.contains(&pid) {
            true => WritingProcess::Running,
            false if self.are_all => WritingProcess::Gone,
            false => WritingProcess::Elsewhere,
        }
    }

    /// Looks for the process of a file that is on another node, or among other process ids.
    pub fn of_header(&self, header: &FileHeader) -> WritingProcess {
        let boot = fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        match header.identity.boot_id == boot_id(&boot) {
            true => self.of_number(header.identity.pid),
            false => WritingProcess::Elsewhere,
        }
    }
}

/// Returns the id that a process knows itself by, if that is another one than here (proc(5), NSpid in /proc/PID/status).
fn nested_id(status: &[u8]) -> Option<u32> {
    let mut lines = status.split(|byte| *byte == b'\n');
    let ids = lines.find_map(|line| line.strip_prefix(b"NSpid:"))?;
    let ids = std::str::from_utf8(ids).ok()?.split_whitespace().skip(1);
    ids.last()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_id_is_the_one_that_a_process_knows() {
        assert_eq!(nested_id(b"Name:\tsh\nNSpid:\t4711\t12\t3\nNSpgid:\t1\t1\n"), Some(3));
        assert_eq!(nested_id(b"Name:\tsh\nNSpid:\t4711\n"), None, "it is not nested");
        for status in [&b""[..], b"NSpid:", b"NSpid:\tx\ty", b"NSpid:\t1\t\xFF"] {
            assert_eq!(nested_id(status), None);
        }
    }

    #[test]
    fn what_is_not_found_is_gone_only_if_all_were_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("7")).unwrap();
        fs::write(folder.path().join("7/status"), "NSpid:\t7\t2\n").unwrap();
        let line = "7 (sh) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20\n";
        fs::write(folder.path().join("7/stat"), line).unwrap();
        let some = Nested::look_in(folder.path());
        assert_eq!(some.of_number(2), WritingProcess::Running);
        assert_eq!(some.of_number(7), WritingProcess::Elsewhere);
        let all = Nested { are_all: true, ..some };
        assert_eq!(
            (all.of_number(2), all.of_number(7)),
            (WritingProcess::Running, WritingProcess::Gone)
        );
        let none = Nested::look_in(&folder.path().join("none"));
        assert_eq!(none.of_number(2), WritingProcess::Elsewhere);
    }
}
