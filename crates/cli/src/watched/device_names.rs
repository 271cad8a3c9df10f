//! What people call block devices: the targets of the site file and of test beds that lie on them.

use std::collections::BTreeMap;

use plimsoll_domain::site::Site;
use plimsoll_machine::Machine;

/// Returns the names of targets by the kernel's names of the devices that they lie on, where one target has a device for itself.
pub fn find(machine: &Machine, site: &Site) -> BTreeMap<String, String> {
    let mut targets: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for target in site.targets.iter().filter(|target| target.lustre_index.is_none()) {
        let Some(directory) = site.directory(target) else { continue };
        if let Ok(Some(device)) = machine.device_below(directory) {
            targets.entry(device.name).or_default().push(target.name.clone());
        }
    }
    let alone = targets.into_iter().filter(|(_, names)| names.len() == 1);
    alone.filter_map(|(device, names)| Some((device, names.into_iter().next()?))).collect()
}
