//! Which processes use a file system.

use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_machine::Machine;

/// A process that uses a file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// Its command, e.g. "bash".
    pub command: String,
    /// What it uses, e.g. its working directory or an open file.
    pub uses: PathBuf,
}

/// Returns the processes that have something below `point`: their working directory, root
/// directory, program, an open or a mapped file.
///
/// Goes by names alone: asking a file system would hang where that one hangs. Sees
/// other users' processes only as root.
pub(crate) fn holders_of(machine: &Machine, point: &Path) -> Vec<Holder> {
    let Ok(entries) = fs::read_dir(machine.locate("/proc")) else { return Vec::new() };
    let mut holders: Vec<Holder> = entries
        .flatten()
        .filter_map(|entry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let uses = used_below(&entry.path(), point)?;
            let command = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            Some(Holder { pid, command: command.trim().to_owned(), uses })
        })
        .collect();
    holders.sort_by_key(|holder| holder.pid);
    holders
}

/// Holders for a message.
pub(crate) fn named(holders: &[Holder]) -> String {
    if holders.is_empty() {
        return "something that is no process seen from here: another mount namespace, \
                a nested mount, a swap file or a loop device"
            .to_owned();
    }
    let name = |holder: &Holder| {
        format!("process {} ({}: {})", holder.pid, holder.command, holder.uses.display())
    };
    holders.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn used_below(process: &Path, point: &Path) -> Option<PathBuf> {
    let descriptors = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    ["cwd", "root", "exe"]
        .into_iter()
        .map(|link| process.join(link))
        .chain(descriptors.map(|descriptor| descriptor.path()))
        .filter_map(|link| fs::read_link(link).ok())
        .chain(mapped_files(process))
        .find(|path| path.starts_with(point))
}

/// Returns the sixth field of each line of `maps` (Documentation/filesystems/proc.rst).
fn mapped_files(process: &Path) -> Vec<PathBuf> {
    let maps = fs::read(process.join("maps")).unwrap_or_default();
    let text = String::from_utf8_lossy(&maps);
    let path = |line: &str| line.find('/').map(|start| PathBuf::from(&line[start..]));
    text.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn process(root: &Path, pid: &str, cwd: &str, open: &str, maps: &str) {
        let directory = root.join("proc").join(pid);
        fs::create_dir_all(directory.join("fd")).unwrap();
        fs::write(directory.join("comm"), "tool\n").unwrap();
        fs::write(directory.join("maps"), maps).unwrap();
        symlink(cwd, directory.join("cwd")).unwrap();
        symlink(open, directory.join("fd/3")).unwrap();
    }

    #[test]
    fn finds_every_kind_of_use() {
        let root = tempfile::tempdir().unwrap();
        process(root.path(), "10", "/bed/t0", "/dev/null", "");
        process(root.path(), "11", "/", "/bed/t0/x (deleted)", "");
        process(root.path(), "12", "/", "/x", "7f00-7f01 r--s 00000000 07:00 12   /bed/t0/m\n");
        process(root.path(), "13", "/bed/t01", "/bed/t0.img", "");
        process(root.path(), "self", "/bed/t0", "/x", "");
        let machine = Machine::at(root.path(), "");
        let holders = holders_of(&machine, Path::new("/bed/t0"));
        assert_eq!(holders.iter().map(|holder| holder.pid).collect::<Vec<_>>(), [10, 11, 12]);
        assert!(named(&holders).starts_with("process 10 (tool: /bed/t0), process 11"));
        assert!(named(&[]).contains("mount namespace"));
    }
}
