//! A value in a row of a database of others.

/// A value in a row of a database of others.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SqlValue {
    Null,
    Whole(i64),
    Real(f64),
    Bytes(Vec<u8>),
}

impl SqlValue {
    /// Returns what a number is that is written out: whole, or not; texts if it is too large for either.
    pub fn number(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        if let Ok(whole) = text.parse() {
            return Some(SqlValue::Whole(whole));
        }
        // Counters of 64 bits without a sign.
        if text.parse::<u64>().is_ok() {
            return Some(SqlValue::Bytes(text.as_bytes().to_vec()));
        }
        text.parse().ok().filter(|it: &f64| it.is_finite()).map(SqlValue::Real)
    }
}
