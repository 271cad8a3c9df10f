//! pyLMT's HDF5 (`.h5lmt`): a dataset for each measure, of columns and steps; rates over the step before their time.
//!
//! Samples that are missing are flagged in `FSMissing`, but for the steps after the file was last written: those are 0.0 everywhere.

use std::ops::Range;

use plimsoll_history::{Import, Measure, Series};

use crate::components::Components;
use crate::hdf5::{Hdf5, Matrix, texts};
use crate::names::operation;
use crate::notes::Notes;
use crate::plane::{MISSING, Plane, Steps, series_of_days, take_planes};
use crate::sharing::{LeftOut, share};
use crate::{ImportError, Options};

const STEPS: &str = "/FSStepsGroup/FSStepsDataSet";
const MISSING_SAMPLES: &str = "/FSMissingGroup/FSMissingDataSet";
const READ: &str = "/OSTReadGroup/OSTBulkReadDataSet";
const WRITE: &str = "/OSTWriteGroup/OSTBulkWriteDataSet";
const SERVER_LOAD: &str = "/OSSCPUGroup/OSSCPUDataSet";
const METADATA_LOAD: &str = "/MDSCPUGroup/MDSCPUDataSet";
const OPERATIONS: &str = "/MDSOpsGroup/MDSOpsDataSet";

/// What is sampled, those first of which most is 0.0 only where nobody filled it.
const DATASETS: [&str; 5] = [SERVER_LOAD, METADATA_LOAD, READ, WRITE, OPERATIONS];

/// Returns whether a file has what pyLMT's have.
pub(crate) fn is_pylmt(file: &Hdf5) -> bool {
    file.dataset(STEPS).is_some()
}

/// Takes all of a file.
pub(crate) fn take(
    file: &Hdf5,
    options: &Options,
    import: &mut Import,
    notes: &mut Notes,
) -> Result<&'static str, ImportError> {
    let times = file.dataset(STEPS).ok_or_else(|| file.error("it has no steps"))?;
    let times = file.matrix(times)?;
    let most = steps_most(file);
    if most == 0 {
        return Err(file.error("it has pyLMT's steps, and no datasets of targets or servers"));
    }
    let steps = Steps::read(&times, most, notes)?
        .ok_or_else(|| file.error("it has fewer than two steps"))?;
    let targets = columns(file, READ, "OSTNames").or_else(|| columns(file, WRITE, "OSTNames"));
    let targets = targets.unwrap_or_default();
    let components = Components::of(&options.cluster, targets.iter().map(String::as_str));
    let filled = filled_steps(file, &steps, notes)?;
    let source = Source { file, steps: &steps, filled, components: &components };
    let mut planes = Vec::new();
    for (path, measure) in [(READ, Measure::ReadBytes), (WRITE, Measure::WrittenBytes)] {
        planes.extend(source.targets(path, measure, notes)?);
    }
    planes.extend(source.load(SERVER_LOAD, "OSSNames", notes)?);
    planes.extend(source.load(METADATA_LOAD, "", notes)?);
    source.operations(&mut planes, notes)?;
    if planes.is_empty() {
        return Err(file.error("it has pyLMT's steps, and no datasets of targets or servers"));
    }
    file.require_stored(series_of_days(&planes))?;
    take_planes(&mut planes, import, notes)?;
    Ok("pyLMT HDF5")
}

/// Returns how many steps a dataset has at most.
fn steps_most(file: &Hdf5) -> usize {
    let datasets = DATASETS.iter().filter_map(|path| file.dataset(path));
    datasets.filter_map(|it| it.shape().last().copied()).max().unwrap_or(0) as usize
}

fn columns(file: &Hdf5, path: &str, attribute: &str) -> Option<Vec<String>> {
    texts(&file.dataset(path)?, attribute)
}

