//! Tables as their users write and read them.

use std::fs;
use std::path::Path;

use plimsoll_guarded::Directory;
use plimsoll_table::{
    Cell, Column, FromCell, Kind, RowFile, Table, TableError, TableReader, TableWriter,
};

fn table() -> Table {
    Table {
        name: "plimsoll.samples",
        version: 1,
        documentation: "docs/samples.md",
        columns: vec![
            Column::new("moment", Kind::Moment),
            Column::new("target", Kind::Text),
            Column::new("written", Kind::Count64).unit("bytes").nullable(),
            Column::new("busy", Kind::Real).unit("seconds").nullable(),
            Column::new("resets", Kind::Count32),
        ],
    }
}

const NAMES: [&str; 5] = ["moment", "target", "written", "busy", "resets"];

/// A row has nothing written where its number can be divided by five.
fn row(number: u64) -> [Cell<'static>; 5] {
    let is_missing = number.is_multiple_of(5);
    [
        Cell::Whole(1_000 + number),
        Cell::Text(format!("ost{}", number % 3).into()),
        if is_missing { Cell::Null } else { Cell::Whole(number << 20) },
        if is_missing { Cell::Null } else { Cell::Real(number as f64 / 8.0) },
        Cell::Whole(number % 7),
    ]
}

fn write(directory: &Path, rows: u64) {
    let directory = Directory::open(directory).unwrap();
    let facts = vec![("plimsoll.site".to_string(), "one".to_string())];
    let mut file = RowFile::create(&directory, "samples.parquet", 0o644, &table(), facts).unwrap();
    (0..rows).for_each(|number| file.row(&row(number)).unwrap());
    file.finish().unwrap().publish().unwrap();
}

type Row = (u64, String, Option<u64>, Option<f64>, u32);

fn read(reader: &mut TableReader) -> Result<Vec<Row>, TableError> {
    let mut all = Vec::new();
    loop {
        let rows = reader.advance()?;
        if rows == 0 {
            return Ok(all);
        }
        for row in 0..rows {
            let cell = |column| reader.cell(column, row);
            all.push((
                u64::from_cell(cell(0))?,
                String::from_cell(cell(1))?,
                Option::from_cell(cell(2))?,
                Option::from_cell(cell(3))?,
                u32::from_cell(cell(4))?,
            ));
        }
    }
}

fn expected(number: u64) -> Row {
    let is_there = !number.is_multiple_of(5);
    let (written, busy) = (number << 20, number as f64 / 8.0);
    (
        1_000 + number,
        format!("ost{}", number % 3),
        is_there.then_some(written),
        is_there.then_some(busy),
        (number % 7) as u32,
    )
}

#[test]
fn rows_come_back_in_any_number() {
    for rows in [0, 1, 5_000, 200_000] {
        let place = tempfile::tempdir().unwrap();
        write(place.path(), rows);
        let path = place.path().join("samples.parquet");
        let mut reader = TableReader::open(&path, &table(), &NAMES).unwrap();
        let expected: Vec<Row> = (0..rows).map(expected).collect();
        assert!(read(&mut reader).unwrap() == expected, "{rows} rows");
    }
}

#[test]
fn row_groups_outside_of_a_time_are_not_read() {
    let place = tempfile::tempdir().unwrap();
    write(place.path(), 200_000);
    let path = place.path().join("samples.parquet");
    let reader = TableReader::open(&path, &table(), &NAMES).unwrap();
    let rows = read(&mut reader.only_between(0, 101_000, 101_001)).unwrap();
    assert!(rows.len() < 70_000 && rows.contains(&expected(100_000)), "{} rows", rows.len());
    let reader = TableReader::open(&path, &table(), &NAMES).unwrap();
    assert_eq!(read(&mut reader.only_between(0, 0, 999)).unwrap(), []);
    // What is wrong is still found in the row of the file, not of what was read.
    let reader = TableReader::open(&path, &table(), &NAMES).unwrap();
    let mut reader = reader.only_between(0, 101_000, 101_001);
    reader.advance().unwrap();
    let row = u64::from_cell(reader.cell(0, 0)).unwrap() - 1_000;
    assert!(reader.cell(0, 0).bad("is odd").to_string().starts_with(&format!("row {row} of")));
}

#[test]
fn a_file_says_what_it_holds_and_in_which_units() {
    let place = tempfile::tempdir().unwrap();
    write(place.path(), 1);
    let bytes = fs::read(place.path().join("samples.parquet")).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    for words in [
        "plimsoll.samples/1",
        "{\"written\":\"bytes\",\"busy\":\"seconds\"}",
        "plimsoll.site",
        env!("CARGO_PKG_VERSION"),
    ] {
        assert!(text.contains(words), "{words}");
    }
}

