//! A snapshot of the file system that has a container, mounted beside it: all numbers and times of its files are those of the live one.

mod support;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use plimsoll_stow::{Container, Placement, Reader, Standing, StowError, Writer, standing_of};
use support::{content, targets};

/// Set where this program may mount.
const ROLE: &str = "STOW_SNAPSHOT_FOLDER";

#[test]
fn the_logs_stay_those_of_the_live_container() {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root || !Path::new("/dev/loop-control").exists() {
        return println!("skipped: it needs root and loop devices");
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    // Mounts and loop devices go with the last process in their name space, whatever ends it.
    let mut inside = Command::new("unshare");
    inside.args(["--mount", "--propagation", "private", "--"]);
    inside.arg(std::env::current_exe().unwrap());
    inside.args(["--exact", "mount_if_asked", "--nocapture"]).env(ROLE, folder.path());
    assert!(inside.status().unwrap().success());
}

#[test]
fn mount_if_asked() {
    let Some(folder) = std::env::var_os(ROLE) else { return };
    let folder = Path::new(&folder);
    let at = |name: &str| folder.join(name);
    ["live", "snapshot"].iter().for_each(|it| std::fs::create_dir(at(it)).unwrap());
    std::fs::File::create(at("image")).unwrap().set_len(24 << 20).unwrap();
    tool(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(at("image")));
    let mount = |image, name| {
        tool(Command::new("mount").args(["-o", "loop"]).arg(at(image)).arg(at(name)));
    };
    mount("image", "live");
    let live = Arc::new(Container::create(&at("live/it"), &targets(folder, 1)).unwrap());
    let mut writer = Writer::open(live.clone(), Placement::Striped).unwrap();
    writer.write_at(b"precious", 0).unwrap();
    writer.close().unwrap();
    drop(live);
    tool(Command::new("umount").arg(at("live")));
    std::fs::copy(at("image"), at("copied")).unwrap();
    mount("image", "live");
    mount("copied", "snapshot");
    let snapshot = || Container::open(&at("snapshot/it"), &[]).unwrap();
    assert_eq!(standing_of(&snapshot()).unwrap(), Standing::Copy(at("live/it")));
    let written = Writer::open(Arc::new(snapshot()), Placement::Striped).map(drop);
    assert!(matches!(written, Err(StowError::Copy { .. })), "{written:?}");
    snapshot().remove().unwrap();
    let live = Arc::new(Container::open(&at("live/it"), &[]).unwrap());
    assert_eq!(content(&Reader::open(live.clone()).unwrap()), b"precious");
    assert_eq!(standing_of(&live).unwrap(), Standing::Original);
}

#[track_caller]
fn tool(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
