//! What commands need of a machine: one function for each thing, in the order in which a newcomer meets them.

use std::path::Path;

use plimsoll_machine::{BlockControl, Machine, TscTrust, preload_library};
use plimsoll_report::{Emphasis, Record, numbers, words};

numbers! {
    MISSING = "missing", "missing", Count, "Number of checks that found something missing.", "";
}

/// One thing that a command needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// What is looked for.
    pub name: &'static str,
    /// What was found, in words.
    pub found: String,
    /// What to do to get it, when it is missing.
    pub missing: Option<String>,
    /// Whether something does not work without it. What some machines have and others have not is no fault.
    pub is_needed: bool,
    /// The commands that need it.
    pub needed_for: &'static str,
}

/// Looks for everything. Backing files of test beds are for `backing`.
pub fn check(machine: &Machine, backing: &Path) -> Vec<Check> {
    vec![
        root(machine),
        loop_devices(machine),
        limits(machine),
        space(machine, backing),
        lustre(machine),
        counters(machine),
        clock(machine),
        mpi(machine),
        fuse(machine),
        preload(),
    ]
}

/// Returns what was found, and what to do about what is missing.
pub fn record(checks: &[Check]) -> Record {
    let missing = checks.iter().filter(|check| check.missing.is_some() && check.is_needed).count();
    let advice = checks.iter().filter_map(|check| {
        let advice = check.missing.as_ref()?;
        Some(Record::new().text("check", "for", check.name).text("advice", "do this", advice))
    });
    Record::new()
        .number(&MISSING, missing as u64)
        .rows("checks", "what was found", checks.iter().map(row).collect())
        .rows("advice", "what to do", advice.collect())
}

fn row(check: &Check) -> Record {
    let (state, emphasis) = match check.missing {
        None => ("ok", Emphasis::Good),
        Some(_) if check.is_needed => ("missing", Emphasis::Warning),
        Some(_) => ("none", Emphasis::None),
    };
    Record::new()
        .judgement("state", "state", state, emphasis)
        .text("name", "what", check.name)
        .text("found", "found", &check.found)
        .text("needed_for", "needed for", check.needed_for)
}

fn found(name: &'static str, needed_for: &'static str, found: impl Into<String>) -> Check {
    Check { name, found: found.into(), missing: None, is_needed: true, needed_for }
}

fn missing(
    name: &'static str,
    needed_for: &'static str,
    found: impl Into<String>,
    advice: impl Into<String>,
) -> Check {
    Check { name, found: found.into(), missing: Some(advice.into()), is_needed: true, needed_for }
}

fn root(machine: &Machine) -> Check {
    const NAME: &str = "root";
    const FOR: &str = "testbed: loop devices and limits";
    match machine.effective_uid() {
        Ok(0) => found(NAME, FOR, "user id 0"),
        Ok(uid) => missing(
            NAME,
            FOR,
            format!("user id {uid}"),
            "run `sudo plimsoll testbed up …`; without root, targets are plain directories",
        ),
        Err(error) => missing(NAME, FOR, error.to_string(), error.hint()),
    }
}

fn loop_devices(machine: &Machine) -> Check {
    const NAME: &str = "loop devices";
    const FOR: &str = "testbed: real block devices";
    if !machine.has_loop_control() {
        return missing(NAME, FOR, "no /dev/loop-control", "load the module: modprobe loop");
    }
    let absent: Vec<&str> = ["losetup", "mkfs.ext4"]
        .into_iter()
        .filter(|program| machine.find_system_program(program).is_none())
        .collect();
    if absent.is_empty() {
        found(NAME, FOR, "/dev/loop-control, losetup, mkfs.ext4")
    } else {
        missing(
            NAME,
            FOR,
            format!("no {}", absent.join(" and no ")),
            "apt-get install util-linux e2fsprogs (or your distribution's names)",
        )
    }
}

fn limits(machine: &Machine) -> Check {
    const NAME: &str = "block limits";
    const FOR: &str = "testbed slow";
    match machine.block_control() {
        Ok(BlockControl::V1 { hierarchy }) => {
            found(NAME, FOR, format!("cgroup v1 at {}: limits hold for all", hierarchy.display()))
        }
        Ok(BlockControl::V2 { hierarchy }) => found(
            NAME,
            FOR,
            format!(
                "cgroup v2 at {}: limits hold in `testbed run` and for plimsoll's own work",
                hierarchy.display()
            ),
        ),
        Ok(BlockControl::Neither { reasons }) => {
            let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
            missing(
                NAME,
                FOR,
                reasons.join("; "),
                "mount a cgroup hierarchy with the blkio (v1) or io and memory (v2) controllers",
            )
        }
        Err(error) => missing(NAME, FOR, error.to_string(), error.hint()),
    }
}

