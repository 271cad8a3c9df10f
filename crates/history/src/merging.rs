//! Several files of a day as one, in memory that does not grow with them.

use plimsoll_guarded::Directory;

use crate::aging::age;
use crate::cover::{Cover, is_covered};
use crate::part::PartWriter;
use crate::part_file::PartFile;
use crate::part_rows::PartRows;
use crate::{HistoryError, Row, Series};

/// What becomes of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resolution {
    Kept,
    /// That of old samples.
    Aged,
}

/// Writes all rows of some files of a day into one new file, but for those that are covered by what was appended later. Where no row is left, there is no
/// file. Returns false, and writes nothing, where a file has series that only a later program knows, and once `is_over` is true.
///
/// Each file is read once, and all at the same time: they have one order.
pub(crate) fn merge(
    from: &Directory,
    files: &[String],
    into: &Directory,
    name: &str,
    resolution: Resolution,
    later: Option<&Cover>,
    is_over: &dyn Fn() -> bool,
) -> Result<bool, HistoryError> {
    let Some((series, inputs)) = Inputs::open(from, files)? else { return Ok(false) };
    let mut output = PartWriter::create(into, name, &series)?;
    let is_whole = inputs.by_key(&series, |of, rows| {
        if let Some(later) = later {
            let spans = later.spans(of);
            rows.retain(|row| !is_covered(spans, row.end, row.length.into()));
        }
        match resolution {
            Resolution::Kept => rows.iter().try_for_each(|row| output.row(*row))?,
            Resolution::Aged => {
                age(of.measure, rows).into_iter().try_for_each(|row| output.row(row))?;
            }
        }
        Ok(!is_over())
    })?;
    if is_whole && output.has_rows() {
        output.finish()?;
    }
    Ok(is_whole)
}

/// Files that are read as one.
pub(crate) struct Inputs {
    inputs: Vec<Input>,
}

impl Inputs {
    /// Opens files of a directory, and returns all series that they have, in their order; nothing if one has series that only a later program knows.
    pub fn open(
        from: &Directory,
        files: &[String],
    ) -> Result<Option<(Vec<Series>, Self)>, HistoryError> {
        let open = |file: &String| PartFile::open(from, file);
        let files = files.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        if files.iter().any(PartFile::has_unknown) {
            return Ok(None);
        }
        let series = all_series(&files);
        let inputs = files.into_iter().map(|file| Input::new(file, &series)).collect();
        Ok(Some((series, Inputs { inputs })))
    }

    /// Calls for the rows of each key, in the order of files of days, with the first series of the key, until it returns false. Returns whether it never did.
    pub fn by_key(
        mut self,
        series: &[Series],
        mut each: impl FnMut(&Series, &mut Vec<Row>) -> Result<bool, HistoryError>,
    ) -> Result<bool, HistoryError> {
        let (mut rows, mut first) = (Vec::new(), 0);
        for of_key in series.chunk_by(|one, next| one.key() == next.key()) {
            let numbers = first..first + of_key.len() as u32;
            first = numbers.end;
            rows.clear();
            self.inputs.iter_mut().try_for_each(|input| input.take(&numbers, &mut rows))?;
            rows.sort_by_key(|row: &Row| row.end);
            if !each(&of_key[0], &mut rows)? {
                return Ok(false);
            }
        }
        self.inputs.iter_mut().try_for_each(Input::require_end)?;
        Ok(true)
    }
}

/// A file that is merged with others.
struct Input {
    rows: PartRows,
    /// The new number of each of its series.
    numbers: Vec<Option<u32>>,
}

impl Input {
    fn new(file: PartFile, series: &[Series]) -> Self {
        let numbers = numbers(&file, series);
        Input { rows: file.rows(), numbers }
    }

    /// Takes the rows that come next and are of these series.
    fn take(
        &mut self,
        series: &std::ops::Range<u32>,
        into: &mut Vec<Row>,
    ) -> Result<(), HistoryError> {
        while let Some(row) = self.rows.peek()? {
            let number = self.numbers.get(row.series as usize).copied().flatten();
            let Some(number) = number.filter(|number| series.contains(number)) else { break };
            into.push(Row { series: number, ..row });
            self.rows.advance();
        }
        Ok(())
    }

    /// Fails if there are rows that had no turn.
    fn require_end(&mut self) -> Result<(), HistoryError> {
        match self.rows.peek()? {
            None => Ok(()),
            Some(row) => {
                let reason = format!("its rows of series {} are not in their place", row.series);
                Err(HistoryError::damaged(self.rows.path(), reason))
            }
        }
    }
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
