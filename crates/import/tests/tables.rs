//! Tables: CSV and Parquet, by names of columns or by a mapping.

mod support;

use std::fs;
use std::path::Path;

use plimsoll_import::{ImportError, Mapping, NoteKind, Options, import};
use support::*;

const START: u64 = 1_577_923_200_000;

fn mapped(text: &str) -> Options {
    Options { mapping: Mapping::parse(text).unwrap(), ..Options::default() }
}

#[test]
fn rows_of_samples_and_rows_of_measures_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (long, wide) = (folder.path().join("long"), folder.path().join("wide"));
    fs::write(
        &long,
        "time,target,measure,value,length_ms\n\
         2020-01-02T00:00:05Z,fs-OST0001,read_bytes,7,5000\n\
         2020-01-02T00:00:05Z,fs-OST0001,in_flight,3,0\n\
         2020-01-02T00:00:10+00:00,fs-OST0001,read_bytes,9,5000\n\
         never,fs-OST0001,read_bytes,9,5000\n\
         2020-01-02T00:00:15Z,fs-OST0001,wishes,9,5000\n\
         2020-01-02T00:00:15Z,fs-OST0001,read_bytes,-9,5000\n\
         2020-01-02T00:00:15Z,fs-OST0001,read_bytes,,5000\n\
         2020-01-02T00:00:15Z,fs-OST0001\n",
    )
    .unwrap();
    fs::write(
        &wide,
        "# made by hand\nsince_1970;OST;rd;in_flight\n1577923210;fs-OST0001;0.9;NULL\n1577923205000;fs-OST0001;0.7;3\n",
    )
    .unwrap();
    let stores = [folder.path().join("one"), folder.path().join("other")];
    let told = import(&long, &stores[0], &Options::default()).unwrap();
    let mapping = "interval = '5s'\ncounters = 'rates'\n[columns]\ntime = 'since_1970'\nread_bytes = 'rd'\n[factors]\nread_bytes = 2\n";
    import(&wide, &stores[1], &mapped(mapping)).unwrap();
    let has = read(&stores[0]);
    assert_eq!(has, read(&stores[1]));
    let at = |seconds: u64| ("ost", "fs-OST0001".to_string(), "read_bytes", START + seconds * 1000);
    assert_eq!((has[&at(5)], has[&at(10)], has.len()), ((5000, 7), (5000, 9), 3));
    for what in [
        "time cannot be read",
        "nothing in a store",
        "negative",
        "without a value",
        "more or fewer",
    ] {
        assert_eq!(noted(&told, NoteKind::LeftOut, what), 1, "{what}");
    }
}

#[test]
fn totals_are_compared_in_the_order_of_time() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("totals"), folder.path().join("store"));
    let text = "time,name,read_bytes,written_bytes\n1577923210,bb1:sda,30,5\n1577923205,bb1:sda,10,5\n1577923215,bb1:sda,2,6\n";
    fs::write(&path, text).unwrap();
    let told = import(&path, &store, &mapped("counters = 'totals'")).unwrap();
    let has = read(&store);
    let at = |measure, seconds: u64| {
        has.get(&("block_device", "bb1:sda".to_string(), measure, START + seconds * 1000)).copied()
    };
    assert_eq!(at("read_bytes", 10), Some((5000, 20)));
    assert_eq!(at("written_bytes", 15), Some((5000, 1)));
    assert_eq!(at("read_bytes", 15), None, "it was reset");
    assert_eq!(noted(&told, NoteKind::LeftOut, "reset"), 1);
}

#[test]
fn a_file_of_a_store_is_a_table_and_damage_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("made"), folder.path().join("store"));
    let rows: String = (1..500)
        .map(|it| {
            format!("{},fs-OST000{},written_bytes,{it},5000\n", 1_577_923_205 + it / 3 * 5, it % 3)
        })
        .collect();
    fs::write(&path, format!("time,target,measure,value,length_ms\n{rows}")).unwrap();
    import(&path, &store, &Options::default()).unwrap();
    let file = store.join("day=2020-01-02/import-made.parquet");
    let copy = folder.path().join("copy");
    let told = import(&file, &copy, &Options::default()).unwrap();
    assert_eq!(told.format, "Parquet");
    assert!(read(&copy) == read(&store) && read(&copy).len() == 499);
    let (bytes, before) = (fs::read(&file).unwrap(), read(&copy));
    let other = folder.path().join("cut");
    for cut in (4..bytes.len()).step_by(97) {
        fs::write(&other, &bytes[..cut]).unwrap();
        let error = import(&other, &copy, &Options::default()).unwrap_err().to_string();
        assert!(!error.contains('\n'), "{error}");
    }
    assert_eq!(read(&copy), before);
}

#[test]
fn tables_that_cannot_be_understood_are_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("table"), folder.path().join("store"));
    let error = |text: &str, options: &Options| {
        fs::write(&path, text).unwrap();
        let error = import(&path, &store, options).unwrap_err();
        assert!(!error.to_string().contains('\n'), "{error}");
        error
    };
    let plain = Options::default();
    let contains = |text: &str, expected: &str| {
        let error = error(text, &plain).to_string();
        assert!(error.contains(expected), "{error}");
    };
    contains("a,b\n1,2\n", "no column says the time");
    contains("time,b\n1,2\n", "no column says what its rows are of");
    contains("time,target\n1,2\n", "no column is a measure");
    contains(&"x".repeat(3 << 20), "longer than a MiB");
    let no_zone = error("time,target,in_flight\n2020-01-01 00:00:00,a,1\n", &plain);
    assert!(matches!(no_zone, ImportError::NoZone { .. }), "{no_zone}");
    let named = error("time,target,in_flight\n", &mapped("[columns]\ntime = 'ts'\n"));
    assert!(named.to_string().contains("no column \"ts\""), "{named}");
    assert_eq!(days(&store), 0, "nothing came of them");
}

fn days(store: &Path) -> usize {
    let names = fs::read_dir(store).unwrap().map(|it| it.unwrap().file_name());
    names.filter(|it| it.to_string_lossy().starts_with("day=")).count()
}
