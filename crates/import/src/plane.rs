//! Matrices of samples: one measure of some components at common steps.

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;

use plimsoll_history::{Day, DayRows, Import, Series};

use crate::ImportError;
use crate::hdf5::Matrix;
use crate::notes::Notes;

/// Values that are taken at a time: 4 MiB. One such part is read while others wait to be written.
const VALUES_AT_A_TIME: usize = 1 << 19;

/// Values that are read for them at most, where columns are in another order: 128 MiB.
const VALUES_READ_MAX: usize = 1 << 24;

/// What stands for a value that is missing.
pub(crate) const MISSING: u64 = u64::MAX;

/// Leaves a part of a plane in memory that is used again and again, by steps and columns: column by column, with [`MISSING`] where nothing is known.
type ReadPart<'a> = Box<
    dyn FnMut(Range<usize>, Range<usize>, &mut Vec<u64>, &mut Notes) -> Result<(), ImportError>
        + Send
        + 'a,
>;

/// One measure of some components at common steps.
pub(crate) struct Plane<'a> {
    /// By column.
    pub series: Vec<Series>,
    /// Milliseconds since 1970: ends of steps, each later than the one before.
    pub ends: Vec<u64>,
    /// Milliseconds that samples cover; 0 for levels.
    pub length: u32,
    /// Columns that are unpacked together.
    pub columns_of_chunk: usize,
    pub read: ReadPart<'a>,
}

