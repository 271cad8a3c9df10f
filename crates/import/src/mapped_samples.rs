//! Samples of files whose names and numbers mean what a mapping says.

use std::collections::HashMap;
use std::path::Path;

use plimsoll_history::{Component, ComponentKind, Form, Import, Measure, Row, Series, Value};

use crate::components::file_system_of;
use crate::mapping::Counters;
use crate::notes::Notes;
use crate::readings::{Compared, Readings};
use crate::{ImportError, Options};

/// What a cell has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell<'a> {
    Whole(u64),
    Real(f64),
    Text(&'a str),
    Missing,
}

/// Names of series that a file may have.
const SERIES_MAX: usize = 1 << 20;

/// Readings that are held until they are compared: some hundred MiB.
const TOTALS_MAX: usize = 4 << 20;

/// Takes what cells have as samples.
pub(crate) struct MappedSamples<'a> {
    path: &'a Path,
    options: &'a Options,
    counters: Counters,
    interval: Option<u32>,
    import: &'a mut Import,
    series: HashMap<Series, u32>,
    /// Readings that are compared: of which component and moment, and the values so far.
    totals: Vec<(Component, String, u64, Vec<Value>)>,
    /// Readings that come in the order of time for each series, compared at once; by measure and bin.
    compared: Option<HashMap<(Measure, u64), Compared>>,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    no_name: u64,
    no_length: u64,
    missing: u64,
    impossible: u64,
}

impl<'a> MappedSamples<'a> {
    pub fn new(
        path: &'a Path,
        options: &'a Options,
        counters: Counters,
        import: &'a mut Import,
    ) -> Result<Self, ImportError> {
        let interval = options.mapping.interval_millis();
        let interval = interval.map_err(|reason| ImportError::content(path, reason))?;
        let (series, totals, counts) = Default::default();
        let compared = None;
        Ok(MappedSamples {
            path,
            options,
            counters,
            interval,
            import,
            series,
            totals,
            compared,
            counts,
        })
    }

    /// Compares totals as they come: those of each series come in the order of time.
    #[must_use]
    pub fn in_order_of_time(mut self) -> Self {
        self.compared = Some(HashMap::new());
        self
    }

    /// Returns how long the time of each sample is, if the mapping says so.
    pub fn interval(&self) -> Option<u32> {
        self.interval
    }

    /// Returns what samples are of, by what is said of it; nothing, and counts it, if it has no name.
    pub fn component(&mut self, text: impl Fn(&str) -> String) -> Option<Component> {
        let (name, kind) = (text("target"), text("kind"));
        let kind = match kind.as_str() {
            "" => Some(usual_kind(&name)),
            kind => ComponentKind::named(kind),
        };
        let (Some(kind), false) = (kind, name.is_empty()) else {
            self.counts.no_name += 1;
            return None;
        };
        let (mut cluster, mut file_system) = (text("cluster"), text("file_system"));
        if cluster.is_empty() {
            cluster.clone_from(&self.options.cluster);
        }
        if file_system.is_empty() {
            file_system = file_system_of(&name).unwrap_or_default().to_owned();
        }
        Some(Component { kind, cluster, file_system, name, job: text("job") })
    }

    /// Takes what a cell has: of a measure, a bin, a component and its server, at the end of a time of this length, multiplied.
    pub fn sample(
        &mut self,
        (measure, bin, component, server): (Measure, u64, &Component, &str),
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
        let rate = self.counters == Counters::Rates && is_counter;
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
        if is_counter && self.counters == Counters::Totals {
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
        if let Some(compared) = &mut self.compared {
            let of = compared.entry((value.measure, value.bin)).or_default();
            return of.take(self.import, component, server, end, vec![value]);
        }
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
        for compared in self.compared.into_iter().flat_map(HashMap::into_values) {
            compared.finish(notes);
        }
        let counts = self.counts;
        notes.left_out(counts.no_name, "rows that do not say what they are of");
        notes.left_out(counts.missing, "cells without a value");
        notes.left_out(counts.impossible, "negative or impossible values");
        let what = "counts without the length of their time (column length_ms, or interval of the mapping)";
        notes.left_out(counts.no_length, what);
        Ok(())
    }
}

fn usual_kind(name: &str) -> ComponentKind {
    match file_system_of(name) {
        Some(file_system) if name[file_system.len()..].starts_with("-MDT") => ComponentKind::Mdt,
        Some(_) => ComponentKind::Ost,
        None if name.contains(':') => ComponentKind::BlockDevice,
        None => ComponentKind::Ost,
    }
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
    fn cells_are_numbers_missing_or_wrong() {
        assert_eq!(number(Cell::Text(" 18446744073709551615 ")), Number::Whole(u64::MAX));
        assert_eq!(number(Cell::Text("1e3")), Number::Real(1000.0));
        assert_eq!(number(Cell::Text("NULL")), Number::Missing);
        assert_eq!(number(Cell::Text("many")), Number::Wrong);
        assert_eq!((scaled(-1.0, 2.0), scaled(1.5, 2.0)), (None, Some(3)));
    }
}
