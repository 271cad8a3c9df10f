//! Matrices of numbers, turned: row by row in files, column by column in a store.

use std::ops::Range;

use crate::ImportError;
use crate::notes::Notes;
use crate::plane::MISSING;
use crate::sharing::{LeftOut, share};

/// Rows that are turned at a time: their numbers lie side by side in a line of the cache.
const ROWS_AT_A_TIME: usize = 8;

/// Some rows of all columns that are to be filled, by column.
type Piece<'a> = (Range<usize>, Vec<&'a mut [u64]>);

/// Reads rows, which are given as pieces that follow each other, and leaves their values as whole numbers column by column. Threads share the pieces: unpacking takes most of the time of an
/// import, and what was read is turned while it is in the cache.
pub(crate) fn by_column(
    pieces: &[Range<usize>],
    columns: usize,
    factor: f64,
    read: impl Fn(Range<usize>) -> Result<Vec<f64>, ImportError> + Sync,
    into: &mut Vec<u64>,
    notes: &mut Notes,
) -> Result<(), ImportError> {
    let rows = pieces.iter().map(Range::len).sum();
    into.resize(rows * columns, MISSING);
    let left_out = share(divided(pieces, rows, into), |(rows, mut into)| {
        Ok(turn(&read(rows)?, factor, &mut into))
    })?;
    notes.left_out(left_out.missing, "steps that nobody filled (-0.0)");
    notes.left_out(left_out.impossible, "negative or impossible values");
    Ok(())
}

/// Divides columns of so many rows into pieces.
fn divided<'a>(pieces: &[Range<usize>], rows: usize, into: &'a mut [u64]) -> Vec<Piece<'a>> {
    let mut divided: Vec<Piece<'a>> = pieces.iter().map(|it| (it.clone(), Vec::new())).collect();
    for mut column in into.chunks_exact_mut(rows.max(1)) {
        for (rows, of_piece) in &mut divided {
            let (own, rest) = column.split_at_mut(rows.len());
            of_piece.push(own);
            column = rest;
        }
    }
    divided
}

/// Fills columns with values that are row by row. Returns what is left out.
fn turn(values: &[f64], factor: f64, into: &mut [&mut [u64]]) -> LeftOut {
    let (columns, rows) = (into.len(), into.first().map_or(0, |it| it.len()));
    let mut left_out = LeftOut::default();
    for start in (0..rows).step_by(ROWS_AT_A_TIME) {
        let end = (start + ROWS_AT_A_TIME).min(rows);
        for (column, of_column) in into.iter_mut().enumerate() {
            for (row, whole) in (start..end).zip(&mut of_column[start..end]) {
                *whole = match whole_number(values[row * columns + column], factor) {
                    Ok(number) => number,
                    Err(is_impossible) => {
                        let count = if is_impossible {
                            &mut left_out.impossible
                        } else {
                            &mut left_out.missing
                        };
                        *count += 1;
                        MISSING
                    }
                };
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
            let pieces: Vec<Range<usize>> =
                (0..rows).step_by(5).map(|it| it..(it + 5).min(rows)).collect();
            let read = |rows: Range<usize>| {
                Ok((rows.start * columns..rows.end * columns).map(|it| it as f64).collect())
            };
            let (mut turned, mut notes) = (vec![7; 3], Notes::default());
            by_column(&pieces, columns, 1.0, read, &mut turned, &mut notes).unwrap();
            for (place, number) in turned.iter().enumerate() {
                assert_eq!(*number, (place % rows * columns + place / rows) as u64);
            }
            assert_eq!(turned.len(), rows * columns);
        }
    }
}
