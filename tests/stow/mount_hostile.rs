//! `plimsoll stow mount` of containers that somebody forged.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_stow::{Container, ListedLog, Placement, Target, Writer};

use super::Place;
use super::mount::shell;
use crate::support::command::binary;
use crate::support::view::View;

/// The attack: a container gets many logs while it is open.
#[test]
fn a_container_cannot_take_all_descriptors_by_growing() {
    let place = Place::new(1);
    if Command::new("prlimit").arg("--version").output().is_err() {
        eprintln!("SKIPPED: needs prlimit");
        return;
    }
    fs::create_dir(place.path().join("data")).unwrap();
    fs::write(place.path().join("data/plain"), "words").unwrap();
    let bytes = place.plain("file", 1000);
    assert_eq!(place.run("cp file data/box --targets ost0").status, Some(0));
    let mut command = Command::new("prlimit");
    command.arg("--nofile=512:512").arg(binary().get_program());
    let Some(view) = View::by(command, place.path(), "data", &[]) else { return };
    let held = File::open(view.at("box")).unwrap();
    let manifest = place.path().join("data/box/manifest");
    let few = fs::read(&manifest).unwrap();
    give_logs(&place, "box", 400);
    let nfile = Some(rustix::io::Errno::NFILE.raw_os_error());
    assert_eq!(fs::metadata(view.at("box")).unwrap_err().raw_os_error(), nfile);
    assert_eq!(held.metadata().unwrap_err().raw_os_error(), nfile);
    assert_eq!(fs::read_to_string(view.at("plain")).unwrap(), "words");
    fs::write(&manifest, few).unwrap();
    assert!(fs::read(view.at("box")).unwrap() == bytes);
}

/// Gives a container so many logs, all like its first one.
fn give_logs(place: &Place, name: &str, count: u32) {
    let path = place.path().join("data").join(name);
    let container = Container::open(&path, &[]).unwrap();
    let first = container.logs().unwrap().remove(0);
    let id = container.id();
    let log =
        |number: u32| place.storage.targets[0].join(format!("plimsoll-stow-{id}/log-{number:04}"));
    for number in 1..count {
        fs::copy(log(0), log(number)).unwrap();
    }
    let lines = (0..count).map(|number| ListedLog { number, ..first.clone() }.line().unwrap());
    fs::write(path.join("manifest"), lines.collect::<String>()).unwrap();
}

/// Makes a container of many records, without an index.
fn with_records(place: &Place, name: &str, records: u64) {
    with_index(place, name, records);
    fs::remove_file(place.path().join("data").join(name).join("index")).unwrap();
}

/// Makes a container of many records, with its index.
fn with_index(place: &Place, name: &str, records: u64) {
    fs::create_dir_all(place.path().join("data")).unwrap();
    fs::write(place.path().join("data/plain"), "words").unwrap();
    let target = Target { name: "ost0".into(), path: place.storage.targets[0].clone() };
    let path = place.path().join("data").join(name);
    let container = Arc::new(Container::create(&path, &[target]).unwrap());
    let mut writer = Writer::open(container, Placement::Striped).unwrap();
    // Not side by side, so that each is a record of its own.
    (0..records).for_each(|number| writer.write_at(b"x", number * 2).unwrap());
    writer.close().unwrap();
}

/// Gives a container and all that is on the target to another user.
fn give_away(place: &Place, name: &str) {
    let container = place.path().join("data").join(name);
    let mut command = Command::new("chown");
    command.args(["-R", "12345"]).arg(container).arg(&place.storage.targets[0]);
    assert!(command.status().unwrap().success());
}

/// Opening it by its index takes hardly any memory, and comparing it with its checksums more than one may take beside others.
#[test]
fn a_container_with_an_index_is_read_in_order_as_without_one() {
    let place = Place::new(1);
    with_index(&place, "own", 80_000);
    let mut command = binary();
    command.env("PLIMSOLL_MEMORY", "400MiB");
    let Some(view) = View::by(command, place.path(), "data", &[]) else { return };
    let bytes = fs::read(view.at("own")).unwrap();
    assert_eq!(bytes.len(), 2 * 80_000 - 1);
    assert!(bytes.iter().step_by(2).all(|it| *it == b'x'));
}

/// Makes a container of which the list has so many logs at the ends of very long ways.
fn with_much_to_look_for(place: &Place, name: &str, logs: u32) {
    with_records(place, name, 1000);
    let deep = place.path().join("deep");
    fs::create_dir(&deep).unwrap();
    let made = shell(&deep, "for n in $(seq 50); do mkdir d; cd d; done; mkdir $(seq 0 1999)");
    assert_eq!(made.status, Some(0), "{}", made.stderr);
    let way = deep.join(["d"; 50].join("/"));
    let line = |number: u32| {
        let path = way.join(number.to_string());
        ListedLog { number, target: "ost0".into(), path, seat: 1 }.line().unwrap()
    };
    let lines = (0..logs).map(line).collect::<String>();
    fs::write(place.path().join("data").join(name).join("manifest"), lines).unwrap();
}

