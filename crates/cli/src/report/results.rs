//! Results of a benchmark: a short table, and a page with the figures of the papers.

mod bandwidth;
mod components;
mod labels;
mod numbers;
mod page;
mod panels;
mod stragglers;
mod table;
mod times;

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use plimsoll_measures::{Outcome, Results};
use plimsoll_score::bandwidth::{Point, points};
use plimsoll_score::{Columns, Peaks, Source};

use crate::output::Output;
use labels::Labels;

pub use numbers::NUMBERS;

/// What the figures are drawn from.
struct Measured {
    results: Results,
    columns: Columns,
    peaks: Peaks,
    labels: Labels,
    /// One for each setting and varied value, in the order of the settings.
    points: Vec<Point>,
    /// Why instances failed, most frequent first.
    failures: Vec<(String, u64)>,
}

impl Measured {
    /// Whether some effective bandwidth is known.
    fn has_peaks(&self) -> bool {
        self.points.iter().any(|point| point.effective_aggregate.is_some())
    }
}

/// Prints results, and draws them into a page if asked to.
pub fn run(directory: &Path, html: Option<&Path>, rows: usize, output: Output) -> Result<()> {
    let measured = read(directory)?;
    let title = format!("results {}", directory.display());
    if let Some(path) = html {
        let page = page::page(&title, &measured);
        fs::write(path, page).with_context(|| format!("cannot write {}", path.display()))?;
    }
    // Programs get every row and every key; people get those that tell something.
    let record = match output.json {
        true => table::record(&measured, usize::MAX, true),
        false => table::record(&measured, rows, measured.has_peaks()),
    };
    output.print("report", &title, &record)
}

fn read(directory: &Path) -> Result<Measured> {
    let results = Results::open(directory)?;
    let mut columns = Columns::default();
    let mut failures = HashMap::new();
    let source = columns.source(Source {
        label: directory.display().to_string(),
        experiment: results.experiment.clone(),
        machine: None,
    });
    for instance in results.instances()? {
        let instance = instance?;
        if let Outcome::Failed(reason) = &instance.outcome {
            count(&mut failures, reason);
        }
        columns.add(source, &instance);
    }
    let mut failures: Vec<(String, u64)> = failures.into_iter().collect();
    failures.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let peaks = Peaks::new(&columns, None);
    let labels = Labels::new(&columns);
    let points = points(&columns, &peaks, |_| true);
    Ok(Measured { results, columns, peaks, labels, points, failures })
}

/// Distinct reasons that are kept apart; each instance may have one of its own.
const REASONS_MAX: usize = 1000;
const OTHER_REASONS: &str = "other reasons";

fn count(failures: &mut HashMap<String, u64>, reason: &str) {
    let is_listed = failures.contains_key(reason) || failures.len() < REASONS_MAX;
    let reason = if is_listed { reason } else { OTHER_REASONS };
    *failures.entry(reason.to_string()).or_default() += 1;
}
