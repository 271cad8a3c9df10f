//! LMT's databases, made by SQLite, and what others may have put in their place.

#[path = "support/lmt.rs"]
mod lmt;
mod support;

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt};

use lmt::database;
use plimsoll_import::{ImportError, NoteKind, Options, import};
use rusqlite::Connection;
use support::*;

#[test]
fn an_hour_that_the_clock_showed_twice_is_two_hours() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("lmt"), folder.path().join("store"));
    let shown = [
        ("2018-11-04 01:30:00", 10),
        ("2018-11-04 01:59:55", 20),
        // The clock was put back, and then a counter began anew.
        ("2018-11-04 01:00:00", 50),
        ("2018-11-04 01:30:00", 5),
        ("2018-11-04 02:00:00", 6),
        ("soon", 7),
    ];
    drop(database(&path, &shown));
    let told = take(&path, &store);
    let has = read(&store);
    let first = 1_541_320_200_000u64;
    let read_at = |millis: u64| {
        has.get(&("ost", "fs-OST0000".to_string(), "read_bytes", first + millis)).copied()
    };
    assert_eq!(read_at(1_795_000), Some((1_795_000, 10)));
    assert_eq!(read_at(1_800_000), Some((5000, 30)));
    assert_eq!(read_at(3_600_000), None, "a reset");
    assert_eq!(read_at(5_400_000), Some((1_800_000, 1)));
    assert_eq!(noted(&told, NoteKind::LeftOut, "reset"), 2);
    assert_eq!(noted(&told, NoteKind::LeftOut, "time cannot be read"), 1);
    let free = ("ost", "fs-OST0000".to_string(), "free_bytes", first);
    assert_eq!(has[&free], (0, 1024));
}

#[test]
fn times_without_a_zone_need_one() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("lmt"), folder.path().join("store"));
    drop(database(&path, &[("2018-01-28 00:00:00", 1)]));
    let error = import(&path, &store, &Options::default()).unwrap_err();
    assert!(matches!(error, ImportError::NoZone { .. }), "{error}");
}

#[test]
fn hostile_databases_leave_the_store_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("lmt"), folder.path().join("store"));
    drop(database(&path, &[("2018-01-28 00:00:00", 1), ("2018-01-28 00:00:05", 3)]));
    take(&path, &store);
    let (bytes, before) = (fs::read(&path).unwrap(), read(&store));
    // A view that never ends, in the place of a table.
    let database = Connection::open(&path).unwrap();
    database
        .execute_batch(
            "drop table OST_DATA; create view OST_DATA as
             with recursive n (OST_ID, TS_ID) as (select 1, 0 union all select 1, TS_ID + 1 from n) select * from n;",
        )
        .unwrap();
    drop(database);
    let error = import(&path, &store, &options()).unwrap_err().to_string();
    assert!(error.contains("no table OST_DATA"), "{error}");
    // Cut off at any page, and with bytes exchanged.
    for cut in (1..bytes.len()).step_by(511) {
        fs::write(&path, &bytes[..cut]).unwrap();
        match import(&path, &folder.path().join("other"), &options()) {
            Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
            Ok(outcome) => assert!(outcome.imported.samples <= 10, "{outcome:?}"),
        }
    }
    let mut random = 1u64;
    for _ in 0..200 {
        let mut damaged = bytes.clone();
        for _ in 0..4 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let place = 16 + (random >> 33) as usize % (damaged.len() - 16);
            damaged[place] = random as u8;
        }
        fs::write(&path, damaged).unwrap();
        if let Err(error) = import(&path, &folder.path().join("other"), &options()) {
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
    assert_eq!(read(&store), before);
    assert!(!folder.path().join("lmt-journal").exists());
}

#[test]
fn texts_that_no_name_is_as_long_as_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("lmt"), folder.path().join("store"));
    let made = database(&path, &[("2018-01-28 00:00:00", 1), ("2018-01-28 00:00:05", 3)]);
    made.execute("update OST_INFO set HOSTNAME = hex(zeroblob(5000000))", []).unwrap();
    drop(made);
    let error = import(&path, &store, &options()).unwrap_err().to_string();
    assert!(error.contains("too big") && !error.contains('\n'), "{error}");
    assert_eq!(read(&store).len(), 0);
}

