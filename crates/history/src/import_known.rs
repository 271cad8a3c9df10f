//! What a store has of the samples that are imported.

use std::collections::HashMap;
use std::ops::Range;

use crate::spread::GAP_MILLIS;
use crate::{Batch, Component, Day, Form, HistoryError, Measure, Row, Selection, Series, Store};

/// What is said of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    New,
    /// The store has it, with this value.
    AlreadyThere,
    /// The store has something else for some of its time.
    Differing,
}

/// What a store has of a day and of those beside it.
pub(crate) struct Known<'a> {
    store: &'a Store,
    days: Vec<Day>,
}

impl<'a> Known<'a> {
    /// Returns what there is; nothing if nothing is. A sample that covers more than a day and ends later is not looked for.
    pub fn of_day(store: &'a Store, day: Day) -> Result<Option<Self>, HistoryError> {
        let near = Selection {
            since: Some(day.start().saturating_sub(Day::MILLIS)),
            until: Some(day.end() + Day::MILLIS),
            ..Selection::default()
        };
        let days = store.days(&near)?;
        Ok((!days.is_empty()).then_some(Known { store, days }))
    }

    /// Says of each row whether it is there. Rows are in the order of files, and of whole keys.
    pub fn verdicts(&self, series: &[Series], rows: &[Row]) -> Result<Vec<Verdict>, HistoryError> {
        let mut verdicts = vec![Verdict::New; rows.len()];
        let begin = |row: &Row| row.end.saturating_sub(u64::from(row.length));
        let Some(first) = rows.iter().map(begin).min() else { return Ok(verdicts) };
        let last = rows.iter().map(|row| row.end).max().unwrap_or(first);
        let places = Places::of(series, rows);
        let measures = places.measures();
        let is_wanted = |component: &Component| places.components.contains_key(component);
        let selection = Selection {
            // A level stands for up to this time before it.
            since: Some(first.saturating_sub(GAP_MILLIS)),
            until: Some(last.saturating_add(Day::MILLIS)),
            measures: &measures,
            is_wanted: Some(&is_wanted),
        };
        for day in &self.days {
            let mut levels = HashMap::new();
            self.store.read_day::<HistoryError>(*day, &selection, |batch| {
                if let Some(range) = places.find(batch.series) {
                    let (rows, verdicts) = (&rows[range.clone()], &mut verdicts[range.clone()]);
                    if batch.series.measure.form() == Form::Level {
                        let before = levels.entry(range.start).or_insert(u64::MAX);
                        mark_levels(&batch, before, rows, verdicts);
                    } else {
                        mark_counters(&batch, rows, verdicts);
                    }
                }
                Ok(())
            })?;
        }
        Ok(verdicts)
    }
}

/// A measure, its bin, and where its rows are.
type Place = (Measure, u64, Range<usize>);

/// Where rows of keys are.
struct Places<'a> {
    components: HashMap<&'a Component, Vec<Place>>,
}

impl<'a> Places<'a> {
    fn of(series: &'a [Series], rows: &[Row]) -> Self {
        let mut components: HashMap<_, Vec<_>> = HashMap::new();
        let (mut start, key) = (0, |row: &Row| series[row.series as usize].key());
        for some in rows.chunk_by(|one, next| one.series == next.series || key(one) == key(next)) {
            let (measure, bin, component) = key(&some[0]);
            let range = start..start + some.len();
            start = range.end;
            components.entry(component).or_default().push((measure, bin, range));
        }
        Places { components }
    }

    fn measures(&self) -> Vec<Measure> {
        let mut measures: Vec<Measure> =
            self.components.values().flatten().map(|it| it.0).collect();
        measures.sort_unstable();
        measures.dedup();
        measures
    }

    fn find(&self, series: &Series) -> Option<&Range<usize>> {
        let of = self.components.get(&series.component)?;
        let found = of.iter().find(|it| it.0 == series.measure && it.1 == series.bin)?;
        Some(&found.2)
    }
}

/// Marks the rows whose time is that of samples.
fn mark_counters(batch: &Batch<'_>, rows: &[Row], verdicts: &mut [Verdict]) {
    for ((end, length), value) in batch.ends.iter().zip(batch.lengths).zip(batch.values) {
        let start = end.saturating_sub((*length).max(1));
        let mut place = rows.partition_point(|row| row.end <= start);
        while let Some(row) = rows.get(place)
            && row.end.saturating_sub(row.length.into()) < *end
        {
            let is_equal = row.end == *end && u64::from(row.length) == *length;
            mark(&mut verdicts[place], is_equal && row.value == *value);
            place += 1;
        }
    }
}

/// Marks the rows whose moment is that of a level, or between two of them that are not far from each other.
fn mark_levels(batch: &Batch<'_>, before: &mut u64, rows: &[Row], verdicts: &mut [Verdict]) {
    for (end, value) in batch.ends.iter().zip(batch.values) {
        let is_near = *before < *end && *end - *before <= GAP_MILLIS;
        let start = if is_near { *before } else { end.saturating_sub(1) };
        let mut place = rows.partition_point(|row| row.end <= start);
        while let Some(row) = rows.get(place).filter(|row| row.end <= *end) {
            mark(&mut verdicts[place], row.end == *end && row.value == *value);
            place += 1;
        }
        *before = *end;
    }
}

fn mark(verdict: &mut Verdict, is_equal: bool) {
    *verdict = match (*verdict, is_equal) {
        (Verdict::New | Verdict::AlreadyThere, true) => Verdict::AlreadyThere,
        _ => Verdict::Differing,
    };
}
