//! Tables in Parquet files: written a row group at a time, read some rows at a time.
//!
//! A [`Table`] is a name, a version and [`Column`]s with units. It is written
//!
//! - by columns, for millions of rows a second ([`TableWriter`], to any output), or
//! - by rows ([`RowFile`], a file that is whole and durable before it gets its name),
//!
//! and read by [`TableReader`], which takes named columns of a file that anybody may have written:
//! pandas, DuckDB, a later version of this program, or an attacker. Memory use does not grow with
//! the file, and damage is reported as a one-line error ([`TableError`]).
//!
//! Deliberately not here: what the rows mean.

mod cell;
mod column;
mod compact;
mod damage;
mod error;
mod page_header;
mod pages;
mod reader;
mod row_file;
mod runs;
mod schema_depth;
mod source;
mod text_bytes;
mod wanted;
mod whole;
mod writer;

pub use cell::{CellAt, FromCell};
pub use column::{Column, Kind, Table};
pub use damage::without_panic;
pub use error::TableError;
pub use reader::{TableReader, columns_of};
pub use row_file::{Cell, RowFile};
pub use writer::{ColumnSink, Number, Stored, TableWriter, Text};
