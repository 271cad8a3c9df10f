//! Samples of tables: a row is one sample (columns `measure` and `value`), or has a column for each measure.

use std::collections::HashMap;
use std::path::Path;

use plimsoll_domain::moment;
use plimsoll_history::{Component, ComponentKind, Form, Import, Measure, Row, Series, Value};

use crate::components::file_system_of;
use crate::mapping::{Counters, KEYS, Mapping};
use crate::notes::Notes;
use crate::readings::Readings;
use crate::{ImportError, Options};

/// What a cell has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell<'a> {
    Whole(u64),
    Real(f64),
    Text(&'a str),
    Missing,
}

/// Names of series that a table may have.
const SERIES_MAX: usize = 1 << 20;

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
    mapping: &'a Mapping,
    places: Places,
    interval: Option<u32>,
    import: &'a mut Import,
    series: HashMap<Series, u32>,
    /// Readings that are compared: of which component and moment, and the values so far.
    totals: Vec<(Component, String, u64, Vec<Value>)>,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    rows: u64,
    no_time: u64,
    no_name: u64,
    no_measure: u64,
    no_length: u64,
    missing: u64,
    impossible: u64,
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
        let interval = mapping.interval_millis().map_err(wrong)?;
        let (series, totals, counts) = Default::default();
        Ok(Rows { path, options, mapping, places, interval, import, series, totals, counts })
    }

    /// Takes a row, of which `cell` gives what a column has.
    pub fn row<'c>(&mut self, cell: impl Fn(usize) -> Cell<'c>) -> Result<(), ImportError> {
        self.counts.rows += 1;
        let at = |key: &str| self.places.keys.get(key).map(|place| cell(*place));
        let time = at("time").unwrap_or(Cell::Missing);
        let Some(end) = self.moment(time)? else {
            self.counts.no_time += 1;
            return Ok(());
        };
        let text = |key: &str| match at(key) {
            Some(Cell::Text(text)) => text.trim().to_owned(),
            Some(Cell::Whole(number)) => number.to_string(),
            _ => self.mapping.values.get(key).cloned().unwrap_or_default(),
        };
        let (name, kind) = (text("target"), text("kind"));
        let kind = match kind.as_str() {
            "" => Some(usual_kind(&name)),
            kind => ComponentKind::named(kind),
        };
        let (Some(kind), false) = (kind, name.is_empty()) else {
            self.counts.no_name += 1;
            return Ok(());
        };
        let (mut cluster, mut file_system) = (text("cluster"), text("file_system"));
        if cluster.is_empty() {
            cluster.clone_from(&self.options.cluster);
        }
        if file_system.is_empty() {
            file_system = file_system_of(&name).unwrap_or_default().to_owned();
        }
        let component = Component { kind, cluster, file_system, name, job: text("job") };
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
            _ => self.interval,
        };
        let mut found: Vec<(Measure, Cell<'c>, f64)> = Vec::new();
        if self.places.measures.is_empty() {
            let Some(measure) = Measure::named(&text("measure")) else {
                self.counts.no_measure += 1;
                return Ok(());
            };
            let factor = self.mapping.factors.get(measure.name()).copied().unwrap_or(1.0);
            found.push((measure, at("value").unwrap_or(Cell::Missing), factor));
        } else {
            let of = self.places.measures.iter();
            found.extend(of.map(|(measure, place, factor)| (*measure, cell(*place), *factor)));
        }
        for (measure, cell, factor) in found {
            self.sample(measure, bin, &component, &server, (end, length), (cell, factor))?;
        }
        Ok(())
    }

    fn sample(
        &mut self,
        measure: Measure,
        bin: u64,
        component: &Component,
        server: &str,
        (end, length): (u64, Option<u32>),
        (cell, factor): (Cell<'_>, f64),
    ) -> Result<(), ImportError> {
        let value = match number(cell) {
            Number::Missing => {
                self.counts.missing += 1;
                return Ok(());
            }
            Number::Wrong => None,
            Number::Whole(value) if factor == 1.0 => Some(value),
            Number::Whole(value) => scaled(value as f64, factor),
            Number::Real(value) => scaled(value, factor),
        };
        let is_counter = measure.form() == Form::Increment;
        let rate = self.mapping.counters == Counters::Rates && is_counter;
        let value = match (value, rate) {
            (Some(_), true) => match (number(cell).real(), length) {
                (Some(value), Some(length)) => scaled(value, factor * f64::from(length) / 1000.0),
                _ => None,
            },
            (value, _) => value,
        };
        let Some(value) = value else {
            self.counts.impossible += 1;
            return Ok(());
        };
        if is_counter && self.mapping.counters == Counters::Totals {
            return self.total(component, server, end, Value::of_bin(measure, bin, value));
        }
        let length = match (is_counter, length) {
            (false, _) => 0,
            (true, Some(length)) if length > 0 => length,
            _ => {
                self.counts.no_length += 1;
                return Ok(());
            }
        };
        let of = Series { measure, bin, component: component.clone(), server: server.to_owned() };
        let series = match self.series.get(&of) {
            Some(series) => *series,
            None if self.series.len() >= SERIES_MAX => {
                let reason = format!("it names more than {SERIES_MAX} series");
                return Err(ImportError::content(self.path, reason));
            }
            None => {
                let series = self.import.series(&of);
                self.series.insert(of, series);
                series
            }
        };
        Ok(self.import.row(Row { series, end, length, value })?)
    }

    /// Keeps what is to be compared, once all of it is there.
    fn total(
        &mut self,
        component: &Component,
        server: &str,
        end: u64,
        value: Value,
    ) -> Result<(), ImportError> {
        if let Some(last) = self.totals.last_mut()
            && (&last.0, last.1.as_str(), last.2) == (component, server, end)
        {
            last.3.push(value);
            return Ok(());
        }
        if self.totals.len() >= TOTALS_MAX {
            let reason = format!(
                "it has more than {TOTALS_MAX} readings of counters that are totals; hint: divide it"
            );
            return Err(ImportError::content(self.path, reason));
        }
        self.totals.push((component.clone(), server.to_owned(), end, vec![value]));
        Ok(())
    }

    /// Compares what is to be compared, and says what happened.
    pub fn finish(mut self, notes: &mut Notes) -> Result<(), ImportError> {
        self.totals.sort_by(|one, other| (&one.0, one.2).cmp(&(&other.0, other.2)));
        let mut readings = Readings::new(self.import);
        for (component, server, end, values) in std::mem::take(&mut self.totals) {
            readings.take(&component, &server, end, values)?;
        }
        readings.finish(notes);
        let counts = self.counts;
        notes.recognised(counts.rows, "rows");
        notes.left_out(counts.no_time, "rows whose time cannot be read");
        notes.left_out(counts.no_name, "rows that do not say what they are of");
        notes.left_out(counts.no_measure, "rows of measures that nothing in a store is like");
        notes.left_out(counts.missing, "cells without a value");
        notes.left_out(counts.impossible, "negative or impossible values");
        let what = "counts without the length of their time (column length_ms, or interval of the mapping)";
        notes.left_out(counts.no_length, what);
        Ok(())
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

/// Readings that are held until they are compared: some hundred MiB.
const TOTALS_MAX: usize = 4 << 20;

fn usual_kind(name: &str) -> ComponentKind {
    match file_system_of(name) {
        Some(file_system) if name[file_system.len()..].starts_with("-MDT") => ComponentKind::Mdt,
        Some(_) => ComponentKind::Ost,
        None if name.contains(':') => ComponentKind::BlockDevice,
        None => ComponentKind::Ost,
    }
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

#[derive(Debug, Clone, Copy, PartialEq)]
enum Number {
    Whole(u64),
    Real(f64),
    Missing,
    Wrong,
}

impl Number {
    fn real(self) -> Option<f64> {
        match self {
            Number::Whole(value) => Some(value as f64),
            Number::Real(value) => Some(value),
            _ => None,
        }
    }
}

fn number(cell: Cell<'_>) -> Number {
    let of_real = |value: f64| if value.is_nan() { Number::Missing } else { Number::Real(value) };
    match cell {
        Cell::Whole(value) => Number::Whole(value),
        Cell::Real(value) => of_real(value),
        Cell::Missing => Number::Missing,
        Cell::Text(text) => match text.trim() {
            "" | "NULL" | "null" | "\\N" | "-" | "NaN" | "nan" => Number::Missing,
            text => match (text.parse(), text.parse()) {
                (Ok(whole), _) => Number::Whole(whole),
                (_, Ok(real)) => of_real(real),
                _ => Number::Wrong,
            },
        },
    }
}

fn scaled(value: f64, factor: f64) -> Option<u64> {
    let value = (value * factor).round();
    (0.0..9.2e18).contains(&value).then_some(value as u64)
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

    #[test]
    fn cells_are_numbers_missing_or_wrong() {
        assert_eq!(number(Cell::Text(" 18446744073709551615 ")), Number::Whole(u64::MAX));
        assert_eq!(number(Cell::Text("1e3")), Number::Real(1000.0));
        assert_eq!(number(Cell::Text("NULL")), Number::Missing);
        assert_eq!(number(Cell::Text("many")), Number::Wrong);
        assert_eq!((scaled(-1.0, 2.0), scaled(1.5, 2.0)), (None, Some(3)));
    }
}
