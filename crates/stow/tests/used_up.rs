//! Stamps that are used up, as a forged container can claim: what cannot be read afterwards is not written.

mod support;

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use plimsoll_stow::{Container, Placement, Problem, Reader, StowError, Writer, check};
use support::{container, content};

const MOST: u64 = 1 << 61;

/// Where the state has the next stamp, and those that its node has told others of.
const NEXT_AT: u64 = 64;
const RESERVED_AT: u64 = 80;

#[test]
fn nothing_is_written_that_could_not_be_read() {
    let tries = [(MOST - 3, 0, 3), (MOST, 0, 0), (1 << 62, 0, 0), (u64::MAX, 0, 0), (9, MOST, 0)];
    for (next, reserved, taken) in tries {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let made = container(folder.path(), 1);
        let mut writer = Writer::open(made.clone(), Placement::Striped).unwrap();
        writer.write_at(b"before", 0).unwrap();
        writer.sync().unwrap();
        writer.close().unwrap();
        drop(made);
        let state = OpenOptions::new().write(true).open(folder.path().join("it/state")).unwrap();
        state.write_all_at(&next.to_le_bytes(), NEXT_AT).unwrap();
        state.write_all_at(&u64::to_le_bytes(reserved), RESERVED_AT).unwrap();
        let open = || Arc::new(Container::open(&folder.path().join("it"), &[]).unwrap());
        let opened = Writer::open(open(), Placement::Striped);
        let mut expected = b"before".to_vec();
        match (taken, opened) {
            (0, opened) => assert!(matches!(opened, Err(StowError::UsedUp { .. })), "{next}"),
            (_, opened) => {
                let mut writer = opened.unwrap();
                for byte in 0..taken {
                    writer.write_at(&[byte], u64::from(byte)).unwrap();
                    expected[usize::from(byte)] = byte;
                }
                let error = writer.write_at(b"lost", 0).unwrap_err();
                assert_eq!(error.errno(), rustix::io::Errno::ROFS);
                assert!(error.to_string().contains("stamps") && writer.last_write().is_empty());
                assert!(writer.truncate(0).is_err() && writer.append(b"lost").is_err());
                writer.sync().unwrap();
            }
        }
        let reader = Reader::open_scanned(open()).unwrap();
        assert_eq!(content(&reader), expected, "{next}");
        assert_eq!(check(&reader, &mut |_| ()).unwrap(), [Problem::UsedUp], "{next}");
        let there = fs::read(folder.path().join("it/state")).unwrap();
        let kept = u64::from_le_bytes(there[64..72].try_into().unwrap());
        assert!(kept >= next, "no stamp is taken twice: {kept}");
    }
}