/// SQLite opens files by their names, which others may exchange in such a directory, so that a copy is read.
#[test]
fn a_database_in_a_directory_of_everybody_is_the_same_history() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    drop(database(&at("lmt"), &[("2018-01-28 00:00:00", 1), ("2018-01-28 00:00:05", 3)]));
    take(&at("lmt"), &at("store"));
    let shared = at("shared with all #?%20");
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
    fs::rename(at("lmt"), shared.join("lmt")).unwrap();
    take(&shared.join("lmt"), &at("other"));
    assert_eq!(read(&at("other")), read(&at("store")));
    let holes = File::create(shared.join("holes")).unwrap();
    holes.write_all_at(b"SQLite format 3\0", 0).unwrap();
    holes.set_len(1 << 40).unwrap();
    let error = import(&shared.join("holes"), &at("other"), &options()).unwrap_err().to_string();
    assert!(error.contains("claims"), "{error}");
}

/// Bytes of a page.
const PAGE: usize = 4096;

/// Returns an inner page of a tree of rows, all of whose children are the same page.
fn page_of_one_child(child: u32) -> Vec<u8> {
    const CHILDREN: u16 = 300;
    let (mut page, mut end) = (vec![0; PAGE], PAGE);
    page[0] = 5;
    page[3..5].copy_from_slice(&CHILDREN.to_be_bytes());
    for number in 0..CHILDREN {
        let mut cell = child.to_be_bytes().to_vec();
        let row = number + 1;
        match row < 128 {
            true => cell.push(row as u8),
            false => cell.extend([0x80 | (row >> 7) as u8, row as u8 & 127]),
        }
        end -= cell.len();
        page[end..end + cell.len()].copy_from_slice(&cell);
        let place = 12 + 2 * usize::from(number);
        page[place..place + 2].copy_from_slice(&(end as u16).to_be_bytes());
    }
    page[5..7].copy_from_slice(&(end as u16).to_be_bytes());
    page[8..12].copy_from_slice(&child.to_be_bytes());
    page
}

#[test]
fn pages_that_have_the_same_child_again_and_again_do_not_keep_us() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("lmt"), folder.path().join("store"));
    let database = database(&path, &[("2018-01-28 00:00:00", 1), ("2018-01-28 00:00:05", 3)]);
    let sql = "select rootpage from sqlite_master where name = 'OST_DATA'";
    let root: u32 = database.query_row(sql, [], |row| row.get(0)).unwrap();
    drop(database);
    let mut bytes = fs::read(&path).unwrap();
    let root = (root as usize - 1) * PAGE;
    let leaf = bytes[root..root + PAGE].to_vec();
    bytes.extend(leaf);
    for _ in 0..4 {
        let child = (bytes.len() / PAGE) as u32;
        bytes.extend(page_of_one_child(child));
    }
    let pages = (bytes.len() / PAGE) as u32;
    let top = page_of_one_child(pages);
    bytes[root..root + PAGE].copy_from_slice(&top);
    bytes[28..32].copy_from_slice(&pages.to_be_bytes());
    fs::write(&path, bytes).unwrap();
    let error = import(&path, &store, &options()).unwrap_err().to_string();
    assert!(error.contains("more rows than its size can hold"), "{error}");
}

/// What is computed is computed again for each row, by one step, however long that takes.
#[test]
fn columns_that_are_computed_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("lmt"), folder.path().join("store"));
    for kind in ["virtual", "stored"] {
        let database = database(&path, &[("2018-01-28 00:00:00", 1), ("2018-01-28 00:00:05", 3)]);
        let slow = "replace(hex(zeroblob(30000)), '0', '1') like '%1%1%1%1%1%1%1%2'";
        let sql = format!(
            "alter table OST_INFO rename to before; create table OST_INFO (OST_ID, OSS_ID, HOSTNAME, \
             OST_NAME as ('OST' || ({slow})) {kind}); \
             insert into OST_INFO (OST_ID, OSS_ID, HOSTNAME) select OST_ID, OSS_ID, HOSTNAME from before"
        );
        // What is stored is computed here, once: it need not take long.
        let sql = if kind == "stored" { sql.replace("%1%1%1%1%1%1%1%2", "1") } else { sql };
        database.execute_batch(&sql).unwrap();
        drop(database);
        let error = import(&path, &store, &options()).unwrap_err().to_string();
        assert!(error.contains("OST_INFO has columns that are computed"), "{error}");
        fs::remove_file(&path).unwrap();
    }
}

/// Rows are sorted in a file, which others must have room beside.
#[test]
fn long_rows_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("lmt"), folder.path().join("store"));
    let database = database(&path, &[("2018-01-28 00:00:00", 1), ("2018-01-28 00:00:05", 3)]);
    let sql = "update OST_DATA set READ_BYTES = replace(hex(zeroblob(2000)), '0', '1')";
    database.execute_batch(sql).unwrap();
    drop(database);
    let error = import(&path, &store, &options()).unwrap_err().to_string();
    assert!(error.contains("too big"), "{error}");
}
