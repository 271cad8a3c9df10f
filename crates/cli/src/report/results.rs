//! Results of a benchmark: a short table, and a page if asked for.

use std::path::Path;

use anyhow::Result;
use plimsoll_figures::results::{Measured, page, record};
use plimsoll_figures::{gather, scores::View};
use plimsoll_score::locality::{Locality, Places};
use plimsoll_score::{Options, Peaks, score};

use crate::new_file::NewFile;
use crate::output::Output;

pub use plimsoll_figures::results::NUMBERS;

/// Prints results, and draws them into a page if asked to.
pub fn run(directory: &Path, html: Option<NewFile>, rows: usize, output: Output) -> Result<()> {
    let gathered = gather(&[directory.to_path_buf()], None)?;
    let columns = &gathered.columns;
    let peaks = Peaks::new(columns, None);
    let measured = Measured::new(&gathered, &peaks);
    let title = format!("results {}", directory.display());
    if let Some(file) = html {
        let view = View {
            columns,
            peaks: &peaks,
            scores: &score(columns, &peaks, &Options::default()),
            places: &Places::default(),
            locality: &Locality::default(),
            rows,
            json: false,
            utc_offset: 0,
        };
        file.write(page(&title, &measured, &view).as_bytes())?;
    }
    output.print("report", &title, &record(&measured, rows, output.json))
}
