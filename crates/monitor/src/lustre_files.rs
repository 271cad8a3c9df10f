//! Where Lustre's parameters are, and which component each says something of.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use plimsoll_history::{Component, ComponentKind};
use plimsoll_lustre::{Content, Name, TargetKind, TargetName};
use plimsoll_machine::Machine;

use crate::group::FoundSource;
use crate::input::Input;
use crate::unseen::{Unseen, says_nothing_is_there};

/// Places of parameters and what their names begin with: procfs, sysfs since 2.12, and debugfs, which only root may read (Lustre Operations
/// Manual, "Monitoring a Lustre File System"). A parameter of two places is read at the first.
const PLACES: [(&str, &str); 5] = [
    ("/sys/kernel/debug/lustre", ""),
    ("/sys/fs/lustre", ""),
    ("/proc/fs/lustre", ""),
    ("/sys/kernel/debug/lnet", "lnet"),
    ("/proc/sys/lnet", "lnet"),
];

/// Component, instance, service, parameter.
const DEPTH: usize = 4;

/// Directories with one entry for each client or lock space, of which nothing is read.
const PASSED_OVER: [&str; 3] = ["exports", "namespaces", "quota_slave"];

/// The files of parameters that are read, and the places that may not be looked into.
pub struct LustreFiles {
    /// The files.
    pub found: Vec<FoundSource>,
    /// Places without permission.
    pub forbidden: Vec<PathBuf>,
    /// Places that could not be looked into for other reasons.
    pub unseen: Vec<Unseen>,
}

/// Looks for parameters. With `jobs`, also for those of jobs. Files of `before` are still there where nobody could look.
pub fn find(
    machine: &Machine,
    server: &str,
    cluster: &str,
    jobs: bool,
    before: &[&Path],
) -> LustreFiles {
    let (files, forbidden, unseen) = Default::default();
    let mut walk = Walk { machine, before, files, forbidden, unseen };
    for (place, prefix) in PLACES {
        walk.enter(Path::new(place), prefix, 1);
    }
    let mut seen = HashSet::new();
    let found = walk.files.into_iter().filter_map(|(name, path)| {
        let parts = Name::of(&name);
        let parameter = parts.parameter()?;
        let component = component(&parts, server)?.of_cluster(cluster);
        let is_wanted = jobs || parameter.content != Content::Jobs;
        let is_first = is_wanted && seen.insert(name.clone());
        is_first.then_some(FoundSource { component, path, input: Input::Lustre(parameter) })
    });
    let found = found.collect();
    LustreFiles { found, forbidden: walk.forbidden, unseen: walk.unseen }
}

struct Walk<'a> {
    machine: &'a Machine,
    /// Files that were found the last time.
    before: &'a [&'a Path],
    /// Names of parameters, and their files.
    files: Vec<(String, PathBuf)>,
    forbidden: Vec<PathBuf>,
    unseen: Vec<Unseen>,
}

impl Walk<'_> {
    fn enter(&mut self, directory: &Path, prefix: &str, depth: usize) {
        let entries = match self.list(directory) {
            Ok(entries) => entries,
            Err(error) if says_nothing_is_there(&error) => return,
            Err(error) => return self.pass_over(directory, prefix, error),
        };
        for (own, is_directory) in entries {
            let path = directory.join(&own);
            let name = named(prefix, &own);
            if !is_directory {
                self.files.push((name, path));
            } else if depth < DEPTH && !PASSED_OVER.contains(&own.as_str()) {
                self.enter(&path, &name, depth + 1);
            }
        }
    }

    /// Returns the names in a directory, and whether each is one itself.
    fn list(&self, directory: &Path) -> io::Result<Vec<(String, bool)>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.machine.locate(directory))? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            match entry.file_type() {
                Ok(kind) => names.push((name, kind.is_dir())),
                Err(error) if says_nothing_is_there(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(names)
    }

    /// Takes what was below a directory for what is there still: nobody can look.
    fn pass_over(&mut self, directory: &Path, prefix: &str, error: io::Error) {
        for path in self.before {
            let Some(below) = path.strip_prefix(directory).ok().and_then(Path::to_str) else {
                continue;
            };
            self.files.push((named(prefix, &below.replace('/', ".")), path.to_path_buf()));
        }
        if error.kind() == io::ErrorKind::PermissionDenied {
            self.forbidden.push(directory.to_owned());
        } else {
            self.unseen.push(Unseen::new(directory, error));
        }
    }
}

