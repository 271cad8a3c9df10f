//! What containers and nodes are known by.

use std::fmt;
use std::io;

/// A random number that a container or a node is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id([u8; 16]);

impl Id {
    /// Returns a new one, which nobody else has.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn random() -> io::Result<Self> {
        let text = plimsoll_guarded::random_hex(16)?;
        Self::parse(&text).ok_or_else(|| io::Error::other("the system's random numbers are short"))
    }

    /// Reads 32 digits in base 16, without capital letters.
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |it: &u8| matches!(it, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 32 || !text.as_bytes().iter().all(is_digit) {
            return None;
        }
        u128::from_str_radix(text, 16).ok().map(|it| Id(it.to_be_bytes()))
    }

    /// Returns its bytes, as they are stored.
    pub fn bytes(self) -> [u8; 16] {
        self.0
    }

    /// Takes the bytes that were stored.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Id(bytes)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{:032x}", u128::from_be_bytes(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_32_digits_and_nothing_else() {
        let id = Id::random().unwrap();
        assert_eq!(Id::parse(&id.to_string()), Some(id));
        assert_ne!(Id::random().unwrap(), id);
        for wrong in ["", "../../../../../../../etc/passwd00", "+123456789012345678901234567890f"] {
            assert_eq!(Id::parse(wrong), None, "{wrong}");
        }
        assert_eq!(
            Id::parse(&id.to_string().to_uppercase()).is_some(),
            id.to_string().bytes().all(|it| it.is_ascii_digit())
        );
    }
}
