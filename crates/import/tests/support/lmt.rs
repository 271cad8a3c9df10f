//! A database of LMT in SQLite that a test makes.

use std::path::Path;

use rusqlite::Connection;

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
