//! Holes of files and of logs, in copies.

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use super::Place;

#[test]
fn holes_stay_holes() {
    let place = Place::new(2);
    let path = |name: &str| place.path().join(name);
    let plain = fs::File::create(path("sparse.dat")).unwrap();
    plain.write_all_at(&[1; 70_000], 5_000_000).unwrap();
    plain.write_all_at(&[2; 10], 30_000_000).unwrap();
    plain.set_len(64_000_000).unwrap();
    let bytes = fs::read(path("sparse.dat")).unwrap();
    let stored = |name: &str| 512 * fs::metadata(path(name)).unwrap().blocks();
    let copied = place.json("cp sparse.dat big --targets ost0,ost1");
    assert_eq!(copied["copied_bytes"], 64_000_000);
    assert!(place.cat("big") == bytes);
    let info = place.json("info big");
    let on_targets = |info: &serde_json::Value| -> u64 {
        let targets = info["targets"].as_array().unwrap();
        targets.iter().map(|it| it["stored_bytes"].as_u64().unwrap()).sum()
    };
    assert!(on_targets(&info) < 2_000_000, "{info}");
    assert_eq!(place.run("cp big other --targets ost1").status, Some(0));
    assert!(place.cat("other") == bytes && on_targets(&place.json("info other")) < 2_000_000);
    assert_eq!(place.run("cp big back.dat").status, Some(0));
    assert!(fs::read(path("back.dat")).unwrap() == bytes && stored("back.dat") < 2_000_000);
    assert_eq!(place.run("flatten big").status, Some(0));
    assert!(fs::read(path("big")).unwrap() == bytes && stored("big") < 2_000_000);
}

/// Writes a log again, with holes for pages of zeros, as a restore does.
fn dig_holes(log: &Path) {
    let content = fs::read(log).unwrap();
    let file = fs::File::create(log).unwrap();
    file.set_len(content.len() as u64).unwrap();
    for (number, page) in content.chunks(4096).enumerate() {
        if page.iter().any(|it| *it != 0) {
            file.write_all_at(page, number as u64 * 4096).unwrap();
        }
    }
}

/// The attack: a container of some kilobytes whose logs are all hole fills the disk of whoever copies it.
#[test]
fn what_no_log_keeps_is_not_written_by_a_copy_and_zeros_of_a_user_are() {
    const SIZE: u64 = 50_000_000;
    let place = Place::new(2);
    let path = |name: &str| place.path().join(name);
    let stored = |name: &str| 512 * fs::metadata(path(name)).unwrap().blocks();
    let mut bytes = vec![0; SIZE as usize];
    bytes[20_000_000..20_100_000].fill(7);
    // A byte here and there, so that no long part is nothing but hole.
    bytes.iter_mut().step_by(1 << 20).for_each(|it| *it = 7);
    fs::write(path("zeros.dat"), &bytes).unwrap();
    assert_eq!(place.run("cp zeros.dat big --targets ost0 --policy striped").status, Some(0));
    assert_eq!(place.run("cp big kept.dat").status, Some(0));
    assert!(stored("kept.dat") >= SIZE, "a user wrote them");
    let folder = fs::read_dir(&place.storage.targets[0]).unwrap().next().unwrap().unwrap().path();
    dig_holes(&folder.join("log-0000"));
    let checked = place.json("check big");
    assert_eq!((&checked["problems"], &checked["checked_bytes"]), (&0.into(), &SIZE.into()));
    assert!(place.cat("big") == bytes);
    assert_eq!(place.run("cp big back.dat").status, Some(0));
    assert!(fs::read(path("back.dat")).unwrap() == bytes && stored("back.dat") < SIZE / 4);
    assert_eq!(place.run("cp big other --targets ost1").status, Some(0));
    let info = place.json("info other");
    assert!(info["targets"][0]["stored_bytes"].as_u64() < Some(SIZE / 4), "{info}");
    assert!(place.cat("other") == bytes);
    assert_eq!(place.run("flatten big").status, Some(0));
    assert!(fs::read(path("big")).unwrap() == bytes && stored("big") < SIZE / 4);
}

#[test]
fn a_hole_in_place_of_bytes_is_damage() {
    let place = Place::new(1);
    place.plain("big.dat", 500_000);
    assert_eq!(place.run("cp big.dat big --targets ost0").status, Some(0));
    let folder = fs::read_dir(&place.storage.targets[0]).unwrap().next().unwrap().unwrap().path();
    let log = folder.join("log-0000");
    let mut content = fs::read(&log).unwrap();
    // All but the header of the log, and the page that says what follows.
    content[8192..].fill(0);
    fs::write(&log, content).unwrap();
    dig_holes(&log);
    let found = place.run("check big");
    assert!(found.status == Some(1) && found.stdout.contains("damaged"), "{}", found.stdout);
    for command in ["cp big back.dat", "flatten big"] {
        let outcome = place.run(command);
        assert_eq!(outcome.status, Some(2), "{command}");
        assert!(outcome.stderr.contains("its checksum differs"), "{}", outcome.stderr);
    }
}
