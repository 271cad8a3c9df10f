//! Databases of LMT in SQLite that a test makes or is given.
#![allow(dead_code, reason = "each test uses some of it")]

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::support::sample;

/// A target with counters at some moments of a clock in California.
pub fn database(path: &Path, moments: &[(&str, u64)]) -> Connection {
    let database = Connection::open(path).unwrap();
    database
        .execute_batch(
            "create table TIMESTAMP_INFO (TS_ID, TIMESTAMP, primary key (TS_ID));
             create table OST_INFO (OST_ID, OSS_ID, OST_NAME, HOSTNAME, OFFLINE, DEVICE_NAME);
             create table OST_DATA (OST_ID, TS_ID, READ_BYTES, WRITE_BYTES, PCT_CPU, KBYTES_FREE, KBYTES_USED, INODES_FREE, INODES_USED);
             insert into OST_INFO values (1, 1, 'fs-OST0000', 'oss1', 0, null);",
        )
        .unwrap();
    for (number, (shown, count)) in moments.iter().enumerate() {
        let number = number as i64 + 1;
        let sql = "insert into TIMESTAMP_INFO values (?1, ?2)";
        database.execute(sql, (number, shown)).unwrap();
        let sql = "insert into OST_DATA values (1, ?1, ?2, 2 * ?2, 0, 1, 2, 3, 4)";
        database.execute(sql, (number, *count as i64)).unwrap();
    }
    database
}

/// Databases: one that is made in a folder, with a counter each minute, and the real ones that there are.
pub fn databases(folder: &Path) -> Vec<PathBuf> {
    let made = folder.join("made.sqlite3");
    let moments: Vec<(String, u64)> = (0..700)
        .map(|it| (format!("2018-01-28 {:02}:{:02}:00", it / 60, it % 60), it * it))
        .collect();
    let moments: Vec<(&str, u64)> = moments.iter().map(|it| (it.0.as_str(), it.1)).collect();
    drop(database(&made, &moments));
    let real = ["lmt/snx11025_2018-01-28.sqlite3", "lmt/lmtdb-reset.sqlite3"];
    [made].into_iter().chain(real.iter().filter_map(|it| sample(it))).collect()
}
