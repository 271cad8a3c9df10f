//! Nodes with caches of their own write one container: each has a mount of the volume, a host name and shared memory to itself.

#[path = "../../crates/stow/tests/support/mod.rs"]
mod stow;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plimsoll_stats::Random;
use plimsoll_stow::{Reader, check};
use stow::content;
use stow::nodes::{Measure, Place, ROLE, be_a_writer, torment};

use super::Gluster;
use crate::support::recording::has;

/// A volume with two mounts, and an empty container in it as both see it.
fn two_nodes() -> Option<(Gluster, Vec<Place>)> {
    let mut volume = Gluster::up()?;
    let mounts = [volume.mount(), volume.mount_at("second")];
    let place = |folder| Place { folder, node: None };
    let places = mounts.map(place).to_vec();
    places[0].create();
    Some((volume, places))
}

#[test]
fn what_one_node_synced_or_closed_the_other_one_finds_at_once() {
    let Some((_volume, places)) = two_nodes() else { return };
    let mut writers: Vec<_> = places.iter().map(Place::writer).collect();
    let mut readers: Vec<Reader> = places.iter().map(Place::reader).collect();
    let mut expected: Vec<u8> = Vec::new();
    for round in 0..30u8 {
        let (node, other) = (usize::from(round % 2), usize::from(1 - round % 2));
        let (begin, value) = (usize::from(round) * 37, round + 1);
        // As who has got a lock from the other node does.
        writers[node].catch_up().unwrap();
        expected.resize(expected.len().max(begin + 900), 0);
        expected[begin..begin + 900].fill(value);
        writers[node].write_at(&[value; 900], begin as u64).unwrap();
        match round % 3 {
            0 => writers[node].sync().unwrap(),
            // Whoever appends finds what others have appended, and lets it be found.
            1 => {
                let end = writers[node].append(&[value; 10]).unwrap();
                assert_eq!(end, expected.len() as u64, "round {round}");
                expected.extend([value; 10]);
            }
            _ => {
                let next = places[node].writer();
                std::mem::replace(&mut writers[node], next).close().unwrap();
            }
        }
        readers[other].refresh().unwrap();
        assert_eq!(content(&readers[other]), expected, "round {round}, refreshed");
        assert_eq!(content(&places[other].reader()), expected, "round {round}, opened");
    }
    let sizes = readers.iter_mut().map(|it| it.refresh().map(|()| it.size()).unwrap());
    assert_eq!(sizes.collect::<Vec<u64>>(), [expected.len() as u64; 2]);
    assert_eq!(check(&readers[0], &mut |_| {}).unwrap(), []);
}

#[test]
fn what_nodes_write_at_once_is_the_same_for_both_and_a_dead_one_loses_nothing() {
    if !has(&["unshare"]) {
        eprintln!("SKIPPED: needs unshare");
        return;
    }
    let Some((mut volume, mut places)) = two_nodes() else { return };
    let journals = tempfile::tempdir().unwrap();
    let measure = Measure { generations: 3, changes: 150, life: Duration::from_millis(1500) };
    let random = &mut Random::new(7);
    let kills = torment(&places, journals.path(), random, &measure, spawn);
    println!("{kills} kills, nothing lost");

    // The second one is lost with its client, in the middle of writing, and a third one comes in its place.
    let mut writer = places[1].writer();
    writer.write_at(b"durable", 100).unwrap();
    writer.sync().unwrap();
    let mut client = volume.daemons.pop().unwrap();
    client.kill().unwrap();
    client.wait().unwrap();
    assert!(writer.sync().is_err(), "it is lost");
    let third = Place { folder: volume.mount_at("third"), node: None };
    places[1] = third;
    for place in &places {
        assert_eq!(content(&place.reader())[100..107], *b"durable");
    }
    let mut newcomer = places[1].writer();
    newcomer.write_at(b"later  ", 100).unwrap();
    newcomer.sync().unwrap();
    assert_eq!(content(&places[0].reader())[100..107], *b"later  ");
    assert_eq!(states_in(&places[0].folder), 2, "it has the seat of the one that was lost");
    newcomer.close().unwrap();
    places[0].writer().reclaim(1.0).unwrap();
    assert_eq!(content(&places[1].reader())[100..107], *b"later  ");
    places[1].open().remove().unwrap();
    drop(writer);
}

fn states_in(folder: &Path) -> usize {
    let names = fs::read_dir(folder.join("it")).unwrap();
    names
        .filter(|it| it.as_ref().unwrap().file_name().to_string_lossy().starts_with("state"))
        .count()
}

/// The writer process: this test program again, told by a variable what to do.
#[test]
fn be_a_writer_if_asked() {
    if let Ok(role) = std::env::var(ROLE) {
        be_a_writer(&role);
    }
}

/// Starts one that has a host name and shared memory of its node.
fn spawn(node: usize, role: &str) -> Child {
    let prepare = format!(
        "hostname node{node} && mount -t tmpfs none /dev/shm && exec \"$0\" --exact \
         gluster::nodes::be_a_writer_if_asked --nocapture"
    );
    let mut command = Command::new("unshare");
    command.args(["-u", "-m", "sh", "-c", &prepare]).arg(std::env::current_exe().unwrap());
    command.env(ROLE, role).stdout(Stdio::null()).spawn().unwrap()
}
