//! `plimsoll stow mount`: programs read containers as files, and no mount stays.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use plimsoll_stow::{Container, Placement, Target, Writer};
use rustix::process::Signal;

use super::Place;
use crate::support::attacker::{ATTACKER, Attacker};
use crate::support::command::Outcome;
use crate::support::view::View;

/// Runs a line of shell, which ends within a minute.
#[track_caller]
pub fn shell(directory: &Path, line: &str) -> Outcome {
    let mut command = Command::new("timeout");
    command.args(["60", "sh", "-c", line]).current_dir(directory);
    command.output().unwrap().into()
}

/// Writes a container whose records overlap, with holes and an end that was cut off; returns what is in it.
fn write_container(place: &Place, name: &str) -> Vec<u8> {
    let targets: Vec<Target> = place
        .storage
        .targets
        .iter()
        .map(|path| Target {
            name: path.file_name().unwrap().to_string_lossy().into_owned(),
            path: path.clone(),
        })
        .collect();
    let container = Container::create(&place.path().join(name), &targets).unwrap();
    let mut writer = Writer::open(Arc::new(container), Placement::Striped).unwrap();
    let mut bytes = vec![0; 9_000_001];
    let mut next = 7u64;
    let mut random = |below: u64| {
        next = next.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (next >> 33) % below
    };
    for round in 0..400u64 {
        let length = 1 + random(60_000);
        let offset = random(9_500_000 - length);
        let record: Vec<u8> =
            (0..length).map(|it| (it * 31 + round * 7 + it / 251) as u8).collect();
        writer.write_at(&record, offset).unwrap();
        let end = (offset + length).min(bytes.len() as u64);
        if offset < end {
            bytes[offset as usize..end as usize]
                .copy_from_slice(&record[..(end - offset) as usize]);
        }
    }
    writer.truncate(bytes.len() as u64).unwrap();
    writer.punch(1_000_000, 300_000).unwrap();
    bytes[1_000_000..1_300_000].fill(0);
    writer.close().unwrap();
    bytes
}

#[test]
fn programs_read_the_same_bytes() {
    programs_read(&[]);
}

#[test]
fn programs_read_the_same_bytes_past_the_cache() {
    programs_read(&["--direct"]);
}

#[test]
fn programs_read_the_same_bytes_through_the_cache() {
    programs_read(&["--cached"]);
}

fn programs_read(arguments: &[&str]) {
    let place = Place::new(3);
    fs::create_dir(place.path().join("data")).unwrap();
    let bytes = write_container(&place, "data/big");
    fs::write(place.path().join("plain"), &bytes).unwrap();
    let Some(view) = View::of(place.path(), "data", arguments) else { return };
    assert!(fs::read(view.at("big")).unwrap() == bytes);
    for line in [
        "cat view/big | cmp - plain",
        "cp view/big copy && cmp copy plain",
        "cmp view/big plain",
        "test \"$(md5sum < view/big)\" = \"$(md5sum < plain)\"",
        "test \"$(grep -abo @ view/big | md5sum)\" = \"$(grep -abo @ plain | md5sum)\"",
        "tar -C view -cf - big | tar -xOf - big | cmp - plain",
        "dd if=view/big bs=4099 skip=1234 count=77 status=none > a && \
         dd if=plain bs=4099 skip=1234 count=77 status=none | cmp - a",
        "dd if=view/big bs=1M iflag=direct status=none | cmp - plain",
        "tail -c 5000 view/big > a && tail -c 5000 plain | cmp - a",
        "test $(stat -c %s view/big) = 9000001",
        "/usr/bin/python3 -c 'import mmap\n\
         with open(\"view/big\", \"rb\") as f, open(\"plain\", \"rb\") as g:\n\
        \x20   m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)\n\
        \x20   assert m[:] == g.read()\n\
        \x20   f.seek(-7, 2); g.seek(-7, 2); assert f.read() == g.read()'",
    ] {
        let outcome = shell(place.path(), line);
        assert_eq!(outcome.status, Some(0), "{line}: {}{}", outcome.stdout, outcome.stderr);
    }
    let mut file = File::open(view.at("big")).unwrap();
    for step in 0..300u64 {
        let offset = step * 7_919_311 % 9_000_050;
        let mut part = vec![0; (1 + step * 331 % 70_000) as usize];
        let got = file.read_at(&mut part, offset).unwrap();
        let expected = bytes.get(offset as usize..).unwrap_or(&[]);
        assert!(part[..got] == expected[..part.len().min(expected.len())], "{offset}");
    }
    assert_eq!(file.seek(SeekFrom::End(0)).unwrap(), 9_000_001);
    assert_eq!(file.read(&mut [0; 10]).unwrap(), 0);
}

