//! What every Linux machine has: processors, memory, pressure, block devices.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use plimsoll_history::{Component, ComponentKind};
use plimsoll_machine::Machine;

use crate::group::FoundSource;
use crate::input::Input;
use crate::unseen::{Unseen, says_nothing_is_there};

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

/// Looks for the files. Devices whose names are in `names` are called as it says. Those of `before` are still there where nobody could
/// look, of which `unseen` is told.
pub fn find(
    machine: &Machine,
    server: &str,
    cluster: &str,
    names: &BTreeMap<String, String>,
    before: &[&Path],
    unseen: &mut Vec<Unseen>,
) -> Vec<FoundSource> {
    let own = Component::new(ComponentKind::Server, server).of_cluster(cluster);
    let of_server =
        OF_SERVER.iter().filter(|(path, _)| machine.locate(path).exists()).map(|(path, input)| {
            FoundSource { component: own.clone(), path: path.into(), input: *input }
        });
    let devices = block_devices(machine, before, unseen).into_iter().map(|name| {
        let path = Path::new(BLOCK).join(&name).join("stat");
        let name = names.get(&name).cloned().unwrap_or(name);
        let component = Component::new(ComponentKind::BlockDevice, name).of_cluster(cluster);
        FoundSource { component, path, input: Input::BlockDevice }
    });
    of_server.chain(devices).collect()
}

/// Names of all block devices that hold something: the kernel has loop and RAM disks in store that have no size.
fn block_devices(machine: &Machine, before: &[&Path], unseen: &mut Vec<Unseen>) -> Vec<String> {
    let was_there =
        |name: &str| before.contains(&Path::new(BLOCK).join(name).join("stat").as_path());
    let listed = fs::read_dir(machine.locate(BLOCK)).and_then(|entries| {
        entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()
    });
    let listed = match listed {
        Ok(names) => names,
        Err(error) if says_nothing_is_there(&error) => return Vec::new(),
        Err(error) => {
            unseen.push(Unseen::new(Path::new(BLOCK), error));
            return before.iter().filter_map(|path| device_of(path)).collect();
        }
    };
    let mut names: Vec<String> =
        listed.into_iter().filter_map(|it| it.into_string().ok()).collect();
    names.retain(|name| match has_size(machine, name) {
        Ok(has_size) => has_size,
        Err(error) if says_nothing_is_there(&error) => false,
        Err(error) => {
            let is_there = was_there(name);
            unseen.extend(is_there.then(|| Unseen::new(&Path::new(BLOCK).join(name), error)));
            is_there
        }
    });
    names.sort();
    names
}

/// Returns the name of the block device that a file is of.
fn device_of(path: &Path) -> Option<String> {
    let below = path.strip_prefix(BLOCK).ok()?;
    below.parent()?.to_str().map(str::to_owned)
}

fn has_size(machine: &Machine, name: &str) -> io::Result<bool> {
    let path = Path::new(BLOCK).join(name).join("size");
    let size = machine.open(path).and_then(io::read_to_string)?;
    Ok(size.trim() != "0")
}

/// Returns a number that differs from one start of the machine to the next; 0 where it is not known.
pub fn start_of(machine: &Machine) -> u64 {
    let path = PathBuf::from("/proc/sys/kernel/random/boot_id");
    let Ok(id) = machine.open(path).and_then(io::read_to_string) else { return 0 };
    let digits = id.chars().filter_map(|digit| digit.to_digit(16));
    digits.fold(0, |number: u64, digit| number.wrapping_mul(31).wrapping_add(u64::from(digit) + 1))
}
