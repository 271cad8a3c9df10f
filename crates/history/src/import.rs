//! Samples of past times from elsewhere: all of a source, or nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::path::Path;

use plimsoll_guarded::Directory;
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::import_day::{DayRows, LastEnds};
use crate::in_order::InOrder;
use crate::merging::{Inputs, Resolution, merge};
use crate::names::{IMPORTING, PartName, is_import_name};
use crate::part::PartWriter;
use crate::replacement::remove_tree_if_there;
use crate::sealing::day_directory;
use crate::{Day, HistoryError, Row, Series, Store, listing, opening};

/// Rows that are held until they are sorted: 96 MiB.
const ROWS_HELD: usize = 1 << 22;

/// Files of a day that are set aside before they become one.
const FILES_ASIDE: usize = 32;

/// An import into a store, beside the process that appends to it. One goes on at a time.
///
/// Samples keep their resolution. They come in any order, or by whole days in the order of files ([`Import::day`]), which costs half as much.
/// Nothing of them is in the store before [`Import::finish`], which then gives it day by day. A kill leaves the days that were given: the same
/// import again leaves out what is there, and gives the rest. So importing twice changes nothing.
///
/// A sample is left out where the store has samples of its key for any of its time, whoever they are from, so that nothing is counted twice.
#[derive(Debug)]
pub struct Import {
    directory: Directory,
    /// Locked as long as it is open.
    _lock: File,
    /// Where files are made.
    staging: Directory,
    /// What is there already.
    store: Store,
    name: String,
    until: u64,
    /// By number, all of them known.
    series: Vec<Option<Series>>,
    in_order: InOrder,
    numbers: HashMap<Series, u32>,
    /// Rows that are held, by day, and how many.
    held: BTreeMap<Day, Vec<Row>>,
    rows_held: usize,
    rows_held_max: usize,
    /// Numbers of files that were set aside, of each day.
    aside: BTreeMap<Day, Vec<String>>,
    files_aside: u64,
    last_ends: LastEnds,
    /// Days that have a file to be given.
    made: BTreeSet<Day>,
    imported: Imported,
}

/// What became of samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Imported {
    /// Samples that the store has now and did not have.
    pub samples: u64,
    /// Samples that it had, with the same value.
    pub already_there: u64,
    /// Samples of a time for which it had others: of another value, or of times that overlap.
    pub differing: u64,
    /// Samples that overlap an earlier one of the same import.
    pub overlapping: u64,
    /// Samples that end later than was asked for.
    pub too_late: u64,
    /// Days to which something was added.
    pub days: u64,
}

impl Import {
    /// Begins an import into a store, which is made if there is none. The name is that of its files: letters, digits, `-` and `_`, 48 at most.
    ///
    /// # Errors
    /// If something else is there, others can write to it, another import goes on, a later program made it, or the system refuses.
    pub fn begin(path: &Path, name: &str) -> Result<Self, HistoryError> {
        let (directory, lock) = opening::open_to_import(path)?;
        let failed = |cause| HistoryError::io("make", &path.join(IMPORTING), cause);
        // A killed one may have left something.
        let made = remove_tree_if_there(&directory, IMPORTING);
        let staging = made.and_then(|()| directory.make_own(IMPORTING)).map_err(failed)?;
        Ok(Import {
            // The very directory, whatever has its name by now.
            store: Store::in_directory(&directory)?,
            directory,
            _lock: lock,
            staging,
            name: plain_name(name),
            until: u64::MAX,
            series: Vec::new(),
            in_order: InOrder::default(),
            numbers: HashMap::new(),
            held: BTreeMap::new(),
            rows_held: 0,
            rows_held_max: ROWS_HELD,
            aside: BTreeMap::new(),
            files_aside: 0,
            last_ends: LastEnds::default(),
            made: BTreeSet::new(),
            imported: Imported::default(),
        })
    }