fn space(machine: &Machine, place: &Path) -> Check {
    const NAME: &str = "disk space";
    const FOR: &str = "testbed: backing files";
    match machine.space(place) {
        Ok(space) if space.is_memory() => missing(
            NAME,
            FOR,
            format!("{} is in memory ({})", place.display(), space.fs_type),
            "give test beds a directory on a disk: plimsoll testbed --base DIR up …",
        ),
        Ok(space) => {
            let free = words::bytes(space.available.get());
            found(NAME, FOR, format!("{free} free in {} ({})", place.display(), space.fs_type))
        }
        Err(error) => missing(NAME, FOR, error.to_string(), error.hint()),
    }
}

fn lustre(machine: &Machine) -> Check {
    const NAME: &str = "Lustre";
    const FOR: &str = "site init: targets and servers";
    match machine.lustre_file_systems() {
        Ok(found_here) if found_here.is_empty() => Check {
            is_needed: false,
            ..missing(
                NAME,
                FOR,
                "no Lustre mount",
                "nothing, if this machine uses no Lustre: directories and block devices work too",
            )
        },
        Ok(file_systems) => {
            let described = file_systems.iter().map(|it| {
                format!("{} on {} with {} targets", it.name, it.mount.display(), it.targets.len())
            });
            found(NAME, FOR, described.collect::<Vec<_>>().join(", "))
        }
        Err(error) => missing(NAME, FOR, error.to_string(), error.hint()),
    }
}

fn counters(machine: &Machine) -> Check {
    const NAME: &str = "kernel counters";
    const FOR: &str = "calibrate, monitor";
    let lustre = machine.lustre_counters().len();
    match machine.disk_counters() {
        Ok(disks) => found(
            NAME,
            FOR,
            format!("{} block devices, {lustre} Lustre counter files", disks.len()),
        ),
        Err(error) => missing(NAME, FOR, error.to_string(), error.hint()),
    }
}

fn clock(machine: &Machine) -> Check {
    const NAME: &str = "clock";
    const FOR: &str = "record";
    match machine.clock_source() {
        Ok(source) => match source.tsc() {
            TscTrust::InUse => found(NAME, FOR, "tsc, trusted by the kernel"),
            TscTrust::Available => {
                found(NAME, FOR, format!("{} (tsc is trusted but not in use)", source.current))
            }
            TscTrust::NotTrusted => {
                found(NAME, FOR, format!("{} (the kernel does not trust tsc)", source.current))
            }
        },
        Err(error) => missing(NAME, FOR, error.to_string(), error.hint()),
    }
}

fn mpi(machine: &Machine) -> Check {
    const NAME: &str = "MPI";
    const FOR: &str = "record: MPI programs, bench: many nodes";
    let mpi = machine.find_mpi();
    if mpi.is_absent() {
        return missing(
            NAME,
            FOR,
            "no mpirun, mpiexec or libmpi",
            "load your site's MPI module, or apt-get install libopenmpi-dev openmpi-bin",
        );
    }
    let version = mpi.version.map_or_else(
        || "of unknown kind".to_string(),
        |it| format!("of {} {}", it.implementation.name(), it.version.unwrap_or_default()),
    );
    let launcher = mpi.launcher.map_or_else(
        || "no launcher".to_string(),
        |it| format!("{} {}", it.display(), version.trim_end()),
    );
    found(NAME, FOR, format!("{launcher} ({} libraries)", mpi.libraries.len()))
}

fn fuse(machine: &Machine) -> Check {
    const NAME: &str = "FUSE";
    const FOR: &str = "stow mount: containers as files";
    let fuse = machine.fuse();
    match (fuse.device, &fuse.fusermount3) {
        (true, Some(program)) => found(NAME, FOR, format!("/dev/fuse, {}", program.display())),
        (true, None) => missing(NAME, FOR, "/dev/fuse, no fusermount3", "apt-get install fuse3"),
        (false, _) => missing(NAME, FOR, "no /dev/fuse", "load the module: modprobe fuse"),
    }
}

fn preload() -> Check {
    const NAME: &str = "preload library";
    const FOR: &str = "record, stow run";
    match preload_library() {
        Ok(path) => found(NAME, FOR, path.display().to_string()),
        Err(error) => missing(NAME, FOR, "not found", error.hint()),
    }
}
