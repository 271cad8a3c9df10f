//! Containers on a file system that somebody else has filled.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use plimsoll_stow::{Container, Placement, Writer};

use super::Place;
use crate::support::storage::SmallDisk;

/// The attack: a container whose state has a hole, which would be filled in memory that is mapped.
#[test]
fn a_hole_in_a_state_ends_no_program_on_a_full_disk() {
    let place = Place::new(1);
    let small = place.path().join("small");
    fs::create_dir(&small).unwrap();
    let Some(_disk) = SmallDisk::mount(&small, "1m") else { return };
    place.plain("file", 1000);
    for name in ["first", "second"] {
        let copied = place.run(&format!("cp file small/{name} --targets ost0"));
        assert_eq!(copied.status, Some(0), "{}", copied.stderr);
        let state = File::options().write(true).open(small.join(name).join("state")).unwrap();
        // Of another node, and nothing behind the first page.
        state.write_all_at(&[9; 16], 16).unwrap();
        state.set_len(4096).unwrap();
        state.set_len(5 * 4096).unwrap();
    }
    let mut fill = File::create(small.join("fill")).unwrap();
    while fill.write_all(&[1; 4096]).is_ok() {}
    let container = Container::open(&small.join("first"), &[]).unwrap();
    let written = Writer::open(Arc::new(container), Placement::Striped)
        .and_then(|mut it| it.write_at(b"more", 0).and_then(|_| it.close().map(drop)));
    let problem = written.unwrap_err();
    assert_eq!(problem.errno(), rustix::io::Errno::NOSPC, "{problem}");
    for command in ["compact small/first", "check small/first --repair", "flatten small/first"] {
        assert!(place.run(command).status.is_some(), "{command} was ended by a signal");
    }
    let removed = place.run("rm small/second");
    assert_eq!(removed.status, Some(0), "{}", removed.stderr);
}