    /// Makes sure that the store has nothing yet: whatever was found under its name, the one that was opened is asked.
    ///
    /// # Errors
    /// If it has days or samples that are to become days.
    pub fn require_empty(&self) -> Result<(), HistoryError> {
        let is_empty = listing::days(&self.directory)?.is_empty()
            && listing::logs(&self.directory)?.is_empty();
        match is_empty {
            true => Ok(()),
            false => Err(HistoryError::NotEmpty { path: self.directory.path().to_owned() }),
        }
    }

    /// Leaves out what ends after this moment, in milliseconds since 1970. A process that appends to the store meanwhile is right only if imports leave
    /// the present to it.
    #[must_use]
    pub fn until(mut self, millis: u64) -> Self {
        self.until = millis;
        self
    }

    /// Holds at most so many rows in memory, of 24 bytes each.
    #[must_use]
    pub fn holding(mut self, rows: usize) -> Self {
        self.rows_held_max = rows.max(1);
        self
    }

    /// Returns the number of a series, by which its samples are handed over.
    pub fn series(&mut self, series: &Series) -> u32 {
        if let Some(number) = self.numbers.get(series) {
            return *number;
        }
        let number = self.series.len() as u32;
        self.series.push(Some(series.clone()));
        self.numbers.insert(series.clone(), number);
        number
    }

    /// Takes a sample: `row.series` is a number that [`Import::series`] returned. Samples come in any order.
    ///
    /// # Errors
    /// If the system refuses: the disk is full, for example.
    pub fn row(&mut self, row: Row) -> Result<(), HistoryError> {
        if row.end > self.until {
            self.imported.too_late += 1;
            return Ok(());
        }
        self.held.entry(Day::ending_at(row.end)).or_default().push(row);
        self.rows_held += 1;
        if self.rows_held >= self.rows_held_max { self.set_aside() } else { Ok(()) }
    }

