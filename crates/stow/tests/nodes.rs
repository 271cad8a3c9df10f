//! Several nodes write to one container. Here they share a file system, and are nodes by name only; tests/gluster/nodes.rs has nodes that
//! do not see what the other one has in memory.

mod support;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_stats::Random;
use plimsoll_stow::{Id, Placement, Reader, Writer, check};
use support::content;
use support::nodes::{Measure, Place, ROLE, be_a_writer, torment};

fn places(folder: &Path, count: u8) -> Vec<Place> {
    let place = |node: u8| Place { folder: folder.into(), node: Some(Id::from_bytes([node; 16])) };
    let places: Vec<Place> = (1..=count).map(place).collect();
    places[0].create();
    places
}

#[test]
fn what_nodes_write_at_once_is_the_same_for_all_of_them() {
    let _alone = alone();
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).ok().map_or(otherwise, |text| text.parse().unwrap())
    };
    let (seed, rounds) = (number("STOW_NODES_SEED", 1), number("STOW_NODES_ROUNDS", 2));
    let measure = Measure { generations: 4, changes: 200, life: Duration::from_millis(120) };
    for round in 0..rounds {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let places = places(folder.path(), 2 + (round % 2) as u8);
        let random = &mut Random::new(seed ^ round << 32);
        let kills = torment(&places, folder.path(), random, &measure, |_, role| spawn(role));
        println!("seed {seed}, round {round}: {kills} kills, nothing lost");
    }
}

/// The writer process: this test program again, told by a variable what to do.
#[test]
fn be_a_writer_if_asked() {
    if let Ok(role) = std::env::var(ROLE) {
        be_a_writer(&role);
    }
}

/// Keeps other tests of this program waiting. From its fork to its exec, a process that one of them starts has copies of the locks of all, so that
/// what was just closed seems to be in use.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn spawn(role: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "be_a_writer_if_asked", "--nocapture"]).env(ROLE, role);
    command.stdout(Stdio::null()).spawn().unwrap()
}

#[test]
fn whoever_opens_after_another_node_closed_is_later() {
    let _alone = alone();
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let places = places(folder.path(), 3);
    for round in 0..12u8 {
        let place = &places[usize::from(round) % 3];
        let mut writer = place.writer();
        writer.write_at(&[round + 1; 100], u64::from(round)).unwrap();
        writer.close().unwrap();
        for place in &places {
            let bytes = content(&place.reader());
            assert_eq!(bytes[usize::from(round)..], [round + 1; 100], "round {round}");
        }
    }
    let names = std::fs::read_dir(folder.path().join("it")).unwrap();
    let states =
        names.filter(|it| it.as_ref().unwrap().file_name().to_string_lossy().starts_with("state"));
    assert_eq!(states.count(), 1, "one at a time needs one seat");
}

#[test]
fn nodes_that_write_at_once_have_seats_and_logs_of_their_own() {
    let _alone = alone();
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let places = places(folder.path(), 3);
    let mut writers: Vec<_> = places.iter().map(Place::writer).collect();
    let mut further = places[1].writer();
    for (index, writer) in (0..).zip(&mut writers) {
        for step in 0..20u64 {
            writer.write_at(&[index as u8 + 1; 10], (step * 3 + index) * 10).unwrap();
        }
    }
    further.write_at(b"of the second", 1000).unwrap();
    // Each of them goes on behind what another one has synced.
    for (index, writer) in (0..).zip(&mut writers) {
        writer.sync().unwrap();
        writer.write_at(&[0xAA + index; 3], 7).unwrap();
        writer.sync().unwrap();
        assert_eq!(content(&places[0].reader())[7..10], [0xAA + index; 3]);
        assert_eq!(writer.append(&[index; 4]).unwrap(), 1013 + 4 * u64::from(index));
    }
    let whole = content(&places[0].reader());
    for place in &places {
        let reader = place.reader();
        assert_eq!(content(&reader), whole);
        assert_eq!(check(&reader, &mut |_| {}).unwrap(), []);
    }
    let seats: Vec<u32> = places[0].open().logs().unwrap().iter().map(|it| it.seat).collect();
    assert_eq!(seats.iter().max(), Some(&3), "{seats:?}");

    // What the second one has is not given away while anybody there writes.
    drop(writers.remove(1));
    let newcomer = Place { node: Some(Id::from_bytes([9; 16])), ..places[0].clone() };
    newcomer.writer().write_at(b"new", 0).unwrap();
    let states = || {
        let names = std::fs::read_dir(folder.path().join("it")).unwrap();
        names
            .filter(|it| it.as_ref().unwrap().file_name().to_string_lossy().starts_with("state"))
            .count()
    };
    assert_eq!(states(), 4, "a seat of its own");
    drop(further);
    let another = Place { node: Some(Id::from_bytes([10; 16])), ..places[0].clone() };
    let mut another = another.writer();
    another.write_at(b"old", 0).unwrap();
    another.sync().unwrap();
    assert_eq!(states(), 4, "a seat that was left");
    drop((writers, another));
    assert_eq!(content(&places[2].reader())[..3], *b"old");
    assert_eq!(places[2].open().remove().unwrap(), []);
    assert!(!folder.path().join("it").exists());
}