/// The attack: many gifts that the user unpacked, so that they are the user's own now, kept all threads that answer.
#[test]
fn large_containers_of_ones_own_do_not_hold_up_all_else() {
    let place = Place::new(1);
    with_much_to_look_for(&place, "gift", 150);
    let copied = shell(place.path(), "for n in $(seq 24); do cp -a data/gift data/gift$n; done");
    assert_eq!(copied.status, Some(0), "{}", copied.stderr);
    let Some(_view) = View::of(place.path(), "data", &[]) else { return };
    let looked = shell(
        place.path(),
        ": > told; for n in $(seq 24); do { stat view/gift$n; echo looked >> told; } > out$n 2>&1 & done; \
         sleep 0.3; cat view/plain; wc -l < told; wait; wc -l < told",
    );
    let numbers =
        looked.stdout.strip_prefix("words").unwrap_or_else(|| panic!("{}", looked.stderr));
    let numbers: Vec<u32> = numbers.split_whitespace().map(|it| it.parse().unwrap()).collect();
    assert!(numbers[0] < 8 && numbers[1] == 24, "{numbers:?}: all else was answered first");
}

/// The attack: a list of thousands of logs at the ends of very long ways, of which one look took minutes, also at the files of the user whose mount it is.
#[test]
fn a_container_of_others_with_much_to_look_for_does_not_hold_up_the_server() {
    let place = Place::new(1);
    with_records(&place, "own", 30_000);
    with_much_to_look_for(&place, "gift", 4096);
    let command =
        "chown -R 12345 data/gift; for n in $(seq 20); do cp -a data/gift data/gift$n; done";
    assert_eq!(shell(place.path(), command).status, Some(0));
    let Some(_view) = View::of(place.path(), "data", &[]) else { return };
    // Whoever waits for the server cannot be killed: the test is not the one who does.
    let looked = shell(
        place.path(),
        "seq -f view/gift%.0f 1 20 | xargs -P 20 -n 1 stat > told 2>&1 & sleep 0.3; head -c 1 view/own && cat view/plain; wait; wc -l < told",
    );
    assert!(looked.stdout.starts_with("xwords"), "{} {}", looked.stdout, looked.stderr);
}

/// The attack: each of many containers has so many states, and so long a list of logs, that all together take more memory than the server may have.
#[test]
fn states_and_lists_of_logs_take_no_more_memory_than_records() {
    let place = Place::new(1);
    with_records(&place, "gift", 1000);
    let gift = place.path().join("data/gift");
    for seat in 1..=256 {
        let name = if seat == 1 { "state".into() } else { format!("state-{seat}") };
        let file = File::options().create(true).truncate(false).write(true).open(gift.join(name));
        let file = file.unwrap();
        io::Write::write_all(&mut &file, b"plimstat").unwrap();
        file.set_len(266_240).unwrap();
    }
    let line = |number: u32| {
        let path = PathBuf::from(format!("/none/{}", "x".repeat(4000)));
        ListedLog { number, target: "ost0".into(), path, seat: 1 }.line().unwrap()
    };
    fs::write(gift.join("manifest"), (0..4096).map(line).collect::<String>()).unwrap();
    give_away(&place, "gift");
    let command = "for n in $(seq 20); do cp -a --sparse=always data/gift data/gift$n; done";
    assert_eq!(shell(place.path(), command).status, Some(0));
    let mut command = binary();
    command.env("PLIMSOLL_MEMORY", "300MiB");
    let Some(view) = View::by(command, place.path(), "data", &[]) else { return };
    let looked = shell(
        place.path(),
        "seq -f view/gift%.0f 1 20 | xargs -P 16 -n 1 stat > told 2>&1; cat told view/plain",
    );
    assert!(looked.stdout.ends_with("words"), "{} {}", looked.stdout, looked.stderr);
    assert!(view.is_mounted());
}

/// The attack: a container in a directory takes all memory of whoever lists it.
#[test]
fn a_list_names_containers_that_are_too_large() {
    let place = Place::new(1);
    with_records(&place, "gift", 400_000);
    let mut command = binary();
    command.env("PLIMSOLL_MEMORY", "200MiB").args(["stow", "ls", "data"]);
    let listed = command.current_dir(place.path()).output().unwrap();
    let text = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.status.success(), "{text}");
    assert!(text.contains("too much memory") && text.contains("plain"), "{text}");
}

