//! What every Linux machine has: processors, memory, pressure, block devices.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_history::{Component, ComponentKind};
use plimsoll_machine::Machine;

use crate::group::FoundSource;
use crate::input::Input;

/// The files of the machine as a whole.
const OF_SERVER: [(&str, Input); 5] = [
    // The kernel counts in hundredths of a second whatever its own tick is (USER_HZ in asm-generic/param.h).
    ("/proc/stat", Input::Processors(10)),
    ("/proc/meminfo", Input::Memory),
    ("/proc/pressure/io", Input::IoPressure),
    ("/proc/pressure/cpu", Input::ProcessorPressure),
    ("/proc/pressure/memory", Input::MemoryPressure),
];

const BLOCK: &str = "/sys/block";

/// Looks for the files. Devices whose names are in `names` are called as it says.
pub fn find(
    machine: &Machine,
    server: &str,
    cluster: &str,
    names: &BTreeMap<String, String>,
) -> Vec<FoundSource> {
    let own = Component::new(ComponentKind::Server, server).of_cluster(cluster);
    let of_server =
        OF_SERVER.iter().filter(|(path, _)| machine.locate(path).exists()).map(|(path, input)| {
            FoundSource { component: own.clone(), path: path.into(), input: *input }
        });
    let devices = block_devices(machine).into_iter().map(|name| {
        let path = Path::new(BLOCK).join(&name).join("stat");
        let name = names.get(&name).cloned().unwrap_or(name);
        let component = Component::new(ComponentKind::BlockDevice, name).of_cluster(cluster);
        FoundSource { component, path, input: Input::BlockDevice }
    });
    of_server.chain(devices).collect()
}

/// Names of all block devices that hold something: the kernel has loop and RAM disks in store that have no size.
fn block_devices(machine: &Machine) -> Vec<String> {
    let Ok(entries) = fs::read_dir(machine.locate(BLOCK)) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| has_size(machine, name))
        .collect();
    names.sort();
    names
}

fn has_size(machine: &Machine, name: &str) -> bool {
    let path = Path::new(BLOCK).join(name).join("size");
    let size = machine.open(path).and_then(std::io::read_to_string);
    size.is_ok_and(|size| size.trim() != "0")
}

/// Returns a number that differs from one start of the machine to the next; 0 where it is not known.
pub fn start_of(machine: &Machine) -> u64 {
    let path = PathBuf::from("/proc/sys/kernel/random/boot_id");
    let Ok(id) = machine.open(path).and_then(std::io::read_to_string) else { return 0 };
    let digits = id.chars().filter_map(|digit| digit.to_digit(16));
    digits.fold(0, |number: u64, digit| number.wrapping_mul(31).wrapping_add(u64::from(digit) + 1))
}
