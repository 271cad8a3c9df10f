//! Input of which a row has its bounds: a few packed bytes can be a row without end.

use std::cell::Cell;
use std::io::{self, Read};

/// What a row of a table may have, and a reader takes ahead of it.
const ROW_BYTES_MAX: u64 = 1 << 20;

/// Bytes that end with an error where a row has no more room.
pub(super) struct Bounded<R> {
    bytes: R,
    /// Bytes that may still be read before the row must have ended.
    room: Cell<u64>,
}

impl<R> Bounded<R> {
    pub fn new(bytes: R) -> Self {
        Bounded { bytes, room: Cell::new(ROW_BYTES_MAX) }
    }

    /// Makes room for another row.
    pub fn row_has_ended(&self) {
        self.room.set(ROW_BYTES_MAX);
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.room.get();
        if left == 0 && !buffer.is_empty() {
            return Err(io::Error::other(format!(
                "a row has more than {ROW_BYTES_MAX} bytes; hint: is it a table, and is every quote closed?"
            )));
        }
        let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = self.bytes.read(&mut buffer[..most])?;
        self.room.set(left - count as u64);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_bounds_and_tables_have_none() {
        let mut endless = Bounded::new(io::repeat(b'x'));
        let mut some = vec![0; 900_000];
        for _ in 0..3 {
            endless.read_exact(&mut some).unwrap();
            endless.row_has_ended();
        }
        let error = io::copy(&mut endless, &mut io::sink()).unwrap_err();
        assert!(error.to_string().contains("more than 1048576 bytes"), "{error}");
    }
}