#[test]
fn everything_else_is_as_it_is_and_nothing_can_be_written() {
    let place = Place::new(1);
    let data = place.path().join("data");
    fs::create_dir_all(data.join("folder/inner")).unwrap();
    fs::write(data.join("folder/inner/note"), "a note").unwrap();
    fs::set_permissions(data.join("folder/inner/note"), fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("folder/inner", data.join("link")).unwrap();
    fs::write(place.path().join("secret"), "outside").unwrap();
    place.plain("file", 100_000);
    assert_eq!(place.run("cp file data/folder/box --targets ost0").status, Some(0));
    let Some(view) = View::of(place.path(), "data", &[]) else { return };
    assert_eq!(fs::read_to_string(view.at("link/note")).unwrap(), "a note");
    assert_eq!(fs::metadata(view.at("folder/inner/note")).unwrap().mode() & 0o777, 0o640);
    let of_box = fs::metadata(view.at("folder/box")).unwrap();
    assert!(of_box.is_file() && of_box.len() == 100_000 && of_box.mode() & 0o7777 == 0o600);
    let anchor = fs::metadata(data.join("folder/box/anchor")).unwrap();
    assert!(of_box.mtime() >= anchor.mtime());
    let mut listed: Vec<(String, bool)> = fs::read_dir(view.at("folder"))
        .unwrap()
        .map(|it| it.unwrap())
        .map(|it| (it.file_name().into_string().unwrap(), it.file_type().unwrap().is_file()))
        .collect();
    listed.sort();
    assert_eq!(listed, [("box".to_string(), true), ("inner".to_string(), false)]);
    assert_eq!(fs::read_link(view.at("link")).unwrap(), Path::new("folder/inner"));
    assert!(fs::metadata(view.at("folder/box/anchor")).is_err(), "a file has nothing in it");
    assert!(fs::metadata(view.at("none")).is_err());
    for line in
        ["touch view/new", "echo x > view/folder/box", "rm view/folder/inner/note", "mkdir view/x"]
    {
        let outcome = shell(place.path(), line);
        assert!(outcome.stderr.contains("Read-only file system"), "{line}: {}", outcome.stderr);
    }
    let options = shell(place.path(), "grep ' /[^ ]*/view ' /proc/self/mounts").stdout;
    for option in ["ro", "nosuid", "nodev", "default_permissions"] {
        assert!(options.split([',', ' ']).any(|it| it == option), "{option}: {options}");
    }
}

#[test]
fn what_changes_is_seen_at_the_next_opening() {
    let place = Place::new(2);
    fs::create_dir(place.path().join("data")).unwrap();
    let small = place.plain("small", 1000);
    assert_eq!(place.run("cp small data/box --targets ost0,ost1").status, Some(0));
    let Some(view) = View::of(place.path(), "data", &[]) else { return };
    assert!(fs::read(view.at("box")).unwrap() == small);
    let open = || {
        let container = Container::open(&place.path().join("data/box"), &[]).unwrap();
        Writer::open(Arc::new(container), Placement::Striped).unwrap()
    };
    let mut writer = open();
    let mut expected = small;
    for round in 0..20u8 {
        writer.write_at(&[round; 5000], expected.len() as u64 - 100).unwrap();
        let start = expected.len() - 100;
        expected.resize(start + 5000, 0);
        expected[start..].fill(round);
        assert_eq!(fs::metadata(view.at("box")).unwrap().len(), expected.len() as u64);
        assert!(fs::read(view.at("box")).unwrap() == expected, "{round}");
    }
    // Of the same size, while another has it open and both have read it.
    let other = File::open(view.at("box")).unwrap();
    for round in 0..20u8 {
        writer.write_at(&[round; 300], 200).unwrap();
        expected[200..500].fill(round);
        for _ in 0..2 {
            assert!(fs::read(view.at("box")).unwrap() == expected, "{round}");
            other.read_at(&mut [0; 4096], 0).unwrap();
        }
    }
    writer.truncate(77).unwrap();
    assert!(fs::read(view.at("box")).unwrap() == expected[..77]);
    drop(writer);
    // Another one in its place, while the first is still open: each has its own bytes.
    let held = File::open(view.at("box")).unwrap();
    fs::rename(place.path().join("data/box"), place.path().join("data/old")).unwrap();
    fs::write(place.path().join("data/box"), "a plain file").unwrap();
    assert_eq!(fs::read_to_string(view.at("box")).unwrap(), "a plain file");
    let mut part = [0; 100];
    assert_eq!(held.read_at(&mut part, 0).unwrap(), 77);
    assert!(part[..77] == expected[..77]);
    assert!(fs::read(view.at("old")).unwrap() == expected[..77]);
    assert_eq!(place.run("rm data/old").status, Some(0));
    assert!(!view.at("old").exists());
}

#[test]
fn what_cannot_be_read_is_an_error_and_never_zeros() {
    let place = Place::new(2);
    fs::create_dir(place.path().join("data")).unwrap();
    let bytes = place.plain("file", 9_000_000);
    for name in ["damaged", "lost", "odd"] {
        let copied =
            place.run(&format!("cp file data/{name} --targets ost0,ost1 --policy striped"));
        assert_eq!(copied.status, Some(0), "{}", copied.stderr);
    }
    let Some(view) = View::of(place.path(), "data", &[]) else { return };
    let folder = |name: &str, target: usize| {
        let id = place.json(&format!("info data/{name}"))["id"].as_str().unwrap().to_string();
        place.storage.targets[target].join(format!("plimsoll-stow-{id}"))
    };
    let log = folder("damaged", 1).join("log-0001");
    let mut content = fs::read(&log).unwrap();
    let at = content.len() / 2;
    content[at] ^= 1;
    fs::write(&log, content).unwrap();
    let outcome = shell(place.path(), "cat view/damaged");
    assert!(outcome.stderr.contains("Input/output error"), "{}", outcome.stderr);
    let copied = shell(place.path(), "cp view/damaged copy");
    assert!(copied.stderr.contains("Input/output error"), "{}", copied.stderr);
    let mut first = vec![0; 100_000];
    File::open(view.at("damaged")).unwrap().read_exact(&mut first).unwrap();
    assert!(first == bytes[..100_000], "what is whole can be read");
    fs::rename(folder("lost", 0), place.path().join("away")).unwrap();
    let outcome = shell(place.path(), "cat view/lost");
    assert!(outcome.stderr.contains("Input/output error"), "{}", outcome.stderr);
    let error = fs::metadata(view.at("lost")).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::IO.raw_os_error()), "no other size");
    fs::write(place.path().join("data/odd/manifest"), "nonsense\n").unwrap();
    let error = fs::metadata(view.at("odd")).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::IO.raw_os_error()));
    assert!(fs::read_dir(&view.point).unwrap().count() == 3, "all are listed");
}

