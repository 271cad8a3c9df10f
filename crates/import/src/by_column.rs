//! Matrices of numbers, turned: row by row in files, column by column in a store.

use std::panic::resume_unwind;
use std::thread;

use crate::hdf5::THREADS_MAX;
use crate::notes::Notes;
use crate::plane::MISSING;

/// Rows that are turned at a time: their numbers lie side by side in a line of the cache.
const ROWS_AT_A_TIME: usize = 8;

/// Returns values that are row by row as whole numbers column by column. Threads share the columns.
pub(crate) fn by_column(
    values: &[f64],
    columns: usize,
    factor: f64,
    notes: &mut Notes,
) -> Vec<u64> {
    let rows = values.len() / columns.max(1);
    let mut whole = vec![MISSING; rows * columns];
    let threads = thread::available_parallelism().map_or(1, |it| it.get());
    let of_thread = columns.div_ceil(threads.clamp(1, THREADS_MAX)).max(1);
    let left_out = thread::scope(|scope| {
        let mut others = Vec::new();
        let mut first = 0;
        for some in whole.chunks_mut((rows * of_thread).max(1)) {
            let from = first;
            first += of_thread;
            others.push(scope.spawn(move || turn(values, columns, from, factor, rows, some)));
        }
        let joined =
            others.into_iter().map(|it| it.join().unwrap_or_else(|panic| resume_unwind(panic)));
        joined.fold([0; 2], |[one, two], [missing, impossible]| [one + missing, two + impossible])
    });
    notes.left_out(left_out[0], "steps that nobody filled (-0.0)");
    notes.left_out(left_out[1], "negative or impossible values");
    whole
}

/// Fills some columns, from this one on. Returns how many values are missing, and how many are impossible.
fn turn(
    values: &[f64],
    columns: usize,
    first: usize,
    factor: f64,
    rows: usize,
    into: &mut [u64],
) -> [u64; 2] {
    let mut left_out = [0; 2];
    for start in (0..rows).step_by(ROWS_AT_A_TIME) {
        let end = (start + ROWS_AT_A_TIME).min(rows);
        for (column, of_column) in into.chunks_exact_mut(rows).enumerate() {
            for (row, whole) in (start..end).zip(&mut of_column[start..end]) {
                match whole_number(values[row * columns + first + column], factor) {
                    Ok(number) => *whole = number,
                    Err(is_impossible) => left_out[usize::from(is_impossible)] += 1,
                }
            }
        }
    }
    left_out
}

/// Returns a value as a whole number; otherwise whether it is impossible, or missing.
fn whole_number(value: f64, factor: f64) -> Result<u64, bool> {
    const MOST: f64 = 9.2e18;
    let scaled = value * factor;
    let cut = scaled as i64;
    // Nearly all are whole numbers: to round is a call. What is not, or lies beyond, is not what it was cut to.
    if value.is_sign_positive() && cut as f64 == scaled && scaled < MOST {
        return Ok(cut as u64);
    }
    if value == 0.0 && value.is_sign_negative() || value.is_nan() {
        return Err(false);
    }
    let rounded = scaled.round();
    if (0.0..MOST).contains(&rounded) { Ok(rounded as u64) } else { Err(true) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_whole_missing_or_impossible() {
        for (value, factor, expected) in [
            (0.0, 1.0, Ok(0)),
            (-0.0, 1.0, Err(false)),
            (f64::NAN, 1.0, Err(false)),
            (-f64::NAN, 1.0, Err(false)),
            (4096.0, 1.0, Ok(4096)),
            (0.5, 1.0, Ok(1)),
            (1e-300, 1.0, Ok(0)),
            (33.33, 10_000.0, Ok(333_300)),
            (-1.0, 1.0, Err(true)),
            (f64::INFINITY, 1.0, Err(true)),
            (9.3e18, 1.0, Err(true)),
            (9.1e18, 1.0, Ok(9_100_000_000_000_000_000)),
        ] {
            assert_eq!(whole_number(value, factor), expected, "{value}");
        }
    }

    #[test]
    fn rows_become_columns_whatever_their_number() {
        for (rows, columns) in [(0, 3), (1, 1), (7, 5), (8, 1), (9, 13), (33, 248)] {
            let values: Vec<f64> = (0..rows * columns).map(|it| it as f64).collect();
            let mut notes = Notes::default();
            let turned = by_column(&values, columns, 1.0, &mut notes);
            for (place, number) in turned.iter().enumerate() {
                assert_eq!(*number, (place % rows * columns + place / rows) as u64);
            }
            assert_eq!(turned.len(), values.len());
        }
    }
}
