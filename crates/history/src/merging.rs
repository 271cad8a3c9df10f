//! Several files of a day as one, in memory that does not grow with them.

use plimsoll_guarded::Directory;

use crate::aging::age;
use crate::cover::{Cover, is_covered};
use crate::part::PartWriter;
use crate::part_file::PartFile;
use crate::series::sort_rows;
use crate::{HistoryError, Row, Series};

/// Rows that are held at a time, as far as one key allows.
pub(crate) const ROWS_AT_A_TIME: u64 = 1 << 18;

/// What becomes of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resolution {
    Kept,
    /// That of old samples.
    Aged,
}

/// Writes all rows of some files of a day into one new file, but for those that are covered by what was appended later. Where no row is left, there is no
/// file. Returns false, and writes nothing, where a file has series that only a later program knows.
pub(crate) fn merge(
    from: &Directory,
    files: &[String],
    into: &Directory,
    name: &str,
    resolution: Resolution,
    later: Option<&Cover>,
) -> Result<bool, HistoryError> {
    let Some(inputs) = Inputs::open(from, files)? else { return Ok(false) };
    let series = &inputs.series;
    let mut output = PartWriter::create(into, name, series)?;
    inputs.in_shares(|mut rows| {
        if let Some(later) = later {
            rows.retain(|row| {
                let spans = later.spans(&series[row.series as usize]);
                !is_covered(spans, row.end, row.length.into())
            });
        }
        for of_key in rows.chunk_by(|one, next| key(series, one) == key(series, next)) {
            match resolution {
                Resolution::Kept => of_key.iter().try_for_each(|row| output.row(*row))?,
                Resolution::Aged => {
                    let measure = series[of_key[0].series as usize].measure;
                    age(measure, of_key).into_iter().try_for_each(|row| output.row(row))?;
                }
            }
        }
        Ok(())
    })?;
    if output.has_rows() {
        output.finish()?;
    }
    Ok(true)
}

/// Files that are read as one.
pub(crate) struct Inputs<'a> {
    from: &'a Directory,
    files: &'a [String],
    /// All series that they have, in their order.
    pub series: Vec<Series>,
    /// For each file, the new number of each of its series.
    numbers: Vec<Vec<Option<u32>>>,
    /// Rows of each series.
    counts: Vec<u64>,
}

impl<'a> Inputs<'a> {
    /// Looks at files of a directory; nothing if one has series that only a later program knows.
    pub fn open(from: &'a Directory, files: &'a [String]) -> Result<Option<Self>, HistoryError> {
        let open = |file: &String| PartFile::open(from, file);
        let inputs = files.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        if inputs.iter().any(PartFile::has_unknown) {
            return Ok(None);
        }
        let series = all_series(&inputs);
        let numbers: Vec<Vec<Option<u32>>> = inputs.iter().map(|it| numbers(it, &series)).collect();
        let mut counts = vec![0; series.len()];
        for (input, numbers) in inputs.iter().zip(&numbers) {
            for (rows, number) in input.counts.iter().zip(numbers) {
                if let Some(number) = number {
                    counts[*number as usize] += rows;
                }
            }
        }
        Ok(Some(Inputs { from, files, series, numbers, counts }))
    }

    /// Calls for all rows in the order of files of days, some whole keys at a time.
    pub fn in_shares(
        &self,
        mut each: impl FnMut(Vec<Row>) -> Result<(), HistoryError>,
    ) -> Result<(), HistoryError> {
        for some in shares(&self.series, &self.counts) {
            let mut rows = Vec::new();
            for (file, numbers) in self.files.iter().zip(&self.numbers) {
                gather(PartFile::open(self.from, file)?, numbers, &some, &mut rows)?;
            }
            sort_rows(&self.series, &mut rows);
            each(rows)?;
        }
        Ok(())
    }
}

fn key<'a>(series: &'a [Series], row: &Row) -> (crate::Measure, u64, &'a crate::Component) {
    series[row.series as usize].key()
}

fn all_series(inputs: &[PartFile]) -> Vec<Series> {
    let mut all: Vec<Series> =
        inputs.iter().flat_map(|input| input.series.iter().flatten().cloned()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn numbers(input: &PartFile, series: &[Series]) -> Vec<Option<u32>> {
    let find = |it: &Option<Series>| {
        let place = series.binary_search(it.as_ref()?).ok()?;
        Some(place as u32)
    };
    input.series.iter().map(find).collect()
}

/// Divides series into ranges that have few enough rows. All servers of a key are in one range.
fn shares(series: &[Series], counts: &[u64]) -> Vec<std::ops::Range<usize>> {
    let (mut shares, mut start, mut rows) = (Vec::new(), 0, 0);
    for place in 0..series.len() {
        let is_new_key = place > start && series[place].key() != series[place - 1].key();
        if is_new_key && rows + counts[place] > ROWS_AT_A_TIME {
            shares.push(start..place);
            (start, rows) = (place, 0);
        }
        rows += counts[place];
    }
    if start < series.len() {
        shares.push(start..series.len());
    }
    shares
}

fn gather(
    input: PartFile,
    numbers: &[Option<u32>],
    some: &std::ops::Range<usize>,
    into: &mut Vec<Row>,
) -> Result<(), HistoryError> {
    let is_wanted: Vec<bool> = numbers
        .iter()
        .map(|number| number.is_some_and(|number| some.contains(&(number as usize))))
        .collect();
    input.read(&is_wanted, 0, u64::MAX, |run| {
        let Some(Some(series)) = numbers.get(run.series) else { return Ok(true) };
        for ((end, length), value) in run.ends.iter().zip(run.lengths).zip(run.values) {
            let length = u32::try_from(*length).unwrap_or(u32::MAX);
            into.push(Row { series: *series, end: *end, length, value: *value });
        }
        Ok(true)
    })
}