/// Hands planes over day by day, in the order of a store's files.
pub(crate) fn take_planes(
    planes: &mut [Plane<'_>],
    import: &mut Import,
    notes: &mut Notes,
) -> Result<(), ImportError> {
    let mut days: Vec<Day> =
        planes.iter().flat_map(|plane| plane.ends.iter().map(|end| Day::ending_at(*end))).collect();
    days.sort_unstable();
    days.dedup();
    for day in days {
        take_day(day, planes, import, notes)?;
    }
    Ok(())
}

/// Returns how many series there are, each counted once for each of its days.
pub(crate) fn series_of_days(planes: &[Plane<'_>]) -> u64 {
    let days = |plane: &Plane<'_>| {
        let same = |one: &u64, next: &u64| Day::ending_at(*one) == Day::ending_at(*next);
        plane.ends.chunk_by(same).count() as u64
    };
    planes.iter().map(|plane| days(plane).saturating_mul(plane.series.len() as u64)).sum()
}

/// A column of a plane.
#[derive(Clone, Copy)]
struct Place {
    plane: usize,
    column: usize,
}

fn take_day(
    day: Day,
    planes: &mut [Plane<'_>],
    import: &mut Import,
    notes: &mut Notes,
) -> Result<(), ImportError> {
    let mut all: Vec<(Series, Place)> = Vec::new();
    for (number, plane) in planes.iter().enumerate() {
        if !steps_of(day, &plane.ends).is_empty() {
            let place = |column| Place { plane: number, column };
            all.extend(plane.series.iter().cloned().enumerate().map(|(it, of)| (of, place(it))));
        }
    }
    all.sort_by(|one, other| one.0.cmp(&other.0));
    let before = all.len();
    all.dedup_by(|next, kept| next.0 == kept.0);
    notes.left_out(
        (before - all.len()) as u64,
        "columns of a name that another column has, per day",
    );
    let (series, places): (Vec<Series>, Vec<Place>) = all.into_iter().unzip();
    let (known, mut reads): (Vec<Known<'_>>, Vec<&mut ReadPart<'_>>) = planes
        .iter_mut()
        .map(|plane| {
            let steps = steps_of(day, &plane.ends);
            let ends = &plane.ends[steps.clone()];
            let (length, columns_of_chunk) = (plane.length, plane.columns_of_chunk);
            (Known { steps, ends, length, columns_of_chunk }, &mut plane.read)
        })
        .unzip();
    let parts = parts(&places, &known);
    import.day(day, &series, |into| {
        thread::scope(|scope| {
            // The next part is read while one is written. Its memory comes back, to be used again.
            let (read, to_write) = sync_channel::<(&Part, Vec<u64>)>(2);
            let (written, free) = channel::<Vec<u64>>();
            let (known, parts) = (&known, &parts);
            let reader = scope.spawn(move || {
                for part in parts {
                    let mut values = free.try_recv().unwrap_or_default();
                    let steps = known[part.plane].steps.clone();
                    reads[part.plane](steps, part.columns.clone(), &mut values, notes)?;
                    if read.send((part, values)).is_err() {
                        break;
                    }
                }
                Ok::<(), ImportError>(())
            });
            for (part, values) in to_write {
                write_part(part, &places[part.places.clone()], &known[part.plane], &values, into)?;
                let _ = written.send(values);
            }
            reader.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    })
}

/// What is known of the steps of a plane that a day has.
struct Known<'a> {
    steps: Range<usize>,
    ends: &'a [u64],
    length: u32,
    columns_of_chunk: usize,
}

/// Columns that are read at a time.
struct Part {
    plane: usize,
    /// In the order of the file to be written.
    places: Range<usize>,
    /// All that lie between them in the plane are read.
    columns: Range<usize>,
}

fn parts(places: &[Place], known: &[Known<'_>]) -> Vec<Part> {
    let (mut parts, mut start) = (Vec::new(), 0);
    while start < places.len() {
        let plane = places[start].plane;
        let end = start + columns_at_a_time(&places[start..], &known[plane]);
        let columns = || places[start..end].iter().map(|it| it.column);
        let columns = columns().min().unwrap_or(0)..columns().max().unwrap_or(0) + 1;
        parts.push(Part { plane, places: start..end, columns });
        start = end;
    }
    parts
}

fn write_part(
    part: &Part,
    places: &[Place],
    known: &Known<'_>,
    values: &[u64],
    into: &mut DayRows<'_>,
) -> Result<(), ImportError> {
    let is_missing = |value: &u64| *value == MISSING;
    let (length, steps) = (known.length, known.ends.len());
    for (series, place) in part.places.clone().zip(places) {
        let from = (place.column - part.columns.start) * steps;
        let of_column = &values[from..from + steps];
        if !of_column.contains(&MISSING) {
            into.rows(series as u32, known.ends, length, of_column)?;
            continue;
        }
        let mut at = 0;
        for some in of_column.chunk_by(|one, next| is_missing(one) == is_missing(next)) {
            let ends = &known.ends[at..at + some.len()];
            at += some.len();
            if !is_missing(&some[0]) {
                into.rows(series as u32, ends, length, some)?;
            }
        }
    }
    Ok(())
}

/// Returns how many of these columns follow each other in one plane, about in its order, and are few enough to be held. Those of a chunk stay together, so that it is unpacked once.
fn columns_at_a_time(places: &[Place], known: &Known<'_>) -> usize {
    let (plane, steps) = (places[0].plane, known.ends.len());
    let same = places.iter().take_while(|it| it.plane == plane).count();
    let most = VALUES_AT_A_TIME / steps.max(1);
    let of_chunk = known.columns_of_chunk.max(1);
    let whole = if most < of_chunk { most } else { most / of_chunk * of_chunk };
    let mut most = whole.clamp(1, same);
    // Whatever lies between the least and the greatest column is read, too.
    loop {
        let columns = places[..most].iter().map(|it| it.column);
        let span = columns.clone().max().unwrap_or(0) - columns.min().unwrap_or(0) + 1;
        if span * steps <= VALUES_READ_MAX || most == 1 {
            return most;
        }
        most = most.div_ceil(2).min(most - 1).max(1);
    }
}

fn steps_of(day: Day, ends: &[u64]) -> Range<usize> {
    let start = ends.partition_point(|end| *end <= day.start());
    start..ends.partition_point(|end| *end <= day.end()).max(start)
}

/// Times that a file gives of its steps.
pub(crate) struct Steps {
    /// Milliseconds since 1970, growing.
    pub millis: Vec<u64>,
    /// From one to the next, most often.
    pub step: u64,
}

impl Steps {
    /// Reads times in seconds since 1970, up to the first that is not later than the one before, and no more than `most`. What is behind that is not read.
    pub fn read(
        times: &Matrix<'_>,
        most: usize,
        notes: &mut Notes,
    ) -> Result<Option<Self>, ImportError> {
        let wanted = times.rows.min(most);
        notes.left_out((times.rows - wanted) as u64, "times of which no dataset has steps");
        let mut millis = Vec::new();
        for piece in times.pieces_of_column() {
            let piece = piece.start..piece.end.min(wanted);
            if piece.is_empty() || !take_times(&times.read(piece, 0..1)?, &mut millis) {
                break;
            }
        }
        let rest = wanted - millis.len();
        notes.left_out(rest as u64, "steps whose time is not later than the one before");
        let mut lengths: Vec<u64> = millis.windows(2).map(|two| two[1] - two[0]).collect();
        lengths.sort_unstable();
        let runs = lengths.chunk_by(|one, next| one == next);
        let Some(step) = runs.max_by_key(|run| run.len()).map(|run| run[0]) else {
            return Ok(None);
        };
        let is_step = u32::try_from(step).is_ok() && step > 0;
        Ok(is_step.then_some(Steps { millis, step }))
    }
}

/// Takes times up to the first that is not later than the one before; returns whether all are taken.
fn take_times(seconds: &[f64], millis: &mut Vec<u64>) -> bool {
    for second in seconds {
        let is_time = second.is_finite() && *second > 0.0 && *second < 4e9;
        let at = (second * 1000.0) as u64;
        if !is_time || millis.last().is_some_and(|last| at <= *last) {
            return false;
        }
        millis.push(at);
    }
    true
}
