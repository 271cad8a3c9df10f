//! Processes of this node that know themselves by other ids than this process does, as in containers (pid_namespaces(7)).

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use plimsoll_trace::layout::FileHeader;
use plimsoll_trace::{StatLine, WritingProcess, boot_id};

/// The namespace of process ids that all others are inside of (PROC_PID_INIT_INO in include/linux/proc_ns.h).
const FIRST_NAMESPACE: u64 = 0xEFFF_FFFC;

/// Processes that are in namespaces inside of that of this process.
#[derive(Debug)]
pub struct Nested {
    /// Their directories in /proc, and whose they are, by the ids by which they know themselves.
    found: HashMap<u32, Vec<Process>>,
    /// Whether there can be none elsewhere on this node.
    are_all: bool,
}

#[derive(Debug)]
struct Process {
    directory: PathBuf,
    /// Users that it acts for.
    users: Vec<u32>,
}

impl Nested {
    /// Looks for all that run now.
    pub fn look() -> Self {
        Self::look_in(Path::new("/proc"))
    }

    fn look_in(proc: &Path) -> Self {
        let namespace = fs::metadata(proc.join("self/ns/pid")).map_or(0, |it| it.ino());
        let entries = fs::read_dir(proc);
        let mut nested = Nested { found: HashMap::new(), are_all: entries.is_ok() };
        nested.are_all &= namespace == FIRST_NAMESPACE;
        for entry in entries.into_iter().flatten() {
            let Ok(entry) = entry else {
                nested.are_all = false;
                continue;
            };
            // One that cannot be read has ended since.
            let status = fs::read(entry.path().join("status")).unwrap_or_default();
            let Some(id) = numbers(&status, b"NSpid:").skip(1).last() else { continue };
            let stat = fs::read(entry.path().join("stat")).unwrap_or_default();
            if StatLine::parse(&stat).is_some_and(|it| !it.is_dead) {
                let users = numbers(&status, b"Uid:").collect();
                let process = Process { directory: entry.path(), users };
                nested.found.entry(id).or_default().push(process);
            }
        }
        nested
    }

    /// Looks for one by the id that it knows itself by, and a user that it acts for. Several may have both, and the one in question be none of
    /// them.
    pub fn of_number(&self, pid: u32, user: u32) -> WritingProcess {
        match self.with_number(pid).any(|it| it.users.contains(&user)) {
            true => WritingProcess::Running,
            false => self.not_found(),
        }
    }

    /// Looks for the process of a file of this user that is on another node, or among other process ids.
    pub fn of_header(&self, header: &FileHeader, user: u32) -> WritingProcess {
        let boot = fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        if header.identity.boot_id != boot_id(&boot) {
            return WritingProcess::Elsewhere;
        }
        let mut found = self.not_found();
        for process in self.with_number(header.identity.pid) {
            match process.is_of(header, user) {
                Some(true) => return WritingProcess::Running,
                Some(false) => {}
                None => found = WritingProcess::Elsewhere,
            }
        }
        found
    }

    fn with_number(&self, pid: u32) -> impl Iterator<Item = &Process> {
        self.found.get(&pid).into_iter().flatten()
    }

    /// What is known of one that was not found.
    fn not_found(&self) -> WritingProcess {
        if self.are_all { WritingProcess::Gone } else { WritingProcess::Elsewhere }
    }
}

