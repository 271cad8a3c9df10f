//! Lustre's own counters. Where they live has moved over the releases, so all
//! three places are searched.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Machine;

/// Lustre 2.x before sysfs, sysfs since 2.12, and debugfs (root only) for the
/// longer ones (Lustre Operations Manual, "Monitoring a Lustre File System").
const PLACES: [&str; 3] = ["/proc/fs/lustre", "/sys/fs/lustre", "/sys/kernel/debug/lustre"];

/// Component, instance, file: deeper files belong to parts of an instance.
const DEPTH: usize = 3;

/// A file of Lustre counters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LustreCounterFile {
    /// The part of Lustre, e.g. "osc" or "llite".
    pub component: String,
    /// Which one, e.g. "scratch-OST0003-osc-ffff8800".
    pub instance: String,
    /// The file.
    pub path: PathBuf,
}

impl Machine {
    /// Returns all Lustre counter files that can be seen; empty where there is no Lustre.
    pub fn lustre_counters(&self) -> Vec<LustreCounterFile> {
        let mut files = Vec::new();
        for place in PLACES {
            self.collect(Path::new(place), 1, &mut files);
        }
        files.sort();
        files
    }

    fn collect(&self, directory: &Path, depth: usize, files: &mut Vec<LustreCounterFile>) {
        let Ok(entries) = fs::read_dir(self.locate(directory)) else { return };
        for entry in entries.flatten() {
            let path = directory.join(entry.file_name());
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_directory && depth < DEPTH {
                self.collect(&path, depth + 1, files);
            } else if depth == DEPTH && !is_directory && is_counter_name(&path) {
                files.extend(counter_file(path));
            }
        }
    }
}

/// "stats", "md_stats", "rpc_stats", "extents_stats", …
fn is_counter_name(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name == "stats" || name.ends_with("_stats"))
}

fn counter_file(path: PathBuf) -> Option<LustreCounterFile> {
    let above = |levels: usize| {
        path.ancestors().nth(levels)?.file_name().map(|name| name.to_string_lossy().into_owned())
    };
    let (instance, component) = (above(1)?, above(2)?);
    Some(LustreCounterFile { component, instance, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_counter_files_in_every_place() {
        let root = tempfile::tempdir().unwrap();
        for path in [
            "proc/fs/lustre/osc/scratch-OST0000-osc-ff/stats",
            "sys/kernel/debug/lustre/llite/scratch-ff/extents_stats",
            "sys/fs/lustre/llite/scratch-ff/uuid",
            "sys/fs/lustre/version",
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let files = Machine::at(root.path(), "").lustre_counters();
        let found: Vec<(&str, &str)> =
            files.iter().map(|f| (f.component.as_str(), f.instance.as_str())).collect();
        assert_eq!(found, [("llite", "scratch-ff"), ("osc", "scratch-OST0000-osc-ff")]);
    }
}
