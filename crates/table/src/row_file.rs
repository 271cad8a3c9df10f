//! Writing a table row by row, in memory that does not grow with it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io;

use plimsoll_guarded::{Directory, Draft};

use crate::{ColumnSink, Kind, Table, TableError, TableWriter, Text};

/// Rows of a row group: about 30 MiB while it is gathered, and still few groups for millions.
const ROWS_PER_GROUP: usize = 1 << 16;

/// A Parquet file that is written row by row, and gets its name once it is whole.
pub struct RowFile<'a> {
    draft: Draft<&'a Directory>,
    writer: TableWriter<File>,
    columns: Vec<Gathered>,
    rows: usize,
    /// Texts of the row group, so that equal ones share their memory.
    texts: HashMap<String, Text>,
}

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'a> {
    /// For counts and moments.
    Whole(u64),
    /// For measured numbers.
    Real(f64),
    /// For texts.
    Text(Cow<'a, str>),
    /// Missing.
    Null,
}

impl<'a> RowFile<'a> {
    /// Begins the file in that directory that gets this name once it is whole, with `facts` about it in its
    /// metadata. `mode` is who may read it.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn create(
        directory: &'a Directory,
        name: &str,
        mode: u32,
        table: &Table,
        facts: Vec<(String, String)>,
    ) -> Result<Self, TableError> {
        let draft = Draft::create(directory, name, mode);
        let draft =
            draft.map_err(|it| TableError::io("create", &directory.path().join(name), it))?;
        let writer = draft.file().try_clone().and_then(|file| TableWriter::new(file, table, facts));
        Ok(RowFile {
            writer: writer.map_err(|error| TableError::io("write", &draft.path(), error))?,
            draft,
            columns: table.columns.iter().map(|column| Gathered::new(column.kind)).collect(),
            rows: 0,
            texts: HashMap::new(),
        })
    }

    /// Appends a row, whose cells are in the order of the table's columns.
    ///
    /// # Errors
    /// If the system refuses: the disk is full, for example.
    pub fn row<'c>(
        &mut self,
        cells: impl IntoIterator<Item = &'c Cell<'c>>,
    ) -> Result<(), TableError> {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.push(cell, &mut self.texts);
        }
        self.rows += 1;
        if self.rows == ROWS_PER_GROUP { self.write_group() } else { Ok(()) }
    }

    /// Writes what is left, and makes it durable. The file is whole: the caller publishes it.
    ///
    /// # Errors
    /// If the system refuses. The file is gone then.
    pub fn finish(mut self) -> Result<Draft<&'a Directory>, TableError> {
        self.write_group()?;
        let durable = self.writer.finish().and_then(|()| self.draft.sync());
        durable.map_err(|error| TableError::io("write", &self.draft.path(), error))?;
        Ok(self.draft)
    }

    fn write_group(&mut self) -> Result<(), TableError> {
        if self.rows == 0 {
            return Ok(());
        }
        let columns = &self.columns;
        let written = self.writer.write_group(|index, sink| columns[index].write(sink));
        written.map_err(|error| TableError::io("write", &self.draft.path(), error))?;
        self.columns.iter_mut().for_each(Gathered::clear);
        self.texts.clear();
        self.rows = 0;
        Ok(())
    }
}

/// A column of the row group in the making: a level for each row, 1 where there is a value, and
/// the values.
struct Gathered {
    levels: Vec<i16>,
    values: Values,
}

enum Values {
    Narrow(Vec<i32>),
    Wide(Vec<i64>),
    Real(Vec<f64>),
    Text(Vec<Text>),
}

impl Gathered {
    fn new(kind: Kind) -> Self {
        let values = match kind {
            Kind::Count8 | Kind::Count32 | Kind::Signed32 => Values::Narrow(Vec::new()),
            Kind::Count64 | Kind::Signed64 | Kind::Moment | Kind::MomentMillis => {
                Values::Wide(Vec::new())
            }
            Kind::Real => Values::Real(Vec::new()),
            Kind::Text => Values::Text(Vec::new()),
        };
        Gathered { levels: Vec::new(), values }
    }

    fn push(&mut self, cell: &Cell<'_>, texts: &mut HashMap<String, Text>) {
        self.levels.push(i16::from(!matches!(cell, Cell::Null)));
        match (&mut self.values, cell) {
            (Values::Narrow(values), Cell::Whole(value)) => values.push(*value as i32),
            (Values::Wide(values), Cell::Whole(value)) => values.push(*value as i64),
            (Values::Real(values), Cell::Real(value)) => values.push(*value),
            (Values::Text(values), Cell::Text(text)) => values.push(shared(texts, text)),
            (_, Cell::Null) => {}
            (_, cell) => unreachable!("no column takes {cell:?} here"),
        }
    }

    fn write(&self, sink: &mut ColumnSink<'_>) -> io::Result<()> {
        match &self.values {
            Values::Narrow(values) => sink.write(values, &self.levels),
            Values::Wide(values) => sink.write(values, &self.levels),
            Values::Real(values) => sink.write(values, &self.levels),
            Values::Text(values) => sink.write(values, &self.levels),
        }
    }

    /// Forgets the rows and keeps the room.
    fn clear(&mut self) {
        self.levels.clear();
        match &mut self.values {
            Values::Narrow(values) => values.clear(),
            Values::Wide(values) => values.clear(),
            Values::Real(values) => values.clear(),
            Values::Text(values) => values.clear(),
        }
    }
}

/// Returns the text in the memory that equal ones share.
fn shared(texts: &mut HashMap<String, Text>, text: &str) -> Text {
    match texts.get(text) {
        Some(known) => known.clone(),
        None => {
            let made = Text::from(text);
            texts.insert(text.into(), made.clone());
            made
        }
    }
}
