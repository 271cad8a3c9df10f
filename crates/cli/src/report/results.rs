//! Results of a benchmark: a short table, and a page with the figures of the papers.

mod bandwidth;
mod clients;
mod components;
mod labels;
mod nodes;
mod numbers;
mod page;
mod panels;
mod sequences;
mod stragglers;
mod table;
mod times;

use std::path::Path;

use anyhow::Result;
use plimsoll_score::bandwidth::{Point, points};
use plimsoll_score::locality::{Locality, Places};
use plimsoll_score::{Columns, Options, Peaks, score};

use crate::new_file::NewFile;
use crate::output::Output;
use crate::score::gather::{Gathered, gather};
use crate::score::record::View;
use labels::Labels;

pub use numbers::NUMBERS;

/// What the figures are drawn from.
struct Measured<'a> {
    gathered: &'a Gathered,
    columns: &'a Columns,
    peaks: &'a Peaks,
    labels: Labels,
    /// One for each setting and varied value, in the order of the settings.
    points: Vec<Point>,
}

impl<'a> Measured<'a> {
    fn new(gathered: &'a Gathered, peaks: &'a Peaks) -> Self {
        let columns = &gathered.columns;
        let labels = Labels::new(columns);
        let points = points(columns, peaks, |_| true);
        Measured { gathered, columns, peaks, labels, points }
    }

    /// Whether some effective bandwidth is known.
    fn has_peaks(&self) -> bool {
        self.points.iter().any(|point| point.effective_aggregate.is_some())
    }
}

/// Prints results, and draws them into a page if asked to.
pub fn run(directory: &Path, html: Option<NewFile>, rows: usize, output: Output) -> Result<()> {
    let gathered = gather(&[directory.to_path_buf()], None)?;
    let columns = &gathered.columns;
    let peaks = Peaks::new(columns, None);
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
        write_page(file, &title, &gathered, &view)?;
    }
    let measured = Measured::new(&gathered, &peaks);
    // Programs get every row and every key; people get those that tell something.
    let record = match output.json {
        true => table::record(&measured, usize::MAX, true),
        false => table::record(&measured, rows, measured.has_peaks()),
    };
    output.print("report", &title, &record)
}

/// Writes the page of results and their scores.
pub fn write_page(file: NewFile, title: &str, gathered: &Gathered, view: &View) -> Result<()> {
    file.write(page::page(title, &Measured::new(gathered, view.peaks), view).as_bytes())
}
