//! Times that a clock showed twice: what was appended later counts.
//!
//! Within a write-ahead file the times of a component only grow. After a clock was put back another one is begun, so that the number of a file
//! says which of two samples was appended later.

use std::collections::HashMap;

use crate::spread::GAP_MILLIS;
use crate::{Component, Form, Row, Series};

/// The time that samples cover, by component: of counters and of levels.
#[derive(Debug, Default)]
pub(crate) struct Cover {
    of: HashMap<Component, [Vec<Span>; 2]>,
}

/// Some time, in milliseconds since 1970: after the start, up to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span {
    pub start: u64,
    pub end: u64,
}

impl Cover {
    /// Returns what rows cover, which come in the order in which they were appended.
    pub fn of(series: &[Option<Series>], rows: &[Row]) -> Self {
        let mut slots: HashMap<&Component, usize> = HashMap::new();
        let places: Vec<Option<(usize, usize)>> = series
            .iter()
            .map(|it| {
                let it = it.as_ref()?;
                let next = slots.len();
                Some((*slots.entry(&it.component).or_insert(next), place(it)))
            })
            .collect();
        let mut spans: Vec<[Vec<Span>; 2]> = vec![Default::default(); slots.len()];
        for row in rows {
            let Some(Some((slot, form))) = places.get(row.series as usize) else { continue };
            add(&mut spans[*slot][*form], row);
        }
        spans.iter_mut().flatten().for_each(put_in_order);
        let of = slots.into_iter().map(|(it, slot)| (it.clone(), std::mem::take(&mut spans[slot])));
        Cover { of: of.collect() }
    }

    /// Returns the times that are covered for samples of that series, in their order.
    pub fn spans(&self, series: &Series) -> &[Span] {
        self.of.get(&series.component).map_or(&[], |it| &it[place(series)])
    }

    /// Returns all components with their times.
    pub fn into_spans(self) -> impl Iterator<Item = (Component, [Vec<Span>; 2])> {
        self.of.into_iter()
    }

    /// Returns where it begins; nothing if nothing is covered.
    pub fn start(&self) -> Option<u64> {
        self.all().map(|span| span.start).min()
    }

    /// Returns all spans, in no order.
    pub fn all(&self) -> impl Iterator<Item = Span> {
        self.of.values().flatten().flatten().copied()
    }
}

/// Counters and levels are apart: after a clock was put back levels are known at once, and counters an interval later.
pub(crate) fn place(series: &Series) -> usize {
    usize::from(series.measure.form() == Form::Level)
}

fn add(spans: &mut Vec<Span>, row: &Row) {
    let last = spans.last_mut().filter(|last| row.end >= last.end);
    let length = match (&last, row.length) {
        // A level stands for the time since the one before it.
        (Some(last), 0) if row.end - last.end <= GAP_MILLIS => row.end - last.end,
        (_, 0) => 1,
        (_, length) => length.into(),
    };
    let start = row.end.saturating_sub(length);
    match last {
        Some(last) if start <= last.end => {
            (last.start, last.end) = (last.start.min(start), row.end);
        }
        _ => spans.push(Span { start, end: row.end }),
    }
}

fn put_in_order(spans: &mut Vec<Span>) {
    if spans.is_sorted_by(|one, next| one.end < next.start) {
        return;
    }
    spans.sort_unstable();
    spans.dedup_by(|next, kept| {
        let joins = next.start <= kept.end;
        kept.end = if joins { kept.end.max(next.end) } else { kept.end };
        joins
    });
}

/// Returns whether any time of a sample is in one of the spans, which are in their order.
pub(crate) fn is_covered(spans: &[Span], end: u64, length: u64) -> bool {
    let start = end.saturating_sub(length.max(1));
    let place = spans.partition_point(|span| span.end <= start);
    spans.get(place).is_some_and(|span| span.start < end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ComponentKind, Measure};

    fn series(measure: Measure, name: &str) -> Series {
        let component = Component::new(ComponentKind::Ost, name);
        Series { measure, bin: 0, component, server: String::new() }
    }

    fn row(series: u32, end: u64, length: u32) -> Row {
        Row { series, end, length, value: 1 }
    }

    #[test]
    fn samples_cover_their_time_and_levels_the_time_since_the_one_before() {
        let all = [
            series(Measure::ReadBytes, "a"),
            series(Measure::InFlight, "a"),
            series(Measure::ReadBytes, "b"),
        ];
        let known: Vec<_> = all.iter().cloned().map(Some).collect();
        let rows = [
            row(1, 10_000, 0),
            row(0, 12_000, 1000),
            row(1, 12_000, 0),
            row(0, 13_000, 1000),
            row(1, 90_000, 0),
            row(0, 95_000, 500),
        ];
        let cover = Cover::of(&known, &rows);
        let span = |start, end| Span { start, end };
        assert_eq!(cover.spans(&all[0]), [span(11_000, 13_000), span(94_500, 95_000)]);
        assert_eq!(cover.spans(&all[1]), [span(9_999, 12_000), span(89_999, 90_000)]);
        assert_eq!(cover.spans(&all[2]), []);
        assert_eq!(cover.start(), Some(9_999));
        let spans = cover.spans(&all[0]);
        for (end, length, expected) in [
            (11_000, 1000, false),
            (11_001, 1000, true),
            (13_500, 1000, true),
            (14_000, 1000, false),
            (200_000, 190_000, true),
            (12_000, 0, true),
            (11_000, 0, false),
        ] {
            assert_eq!(is_covered(spans, end, length), expected, "{end} {length}");
        }
    }

    /// A file of another program may have any order.
    #[test]
    fn spans_are_in_order_whatever_the_rows_are() {
        let known = [Some(series(Measure::ReadBytes, "a"))];
        let rows = [row(0, 50, 10), row(0, 20, 10), row(0, 45, 30), row(0, 70, 5), row(9, 1, 1)];
        let cover = Cover::of(&known, &rows);
        let expected = [Span { start: 10, end: 50 }, Span { start: 65, end: 70 }];
        assert_eq!(cover.spans(known[0].as_ref().unwrap()), expected);
        assert_eq!(Cover::of(&[None], &[row(0, 5, 5)]).start(), None);
    }
}
