//! What of a site can be found on this machine.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::Result;
use plimsoll_domain::Bytes;
use plimsoll_domain::site::{Client, FileSystem, Server, ServerRole, Site, Target};
use plimsoll_machine::{BlockDevice, LustreFileSystem, Machine, Mount};
use plimsoll_testbed::Testbed;

/// What was found, and what was left out.
pub struct Discovered {
    /// The site.
    pub site: Site,
    /// What could be taken for a target and is not offered, and why.
    pub notes: Vec<String>,
}

/// Lustre mounts, other network file systems, test-bed targets and mounted block devices, and this machine
/// as a client. `testbed` is `None` when a captured tree is looked at.
pub fn discover(machine: &Machine, testbed: Option<&Testbed>) -> Result<Discovered> {
    let mut site = Site::empty();
    let mut notes = Vec::new();
    for file_system in machine.lustre_file_systems()? {
        add_lustre(&mut site, &file_system);
    }
    for mount in machine.network_mounts()? {
        add_network(&mut site, machine, &mount, &mut notes);
    }
    if let Some(testbed) = testbed {
        add_testbed(&mut site, testbed)?;
    }
    // Without /sys there are no block devices to be found, and that is no mistake.
    let devices = machine.block_devices().unwrap_or_default();
    let is_root = |device: &&BlockDevice| device.mounted_at.iter().any(|at| at == Path::new("/"));
    let roots = devices.iter().filter(is_root).flat_map(|device| machine.disks_below(&device.name));
    let roots: BTreeSet<String> = roots.collect();
    for device in devices.iter().filter(|device| device.backing.is_none()) {
        add_device(&mut site, machine, device, &roots, &mut notes)?;
    }
    if let Ok(name) = machine.hostname() {
        site.clients.push(Client { name, coordinates: Vec::new(), router: None });
    }
    Ok(Discovered { site, notes })
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

/// A network file system is one target: what serves its files is not seen from here.
fn add_network(site: &mut Site, machine: &Machine, mount: &Mount, notes: &mut Vec<String>) {
    if is_systems_own(&mount.point) {
        return;
    }
    if !mount.is_writable() {
        let (kind, point) = (&mount.fs_type, mount.point.display());
        notes.push(format!("{point} ({kind}) is no target: it is mounted read-only"));
        return;
    }
    let server = mount.server();
    if let Some(name) = &server {
        add_server(site, name, ServerRole::Combined);
    }
    let name = free_name(site, &mount.point);
    site.file_systems.push(FileSystem {
        name: name.clone(),
        kind: mount.fs_type.clone(),
        mount: mount.point.clone(),
    });
    site.targets.push(Target {
        file_system: Some(name.clone()),
        path: Some(mount.point.clone()),
        server,
        capacity: capacity(machine, &mount.point),
        ..Target::named(name)
    });
}

/// Returns the last part of a path, with a number behind it if that is the name of something else.
fn free_name(site: &Site, path: &Path) -> String {
    let last = path.file_name().map_or_else(|| "root".into(), |name| name.to_string_lossy());
    let is_taken = |name: &str| {
        site.target(name).is_some() || site.file_systems.iter().any(|it| it.name == name)
    };
    let numbered = (2..).map(|number| format!("{last}-{number}"));
    let mut names = std::iter::once(last.to_string()).chain(numbered);
    names.find(|name| !is_taken(name)).unwrap_or_default()
}

/// Returns what a file system of the running machine holds. A server that does not answer would keep us for
/// ever, so it is not waited for.
fn capacity(machine: &Machine, path: &Path) -> Option<Bytes> {
    const PATIENCE: Duration = Duration::from_secs(3);
    if machine.root() != Path::new("/") {
        return None;
    }
    let (answer, answered) = mpsc::channel();
    let (machine, path) = (machine.clone(), path.to_owned());
    std::thread::spawn(move || answer.send(machine.space(&path).ok()));
    answered.recv_timeout(PATIENCE).ok().flatten().map(|space| space.total)
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

/// A disk or partition with a mounted file system is a target; others cannot be written. Not the disk that
/// the system runs on: to fill it or to keep it busy harms more than the measure.
fn add_device(
    site: &mut Site,
    machine: &Machine,
    device: &BlockDevice,
    roots: &BTreeSet<String>,
    notes: &mut Vec<String>,
) -> Result<()> {
    let Some(path) = device.mounted_at.iter().find(|path| !is_systems_own(path)) else {
        return Ok(());
    };
    let Some(mount) = machine.mount_of(path)?.filter(Mount::is_writable) else { return Ok(()) };
    if !machine.disks_below(&device.name).is_disjoint(roots) {
        notes.push(format!(
            "{} ({}) is no target: it lies on the disk of the root file system; \
             hint: add it by hand if it is meant",
            path.display(),
            device.path().display()
        ));
        return Ok(());
    }
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

/// Returns whether a mount belongs to the system: its root, what starts it, its programs and their state, and the
/// single files that containers have mounted into /etc.
fn is_systems_own(path: &Path) -> bool {
    const ITSELF: [&str; 4] = ["/", "/usr", "/var", "/tmp"];
    const ALL_BELOW: [&str; 8] =
        ["/boot", "/efi", "/etc", "/proc", "/sys", "/dev", "/run", "/snap"];
    ITSELF.iter().any(|it| path == Path::new(it)) || ALL_BELOW.iter().any(|it| path.starts_with(it))
}
