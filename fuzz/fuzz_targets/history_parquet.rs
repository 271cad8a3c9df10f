//! Parquet files of a history with any damage: no crash, no endless loop, no huge memory. What can be read can be analysed, and still be read once files were merged.
#![no_main]

use std::fs::{create_dir, set_permissions, write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use plimsoll_analyze::{Analysis, Frame, Options, summarize};
use plimsoll_history::{Batch, HistoryError, Selection, Settings, Store, Writer};

const MARKER: &[u8] =
    include_bytes!("../../crates/history/tests/golden/v1/_plimsoll-history");
const AGED: &[u8] = include_bytes!(
    "../../crates/history/tests/golden/v1/day=2026-01-01/aged-0-2.parquet"
);
const PART: &[u8] = include_bytes!(
    "../../crates/history/tests/golden/v1/day=2026-01-03/part-3-18.parquet"
);
/// Within the time of the part, in milliseconds since 1970.
const MIDDLE: u64 = 1_767_402_016_000;
const WEEK: u64 = 7 * 86_400_000;

/// Rows of a good file are some hundreds; a file of some KiB may claim a million, and no more.
const ROWS_MAX: usize = 8 << 20;

// The first bytes choose the file, whether the same one is there undamaged, too, what is done with the store, and the place of the damage.
fuzz_target!(|bytes: &[u8]| {
    let Some((&kind, bytes)) = bytes.split_first() else { return };
    let Some((place, damage)) = bytes.split_first_chunk::<2>() else { return };
    let (day, name, good) = match kind & 1 {
        0 => ("day=2026-01-01", "aged-0-2.parquet", AGED),
        _ => ("day=2026-01-03", "part-3-18.parquet", PART),
    };
    let mut file = good.to_vec();
    let at = u16::from_le_bytes(*place) as usize % file.len();
    let length = damage.len().min(file.len() - at);
    file[at..at + length].copy_from_slice(&damage[..length]);
    let Ok(folder) = tempfile::tempdir() else { return };
    let path = folder.path().join("store");
    create_dir(&path).unwrap();
    set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
    write(path.join("_plimsoll-history"), MARKER).unwrap();
    create_dir(path.join(day)).unwrap();
    write(path.join(day).join(name), &file).unwrap();
    if kind & 2 != 0 {
        write(path.join(day).join("part-19-19.parquet"), good).unwrap();
    }
    let is_read = read(&path, &Selection::default()).is_ok();
    let part = Selection { since: Some(MIDDLE - 1000), until: Some(MIDDLE), ..Selection::default() };
    let _ = read(&path, &part);
    if kind & 4 != 0 {
        analyse(&path);
    }
    if kind & 8 != 0 {
        let mut writer = Writer::open(&path, Settings::default()).unwrap();
        for _ in 0..3 {
            let _ = writer.maintain(MIDDLE + WEEK);
        }
        assert!(read(&path, &Selection::default()).is_ok() || !is_read);
    }
});

/// Reads what is selected.
fn read(path: &Path, selection: &Selection<'_>) -> Result<(), HistoryError> {
    let mut rows = 0;
    Store::open(path)?.read(selection, |batch: Batch<'_>| -> Result<(), HistoryError> {
        rows += batch.ends.len();
        assert!(rows < ROWS_MAX);
        assert_eq!((batch.lengths.len(), batch.values.len()), (batch.ends.len(), batch.ends.len()));
        Ok(())
    })
}

fn analyse(path: &Path) {
    let Ok(store) = Store::open(path) else { return };
    let Ok(frame) = Frame::of(&store, &Options::default()) else { return };
    if let Ok(partial) = summarize(&store, &frame, &frame.days, 1) {
        Analysis::of(&frame, &partial.whole(&frame));
    }
}
