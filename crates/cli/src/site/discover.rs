//! What of a site can be found on this machine.

use std::path::Path;

use anyhow::Result;
use plimsoll_domain::site::{Client, FileSystem, Server, ServerRole, Site, Target};
use plimsoll_machine::{BlockDevice, LustreFileSystem, Machine};
use plimsoll_testbed::Testbed;

/// Lustre mounts, test-bed targets and mounted block devices, and this machine as a client.
/// `testbed` is `None` when a captured tree is looked at.
pub fn discover(machine: &Machine, testbed: Option<&Testbed>) -> Result<Site> {
    let mut site = Site::empty();
    for file_system in machine.lustre_file_systems()? {
        add_lustre(&mut site, &file_system);
    }
    if let Some(testbed) = testbed {
        add_testbed(&mut site, testbed)?;
    }
    // Without /sys there are no block devices to be found, and that is no mistake.
    let devices = machine.block_devices().unwrap_or_default();
    for device in devices.iter().filter(|device| device.backing.is_none()) {
        add_device(&mut site, machine, device)?;
    }
    if let Ok(name) = machine.hostname() {
        site.clients.push(Client { name, coordinates: Vec::new(), router: None });
    }
    Ok(site)
}

fn add_lustre(site: &mut Site, found: &LustreFileSystem) {
    site.file_systems.push(FileSystem {
        name: found.name.clone(),
        kind: "lustre".into(),
        mount: found.mount.clone(),
    });
    for name in &found.metadata_servers {
        add_server(site, name, ServerRole::Metadata);
    }
    for target in &found.targets {
        if let Some(name) = &target.server {
            add_server(site, name, ServerRole::Storage);
        }
        site.targets.push(Target {
            file_system: Some(found.name.clone()),
            server: target.server.clone(),
            lustre_index: Some(target.index),
            capacity: target.capacity,
            // Lustre names its targets so: FSNAME-OST0003.
            ..Target::named(format!("{}-OST{:04x}", found.name, target.index))
        });
    }
}

fn add_server(site: &mut Site, name: &str, role: ServerRole) {
    match site.servers.iter_mut().find(|server| server.name == name) {
        None => site.servers.push(Server { name: name.to_owned(), role, group: None }),
        Some(server) if server.role != role => server.role = ServerRole::Combined,
        Some(_) => {}
    }
}

fn add_testbed(site: &mut Site, testbed: &Testbed) -> Result<()> {
    for target in testbed.list()?.targets.into_iter().filter(|it| it.state.is_usable()) {
        site.targets.push(Target {
            path: Some(target.path),
            device: target.device.map(|device| device.path),
            capacity: target.size,
            ..Target::named(target.name.to_string())
        });
    }
    Ok(())
}

/// A disk or partition with a mounted file system is a target; others cannot be written.
fn add_device(site: &mut Site, machine: &Machine, device: &BlockDevice) -> Result<()> {
    let Some(path) = device.mounted_at.first().filter(|path| !is_boot(path)) else { return Ok(()) };
    let Some(mount) = machine.mount_of(path)? else { return Ok(()) };
    site.file_systems.push(FileSystem {
        name: device.name.clone(),
        kind: mount.fs_type,
        mount: path.clone(),
    });
    site.targets.push(Target {
        file_system: Some(device.name.clone()),
        path: Some(path.clone()),
        device: Some(device.path()),
        capacity: Some(device.size),
        ..Target::named(device.name.clone())
    });
    Ok(())
}

fn is_boot(path: &Path) -> bool {
    path.starts_with("/boot") || path.starts_with("/efi")
}
