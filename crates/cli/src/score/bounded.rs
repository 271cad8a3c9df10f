//! Input of which a row has its bounds: a few packed bytes can be a row without end.

use std::cell::Cell;
use std::io::{self, Read};

/// What a row of a table may have, and a reader takes ahead of it.
const ROW_BYTES_MAX: u64 = 1 << 20;

/// Bytes that may still be read before the row must have ended.
pub struct Room(Cell<u64>);

impl Room {
    pub fn new() -> Self {
        Room(Cell::new(ROW_BYTES_MAX))
    }

    /// A row has ended.
    pub fn refill(&self) {
        self.0.set(ROW_BYTES_MAX);
    }
}

/// Bytes that end with an error where there is no more room.
pub struct Bounded<'a, R> {
    pub bytes: R,
    pub room: &'a Room,
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.room.0.get();
        if left == 0 && !buffer.is_empty() {
            return Err(io::Error::other(format!(
                "a row has more than {ROW_BYTES_MAX} bytes; hint: is it a table, and is every quote closed?"
            )));
        }
        let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = self.bytes.read(&mut buffer[..most])?;
        self.room.0.set(left - count as u64);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_bounds_and_tables_have_none() {
        let room = Room::new();
        let mut endless = Bounded { bytes: io::repeat(b'x'), room: &room };
        let mut some = vec![0; 900_000];
        for _ in 0..3 {
            endless.read_exact(&mut some).unwrap();
            room.refill();
        }
        let error = io::copy(&mut endless, &mut io::sink()).unwrap_err();
        assert!(error.to_string().contains("more than 1048576 bytes"), "{error}");
    }
}