#[test]
fn what_cannot_be_is_told_in_one_line() {
    let place = tempfile::tempdir().unwrap();
    write(place.path(), 6);
    let path = place.path().join("samples.parquet");
    let told = |change: fn(&mut Table)| {
        let mut table = table();
        change(&mut table);
        let names: Vec<&str> = table.columns.iter().map(|it| it.name).collect();
        let error = TableReader::open(&path, &table, &names).err().unwrap();
        assert!(std::error::Error::source(&error).is_none(), "{error:?}");
        error.to_string().replace(&path.display().to_string(), "FILE")
    };
    assert_eq!(
        told(|it| it.version = 0),
        "FILE has version 1, this program knows up to 0; hint: read it with a newer plimsoll"
    );
    assert_eq!(
        told(|it| it.name = "plimsoll.pairs"),
        "cannot understand FILE: its schema is \"plimsoll.samples/1\""
    );
    assert_eq!(
        told(|it| it.columns[1].name = "server"),
        "FILE has no column \"server\"; hint: docs/samples.md lists all columns"
    );
    assert_eq!(
        told(|it| it.columns[1].kind = Kind::Count32),
        "column \"target\" of FILE is BYTE_ARRAY, expected whole numbers"
    );
    let mut reader = TableReader::open(&path, &table(), &["written"]).unwrap();
    reader.advance().unwrap();
    let error = u64::from_cell(reader.cell(0, 5)).unwrap_err().to_string();
    let expected = format!("row 5 of {}, column \"written\": is null", path.display());
    assert_eq!(error, expected);
}

#[test]
fn what_is_not_finished_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let directory = Directory::open(place.path()).unwrap();
    let mut file =
        RowFile::create(&directory, "samples.parquet", 0o644, &table(), Vec::new()).unwrap();
    (0..100_000).for_each(|number| file.row(&row(number)).unwrap());
    drop(file);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

/// Some damage reaches assertions of the Parquet library, such as an offset below zero. The text of
/// a panic would be on stderr, so a second process looks at its own.
#[test]
fn damage_is_an_error_and_prints_nothing() {
    const ME: &str = "PLIMSOLL_TEST_DAMAGE";
    if std::env::var_os(ME).is_none() {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "damage_is_an_error_and_prints_nothing", "--nocapture"]);
        let output = command.env(ME, "1").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    write(place.path(), 300);
    let path = place.path().join("samples.parquet");
    let good = fs::read(&path).unwrap();
    let (mut understood, mut refused) = (0, 0);
    for at in 0..good.len() {
        let mut damaged = good.clone();
        damaged[at] ^= [0x01, 0x81, 0xff][at % 3];
        fs::write(&path, damaged).unwrap();
        let rows = TableReader::open(&path, &table(), &NAMES).and_then(|mut it| read(&mut it));
        match rows {
            Ok(_) => understood += 1,
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().contains('\n'), "{error}");
            }
        }
    }
    assert!(understood > 0 && refused > 0, "{understood} understood, {refused} refused");
}

#[test]
fn whole_numbers_come_as_vectors_of_the_groups_that_are_wanted() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 150_000);
    let path = folder.path().join("samples.parquet");
    let open = || TableReader::open(&path, &table(), &["moment", "resets"]).unwrap();
    let sum = |mut reader: TableReader| {
        let (mut columns, mut sums) = ([Vec::new(), Vec::new()], (0, 0, 0));
        loop {
            let rows = reader.advance_whole(&mut columns).unwrap();
            if rows == 0 {
                return sums;
            }
            sums.0 += rows;
            sums.1 += columns[0].iter().sum::<u64>();
            sums.2 += columns[1].iter().sum::<u64>();
        }
    };
    let all: u64 = (0..150_000).map(|it| 1_000 + it).sum();
    assert_eq!(sum(open()), (150_000, all, (0..150_000).map(|it| it % 7).sum()));
    assert_eq!(open().fact("plimsoll.site"), Some("one"));
    assert_eq!(open().fact("plimsoll.other"), None);
    // Groups have 65536 rows.
    let later = open().only_groups(0, |_, last| last >= 1_000 + 131_072);
    assert_eq!(sum(later).0, 150_000 - 131_072);
    assert_eq!(sum(open().only_groups(1, |first, last| (first, last) != (0, 6))).0, 0, "narrow");
    let mut missing = TableReader::open(&path, &table(), &["written"]).unwrap();
    let error = missing.advance_whole(&mut [Vec::new()]).unwrap_err().to_string();
    assert!(error.contains("missing or out of range"), "{error}");
}

