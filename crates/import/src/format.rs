//! What a file is, by what is in it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// HDF5; what is in it tells TOKIO from pyLMT.
    Hdf5,
    /// A database of SQLite.
    Sqlite,
    /// A Parquet file.
    Parquet,
    /// Text.
    Text,
    /// Nothing at all.
    Empty,
}

/// Bytes that are looked at.
const HEAD_BYTES: usize = 4096;

const HDF5: &[u8] = b"\x89HDF\r\n\x1a\n";
const SQLITE: &[u8] = b"SQLite format 3\0";
const PARQUET: &[u8] = b"PAR1";

impl Format {
    /// Looks at the beginning of a file; nothing if no format begins so.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn of(file: &File) -> io::Result<Option<Self>> {
        let mut head = [0; HEAD_BYTES];
        let mut length = 0;
        while length < HEAD_BYTES {
            match file.read_at(&mut head[length..], length as u64) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(cause),
            }
        }
        Ok(Self::of_head(&head[..length]))
    }

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
            is_text(head).then_some(Format::Text)
        }
    }
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
        let cases: [(&[u8], Option<Format>); 8] = [
            (b"", Some(Format::Empty)),
            (b"\x89HDF\r\n\x1a\n\0", Some(Format::Hdf5)),
            (&block, Some(Format::Hdf5)),
            (b"SQLite format 3\0\x10", Some(Format::Sqlite)),
            (b"PAR1\x15", Some(Format::Parquet)),
            ("time,target\n2018,\u{fc}".as_bytes(), Some(Format::Text)),
            (b"caf\xc3", Some(Format::Text)),
            (b"\x1f\x8b\x08", None),
        ];
        for (head, expected) in cases {
            assert_eq!(Format::of_head(head), expected, "{head:?}");
        }
    }
}
