//! A real network file system: a GlusterFS volume of two bricks, mounted here, once or several times.
//!
//! Without its management daemon: each brick is a process with a volume file, the client another, and
//! all of them listen on 127.0.0.1 only.

mod nodes;
mod parallel;
mod stowed;

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use plimsoll_measures::{Outcome as Ended, Results};
use plimsoll_trace::Op;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::command::{Outcome, binary};
use crate::support::recording::{calls, has, processes, record};
use crate::support::storage::changing_mounts;

const BRICKS: usize = 2;

/// Whom servers that squash take root for.
const SQUASHED: u32 = 65_534;

/// A volume, unmounted and ended also when a test fails.
struct Gluster {
    folder: tempfile::TempDir,
    /// The bricks, then the clients.
    daemons: Vec<Child>,
    ports: Vec<u16>,
    mounts: Vec<PathBuf>,
    _mounting: MutexGuard<'static, ()>,
}

impl Gluster {
    /// `None` with a word about what is missing.
    fn up() -> Option<Self> {
        Self::up_with("")
    }

    /// One whose servers take root for somebody else (root squash).
    fn up_squashing() -> Option<Self> {
        let options = format!(
            " option root-squash on\n option anonuid {SQUASHED}\n option anongid {SQUASHED}\n"
        );
        Self::up_with(&options)
    }

    fn up_with(server_options: &str) -> Option<Self> {
        let possible = rustix::process::geteuid().is_root() && Path::new("/dev/fuse").exists();
        if !possible || !has(&["glusterfs", "glusterfsd"]) {
            eprintln!("SKIPPED: needs GlusterFS, root and /dev/fuse");
            return None;
        }
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let (daemons, ports, mounts) = (Vec::new(), Vec::new(), Vec::new());
        let mut volume = Self { folder, daemons, ports, mounts, _mounting: changing_mounts() };
        for brick in 0..BRICKS {
            let port = volume.start_brick(brick, server_options);
            volume.ports.push(port);
        }
        volume.mount_at("mount");
        Some(volume)
    }

    fn mount(&self) -> PathBuf {
        self.folder.path().join("mount")
    }

    /// Mounts the volume at a further place, by a client with caches of its own.
    fn mount_at(&mut self, name: &str) -> PathBuf {
        let mount = self.folder.path().join(name);
        fs::create_dir(&mount).unwrap();
        self.mounts.push(mount.clone());
        self.start_client(name, &mount);
        self.wait_for("the mount", |volume| {
            let device = |path: &Path| fs::metadata(path).map(|it| it.dev()).ok();
            device(&mount) != device(volume.folder.path()) && fs::read_dir(&mount).is_ok()
        });
        mount
    }

    fn start_brick(&mut self, brick: usize, server_options: &str) -> u16 {
        let directory = self.folder.path().join(format!("brick{brick}"));
        fs::create_dir(&directory).unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o1777)).unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let text = format!(
            "volume posix\n type storage/posix\n option directory {}\nend-volume\n\
             volume locks\n type features/locks\n subvolumes posix\nend-volume\n\
             volume brick\n type performance/io-threads\n subvolumes locks\nend-volume\n\
             volume server\n type protocol/server\n option transport-type tcp\n \
             option transport.socket.bind-address 127.0.0.1\n \
             option transport.socket.listen-port {free}\n \
             option auth.addr.brick.allow 127.0.0.1\n{server_options} subvolumes brick\nend-volume\n",
            directory.display()
        );
        self.start("glusterfsd", &format!("brick{brick}"), &text, None);
        self.wait_for("a brick", |_| TcpStream::connect(("127.0.0.1", free)).is_ok());
        free
    }

    fn start_client(&mut self, name: &str, mount: &Path) {
        let client = |(brick, port): (usize, &u16)| {
            format!(
                "volume client{brick}\n type protocol/client\n option transport-type tcp\n \
                 option remote-host 127.0.0.1\n option remote-port {port}\n \
                 option remote-subvolume brick\nend-volume\n"
            )
        };
        let mut text: String = self.ports.iter().enumerate().map(client).collect();
        text += "volume all\n type cluster/distribute\n subvolumes client0 client1\nend-volume\n";
        self.start("glusterfs", name, &text, Some(mount));
    }

    fn start(&mut self, program: &str, name: &str, volume: &str, mount: Option<&Path>) {
        let file = |ending: &str| self.folder.path().join(format!("{name}.{ending}"));
        fs::write(file("vol"), volume).unwrap();
        let mut command = Command::new(program);
        command.arg("--no-daemon").arg("-f").arg(file("vol")).arg("-l").arg(file("log"));
        command.arg("-p").arg(file("pid")).args(mount);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.daemons.push(command.spawn().unwrap());
    }

    #[track_caller]
    fn wait_for(&self, what: &str, is_there: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is_there(self) {
            assert!(Instant::now() < deadline, "{what} did not come up");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Files in the volume, hidden ones too.
    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.mount()).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    fn results(&self) -> PathBuf {
        self.folder.path().join("results")
    }
}