/// Writes a row group for each list of runs, and reads all texts.
fn through_a_file(groups: &[Vec<(String, u64)>]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.parquet");
    let columns = vec![Column::new("text", Kind::Text), Column::new("number", Kind::Count64)];
    let table = Table { name: "plimsoll.runs", version: 1, documentation: "here", columns };
    let file = fs::File::create(&path).unwrap();
    let mut writer = TableWriter::new(file, &table, Vec::new()).unwrap();
    for runs in groups {
        let rows = runs.iter().map(|it| it.1).sum::<u64>() as i64;
        let written = writer.write_group(|column, sink| match column {
            0 => runs.iter().try_for_each(|(text, times)| sink.repeat(text, *times)),
            _ => sink.write(&(0..rows).collect::<Vec<i64>>(), &[]),
        });
        written.unwrap();
    }
    writer.finish().unwrap();
    let mut reader = TableReader::open(&path, &table, &["text", "number"]).unwrap();
    let mut all = Vec::new();
    loop {
        let rows = reader.advance().unwrap();
        if rows == 0 {
            return all;
        }
        all.extend((0..rows).map(|row| String::from_cell(reader.cell(0, row)).unwrap()));
    }
}

#[test]
fn texts_in_runs_come_back_whatever_runs_they_are() {
    let of = |distinct: u64, runs: u64, times: u64| -> Vec<(String, u64)> {
        (0..runs).map(|run| (format!("target {}", run * 7 % distinct), times + run % 3)).collect()
    };
    let long = |number: u64| (format!("{number}{}", "x".repeat(400_000)), 20);
    let groups = [
        of(1, 1, 1),
        of(1, 1, 200_000),
        of(2, 9, 30),
        of(300, 1000, 47),
        of(70_000, 16_000, 8),
        // Too short for runs, too many, and a dictionary that is too large.
        of(5, 40, 1),
        of(1000, 20_000, 9),
        (0..5).map(long).collect(),
        vec![("a".into(), 3), ("a".into(), 0), ("".into(), 50), ("a".into(), 70)],
    ];
    for runs in &groups {
        assert_eq!(through_a_file(std::slice::from_ref(runs)), expanded(runs));
    }
    assert_eq!(
        through_a_file(&groups[..4]),
        groups[..4].iter().flat_map(|runs| expanded(runs)).collect::<Vec<_>>()
    );
}

fn expanded(runs: &[(String, u64)]) -> Vec<String> {
    runs.iter().flat_map(|(text, times)| vec![text.clone(); *times as usize]).collect()
}

/// Numbers in runs, in several row groups that are written at once: with the greatest ones, which other programs take for negative.
#[test]
fn numbers_in_runs_come_back_and_groups_know_their_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("numbers.parquet");
    let columns = vec![
        Column::new("wide", Kind::Count64),
        Column::new("narrow", Kind::Count32).dictionary_bytes_max(0),
    ];
    let table = Table { name: "plimsoll.runs", version: 1, documentation: "here", columns };
    let file = fs::File::create(&path).unwrap();
    let mut writer = TableWriter::new(file, &table, Vec::new()).unwrap();
    // The last one is too short for runs.
    let groups: [&[(u64, u64)]; 4] = [
        &[(7, 100), (5_000, 20_000), (7, 50)],
        &[(u64::MAX, 40), (0, 9)],
        &[(3, 1000)],
        &[(1, 1), (2, 1), (1, 1), (9, 1)],
    ];
    let written = writer.write_groups(
        groups.len(),
        |_, _| false,
        |group, column, sink| {
            groups[group].iter().try_for_each(|(number, times)| match column {
                0 => sink.repeat_number(*number as i64, *times),
                _ => sink.repeat_number(*number as i32, *times),
            })
        },
    );
    written.unwrap();
    writer.finish().unwrap();
    let expected: Vec<u64> = groups
        .iter()
        .flat_map(|it| it.iter())
        .flat_map(|(number, times)| vec![*number; *times as usize])
        .collect();
    let mut reader = TableReader::open(&path, &table, &["wide", "narrow"]).unwrap();
    let mut columns = [Vec::new(), Vec::new()];
    let (mut wide, mut narrow): (Vec<u64>, Vec<u64>) = Default::default();
    while reader.advance_whole(&mut columns).unwrap() > 0 {
        wide.extend(&columns[0]);
        narrow.extend(&columns[1]);
    }
    assert_eq!(wide, expected);
    assert!(narrow.iter().zip(&expected).all(|(one, other)| *one == u64::from(*other as u32)));
    assert_eq!(narrow.len(), expected.len());
    assert_eq!(reader.ends(0), Some((0, u64::MAX)));
    assert_eq!(reader.ends(1), Some((0, u64::from(u32::MAX))));
    // Only the groups that may have it are read.
    let mut some = TableReader::open(&path, &table, &["wide"]).unwrap().only_between(0, 8, 4_999);
    let mut rows = 0;
    loop {
        match some.advance_whole(&mut [Vec::new()]).unwrap() {
            0 => break,
            more => rows += more,
        }
    }
    assert_eq!(rows, 20_150 + 49 + 4);
}