#[test]
fn a_node_that_had_a_seat_before_is_later_than_what_came_meanwhile() {
    let _alone = alone();
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let places = places(folder.path(), 2);
    let assert_seen = |value: u8| {
        for place in &places {
            assert_eq!(content(&place.reader()), [value; 10]);
        }
    };
    let [mut one, mut two] = [places[0].writer(), places[1].writer()];
    one.write_at(&[1; 10], 0).unwrap();
    one.close().unwrap();
    two.sync().unwrap();
    two.write_at(&[2; 10], 0).unwrap();
    assert_seen(2);
    // By opening, also behind what was not synced.
    let container = places[0].open();
    let mut one = Writer::open(container.clone(), Placement::Striped).unwrap();
    one.write_at(&[3; 10], 0).unwrap();
    assert_seen(3);
    two.catch_up().unwrap();
    two.write_at(&[4; 10], 0).unwrap();
    assert_seen(4);
    // By what a reader found.
    let reader = Reader::open(container).unwrap();
    assert_eq!(content(&reader), [4; 10]);
    one.write_at(&[5; 10], 0).unwrap();
    assert_seen(5);
}

#[test]
fn room_comes_back_and_an_index_is_written_only_when_no_node_writes() {
    let _alone = alone();
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let places = places(folder.path(), 2);
    let [mut one, mut two] = [places[0].writer(), places[1].writer()];
    for round in 0..3u64 {
        for step in 0..600 {
            one.write_at(&[round as u8 + 1; 4000], step * 8000).unwrap();
            two.write_at(&[round as u8 + 101; 4000], step * 8000 + 4000 * (round % 2)).unwrap();
        }
        one.sync().unwrap();
        two.sync().unwrap();
    }
    let expected = content(&places[0].reader());
    assert!(one.reclaim(0.9).is_err(), "the other one writes");
    two.close().unwrap();
    assert!(places[0].reader().index().is_err(), "the first one writes");
    let reclaimed = one.reclaim(0.9).unwrap();
    assert!(reclaimed.freed > 4 << 20, "{reclaimed:?}");
    assert_eq!(content(&places[1].reader()), expected);
    one.close().unwrap();
    for place in &places {
        let reader = place.reader();
        assert_eq!(content(&reader), expected);
        let scanned = Reader::open_scanned(place.open()).unwrap();
        assert_eq!(content(&scanned), expected);
    }
    assert!(places[0].reader().index().is_ok());
    // What comes now is later than what is in the index, whoever writes it.
    let mut two = places[1].writer();
    two.write_at(&[7; 5000], 3).unwrap();
    two.close().unwrap();
    for place in &places {
        assert_eq!(content(&place.reader())[3..5003], [7; 5000]);
        let scanned = Reader::open_scanned(place.open()).unwrap();
        assert_eq!(content(&scanned)[3..5003], [7; 5000]);
    }
}