impl Drop for Gluster {
    fn drop(&mut self) {
        for mount in &self.mounts {
            let _ = Command::new("umount").arg("-l").arg(mount).stderr(Stdio::null()).status();
        }
        // Clients first: they would look for bricks that are gone.
        while let Some(mut daemon) = self.daemons.pop() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

fn run(arguments: &str, target: &Path) -> Outcome {
    let mut command = binary();
    command.args(arguments.split_whitespace()).arg(target).output().unwrap().into()
}

#[track_caller]
fn result(outcome: &Outcome) -> Value {
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    serde_json::from_str::<Value>(&outcome.stdout).unwrap()["result"].clone()
}

#[test]
fn a_network_file_system_is_offered_as_a_target() {
    let Some(volume) = Gluster::up() else { return };
    let mut command = binary();
    command.args(["site", "init", "--json", "-o", "-", "--base"]).arg(volume.folder.path());
    let site = result(&command.output().unwrap().into());
    let mount = volume.mount().display().to_string();
    let targets = site["targets"].as_array().unwrap();
    let target = targets.iter().find(|it| it["path"] == *mount).expect("the volume is a target");
    assert_eq!(target["name"], "mount");
    assert!(target["capacity"].as_u64().unwrap() > 1 << 20, "{target}");
    let systems = site["file_systems"].as_array().unwrap();
    assert!(systems.iter().any(|it| it["kind"] == "fuse.glusterfs" && it["mount"] == *mount));
}

#[test]
fn bench_and_route_bench_keep_every_byte_there() {
    let Some(volume) = Gluster::up() else { return };
    let directories = ["a", "b"].map(|name| volume.mount().join(name));
    directories.iter().for_each(|directory| fs::create_dir(directory).unwrap());
    let mut command = binary();
    let experiment = "bench many-pairs --burst 1MiB --rounds 3 --verify --json";
    command.args(experiment.split_whitespace()).arg("-o").arg(volume.results());
    command.arg("--targets").args(&directories);
    let outcome = Outcome::from(command.output().unwrap());
    assert_eq!(result(&outcome)["failed"], 0);
    assert!(
        outcome.stderr.contains("lie on one storage, the fuse.glusterfs"),
        "{}",
        outcome.stderr
    );
    let instances = Results::open(&volume.results()).unwrap();
    let instances: Vec<_> = instances.instances().unwrap().map(Result::unwrap).collect();
    assert_eq!(instances.len(), 6, "1 and 2 pairs, three times");
    assert!(instances.iter().all(|it| it.outcome == Ended::Complete));

    let mut command = binary();
    let races = "route bench --rounds 1 --blocks 2 --block-size 1MiB --policy static,window --verify --json";
    command.args(races.split_whitespace()).arg("--targets").args(&directories);
    let outcome = Outcome::from(command.output().unwrap());
    if outcome.stderr.contains("io_uring is not available") {
        eprintln!("SKIPPED: races need io_uring");
    } else {
        assert_eq!(result(&outcome)["ending"], "complete");
    }
    for directory in &directories {
        assert_eq!(fs::read_dir(directory).unwrap().count(), 0, "nothing is left");
    }
}

#[test]
fn a_recording_of_a_program_that_writes_there_is_exact() {
    let Some(volume) = Gluster::up() else { return };
    let (file, rec) = (volume.mount().join("out"), volume.folder.path().join("rec"));
    let copy = format!("if=/dev/zero of={} bs=64k count=40 conv=fsync", file.display());
    let outcome: Outcome =
        record(&rec).args(["--", "dd"]).args(copy.split(' ')).output().unwrap().into();
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(fs::metadata(&file).unwrap().len(), 40 << 16);
    assert_eq!(calls(&processes(&rec), Op::Write, "/mount/out"), (40, 40 << 16));
}

/// A file without a name cannot be opened again there: it was "Stale file handle".
#[test]
fn calibrate_measures_it_and_leaves_nothing_behind() {
    let Some(volume) = Gluster::up() else { return };
    let quick =
        "calibrate --json --span 16MiB --sizes 4KiB,64KiB,1MiB --repetitions 2 --seconds 0.05";
    let outcome = run(&format!("{quick} --target"), &volume.mount());
    // Whether the two costs explain so short measures is another question.
    assert!(matches!(outcome.status, Some(0 | 1)), "{}", outcome.stderr);
    let document: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(document["result"]["transactions"], "requested", "no device is seen from here");
    for direction in ["read", "write"] {
        let rungs = document["result"][direction]["rungs"].as_array().unwrap();
        assert_eq!(rungs.len(), 3, "{direction}");
    }
    assert_eq!(volume.files(), Vec::<PathBuf>::new());

    for (signal, status) in
        [(Signal::TERM, Some(143)), (Signal::INT, Some(130)), (Signal::KILL, None)]
    {
        let mut command = binary();
        command.args(["calibrate", "--span", "16MiB", "--sizes", "4KiB,64KiB,1MiB", "--target"]);
        command.arg(volume.mount()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // By its end neither the file nor the directory around it has a name any more.
        volume.wait_for("the file", |volume| {
            has_open_without_name(&child, &volume.mount()) && volume.files().is_empty()
        });
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), status, "{signal:?}");
        assert_eq!(volume.files(), Vec::<PathBuf>::new(), "{signal:?}");
    }
}

fn has_open_without_name(process: &Child, below: &Path) -> bool {
    let descriptors = fs::read_dir(format!("/proc/{}/fd", process.id())).into_iter().flatten();
    let opened = descriptors.flatten().filter_map(|it| fs::read_link(it.path()).ok());
    let mut nameless = opened.filter(|it| it.to_string_lossy().ends_with(" (deleted)"));
    nameless.any(|path| path.starts_with(below))
}

/// Owners are then not those of the processes, and yet what they left behind is theirs.
#[test]
fn measuring_works_where_the_server_changes_owners() {
    let Some(volume) = Gluster::up_squashing() else { return };
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let left = volume.mount().join(".plimsoll-work-killed");
    fs::create_dir(&left).unwrap();
    fs::write(left.join("owner"), format!("{host}\nsecret\n")).unwrap();
    fs::write(left.join("0.0.0"), "data").unwrap();
    assert_eq!(fs::metadata(&left).unwrap().uid(), SQUASHED);
    let bench = format!(
        "bench target --burst 1MiB --transfer 64KiB --rounds 1 -o {}",
        volume.results().display()
    );
    let outcome = run(&format!("{bench} --targets"), &volume.mount());
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("removed what 1 killed run"), "{}", outcome.stderr);
    let calibrate = "calibrate --span 4MiB --sizes 4KiB,64KiB,256KiB --seconds 0.05 --target";
    let outcome = run(calibrate, &volume.mount());
    assert!(matches!(outcome.status, Some(0 | 1)), "{}", outcome.stderr);
    assert_eq!(volume.files(), Vec::<PathBuf>::new());
    // What is kept there belongs to whom the server made of this user.
    let recording = volume.mount().join("recording");
    let outcome: Outcome = record(&recording).args(["--", "true"]).output().unwrap().into();
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(fs::metadata(&recording).unwrap().uid(), SQUASHED);
    let outcome = run("report", &recording);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
}