/// The attack: a container of so many records that to put them in order takes more memory than the server may have.
#[test]
fn a_container_of_too_many_records_does_not_end_the_server() {
    let place = Place::new(1);
    with_records(&place, "gift", 400_000);
    let mut command = binary();
    command.env("PLIMSOLL_MEMORY", "400MiB");
    let Some(view) = View::by(command, place.path(), "data", &[]) else { return };
    let too_large = Some(rustix::io::Errno::FBIG.raw_os_error());
    assert_eq!(fs::metadata(view.at("gift")).unwrap_err().raw_os_error(), too_large);
    assert_eq!(fs::read_to_string(view.at("plain")).unwrap(), "words");
}

/// The attack: containers of which each takes less memory than one may, and all together more than the server has.
#[test]
fn many_containers_take_no_more_than_the_server_has() {
    let place = Place::new(1);
    with_records(&place, "gift0", 80_000);
    let copied = shell(place.path(), "for n in $(seq 39); do cp -a data/gift0 data/gift$n; done");
    assert_eq!(copied.status, Some(0), "{}", copied.stderr);
    let mut command = binary();
    command.env("PLIMSOLL_MEMORY", "400MiB");
    let Some(view) = View::by(command, place.path(), "data", &[]) else { return };
    let open = |number: u32| File::open(view.at(&format!("gift{number}")));
    let opened: Vec<io::Result<File>> = (0..40).map(open).collect();
    let too_large = Some(rustix::io::Errno::FBIG.raw_os_error());
    assert!(opened[0].is_ok(), "{:?}", opened[0]);
    assert_eq!(opened[39].as_ref().unwrap_err().raw_os_error(), too_large);
    assert_eq!(fs::read_to_string(view.at("plain")).unwrap(), "words");
    drop(opened);
    // The kernel tells the server of it a moment later.
    while open(39).is_err() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The attack: a container that is opened alone for two reasons, its logs and its records, waited for itself.
#[test]
fn a_container_of_many_logs_and_records_does_not_hold_up_the_server() {
    let place = Place::new(1);
    with_records(&place, "gift", 20_000);
    give_logs(&place, "gift", 70);
    let mut command = binary();
    command.env("PLIMSOLL_MEMORY", "600MiB");
    let Some(_view) = View::by(command, place.path(), "data", &[]) else { return };
    // Whoever waits for the server cannot be killed: the test is not the one who does.
    let looked = shell(place.path(), "for n in 1 2; do stat -c %s view/gift; done; cat view/plain");
    assert!(looked.stdout.ends_with("words"), "{} {}", looked.stdout, looked.stderr);
}

/// The attack: a container whose logs are in the mount itself, by whatever name, from the beginning or once it was looked at.
#[test]
fn no_container_leads_the_server_into_its_own_mount() {
    let place = Place::new(1);
    fs::create_dir(place.path().join("data")).unwrap();
    fs::write(place.path().join("data/plain"), "words").unwrap();
    place.plain("file", 1000);
    let view = fs::canonicalize(place.path()).unwrap().join("view");
    let spellings = [view.clone(), PathBuf::from(format!("/proc/self/root{}", view.display()))];
    for (number, spelling) in spellings.iter().enumerate() {
        for is_late in [false, true] {
            let name = format!("box{number}{is_late}");
            let copied = place.run(&format!("cp file data/{name} --targets ost0"));
            assert_eq!(copied.status, Some(0), "{}", copied.stderr);
            let Some(view) = View::of(place.path(), "data", &[]) else { return };
            let held = is_late.then(|| File::open(view.at(&name)).unwrap());
            let path = place.path().join("data").join(&name);
            let mut logs = Container::open(&path, &[]).unwrap().logs().unwrap();
            let further = ListedLog { number: 1, path: spelling.join(&name), ..logs.remove(0) };
            let manifest = path.join("manifest");
            let text = fs::read_to_string(&manifest).unwrap() + &further.line().unwrap();
            fs::write(&manifest, text).unwrap();
            // Whoever waits for the server cannot be killed: the test is not the one who does.
            let looked = shell(place.path(), &format!("stat -c %s view/{name}; cat view/{name}"));
            assert!(looked.stderr.contains("Input/output error"), "{}", looked.stderr);
            assert_eq!(shell(place.path(), "cat view/plain").stdout, "words");
            drop(held);
        }
    }
}

/// The attack: a view inside of what is shown.
#[test]
fn a_view_is_not_shown_by_another_one() {
    let place = Place::new(1);
    fs::create_dir_all(place.path().join("data/view")).unwrap();
    fs::create_dir(place.path().join("other")).unwrap();
    fs::write(place.path().join("other/plain"), "words").unwrap();
    let Some(outer) = View::of(place.path(), "data", &[]) else { return };
    let Some(inner) = View::of(&place.path().join("data"), "../other", &[]) else { return };
    assert_eq!(fs::read_to_string(inner.at("plain")).unwrap(), "words");
    let looked = shell(place.path(), "ls view && ls view/view");
    assert_eq!(looked.stdout, "view\n");
    assert!(looked.stderr.contains("Too many levels"), "{}", looked.stderr);
    drop((inner, outer));
}
