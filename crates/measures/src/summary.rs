//! `summary.json`: what came of an experiment, and the checksums of its files.

use std::fs::File;
use std::path::Path;

use plimsoll_guarded::{Directory, open_by_own_links};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::files::{self, checksum};
use crate::reading::Scan;
use crate::totals::Totals;
use crate::{ENVIRONMENT, INSTANCES, JOURNAL, MeasuresError, PAIRS, PLAN, SUMMARY};

const FORMAT: &str = "plimsoll.results";
const VERSION: u64 = 1;

/// What `summary.json` says.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Summary {
    #[serde(default)]
    pub complete: bool,
    #[serde(default)]
    pub experiment: String,
    /// Lines of the journal that could not be read when the Parquet files were made.
    #[serde(default)]
    pub damaged_lines: u64,
    /// What the program that measured said of it.
    #[serde(default)]
    pub summary: Value,
    #[serde(default)]
    files: std::collections::BTreeMap<String, Checksum>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Checksum {
    bytes: u64,
    /// Eight hexadecimal digits.
    crc32c: String,
}

impl Checksum {
    fn of(file: File, path: &Path) -> Result<Self, MeasuresError> {
        let (bytes, sum) = checksum(file, path)?;
        Ok(Checksum { bytes, crc32c: format!("{sum:08x}") })
    }
}

impl Summary {
    /// Writes it last: what it says of the other files is so.
    pub fn write(
        directory: &Directory,
        complete: bool,
        totals: Totals,
        summary: Value,
    ) -> Result<(), MeasuresError> {
        let mut sums = Map::new();
        for name in [PLAN, ENVIRONMENT, JOURNAL, PAIRS, INSTANCES] {
            let file = files::open_in(directory, name)?;
            let sum = Checksum::of(file, &directory.path().join(name))?;
            sums.insert(name.into(), json!(sum));
        }
        let text = json!({
            "format": FORMAT,
            "version": VERSION,
            "program": format!("plimsoll {}", env!("CARGO_PKG_VERSION")),
            "experiment": totals.experiment,
            "complete": complete,
            "instances": totals.instances,
            "pairs": totals.pairs,
            "damaged_lines": totals.damaged,
            "files": sums,
            "summary": summary,
        });
        files::replace(directory, SUMMARY, format!("{text:#}\n").as_bytes())
    }

    /// Reads its text; nothing when there is none.
    fn parse(path: &Path, text: Option<String>) -> Result<Option<Self>, MeasuresError> {
        let Some(text) = text else { return Ok(None) };
        let invalid = |error: serde_json::Error| MeasuresError::format(path, error);
        let value: Value = serde_json::from_str(&text).map_err(invalid)?;
        if value["format"] != FORMAT {
            return Err(MeasuresError::format(path, format!("no format {FORMAT:?}")));
        }
        match value["version"].as_u64() {
            Some(version) if version > VERSION => {
                Err(MeasuresError::Newer { path: path.to_owned(), version, known: VERSION })
            }
            Some(_) => serde_json::from_value(value).map(Some).map_err(invalid),
            None => Err(MeasuresError::format(path, "no version")),
        }
    }

    /// Doubts of the program that measured, one sentence each.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        let notes = self.summary["notes"].as_array().into_iter().flatten();
        notes.filter_map(|it| it.as_str().map(str::to_owned))
    }

    /// Reads it as far as it can be: the journal tells more than a damaged summary, which is
    /// only warned of.
    ///
    /// # Errors
    /// When a newer program wrote it.
    pub fn read_or_warn(
        directory: &Path,
        warnings: &mut Vec<String>,
    ) -> Result<Option<Self>, MeasuresError> {
        let path = directory.join(SUMMARY);
        let read = files::read_text(&path).and_then(|text| Self::parse(&path, text));
        unless_damaged(read, warnings)
    }

    /// Does the same in a directory that is written to.
    ///
    /// # Errors
    /// As there.
    pub fn read_in_or_warn(
        directory: &Directory,
        warnings: &mut Vec<String>,
    ) -> Result<Option<Self>, MeasuresError> {
        let path = directory.path().join(SUMMARY);
        let text = files::read_text_in(directory, SUMMARY);
        unless_damaged(text.and_then(|text| Self::parse(&path, text)), warnings)
    }

    /// Returns whether the journal is still as long as when the Parquet files were made from it.
    pub fn describes(&self, journal: &Scan) -> bool {
        self.files.get(JOURNAL).is_some_and(|sum| sum.bytes == journal.whole_bytes)
    }

    /// Files that are not as they were written, one sentence each.
    pub fn changed(&self, directory: &Path) -> Result<Vec<String>, MeasuresError> {
        let mut warnings = Vec::new();
        for (name, written) in &self.files {
            // Names come from a file that anybody may have written.
            let is_ours = [PLAN, ENVIRONMENT, JOURNAL, PAIRS, INSTANCES].contains(&name.as_str());
            let path = directory.join(name);
            if !is_ours || !path.exists() {
                continue;
            }
            let file =
                open_by_own_links(&path).map_err(|it| MeasuresError::io("read", &path, it))?;
            if Checksum::of(file, &path)? != *written {
                warnings.push(format!("{} was changed after plimsoll wrote it", path.display()));
            }
        }
        Ok(warnings)
    }
}

fn unless_damaged(
    read: Result<Option<Summary>, MeasuresError>,
    warnings: &mut Vec<String>,
) -> Result<Option<Summary>, MeasuresError> {
    read.or_else(|error| match error {
        MeasuresError::Newer { .. } => Err(error),
        damaged => {
            warnings.push(format!("{damaged}; what it says is left out"));
            Ok(None)
        }
    })
}