#[test]
fn no_mount_stays_whatever_ends_it() {
    let place = Place::new(1);
    fs::create_dir(place.path().join("data")).unwrap();
    fs::write(place.path().join("data/file"), "words").unwrap();
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let Some(mut view) = View::of(place.path(), "data", &[]) else { return };
        // Somebody is in it, so that it cannot just be unmounted.
        let busy = File::open(view.at("file")).unwrap();
        view.signal(signal);
        assert_eq!(view.server.wait().unwrap().code(), Some(status));
        view.wait_until_gone();
        drop(busy);
    }
    let Some(mut view) = View::of(place.path(), "data", &[]) else { return };
    // A process that another test begins just now has all that is open here, for a moment.
    let unmount = "for i in $(seq 100); do umount view && exit; sleep 0.1; done; exit 1";
    assert_eq!(shell(place.path(), unmount).status, Some(0));
    assert_eq!(view.server.wait().unwrap().code(), Some(0));
    let Some(view) = View::of(place.path(), "data", &[]) else { return };
    view.signal(Signal::KILL);
    view.wait_until_gone();
}

#[test]
fn only_who_mounted_it_can_look_into_it() {
    if !Attacker::can_be_had() {
        return;
    }
    let place = Place::new(1);
    fs::create_dir(place.path().join("data")).unwrap();
    for (name, mode) in [("open", 0o644), ("closed", 0o600)] {
        fs::write(place.path().join("data").join(name), "words").unwrap();
        let rights = fs::Permissions::from_mode(mode);
        fs::set_permissions(place.path().join("data").join(name), rights).unwrap();
    }
    for folder in [place.path(), &place.path().join("data")] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let reads = |view: &View, name: &str| {
        let mut command = Command::new("timeout");
        command.args(["60", "cat"]).arg(view.at(name)).uid(ATTACKER).gid(ATTACKER);
        command.stdin(Stdio::null()).output().unwrap().status.success()
    };
    let Some(view) = View::of(place.path(), "data", &[]) else { return };
    assert_eq!(["open", "closed"].map(|name| reads(&view, name)), [false, false]);
    assert_eq!(fs::read_to_string(view.at("closed")).unwrap(), "words");
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let line = mounts.lines().find(|it| it.split(' ').nth(4) == view.point.to_str()).unwrap();
    assert!(!line.contains("allow_other"), "{line}");
    // Nobody else may be able to exchange what root mounts on.
    let theirs = place.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    std::os::unix::fs::chown(&theirs, Some(ATTACKER), None).unwrap();
    let refused = place.run("mount data theirs");
    assert_eq!(refused.status, Some(2));
    assert!(refused.stderr.contains("belongs to user 65533"), "{}", refused.stderr);
}

