//! What of a site can be found on a machine, and what of it the machine does not have.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use plimsoll_domain::Bytes;
use plimsoll_domain::site::{Client, FileSystem, Server, ServerRole, Site, Target};
use plimsoll_guarded::Directory;

use crate::{BlockDevice, LustreFileSystem, Machine, MachineError, Mount};

/// What was found, and what was left out.
#[derive(Debug)]
pub struct Discovered {
    /// The site.
    pub site: Site,
    /// What could be taken for a target and is not offered, and why.
    pub notes: Vec<String>,
}

impl Machine {
    /// Returns Lustre mounts, other network file systems, targets that the caller knows of (`known`), mounted block
    /// devices, and this machine as a client.
    ///
    /// # Errors
    /// When the mounts of the machine cannot be read.
    pub fn discover(&self, known: Vec<Target>) -> Result<Discovered, MachineError> {
        let mut site = Site::empty();
        let mut notes = Vec::new();
        for file_system in self.lustre_file_systems()? {
            add_lustre(&mut site, &file_system);
        }
        for mount in self.network_mounts()? {
            add_network(&mut site, self, &mount, &mut notes);
        }
        site.targets.extend(known);
        // Without /sys there are no block devices to be found, and that is no mistake.
        let devices = self.block_devices().unwrap_or_default();
        let is_root =
            |device: &&BlockDevice| device.mounted_at.iter().any(|at| at == Path::new("/"));
        let roots =
            devices.iter().filter(is_root).flat_map(|device| self.disks_below(&device.name));
        let roots: BTreeSet<String> = roots.collect();
        for device in devices.iter().filter(|device| device.backing.is_none()) {
            add_device(&mut site, self, device, &roots, &mut notes)?;
        }
        if let Ok(name) = self.hostname() {
            site.clients.push(Client { name, coordinates: Vec::new(), router: None });
        }
        Ok(Discovered { site, notes })
    }
}

/// Something that a site file names and the running machine does not have.
#[derive(Debug, PartialEq, Eq)]
pub struct Difference {
    /// What names it: "target ost0".
    pub what: String,
    /// What is missing or is something else.
    pub problem: String,
}

/// Returns what a site names and the running machine does not have.
pub fn differences(site: &Site) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut check = |what: String, path: &Path, is_right: fn(&fs::Metadata) -> bool, kind: &str| {
        let held = Directory::hold_unserved(path);
        let problem = match held.and_then(|it| fs::File::from(it).metadata()) {
            Ok(metadata) if is_right(&metadata) => return,
            Ok(_) => format!("{} is not {kind}", path.display()),
            Err(error) => format!("{}: {error}", path.display()),
        };
        found.push(Difference { what, problem });
    };
    for file_system in &site.file_systems {
        let what = format!("file system {}", file_system.name);
        check(what, &file_system.mount, fs::Metadata::is_dir, "a directory");
    }
    for target in &site.targets {
        let what = || format!("target {}", target.name);
        if let Some(path) = &target.path {
            check(what(), path, fs::Metadata::is_dir, "a directory");
        }
        // The device of a target on a server is not on this machine.
        if let Some(device) = target.device.as_ref().filter(|_| target.server.is_none()) {
            check(what(), device, |it| it.file_type().is_block_device(), "a block device");
        }
    }
    found
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
    let me = rustix::process::geteuid().as_raw();
    let is_here = machine.root() == Path::new("/");
    if let Some(user) = mount.served_by().filter(|user| is_here && ![0, me].contains(user)) {
        let (kind, point) = (&mount.fs_type, mount.point.display());
        notes.push(format!("{point} ({kind}) is no target: user {user} serves it"));
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

/// A disk or partition with a mounted file system is a target; others cannot be written. Not the disk that
/// the system runs on: to fill it or to keep it busy harms more than the measure.
fn add_device(
    site: &mut Site,
    machine: &Machine,
    device: &BlockDevice,
    roots: &BTreeSet<String>,
    notes: &mut Vec<String>,
) -> Result<(), MachineError> {
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