/// Returns the steps that somebody filled: those up to the last one at which anything is not 0.0, but for the first one of rates.
fn filled_steps(
    file: &Hdf5,
    steps: &Steps,
    notes: &mut Notes,
) -> Result<Range<usize>, ImportError> {
    let (mut first_is_filled, mut end) = (false, 0);
    for path in DATASETS {
        let Some(dataset) = file.dataset(path) else { continue };
        let is_rate = matches!(path, READ | WRITE | OPERATIONS);
        let matrix = file.matrix(dataset)?;
        let count = if is_line(&matrix) { matrix.rows } else { matrix.columns };
        let count = count.min(steps.millis.len());
        if is_rate && !first_is_filled && count > 0 {
            first_is_filled =
                read_part(&matrix, 0..1, 0..lines(&matrix))?.iter().any(|it| *it != 0.0);
        }
        // Only what is behind the last step that is known to be filled is looked at.
        if end < count {
            let rest = read_part(&matrix, end..count, 0..lines(&matrix))?;
            let steps = count - end;
            let last = (0..steps)
                .rev()
                .find(|step| rest.chunks_exact(steps).any(|line| line[*step] != 0.0));
            end = last.map_or(end, |last| end + last + 1);
        }
    }
    notes.left_out(
        (steps.millis.len() - end) as u64,
        "steps at the end that nobody filled (0.0 everywhere)",
    );
    let start = usize::from(!first_is_filled).min(end);
    notes.left_out(start as u64, "first step, of which rates are never filled");
    Ok(start..end)
}

/// Returns whether a matrix has one number for each step.
fn is_line(matrix: &Matrix<'_>) -> bool {
    matrix.dataset().shape().len() == 1
}

fn lines(matrix: &Matrix<'_>) -> usize {
    if is_line(matrix) { 1 } else { matrix.rows }
}

/// Reads some steps of some columns, column by column.
fn read_part(
    matrix: &Matrix<'_>,
    steps: Range<usize>,
    columns: Range<usize>,
) -> Result<Vec<f64>, ImportError> {
    if is_line(matrix) { matrix.read(steps, 0..1) } else { matrix.read(columns, steps) }
}

/// A file, and what holds for all of its datasets.
struct Source<'a> {
    file: &'a Hdf5,
    steps: &'a Steps,
    filled: Range<usize>,
    components: &'a Components,
}

