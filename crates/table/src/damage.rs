//! A guard around the Parquet reader: damage is an error and not a panic.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

/// Calls into the Parquet reader. It has assertions that damaged files reach (parquet 60.1); these are
/// errors of the file: they neither end the program nor print anything.
pub(crate) fn guarded<T>(
    call: impl FnOnce() -> Result<T, ParquetError>,
) -> Result<T, ParquetError> {
    without_panic(call).unwrap_or_else(|| Err(ParquetError::General("it is damaged".into())))
}

/// Calls into a reader of files whose assertions damaged ones may reach. Returns nothing, and prints nothing, if it panics.
pub fn without_panic<T>(call: impl FnOnce() -> T) -> Option<T> {
    silence_guarded_panics();
    let was_guarded = IS_GUARDED.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(call));
    IS_GUARDED.set(was_guarded);
    outcome.ok()
}

thread_local! {
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Installs a hook that prints nothing for a thread inside [`guarded`], and leaves all others to the hook
/// before it: the text of a panic is printed by a hook of the process, before anybody can catch the panic.
fn silence_guarded_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_GUARDED.get() {
                before(panic);
            }
        }));
    });
}

/// How many rows a file may have whatever its size: what is done with so many takes seconds.
const ROWS_EASILY: u64 = 1 << 23;

/// How many more rows a file may have for each of its bytes. A column of equal values takes next to nothing, and with each row something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowsPerByte {
    /// Of programs of ours: a day on which nothing happened has 35 in a store, as a row group of 131,072 rows takes 3.7 KB.
    Own = 64,
    /// Of any program: a history with values that differ has less than one.
    Foreign = 16,
}

/// Refuses metadata that no writer makes: parquet 60.1 takes them as they are and asserts.
pub(crate) fn check_chunks(
    metadata: &ParquetMetaData,
    length: u64,
    rows_per_byte: RowsPerByte,
) -> Result<(), String> {
    let is_inside = |chunk: &ColumnChunkMetaData| {
        let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
        let (start, bytes) =
            (u64::try_from(start).ok()?, u64::try_from(chunk.compressed_size()).ok()?);
        start.checked_add(bytes).filter(|end| *end <= length)
    };
    for group in metadata.row_groups() {
        if group.num_rows() < 0 {
            return Err(format!("a row group has {} rows", group.num_rows()));
        }
        if let Some(chunk) = group.columns().iter().find(|chunk| is_inside(chunk).is_none()) {
            return Err(format!("column {} lies outside of it", chunk.column_path()));
        }
    }
    // A page of each column is held at a time: where columns share bytes, a small file would fill the memory, or have no end.
    let chunks = metadata.row_groups().iter().flat_map(|group| group.columns());
    let bytes = chunks.map(|chunk| chunk.compressed_size().unsigned_abs());
    if bytes.fold(0, u64::saturating_add) > length {
        return Err("columns share bytes".into());
    }
    let rows = metadata.row_groups().iter().map(|group| group.num_rows().unsigned_abs());
    let rows = rows.fold(0, u64::saturating_add);
    let more = length.saturating_mul(rows_per_byte as u64);
    if rows > ROWS_EASILY.saturating_add(more) {
        return Err(format!(
            "it claims {rows} rows, which are more than its {length} bytes can tell; hint: write it as \
             several files of at most {ROWS_EASILY} rows each"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::file::metadata::{FileMetaData, RowGroupMetaData};
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;

    use super::*;

    /// One row group with a column of this size at each of these places.
    fn columns(places: &[(i64, i64)]) -> ParquetMetaData {
        groups(places, 1, 1)
    }

    /// So many of them, of so many rows each.
    fn groups(places: &[(i64, i64)], count: usize, rows: i64) -> ParquetMetaData {
        let names = (0..places.len()).map(|it| format!("required int32 c{it};"));
        let text = format!("message it {{ {} }}", names.collect::<String>());
        let schema = Arc::new(SchemaDescriptor::new(Arc::new(parse_message_type(&text).unwrap())));
        let chunks = places.iter().enumerate().map(|(at, (start, bytes))| {
            let chunk = ColumnChunkMetaData::builder(schema.column(at));
            chunk.set_data_page_offset(*start).set_total_compressed_size(*bytes).build().unwrap()
        });
        let group = RowGroupMetaData::builder(schema.clone()).set_num_rows(rows);
        let group = group.set_column_metadata(chunks.collect()).build().unwrap();
        ParquetMetaData::new(FileMetaData::new(1, 1, None, None, schema, None), vec![group; count])
    }

    fn check_own(metadata: &ParquetMetaData) -> Result<(), String> {
        check_chunks(metadata, 100, RowsPerByte::Own)
    }

    #[test]
    fn columns_lie_inside_the_file_and_each_has_bytes_of_its_own() {
        assert_eq!(check_own(&columns(&[(4, 40), (44, 40)])), Ok(()));
        let outside = check_own(&columns(&[(4, 40), (61, 40)])).unwrap_err();
        assert!(outside.contains("lies outside"), "{outside}");
        let shared = check_own(&columns(&[(4, 60), (4, 60)])).unwrap_err();
        assert!(shared.contains("share bytes"), "{shared}");
        let shared = check_own(&groups(&[(4, 40)], 3, 1)).unwrap_err();
        assert!(shared.contains("share bytes"), "{shared}");
    }

    /// The attack: a Parquet file of 0.1 MB that claims a hundred million rows kept `import` at work for minutes.
    #[test]
    fn a_file_has_no_more_rows_than_its_bytes_can_tell() {
        assert_eq!(check_own(&groups(&[(4, 40)], 2, 1 << 22)), Ok(()));
        let told = check_own(&groups(&[(4, 40)], 2, 1 << 30)).unwrap_err();
        assert!(told.contains("2147483648 rows"), "{told}");
        assert!(told.contains("several files of at most 8388608 rows"), "{told}");
        for (kind, more) in [(RowsPerByte::Own, 6400), (RowsPerByte::Foreign, 1600)] {
            let check = |rows| check_chunks(&groups(&[(4, 40)], 1, rows), 100, kind);
            assert_eq!(check((1 << 23) + more), Ok(()));
            assert!(check((1 << 23) + more + 1).is_err(), "{kind:?}");
        }
    }
}
