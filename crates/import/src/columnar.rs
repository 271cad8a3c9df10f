//! Tables in Parquet files.

use std::fs::File;
use std::path::Path;

use plimsoll_history::{Import, Measure};
use plimsoll_table::{Column, FromCell, Kind, Table, TableReader, columns_of};

use crate::mapped_samples::Cell;
use crate::mapping::KEYS;
use crate::notes::Notes;
use crate::rows::Rows;
use crate::{ImportError, Options};

/// Takes all rows of a Parquet file.
pub(crate) fn take(
    path: &Path,
    file: File,
    options: &Options,
    import: &mut Import,
    notes: &mut Notes,
) -> Result<&'static str, ImportError> {
    let copy = || file.try_clone().map_err(|cause| ImportError::io(path, cause));
    let all = columns_of(copy()?, path)?;
    let names: Vec<String> = all.iter().map(|it| it.0.clone()).collect();
    let wanted = wanted(options, &names);
    let columns: Vec<Column> = wanted
        .iter()
        // A name is kept for as long as the program runs: there are as many as a table has measures.
        .map(|place| Column::new(Box::leak(names[*place].clone().into_boxed_str()), all[*place].1))
        .map(Column::nullable)
        .collect();
    let table = Table { name: "samples", version: 1, documentation: "docs/import.md", columns };
    let kinds: Vec<Kind> = wanted.iter().map(|place| all[*place].1).collect();
    let names: Vec<&str> = table.columns.iter().map(|it| it.name).collect();
    let mut reader = TableReader::foreign(copy()?, path, &table, &names)?;
    let names: Vec<String> = names.iter().map(|it| (*it).to_owned()).collect();
    let mut rows = Rows::new(path, &names, options, import, notes)?;
    loop {
        let read = reader.advance()?;
        if read == 0 {
            break;
        }
        for row in 0..read {
            rows.row(|column| {
                let cell = reader.cell(column, row);
                match kinds[column] {
                    Kind::Text => {
                        cell.optional_text().ok().flatten().map_or(Cell::Missing, Cell::Text)
                    }
                    Kind::Real => Option::<f64>::from_cell(cell)
                        .ok()
                        .flatten()
                        .map_or(Cell::Missing, Cell::Real),
                    _ => Option::<u64>::from_cell(cell)
                        .ok()
                        .flatten()
                        .map_or(Cell::Missing, Cell::Whole),
                }
            })?;
        }
    }
    rows.finish(notes)?;
    Ok("Parquet")
}

/// Returns the columns that say anything, each once.
fn wanted(options: &Options, names: &[String]) -> Vec<usize> {
    let keys = KEYS.iter().filter_map(|(key, others)| options.mapping.find(key, others, names));
    let measures = Measure::ALL.iter().filter_map(|it| options.mapping.find(it.name(), &[], names));
    let mut wanted: Vec<usize> = keys.chain(measures).collect();
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}