/// Files that programs make under `stow run` have the rights that they ask for, and logs that nobody else can read.
#[test]
fn rights_are_shown_for_nobody_who_could_not_read_it_where_it_is() {
    const OWNER: u32 = 65_532;
    if !Attacker::can_be_had() {
        return;
    }
    let place = Place::new(1);
    fs::create_dir(place.path().join("data")).unwrap();
    for folder in [place.path(), &place.path().join("data")] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
    write_container(&place, "data/c");
    let as_root = |line: String| assert!(shell(place.path(), &line).status == Some(0), "{line}");
    as_root(format!("chmod 644 data/c/anchor && chown -R {OWNER} data/c ost0"));
    let shown = |view: &View| fs::metadata(view.at("c")).unwrap().permissions().mode() & 0o777;
    let Some(view) = View::of(place.path(), "data", &[]) else { return };
    assert_eq!(shown(&view), 0o600, "its logs are private");
    drop(view);
    as_root("chmod -R a+rX data/c ost0".into());
    let Some(view) = View::of(place.path(), "data", &[]) else { return };
    assert_eq!(shown(&view), 0o644, "all of it is open");
}

#[test]
fn what_cannot_be_mounted_is_told_in_one_line() {
    let place = Place::new(1);
    fs::create_dir_all(place.path().join("data/inner")).unwrap();
    fs::create_dir(place.path().join("view")).unwrap();
    place.plain("file", 10);
    assert_eq!(place.run("cp file data/box --targets ost0").status, Some(0));
    for (arguments, told) in [
        ("mount data data/inner", "inside of each other"),
        ("mount data/inner data", "inside of each other"),
        ("mount data data", "inside of each other"),
        ("mount data/box view", "is a container; hint"),
        ("mount nothing view", "cannot open nothing"),
        ("mount data nothing", "cannot mount on nothing"),
        ("mount data file", "cannot mount on file"),
    ] {
        let outcome = place.run(arguments);
        assert_eq!(outcome.status, Some(2), "{arguments}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(told), "{arguments}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{arguments}: {}", outcome.stderr);
    }
}
