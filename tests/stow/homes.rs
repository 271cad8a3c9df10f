//! Containers that were copied, and logs that were left behind.

use std::fs::{self, File};
use std::process::Command;
use std::time::{Duration, SystemTime};

use super::Place;

#[test]
fn a_copy_is_read_and_never_written_and_its_removal_leaves_the_logs() {
    let place = Place::new(2);
    let bytes = place.plain("file", 9_000_000);
    assert_eq!(place.run("cp file big --targets ost0,ost1 --policy striped").status, Some(0));
    let copied = Command::new("cp").args(["-r", "big", "copy"]).current_dir(place.path()).status();
    assert!(copied.unwrap().success());
    assert!(place.cat("copy") == bytes);
    let checked = place.run("check copy");
    assert_eq!(checked.status, Some(1));
    assert!(checked.stdout.contains("its logs are those of "), "{}", checked.stdout);
    assert_eq!(place.run("check big").status, Some(0));
    let container = plimsoll_stow::Container::open(&place.path().join("copy"), &[]).unwrap();
    let opened = plimsoll_stow::Writer::open(container.into(), plimsoll_stow::Placement::Striped);
    let error = opened.err().unwrap();
    assert_eq!(error.errno(), rustix::io::Errno::ROFS, "{error}");
    let refused = place.run("check copy --repair");
    assert_eq!(refused.status, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("is a copy of"), "{}", refused.stderr);
    assert_eq!(place.run("rm copy").status, Some(0));
    assert!(!place.path().join("copy").exists() && place.cat("big") == bytes);
    // Under another name it is the same one, and in another directory as well.
    fs::create_dir(place.path().join("other")).unwrap();
    fs::rename(place.path().join("big"), place.path().join("other/moved")).unwrap();
    assert_eq!(place.run("check other/moved").status, Some(0));
    // A copy whose original is gone becomes the container when that is asked for: the other one may have been moved.
    let moved = "cp -r other/moved restored && rm -r other/moved";
    let status = Command::new("sh").args(["-c", moved]).current_dir(place.path()).status();
    assert!(status.unwrap().success());
    let checked = place.run("check restored");
    assert_eq!(checked.status, Some(1));
    assert!(checked.stdout.contains("not there any more"), "{}", checked.stdout);
    assert_eq!(place.run("check restored --repair").status, Some(1), "what was found is told");
    assert_eq!(place.run("check restored").status, Some(0));
    assert_eq!(place.run("rm restored").status, Some(0));
    place.storage.assert_nothing_left();
}

#[test]
fn logs_without_a_container_are_found_and_removed_only_when_told() {
    let place = Place::new(2);
    let bytes = place.plain("file", 9_000_000);
    for name in ["kept", "gone", "new", "moved"] {
        assert_eq!(
            place.run(&format!("cp file {name} --targets ost0,ost1 --policy striped")).status,
            Some(0)
        );
    }
    assert_eq!(place.run("check --targets ost0,ost1").status, Some(0));
    fs::create_dir_all(place.path().join("far/away")).unwrap();
    fs::rename(place.path().join("moved"), place.path().join("far/away/moved")).unwrap();
    let id = |name: &str| place.json(&format!("info {name}"))["id"].as_str().unwrap().to_string();
    let (gone, new) = (id("gone"), id("new"));
    for name in ["gone", "new"] {
        fs::remove_dir_all(place.path().join(name)).unwrap();
    }
    let day = SystemTime::now() - Duration::from_secs(25 * 3600);
    for target in &place.storage.targets {
        for log in fs::read_dir(target.join(format!("plimsoll-stow-{gone}"))).unwrap() {
            File::open(log.unwrap().path()).unwrap().set_modified(day).unwrap();
        }
    }
    let found = place.json("check --targets ost0,ost1 --below far");
    assert_eq!(found["problems"], 4, "{found}");
    let without = place.run("check --targets ost0,ost1 --below far --repair");
    assert_eq!(without.status, Some(2), "nobody can be asked");
    assert!(without.stderr.contains("--yes"), "{}", without.stderr);
    let removed = place.json("check --targets ost0,ost1 --below far --repair --yes");
    assert_eq!((&removed["removed"], &removed["problems"]), (&2.into(), &2.into()), "{removed}");
    for target in &place.storage.targets {
        assert!(!target.join(format!("plimsoll-stow-{gone}")).exists());
        assert!(target.join(format!("plimsoll-stow-{new}")).exists(), "it is younger than a day");
    }
    assert!(place.cat("kept") == bytes && place.cat("far/away/moved") == bytes);
    assert_eq!(place.run("check").status, Some(2), "neither a container nor targets");
}
