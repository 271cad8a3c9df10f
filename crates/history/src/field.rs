//! What a file of a day has of each row.

use plimsoll_table::{Column, Kind, Table};

/// The columns, in the order of [`table`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Cluster,
    FileSystem,
    Kind,
    Target,
    Job,
    Server,
    Measure,
    Bin,
    Time,
    Length,
    Value,
    Series,
}

/// All columns, in their order.
pub(crate) const FIELDS: [(Field, Column); 12] = [
    (Field::Cluster, Column::new("cluster", Kind::Text)),
    (Field::FileSystem, Column::new("file_system", Kind::Text)),
    (Field::Kind, Column::new("kind", Kind::Text)),
    (Field::Target, Column::new("target", Kind::Text)),
    (Field::Job, Column::new("job", Kind::Text)),
    (Field::Server, Column::new("server", Kind::Text)),
    (Field::Measure, Column::new("measure", Kind::Text)),
    (Field::Bin, Column::new("bin", Kind::Count64)),
    (Field::Time, Column::new("time", Kind::MomentMillis)),
    (Field::Length, Column::new("length_ms", Kind::Count32).unit("milliseconds")),
    // Counters hardly repeat: a dictionary would be larger than the differences. Series come in runs, or hardly repeat, too.
    (Field::Value, Column::new("value", Kind::Count64).dictionary_bytes_max(0).without_ends()),
    (Field::Series, Column::new("series", Kind::Count32).dictionary_bytes_max(0)),
];

/// Returns the table that files of a day hold. docs/history.md says what its columns mean.
pub(crate) fn table() -> Table {
    Table {
        name: "plimsoll.history",
        version: 1,
        documentation: "docs/history.md",
        columns: FIELDS.iter().map(|(_, column)| *column).collect(),
    }
}