/// Returns the name of a parameter, or of what its name begins with.
fn named(prefix: &str, own: &str) -> String {
    if prefix.is_empty() { own.to_owned() } else { format!("{prefix}.{own}") }
}

/// Returns the component that a parameter says something of; `None` for those of nothing that is watched.
pub fn component(name: &Name<'_>, server: &str) -> Option<Component> {
    Some(match name.component {
        "obdfilter" | "mdt" | "mgs" | "osd-ldiskfs" | "osd-zfs" => {
            let target = TargetName::of(name.instance)?;
            let kind = match target.kind {
                TargetKind::Ost => ComponentKind::Ost,
                TargetKind::Mdt => ComponentKind::Mdt,
                TargetKind::Mgs => ComponentKind::Mgt,
            };
            Component::new(kind, target.name).of_file_system(target.file_system)
        }
        // A metadata server has connections of its own: "fs-OST0000-osc-MDT0000".
        "osc" | "mdc" if !name.instance.contains("-osc-MDT") => {
            let target = TargetName::of(name.instance)?;
            Component::new(ComponentKind::SeenTarget, target.name)
                .of_file_system(target.file_system)
        }
        "llite" => {
            let (file_system, _) = name.instance.rsplit_once('-')?;
            Component::new(ComponentKind::Mount, file_system).of_file_system(file_system)
        }
        "lnet" => Component::new(ComponentKind::Router, server),
        "" | "ost" | "mds" | "ldlm" => Component::new(ComponentKind::Server, server),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_in_every_place_and_belong_to_components() {
        let root = tempfile::tempdir().unwrap();
        for path in [
            "proc/fs/lustre/obdfilter/scratch-OST0000/stats",
            "proc/fs/lustre/obdfilter/scratch-OST0000/job_stats",
            "proc/fs/lustre/obdfilter/scratch-OST0000/exports/10.0.0.1@tcp/stats",
            "proc/fs/lustre/osd-zfs/scratch-OST0000/brw_stats",
            "sys/kernel/debug/lustre/osd-zfs/scratch-OST0000/brw_stats",
            "proc/fs/lustre/osc/scratch-OST0000-osc-MDT0000/stats",
            "proc/fs/lustre/osc/scratch-OST0001-osc-ffff88/stats",
            "proc/fs/lustre/llite/a-b-ffff88/stats",
            "proc/fs/lustre/ost/OSS/ost_io/stats",
            "proc/fs/lustre/ldlm/namespaces/MGS/pool/stats",
            "sys/fs/lustre/health_check",
            "sys/fs/lustre/version",
            "sys/kernel/debug/lnet/stats",
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let machine = Machine::at(root.path(), "");
        let names = |jobs| {
            let files = find(&machine, "oss1", "", jobs, &[]);
            let mut names: Vec<String> = files
                .found
                .iter()
                .map(|it| {
                    format!("{:?} {} {}", it.component.kind, it.component.name, it.path.display())
                })
                .collect();
            names.sort();
            names
        };
        assert_eq!(
            names(false),
            [
                "Mount a-b /proc/fs/lustre/llite/a-b-ffff88/stats",
                "Ost scratch-OST0000 /proc/fs/lustre/obdfilter/scratch-OST0000/stats",
                "Ost scratch-OST0000 /sys/kernel/debug/lustre/osd-zfs/scratch-OST0000/brw_stats",
                "Router oss1 /sys/kernel/debug/lnet/stats",
                "SeenTarget scratch-OST0001 /proc/fs/lustre/osc/scratch-OST0001-osc-ffff88/stats",
                "Server oss1 /proc/fs/lustre/ost/OSS/ost_io/stats",
                "Server oss1 /sys/fs/lustre/health_check",
            ]
        );
        assert_eq!(names(true).len(), 8);
    }
}