impl<'a> Source<'a> {
    fn targets(
        &self,
        path: &str,
        measure: Measure,
        notes: &mut Notes,
    ) -> Result<Option<Plane<'a>>, ImportError> {
        let Some(dataset) = self.file.dataset(path) else { return Ok(None) };
        let Some(names) = texts(&dataset, "OSTNames") else {
            return Err(self.file.error(format!("{path} does not name its targets")));
        };
        let series = names.iter().map(|name| {
            let (component, server) = self.components.data_target(name);
            Series { measure, bin: 0, component, server }
        });
        let missing = self.file.dataset(MISSING_SAMPLES);
        let missing = missing.map(|it| self.file.matrix(it)).transpose()?;
        let matrix = self.file.matrix(dataset)?;
        let missing = missing.filter(|it| (it.rows, it.columns) == (matrix.rows, matrix.columns));
        notes.repaired(1, format!("{}: rates over the step before, as counts", measure.name()));
        notes.recognised(1, format!("{}: {}", plain(path), measure.name()));
        Ok(Some(self.plane(matrix, missing, series.collect(), true)))
    }

    fn load(
        &self,
        path: &str,
        attribute: &str,
        notes: &mut Notes,
    ) -> Result<Option<Plane<'a>>, ImportError> {
        let Some(dataset) = self.file.dataset(path) else { return Ok(None) };
        let names = texts(&dataset, attribute).unwrap_or_else(|| {
            notes.repaired(1, format!("{}: its server has no name, and is called so", plain(path)));
            vec![format!("{}-MDS", self.components.file_system())]
        });
        let series = names.iter().map(|name| {
            let (component, server) = self.components.server(name);
            Series { measure: Measure::CpuLoad, bin: 0, component, server }
        });
        notes.recognised(1, format!("{}: {}", plain(path), Measure::CpuLoad.name()));
        let matrix = self.file.matrix(dataset)?;
        Ok(Some(self.plane(matrix, None, series.collect(), false)))
    }

    /// Each operation is a plane of one column.
    fn operations(
        &self,
        planes: &mut Vec<Plane<'a>>,
        notes: &mut Notes,
    ) -> Result<(), ImportError> {
        let Some(dataset) = self.file.dataset(OPERATIONS) else { return Ok(()) };
        let names = texts(&dataset, "OpNames").unwrap_or_default();
        if self.file.matrix(dataset.clone())?.columns < self.filled.end {
            notes.left_out(1, "dataset MDSOpsDataSet: it has fewer steps than there are times");
            return Ok(());
        }
        let target = format!("{}-MDT0000", self.components.file_system());
        notes.repaired(1, format!("metadata target that has no name: taken as {target}"));
        for (row, name) in names.iter().enumerate() {
            let Some(measure) = operation(name) else {
                notes.left_out(1, "operations of metadata that nothing in a store is like");
                continue;
            };
            let (component, server) = self.components.metadata_target(&target, false);
            let matrix = self.file.matrix(dataset.clone())?;
            if row >= matrix.rows {
                break;
            }
            let values = read_part(&matrix, self.filled.clone(), row..row + 1)?;
            if values.iter().all(|it| *it == 0.0) {
                // Rows of operations that LMT does not count are 0.0, too.
                notes.left_out(
                    1,
                    "operations of metadata that never happened or were never counted",
                );
                continue;
            }
            notes.recognised(1, format!("{}: {}", plain(OPERATIONS), measure.name()));
            let series = vec![Series { measure, bin: 0, component, server }];
            let mut plane = self.plane(matrix, None, series, true);
            let mut read = plane.read;
            plane.read =
                Box::new(move |steps, _, into, notes| read(steps, row..row + 1, into, notes));
            planes.push(plane);
        }
        Ok(())
    }

    fn plane(
        &self,
        matrix: Matrix<'a>,
        missing: Option<Matrix<'a>>,
        mut series: Vec<Series>,
        is_rate: bool,
    ) -> Plane<'a> {
        let count = if is_line(&matrix) { matrix.rows } else { matrix.columns };
        // Levels are there at the first step.
        let start = if is_rate { self.filled.start } else { 0 };
        let end = self.filled.end.min(count).max(start);
        series.truncate(lines(&matrix));
        let length = if is_rate { self.steps.step } else { 0 };
        let columns_of_chunk = matrix.rows_of_chunk();
        let factor = if is_rate { self.steps.step as f64 / 1000.0 } else { 10_000.0 };
        let read = move |steps: Range<usize>,
                         columns: Range<usize>,
                         into: &mut Vec<u64>,
                         notes: &mut Notes| {
            let steps = steps.start + start..steps.end + start;
            into.clear();
            into.resize(steps.len() * columns.len(), MISSING);
            let left_out =
                share(divided(&matrix, columns, steps.len(), into), |(columns, into)| {
                    let values = read_part(&matrix, steps.clone(), columns.clone())?;
                    let flags = match &missing {
                        Some(missing) => read_part(missing, steps.clone(), columns)?,
                        None => Vec::new(),
                    };
                    Ok(whole(&values, &flags, factor, into))
                })?;
            notes.left_out(left_out.missing, "samples flagged as missing (FSMissing)");
            notes.left_out(left_out.impossible, "negative or impossible values");
            Ok(())
        };
        let ends = self.steps.millis[start..end].to_vec();
        Plane { series, ends, length: length as u32, columns_of_chunk, read: Box::new(read) }
    }
}

fn plain(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Divides columns, which lie behind each other, into pieces that are read at a time.
fn divided<'a>(
    matrix: &Matrix<'_>,
    columns: Range<usize>,
    steps: usize,
    mut into: &'a mut [u64],
) -> Vec<(Range<usize>, &'a mut [u64])> {
    let pieces = if is_line(matrix) { vec![columns] } else { matrix.pieces(columns, steps) };
    let of_piece = |columns: Range<usize>| {
        let (own, rest) = std::mem::take(&mut into).split_at_mut(columns.len() * steps);
        into = rest;
        (columns, own)
    };
    pieces.into_iter().map(of_piece).collect()
}

/// Leaves values as whole numbers. Returns what is left out.
fn whole(values: &[f64], flags: &[f64], factor: f64, into: &mut [u64]) -> LeftOut {
    let mut left_out = LeftOut::default();
    for (place, (value, whole)) in values.iter().zip(into).enumerate() {
        let scaled = (value * factor).round();
        if flags.get(place).is_some_and(|flag| *flag != 0.0) {
            left_out.missing += 1;
        } else if (0.0..9.2e18).contains(&scaled) {
            *whole = scaled as u64;
        } else {
            left_out.impossible += 1;
        }
    }
    left_out
}
