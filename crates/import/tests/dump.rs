//! Dumps of LMT's databases: those that a real MariaDB makes, and what others may have put in their place.

#[path = "support/lmt.rs"]
mod lmt;
#[path = "support/mariadb.rs"]
mod mariadb;
mod support;

use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_import::{ImportError, NoteKind, Options, import};
use support::*;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// However it was dumped, plain or packed, a dump is the same history as the database in SQLite that was loaded into MariaDB.
#[test]
fn dumps_of_a_real_mariadb_are_the_history_that_was_loaded() {
    let Some(server) = mariadb::MariaDb::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (number, path) in lmt::databases(folder.path()).into_iter().enumerate() {
        let database = format!("lmt{number}");
        server.take_over(&database, &path);
        let expected = folder.path().join(format!("{database}.expected"));
        take(&path, &expected);
        let ways: [&[&str]; 5] = [
            &[],
            &["--complete-insert", "--no-create-info"],
            &["--skip-extended-insert", "--skip-quote-names", "--compact"],
            &["--databases", "--hex-blob", "--routines", "--triggers"],
            &["--skip-opt", "--order-by-primary"],
        ];
        for (way, options) in ways.iter().enumerate() {
            let mut options = options.to_vec();
            options.push(&database);
            let dump = server.dump(&options);
            for (name, bytes) in [("plain", dump.clone()), ("packed", gzip(&dump))] {
                let file = folder.path().join(name);
                let store = folder.path().join(format!("{database}.{way}.{name}"));
                fs::write(&file, bytes).unwrap();
                let told = take(&file, &store);
                assert_eq!(told.format, "LMT dump");
                assert!(read(&store) == read(&expected), "{options:?} {name}");
                assert!(told.imported.samples > 100);
            }
        }
    }
    // Two file systems have tables of the same names, whose numbers mean others.
    let both = folder.path().join("both");
    server.execute("create database other; create table other.OST_INFO (OST_ID integer);");
    fs::write(&both, server.dump(&["--databases", "lmt0", "other"])).unwrap();
    let error = import(&both, &folder.path().join("both.store"), &options()).unwrap_err();
    assert!(error.to_string().contains("several file systems"), "{error}");
}

const DUMP: &str = "-- MariaDB dump 10.19\n\
    /*!40101 SET NAMES utf8mb4 */;\n\
    CREATE TABLE `OST_DATA` (`OST_ID` int(11) NOT NULL COMMENT 'a, (b)', `TS_ID` int, `READ_BYTES` bigint DEFAULT NULL,\n\
      PRIMARY KEY (`OST_ID`,`TS_ID`)) ENGINE=MyISAM;\n\
    INSERT INTO `OST_DATA` VALUES (1,1,10),(1,2,30),(1,3,18446744073709551615),(2,1,0);\n\
    CREATE TABLE `other` (`a` text); INSERT INTO `other` VALUES ('it''s ; not \\' LMT''s');\n\
    DELIMITER ;;\nCREATE PROCEDURE p() BEGIN INSERT INTO OST_DATA VALUES (a, b, c); END ;;\nDELIMITER ;\n\
    CREATE TABLE OST_INFO (OST_ID int, OSS_ID int, OST_NAME varchar(9), HOSTNAME varchar(9));\n\
    INSERT INTO OST_INFO VALUES (1,1,_utf8mb4'fs-OST0000','oss\\1'),(2,-1,'fs-OST0001',NULL);\n\
    CREATE TABLE TIMESTAMP_INFO (TS_ID int, TIMESTAMP datetime);\n\
    INSERT INTO TIMESTAMP_INFO VALUES (1,'2018-01-28 00:00:00'),(2,'2018-01-28 00:00:05'),(3,'2018-01-28 00:00:10');\n\
    -- Dump completed on 2018-01-28\n";

#[test]
fn a_dump_is_read_and_not_executed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("dump"), folder.path().join("store"));
    fs::write(&path, DUMP).unwrap();
    let told = take(&path, &store);
    let has = read(&store);
    let at = |millis: u64| {
        let end = 1_517_126_400_000 + millis;
        has.get(&("ost", "fs-OST0000".to_string(), "read_bytes", end)).copied()
    };
    assert_eq!((at(5000), at(10_000)), (Some((5000, 20)), Some((5000, u64::MAX - 30))));
    assert_eq!(noted(&told, NoteKind::Recognised, "rows of OST_DATA"), 4);
    let error = import(&path, &store, &Options::default()).unwrap_err();
    assert!(matches!(error, ImportError::NoZone { .. }), "{error}");
}

