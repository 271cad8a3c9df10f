//! Columns that have the same values in one row group after the other.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use plimsoll_table::{Column, Kind, Table, TableReader, TableWriter};

#[test]
fn columns_that_are_the_same_again_are_not_filled_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("same.parquet");
    let columns = vec![
        Column::new("time", Kind::Count64).dictionary_bytes_max(0),
        Column::new("value", Kind::Count64),
    ];
    let table = Table { name: "plimsoll.same", version: 1, documentation: "here", columns };
    let file = fs::File::create(&path).unwrap();
    let mut writer = TableWriter::new(file, &table, Vec::new()).unwrap();
    let times: Vec<i64> = (0..1000).map(|it| it * 7).collect();
    let is_same = |_: usize, column: usize| column == 0;
    let first = writer.write_groups(1, is_same, |_, _, sink| sink.write(&times, &[]));
    assert!(first.is_err(), "there was none before");
    let mut groups = 0;
    // In one call as in two.
    for some in [1, 3, 2] {
        let filled = AtomicUsize::new(0);
        let is_same = |group: usize, column: usize| column == 0 && groups + group > 0;
        let written = writer.write_groups(some, is_same, |group, column, sink| {
            filled.fetch_add(usize::from(column == 0), Ordering::Relaxed);
            let value = (groups + group) as i64;
            let values = vec![value; times.len()];
            sink.write(if column == 0 { &times } else { &values }, &[])
        });
        written.unwrap();
        assert_eq!(filled.into_inner(), usize::from(groups == 0));
        groups += some;
    }
    writer.finish().unwrap();
    let mut reader = TableReader::open(&path, &table, &["time", "value"]).unwrap();
    let mut columns = [Vec::new(), Vec::new()];
    let (mut read_times, mut values): (Vec<u64>, Vec<u64>) = Default::default();
    while reader.advance_whole(&mut columns).unwrap() > 0 {
        read_times.extend(&columns[0]);
        values.extend(&columns[1]);
    }
    let expected = || times.iter().map(|it| *it as u64);
    assert_eq!(read_times, (0..6).flat_map(|_| expected()).collect::<Vec<_>>());
    assert_eq!(values, (0..6).flat_map(|it| vec![it; times.len()]).collect::<Vec<u64>>());
    assert_eq!(reader.ends(0), Some((0, 6993)));
}
