//! `plimsoll stow mount` of containers that somebody forged.

use std::fs::{self, File};
use std::process::Command;

use plimsoll_stow::{Container, ListedLog};

use super::Place;
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
    let container = Container::open(&place.path().join("data/box"), &[]).unwrap();
    let first = container.logs().unwrap().remove(0);
    let lines = (0..400).map(|number| ListedLog { number, ..first.clone() }.line().unwrap());
    let manifest = place.path().join("data/box/manifest");
    let (few, many) = (fs::read(&manifest).unwrap(), lines.collect::<String>());
    let id = container.id();
    let log =
        |number: u32| place.storage.targets[0].join(format!("plimsoll-stow-{id}/log-{number:04}"));
    for number in 1..400 {
        fs::copy(log(0), log(number)).unwrap();
    }
    fs::write(&manifest, many).unwrap();
    let nfile = Some(rustix::io::Errno::NFILE.raw_os_error());
    assert_eq!(fs::metadata(view.at("box")).unwrap_err().raw_os_error(), nfile);
    assert_eq!(held.metadata().unwrap_err().raw_os_error(), nfile);
    assert_eq!(fs::read_to_string(view.at("plain")).unwrap(), "words");
    fs::write(&manifest, few).unwrap();
    assert!(fs::read(view.at("box")).unwrap() == bytes);
}