/// Every dump that was cut off or has bytes exchanged, plain or packed, is an error of one line or a history; the store is there as it was.
#[test]
fn damaged_dumps_leave_the_store_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("dump"), folder.path().join("store"));
    fs::write(&path, DUMP).unwrap();
    take(&path, &store);
    let before = content(&store);
    for bytes in [DUMP.as_bytes().to_vec(), gzip(DUMP.as_bytes())] {
        // The last line may end early.
        let is_packed = bytes.starts_with(b"\x1f");
        for cut in (0..bytes.len() - if is_packed { 0 } else { 16 }).step_by(5) {
            fs::write(&path, &bytes[..cut]).unwrap();
            let error = import(&path, &store, &options()).unwrap_err().to_string();
            assert!(!error.contains('\n'), "{error}");
        }
        exchange_bits(&bytes, &path, |other| import(&path, other, &options()).map(drop));
    }
    assert!(content(&store) == before);
}

#[test]
fn dumps_that_cannot_be_understood_are_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let error = |text: &[u8]| {
        let path = folder.path().join("dump");
        fs::write(&path, text).unwrap();
        let error = import(&path, &folder.path().join("store"), &options()).unwrap_err();
        assert!(!error.to_string().contains('\n'), "{error}");
        error.to_string()
    };
    let made = "CREATE TABLE OST_INFO (OST_ID int, OSS_ID int);\n";
    let insert = |rows: &str| format!("{made}INSERT INTO OST_INFO VALUES {rows}");
    for (text, expected) in [
        ("-- MySQL dump 10.13\n".into(), "not say that the dump is complete"),
        ("INSERT INTO OST_INFO VALUES (1);".into(), "does not name the columns of OST_INFO"),
        (insert("(1,2,3);"), "line 2: a row has more or fewer values"),
        (insert("(1);"), "more or fewer values"),
        (insert("(1,now());"), "no value"),
        (insert("(1,--2);"), "cut off"),
        (insert("(1,2)"), "cut off"),
        (insert("(1,'2"), "cut off"),
        (insert("1,2"), "does not begin with a bracket"),
        (format!("{made}{made}"), "several file systems"),
        (format!("INSERT INTO OST_INFO (a) VALUES ('{}');", "x".repeat(70_000)), "64 KiB"),
        (made.into(), "it has no table TIMESTAMP_INFO"),
        ("CREATE TABLE OST_INFO AS SELECT 1;".into(), "no dump does"),
        (format!("CREATE TABLE OST_INFO ({});", "a int,".repeat(300)), "more columns"),
    ] {
        let error = error(text.as_bytes());
        assert!(error.contains(expected), "{error}\n{text:.80}");
    }
    let bomb = gzip(&b"-- ".iter().copied().chain(vec![b' '; 1 << 20]).collect::<Vec<u8>>());
    assert!(error(&bomb.repeat(70)).contains("250 times"));
}

/// As a join of tables, these would be ten thousand million rows.
#[test]
fn servers_that_are_listed_again_and_again_do_not_keep_us() {
    const ROWS: usize = 100_000;
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("dump.sql"), folder.path().join("store"));
    let rows = |row: &str| vec![row; ROWS].join(",");
    let text = format!(
        "CREATE TABLE TIMESTAMP_INFO (TS_ID int, TIMESTAMP datetime);
         INSERT INTO TIMESTAMP_INFO VALUES (1,'2018-01-01 00:00:00'),(2,'2018-01-01 00:00:05');
         CREATE TABLE OST_DATA (OST_ID int, TS_ID int, READ_BYTES int, WRITE_BYTES int, KBYTES_FREE int, KBYTES_USED int, INODES_FREE int, INODES_USED int);
         INSERT INTO OST_DATA VALUES (1,1,1,1,1,1,1,1),(1,2,11,1,1,1,1,1);
         CREATE TABLE OST_INFO (OST_ID int, OSS_ID int, OST_NAME text, HOSTNAME text);
         INSERT INTO OST_INFO VALUES {};
         CREATE TABLE OSS_INFO (OSS_ID int, HOSTNAME text);
         INSERT INTO OSS_INFO VALUES {};",
        rows("(1,1,'fs-OST0000',NULL)"),
        rows("(1,'oss1')")
    );
    fs::write(&path, text).unwrap();
    take(&path, &store);
    let read_bytes = read(&store).into_iter().find(|(key, _)| key.2 == "read_bytes").unwrap();
    assert_eq!((read_bytes.0.1.as_str(), read_bytes.1), ("fs-OST0000", (5000, 10)));
}