    /// Takes a whole day at once, without holding it. `series` are in their order without repetition, `fill` hands over rows by series and time, with the
    /// places of series in this list, and days come in their order. Nothing else of that day may be handed over.
    ///
    /// # Errors
    /// If rows come in another order or are of another day, if the system refuses, or whatever `fill` returns.
    pub fn day<E: From<HistoryError>>(
        &mut self,
        day: Day,
        series: &[Series],
        fill: impl FnOnce(&mut DayRows<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let folder = self.staged(day)?;
        if self.made.contains(&day) {
            return Err(
                HistoryError::damaged(folder.path(), "the day was handed over before").into()
            );
        }
        let file = self.file().file();
        let mut last_ends = std::mem::take(&mut self.last_ends);
        let mut rows =
            DayRows::create(&folder, &file, day, series, &self.store, &last_ends, self.until)?;
        let filled = fill(&mut rows).and_then(|()| Ok(rows.finish(&mut last_ends)?));
        self.last_ends = last_ends;
        self.imported.add(&filled?);
        if folder.facts_of(&file).is_ok() {
            self.made.insert(day);
        }
        Ok(())
    }

    /// Gives the store all that was handed over, and returns what became of it.
    ///
    /// # Errors
    /// If the system refuses. The same import again gives what is missing then.
    pub fn finish(mut self) -> Result<Imported, HistoryError> {
        self.make_days()?;
        for day in std::mem::take(&mut self.made) {
            self.publish(day)?;
            self.imported.days += 1;
        }
        Ok(self.imported)
    }

    /// Makes a file of each day of which rows came.
    fn make_days(&mut self) -> Result<(), HistoryError> {
        let mut days: Vec<Day> = self.held.keys().chain(self.aside.keys()).copied().collect();
        days.sort_unstable();
        days.dedup();
        for day in days {
            let rows = self.held.remove(&day).unwrap_or_default();
            if !self.aside.contains_key(&day) {
                let (series, rows) = self.in_order.put(&self.series, rows);
                self.day(day, &series, |into| rows.iter().try_for_each(|row| into.row(*row)))?;
                continue;
            }
            self.set_day_aside(day, rows)?;
            let files = self.aside.remove(&day).unwrap_or_default();
            let folder = self.staged(day)?;
            let Some((series, inputs)) = Inputs::open(&folder, &files)? else { continue };
            self.day(day, &series, |into| {
                let taken = inputs.by_key(&series, |_, rows| {
                    rows.iter().try_for_each(|row| into.row(*row)).map(|()| true)
                });
                taken.map(|_| ())
            })?;
        }
        Ok(())
    }

    /// Sorts what is held and writes it to files that are read again.
    fn set_aside(&mut self) -> Result<(), HistoryError> {
        for (day, rows) in std::mem::take(&mut self.held) {
            self.set_day_aside(day, rows)?;
        }
        self.rows_held = 0;
        Ok(())
    }

    fn set_day_aside(&mut self, day: Day, rows: Vec<Row>) -> Result<(), HistoryError> {
        if rows.is_empty() {
            return Ok(());
        }
        let folder = self.staged(day)?;
        let name = self.next_aside();
        let (series, rows) = self.in_order.put(&self.series, rows);
        let mut part = PartWriter::create(&folder, &name, &series)?;
        rows.iter().try_for_each(|row| part.row(*row))?;
        part.finish()?;
        let files = self.aside.entry(day).or_default();
        files.push(name);
        if files.len() < FILES_ASIDE {
            return Ok(());
        }
        let (files, name) = (std::mem::take(files), self.next_aside());
        merge(&folder, &files, &folder, &name, Resolution::Kept, None, &|| false)?;
        let removed = files.iter().try_for_each(|file| folder.remove_file(file));
        removed.map_err(|cause| HistoryError::io("remove", folder.path(), cause))?;
        self.aside.insert(day, vec![name]);
        Ok(())
    }

    fn next_aside(&mut self) -> String {
        let number = self.files_aside;
        self.files_aside += 1;
        PartName::Fresh { first: number, last: number }.file()
    }

    /// Opens the directory in which files of a day are made.
    fn staged(&self, day: Day) -> Result<Directory, HistoryError> {
        day_directory(&self.staging, day)
    }

    fn file(&self) -> PartName {
        PartName::Import(self.name.clone())
    }

    /// Moves the file of a day to where it is read.
    fn publish(&self, day: Day) -> Result<(), HistoryError> {
        let from = self.staged(day)?;
        let _days = opening::hold_days_to_import(&self.directory)?;
        let into = day_directory(&self.directory, day)?;
        let taken = listing::parts(&into)?;
        let mut name = self.file();
        let mut further = 1;
        // An import of that name may have brought other samples of this day.
        while taken.contains(&name) {
            further += 1;
            name = PartName::Import(format!("{}-{further}", self.name));
        }
        let moved = move_new(&from, &self.file().file(), &into, &name.file());
        let durable = moved.and_then(|()| into.sync());
        durable.map_err(|cause| HistoryError::io("write", &into.path().join(name.file()), cause))
    }
}

impl Drop for Import {
    fn drop(&mut self) {
        // What stays is removed by the next import.
        let _ = remove_tree_if_there(&self.directory, IMPORTING);
    }
}

impl Imported {
    pub(crate) fn add(&mut self, other: &Imported) {
        let Imported { samples, already_there, differing, overlapping, too_late, days } = other;
        self.samples += samples;
        self.already_there += already_there;
        self.differing += differing;
        self.overlapping += overlapping;
        self.too_late += too_late;
        self.days += days;
    }
}

/// Moves a file to a name that nothing has.
fn move_new(from: &Directory, file: &str, into: &Directory, name: &str) -> std::io::Result<()> {
    match renameat_with(from, file, into, name, RenameFlags::NOREPLACE) {
        // Some file systems only know how to replace. Who holds the days knows that nothing has the name.
        Err(Errno::INVAL | Errno::NOSYS) => Ok(rustix::fs::renameat(from, file, into, name)?),
        moved => Ok(moved?),
    }
}

/// Returns a name as that of files: other characters become `_`, and what is too long is cut.
fn plain_name(name: &str) -> String {
    let plain = |it: char| if it.is_ascii_alphanumeric() || it == '-' { it } else { '_' };
    let name: String = name.chars().map(plain).take(48).collect();
    if is_import_name(&name) { name } else { "samples".into() }
}
