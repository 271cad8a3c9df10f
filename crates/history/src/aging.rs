//! Old samples at a coarser resolution.

use std::collections::BTreeMap;

use crate::spread::spread;
use crate::{Aging, Form, Measure, Row};

/// Windows in which utilization is worked out, whatever the interval of samples (Uselton: five seconds).
pub const WINDOW_MILLIS: u64 = 5_000;

const MINUTE_MILLIS: u64 = 60_000;

/// Returns samples of one key, in the order of time, at the resolution of old ones.
///
/// Sums stay exact. Samples that are no finer than the resolution stay as they are, and so do gaps. Samples that were aged
/// before come out unchanged.
pub(crate) fn age(measure: Measure, rows: &[Row]) -> Vec<Row> {
    let window = match measure.aging() {
        Aging::Windows => WINDOW_MILLIS,
        Aging::Minutes => MINUTE_MILLIS,
    };
    let (mut aged, fine): (Vec<Row>, Vec<Row>) =
        rows.iter().copied().partition(|row| u64::from(row.length) >= window);
    match measure.form() {
        Form::Increment => add_up(&fine, window, &mut aged),
        Form::Level => average(&fine, window, &mut aged),
    }
    aged.sort_by_key(|row| row.end);
    aged
}

fn add_up(rows: &[Row], window_millis: u64, into: &mut Vec<Row>) {
    let mut windows: BTreeMap<u64, Row> = BTreeMap::new();
    for row in rows {
        spread(row.end, row.length.into(), row.value, window_millis, |piece| {
            let end = (piece.window + 1) * window_millis;
            let new = Row { series: row.series, end, length: 0, value: 0 };
            let sum = windows.entry(piece.window).or_insert(new);
            sum.series = row.series;
            sum.length += piece.covered as u32;
            sum.value = sum.value.saturating_add(piece.value);
        });
    }
    into.extend(windows.into_values());
}

fn average(rows: &[Row], window_millis: u64, into: &mut Vec<Row>) {
    let window_of = |row: &Row| row.end.saturating_sub(1) / window_millis;
    for some in rows.chunk_by(|one, next| window_of(one) == window_of(next)) {
        let sum: u128 = some.iter().map(|row| u128::from(row.value)).sum();
        let (count, last) = (some.len() as u128, some[some.len() - 1]);
        let value = ((sum + count / 2) / count) as u64;
        let end = (window_of(&last) + 1) * window_millis;
        into.push(Row { series: last.series, end, length: 0, value });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(end: u64, length: u32, value: u64) -> Row {
        Row { series: 0, end, length, value }
    }

    #[test]
    fn seconds_become_windows_and_minutes_and_stay_so() {
        let rows: Vec<Row> = (1..=120).map(|it| row(it * 1000, 1000, it)).collect();
        let windows = age(Measure::ReadBytes, &rows);
        assert_eq!(windows.len(), 24);
        assert_eq!(windows[0], row(5_000, 5_000, 15));
        assert_eq!(age(Measure::ReadBytes, &windows), windows);
        let minutes = age(Measure::Opens, &rows);
        assert_eq!(minutes, [row(60_000, 60_000, 1830), row(120_000, 60_000, 5430)]);
        assert_eq!(age(Measure::Opens, &minutes), minutes);
        let levels: Vec<Row> = (1..=120).map(|it| row(it * 1000, 0, it)).collect();
        let minutes = age(Measure::InFlight, &levels);
        assert_eq!(minutes, [row(60_000, 0, 31), row(120_000, 0, 91)]);
        assert_eq!(age(Measure::InFlight, &minutes), minutes);
    }

    #[test]
    fn gaps_and_coarse_samples_stay_and_what_is_missing_stays_missing() {
        let rows = [row(1_000, 1_000, 5), row(201_000, 195_000, 700), row(203_500, 1_500, 6)];
        let aged = age(Measure::ReadBytes, &rows);
        assert_eq!(
            aged,
            [row(5_000, 1_000, 5), row(201_000, 195_000, 700), row(205_000, 1_500, 6)]
        );
        assert_eq!(age(Measure::ReadBytes, &aged), aged);
    }
}