impl Process {
    /// Returns whether it is the process of a file of this user, which has its number; `None` if nobody can tell. Everybody's containers have a
    /// process 1.
    fn is_of(&self, header: &FileHeader, user: u32) -> Option<bool> {
        match fs::metadata(self.directory.join("ns/pid")) {
            Ok(facts) if facts.ino() != header.pid_namespace => Some(false),
            // Where its beginning is not known, either: no other process has this number among these ids.
            Ok(_) => Some(WritingProcess::is_of(header, &self.directory).unwrap_or(true)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some(false),
            // It is another user's, or hides from its own.
            Err(_) if !self.users.contains(&user) => Some(false),
            Err(_) => WritingProcess::is_of(header, &self.directory),
        }
    }
}

/// Returns the numbers of a line of /proc/PID/status that begins so (proc(5)): NSpid has the ids of a process, the last of which is the one that
/// it knows itself by, Uid the users that it acts for.
fn numbers<'a>(status: &'a [u8], name: &'a [u8]) -> impl Iterator<Item = u32> + 'a {
    let mut lines = status.split(|byte| *byte == b'\n');
    let line = lines.find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let words = std::str::from_utf8(line).unwrap_or_default().split_whitespace();
    words.map_while(|word| word.parse().ok())
}

#[cfg(test)]
mod tests {
    use zerocopy::FromZeros;

    use super::*;

    #[test]
    fn lines_of_numbers_are_found_by_their_names() {
        let status = b"Name:\tsh\nUid:\t7\t8\t7\t7\nNSpid:\t4711\t12\t3\nNSpgid:\t1\t1\n";
        assert_eq!(Vec::from_iter(numbers(status, b"NSpid:")), [4711, 12, 3]);
        assert_eq!(Vec::from_iter(numbers(status, b"Uid:")), [7, 8, 7, 7]);
        for status in [&b""[..], b"NSpid:", b"NSpid:\tx\ty", b"NSpid:\t\xFF"] {
            assert_eq!(numbers(status, b"NSpid:").count(), 0);
        }
    }

    /// A /proc with process 7 of user 1000, which is 2 in its namespace.
    fn proc_with_one() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("7")).unwrap();
        let status = "Uid:\t1000\t1000\t1000\t1000\nNSpid:\t7\t2\n";
        fs::write(folder.path().join("7/status"), status).unwrap();
        let line = "7 (sh) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20\n";
        fs::write(folder.path().join("7/stat"), line).unwrap();
        folder
    }

    #[test]
    fn what_is_not_found_is_gone_only_if_all_were_looked_at() {
        let folder = proc_with_one();
        let some = Nested::look_in(folder.path());
        assert_eq!(some.of_number(2, 1000), WritingProcess::Running);
        assert_eq!(some.of_number(7, 1000), WritingProcess::Elsewhere);
        assert_eq!(some.of_number(2, 1001), WritingProcess::Elsewhere, "another user's");
        let all = Nested { are_all: true, ..some };
        assert_eq!(
            (all.of_number(2, 1000), all.of_number(7, 1000), all.of_number(2, 1001)),
            (WritingProcess::Running, WritingProcess::Gone, WritingProcess::Gone)
        );
        let none = Nested::look_in(&folder.path().join("none"));
        assert_eq!(none.of_number(2, 1000), WritingProcess::Elsewhere);
    }

    #[test]
    fn only_a_process_of_the_same_namespace_is_the_one_of_a_file() {
        let folder = proc_with_one();
        fs::create_dir(folder.path().join("7/ns")).unwrap();
        fs::write(folder.path().join("7/ns/pid"), "").unwrap();
        let mut header = FileHeader::new_zeroed();
        header.identity.pid = 2;
        header.identity.boot_id = boot_id(&fs::read("/proc/sys/kernel/random/boot_id").unwrap());
        header.pid_namespace = fs::metadata(folder.path().join("7/ns/pid")).unwrap().ino();
        let all = Nested { are_all: true, ..Nested::look_in(folder.path()) };
        assert_eq!(all.of_header(&header, 1000), WritingProcess::Running);
        header.circumstances.is_known = 1;
        header.circumstances.began_ns = u64::MAX;
        assert_eq!(all.of_header(&header, 1000), WritingProcess::Gone, "the number is used again");
        header.circumstances.is_known = 0;
        header.pid_namespace += 1;
        assert_eq!(all.of_header(&header, 1000), WritingProcess::Gone);
        header.identity.boot_id[0] ^= 1;
        assert_eq!(all.of_header(&header, 1000), WritingProcess::Elsewhere);
    }
}
