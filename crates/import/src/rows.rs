//! Rows of tables: one sample each (columns `measure` and `value`), or a column for each measure.

use std::collections::HashMap;
use std::path::Path;

use plimsoll_domain::moment;
use plimsoll_history::{Import, Measure};

use crate::mapped_samples::{Cell, MappedSamples};
use crate::mapping::{Counters, KEYS};
use crate::notes::Notes;
use crate::{ImportError, Options};

/// Places of columns, by what they say.
#[derive(Debug, Default)]
struct Places {
    keys: HashMap<&'static str, usize>,
    measures: Vec<(Measure, usize, f64)>,
}

/// Takes rows of a table whose columns have these names.
pub(crate) struct Rows<'a> {
    path: &'a Path,
    options: &'a Options,
    places: Places,
    samples: MappedSamples<'a>,
    rows: u64,
    no_time: u64,
    no_measure: u64,
}

impl<'a> Rows<'a> {
    pub fn new(
        path: &'a Path,
        names: &[String],
        options: &'a Options,
        import: &'a mut Import,
        notes: &mut Notes,
    ) -> Result<Self, ImportError> {
        let mapping = &options.mapping;
        let wrong = |reason: String| ImportError::content(path, reason);
        let mut places = Places::default();
        for (key, others) in KEYS {
            let found = mapping.find(key, others, names);
            if let (None, Some(name)) = (found, mapping.columns.get(key)) {
                return Err(wrong(format!("it has no column {name:?}, which the mapping names")));
            }
            places.keys.extend(found.map(|place| (key, place)));
        }
        for measure in Measure::ALL {
            let found = mapping.find(measure.name(), &[], names);
            if let (None, Some(name)) = (found, mapping.columns.get(measure.name())) {
                return Err(wrong(format!("it has no column {name:?}, which the mapping names")));
            }
            let factor = mapping.factors.get(measure.name()).copied().unwrap_or(1.0);
            places.measures.extend(found.map(|place| (*measure, place, factor)));
        }
        let has = |key: &str| places.keys.contains_key(key);
        let hint = "hint: name columns in a mapping (--mapping FILE, docs/import.md)";
        if !has("time") {
            return Err(wrong(format!("no column says the time of its rows; {hint}")));
        }
        if !has("target") && !mapping.values.contains_key("target") {
            return Err(wrong(format!("no column says what its rows are of; {hint}")));
        }
        let is_long = has("measure") && has("value");
        if !is_long && places.measures.is_empty() {
            return Err(wrong(format!("no column is a measure that is known; {hint}")));
        }
        if is_long {
            places.measures.clear();
        }
        for (measure, place, _) in &places.measures {
            notes.recognised(1, format!("column {:?}: {}", names[*place], measure.name()));
        }
        let counters = mapping.counters.unwrap_or(Counters::Increments);
        let samples = MappedSamples::new(path, options, counters, import)?;
        Ok(Rows { path, options, places, samples, rows: 0, no_time: 0, no_measure: 0 })
    }

