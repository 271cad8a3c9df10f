//! What a file is, by what is in it.

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// HDF5; what is in it tells TOKIO from pyLMT.
    Hdf5,
    /// A database of SQLite.
    Sqlite,
    /// A Parquet file.
    Parquet,
    /// Statements of SQL, as `mysqldump` writes them.
    SqlDump,
    /// JSON.
    Json,
    /// Other text: a table.
    Text,
    /// Nothing at all.
    Empty,
}

const HDF5: &[u8] = b"\x89HDF\r\n\x1a\n";
const SQLITE: &[u8] = b"SQLite format 3\0";
const PARQUET: &[u8] = b"PAR1";

impl Format {
    /// Returns what begins with these bytes.
    pub fn of_head(head: &[u8]) -> Option<Self> {
        // A user block of 512 bytes or a multiple may come before what HDF5 itself writes.
        let is_hdf5 = |at: usize| head.get(at..).is_some_and(|it| it.starts_with(HDF5));
        if head.is_empty() {
            Some(Format::Empty)
        } else if [0, 512, 1024, 2048].into_iter().any(is_hdf5) {
            Some(Format::Hdf5)
        } else if head.starts_with(SQLITE) {
            Some(Format::Sqlite)
        } else if head.starts_with(PARQUET) {
            Some(Format::Parquet)
        } else {
            of_text(head)
        }
    }
}

/// What statements of a dump begin with.
const STATEMENTS: [&str; 6] =
    ["create table ", "create database ", "drop table ", "insert into ", "lock tables ", "use `"];

fn of_text(head: &[u8]) -> Option<Format> {
    if !is_text(head) {
        return None;
    }
    let head = head.trim_ascii_start();
    let begins = |with: &str| {
        head.get(..with.len()).is_some_and(|it| it.eq_ignore_ascii_case(with.as_bytes()))
    };
    if head.starts_with(b"{") {
        return Some(Format::Json);
    }
    let is_dump = begins("--") || begins("/*") || STATEMENTS.into_iter().any(begins);
    Some(if is_dump { Format::SqlDump } else { Format::Text })
}

/// Returns whether it is UTF-8 without characters that no table has, as far as it goes.
fn is_text(head: &[u8]) -> bool {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // The last character may be cut.
        Err(error) if head.len() - error.valid_up_to() < 4 && error.error_len().is_none() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    text.chars().all(|it| !it.is_control() || matches!(it, '\n' | '\r' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_say_what_a_file_is() {
        let block = [vec![0; 512], HDF5.to_vec()].concat();
        let cases: [(&[u8], Option<Format>); 12] = [
            (b"", Some(Format::Empty)),
            (b"\x89HDF\r\n\x1a\n\0", Some(Format::Hdf5)),
            (&block, Some(Format::Hdf5)),
            (b"SQLite format 3\0\x10", Some(Format::Sqlite)),
            (b"PAR1\x15", Some(Format::Parquet)),
            ("time,target\n2018,\u{fc}".as_bytes(), Some(Format::Text)),
            (b"caf\xc3", Some(Format::Text)),
            (b"\x1f\x8b\x08", None),
            (b"/*M!999999\\- enable the sandbox mode */ \n", Some(Format::SqlDump)),
            (b"-- MySQL dump 10.13", Some(Format::SqlDump)),
            (b"\nINSERT INTO `a` VALUES (1);", Some(Format::SqlDump)),
            (b" {\"status\":\"success\"", Some(Format::Json)),
        ];
        for (head, expected) in cases {
            assert_eq!(Format::of_head(head), expected, "{head:?}");
        }
    }
}
