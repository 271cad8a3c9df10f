//! How many bytes of texts a file may tell: whoever reads its rows copies and compares each of them, and a few bytes can refer to one text
//! again and again.

use crate::cell::Value;

/// Bytes of all texts of a file whatever its size, and for each of its bytes: names of four hundred bytes in each of ten million rows of nearly nothing.
const EASILY: u64 = 1 << 32;
const FOR_EACH: u64 = 1 << 10;

/// Bytes of the texts of the rows that were read, and how many there may be.
pub struct TextBytes {
    taken: u64,
    most: u64,
}

impl TextBytes {
    /// Of a file of which the columns have so many bytes.
    pub fn of_file(bytes: u64) -> Self {
        TextBytes { taken: 0, most: EASILY.saturating_add(bytes.saturating_mul(FOR_EACH)) }
    }

    /// Counts the texts among some values.
    ///
    /// # Errors
    /// If they are too many.
    pub fn take<'v>(
        &mut self,
        values: impl Iterator<Item = &'v Value>,
    ) -> Result<(), &'static str> {
        let bytes = values.map(|value| match value {
            Value::Text(text) => text.len() as u64,
            _ => 0,
        });
        self.taken = self.taken.saturating_add(bytes.sum());
        match self.taken <= self.most {
            true => Ok(()),
            false => Err("its texts have far more bytes than the file"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The attack: a few bytes that refer to one long text again and again, which took whoever read them hours.
    #[test]
    fn texts_that_are_far_more_than_the_file_are_refused() {
        let values = [Value::Text(vec![b'x'; 1 << 20].into()), Value::Null];
        let mut texts = TextBytes::of_file(1 << 10);
        assert!(
            (0..4097).all(|_| texts.take(values.iter()).is_ok()),
            "4 GiB, and 1 MiB for its bytes"
        );
        assert!(texts.take(values.iter()).is_err());
    }
}