    /// Takes a row, of which `cell` gives what a column has.
    pub fn row<'c>(&mut self, cell: impl Fn(usize) -> Cell<'c>) -> Result<(), ImportError> {
        self.rows += 1;
        let mapping = &self.options.mapping;
        let at = |key: &str| self.places.keys.get(key).map(|place| cell(*place));
        let time = at("time").unwrap_or(Cell::Missing);
        let Some(end) = self.moment(time)? else {
            self.no_time += 1;
            return Ok(());
        };
        let measures =
            self.places.measures.iter().map(|(measure, place, _)| (measure.name(), *place));
        let mut taken = self.places.keys.iter().map(|(key, place)| (*key, *place)).chain(measures);
        if let Some((name, _)) = taken.find(|(_, place)| is_too_long(cell(*place))) {
            let row = self.rows;
            let reason =
                format!("the {name} of its row {row} has more than {TEXT_BYTES_MAX} bytes");
            return Err(ImportError::content(self.path, reason));
        }
        let text = |key: &str| match at(key) {
            Some(Cell::Text(text)) => text.trim().to_owned(),
            Some(Cell::Whole(number)) => number.to_string(),
            _ => mapping.values.get(key).cloned().unwrap_or_default(),
        };
        let Some(component) = self.samples.component(text) else { return Ok(()) };
        let server = text("server");
        let bin = match at("bin") {
            Some(Cell::Whole(bin)) => bin,
            Some(Cell::Text(bin)) => bin.trim().parse().unwrap_or(0),
            _ => 0,
        };
        let length = match at("length_ms") {
            Some(Cell::Whole(length)) => u32::try_from(length).ok(),
            Some(Cell::Text(length)) => length.trim().parse().ok(),
            Some(Cell::Real(length)) => (0.0..4e9).contains(&length).then_some(length as u32),
            _ => self.samples.interval(),
        };
        let mut found: Vec<(Measure, Cell<'c>, f64)> = Vec::new();
        if self.places.measures.is_empty() {
            let Some(measure) = Measure::named(&text("measure")) else {
                self.no_measure += 1;
                return Ok(());
            };
            let factor = mapping.factors.get(measure.name()).copied().unwrap_or(1.0);
            found.push((measure, at("value").unwrap_or(Cell::Missing), factor));
        } else {
            let of = self.places.measures.iter();
            found.extend(of.map(|(measure, place, factor)| (*measure, cell(*place), *factor)));
        }
        for (measure, cell, factor) in found {
            let of = (measure, bin, &component, server.as_str());
            self.samples.sample(of, (end, length), (cell, factor))?;
        }
        Ok(())
    }

    /// Says what happened.
    pub fn finish(self, notes: &mut Notes) -> Result<(), ImportError> {
        notes.recognised(self.rows, "rows");
        notes.left_out(self.no_time, "rows whose time cannot be read");
        notes.left_out(self.no_measure, "rows of measures that nothing in a store is like");
        self.samples.finish(notes)
    }

    /// Returns the moment of a cell, in milliseconds since 1970: of Parquet's timestamps in nanoseconds, of other numbers by their size.
    fn moment(&self, cell: Cell<'_>) -> Result<Option<u64>, ImportError> {
        match cell {
            Cell::Missing => Ok(None),
            Cell::Whole(number) => Ok(of_number(number as f64)),
            Cell::Real(number) => Ok(of_number(number)),
            Cell::Text(text) => self.of_text(text.trim()),
        }
    }

    fn of_text(&self, text: &str) -> Result<Option<u64>, ImportError> {
        if let Ok(number) = text.parse::<f64>() {
            return Ok(of_number(number));
        }
        let has_zone = text.ends_with(['Z', 'z'])
            || text.get(10..).is_some_and(|time| time.contains(['+', '-']));
        if has_zone {
            return Ok(moment::parse(text).map(|nanos| nanos / 1_000_000));
        }
        match &self.options.zone {
            Some(zone) => Ok(zone.moment(text, None)),
            None if moment::parse(text).is_some() => {
                Err(ImportError::NoZone { path: self.path.to_owned() })
            }
            None => Ok(None),
        }
    }
}

/// Bytes of a name, a time or a number that a row may have: what is told of a few bytes again and again in a packed file would take long.
const TEXT_BYTES_MAX: usize = 255;

/// Returns true for a text that no name, no time and no number has.
fn is_too_long(cell: Cell<'_>) -> bool {
    matches!(cell, Cell::Text(text) if text.len() > TEXT_BYTES_MAX)
}

/// Seconds, milliseconds, microseconds or nanoseconds since 1970: of the years 1971 to 2096 no two can be confused.
fn of_number(number: f64) -> Option<u64> {
    let millis = match number {
        it if (3e7..4e9).contains(&it) => it * 1e3,
        it if (3e10..4e12).contains(&it) => it,
        it if (3e13..4e15).contains(&it) => it / 1e3,
        it if (3e16..4e18).contains(&it) => it / 1e6,
        _ => return None,
    };
    Some(millis.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_times_by_their_size() {
        assert_eq!(of_number(1_517_126_400.5), Some(1_517_126_400_500));
        assert_eq!(of_number(1_517_126_400_500.0), Some(1_517_126_400_500));
        assert_eq!(of_number(1.517_126_4e15), Some(1_517_126_400_000));
        assert_eq!(of_number(1.517_126_4e18), Some(1_517_126_400_000));
        assert_eq!((of_number(5.0), of_number(-1e9), of_number(f64::NAN)), (None, None, None));
    }
}
