//! Lines, fields and numbers of text that comes as bytes.

use memchr::memchr;

/// The lines of a text, without their ends.
#[derive(Debug, Clone)]
pub(crate) struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Lines<'a> {
    pub(crate) fn of(text: &'a [u8]) -> Self {
        Self { rest: text }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let (line, rest) = match memchr(b'\n', self.rest) {
            Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
            None => (self.rest, &[][..]),
        };
        self.rest = rest;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

/// The fields of a line, which blanks and tabs part.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn of(line: &'a [u8]) -> Self {
        Self { rest: line }
    }

    /// What was not handed out yet, without blanks before it.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest.trim_ascii_start()
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.rest.iter().position(|byte| !is_blank(*byte))?;
        let field = &self.rest[start..];
        let end = field.iter().position(|byte| is_blank(*byte)).unwrap_or(field.len());
        self.rest = &field[end..];
        Some(&field[..end])
    }
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// Returns the number that a text is, blanks and line ends around it aside; `None` if it is none or does not fit.
pub fn number(text: &[u8]) -> Option<u64> {
    digits(text.trim_ascii())
}

/// Returns the number that these digits are.
pub(crate) fn digits(text: &[u8]) -> Option<u64> {
    /// So many digits always fit.
    const SAFE: usize = 19;
    if text.is_empty() {
        return None;
    }
    let mut value: u64 = 0;
    if text.len() <= SAFE {
        for byte in text {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            value = value * 10 + u64::from(digit);
        }
        return Some(value);
    }
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

/// Returns a number that Lustre keeps in 64 bits and may print with a sign once the highest one is set
/// (`%lld` in lprocfs_stats_seq_show), as those bits: so it goes on growing.
pub(crate) fn bits(text: &[u8]) -> Option<u64> {
    match text.strip_prefix(b"-") {
        Some(negative) => Some(digits(negative)?.wrapping_neg()),
        None => digits(text),
    }
}

/// Returns a text that is UTF-8.
pub(crate) fn words(text: &[u8]) -> Option<&str> {
    std::str::from_utf8(text).ok()
}

/// Parts "key: value"; the value has no blanks around it.
pub(crate) fn key_and_value(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = memchr(b':', line)?;
    Some((line[..colon].trim_ascii(), line[colon + 1..].trim_ascii()))
}

/// Returns the number of bytes, or of anything, that "512", "4K", "1M", "2G" is.
pub(crate) fn scaled(text: &[u8]) -> Option<u64> {
    let (last, before) = text.split_last()?;
    let shift = match last {
        b'K' => 10,
        b'M' => 20,
        b'G' => 30,
        b'T' => 40,
        _ => return digits(text),
    };
    digits(before)?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_read_or_refused() {
        for (text, value) in [
            ("0", Some(0)),
            (" 42\n", Some(42)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("00000000000000000000007", Some(7)),
            ("", None),
            ("-1", None),
            ("1x", None),
            ("+1", None),
        ] {
            assert_eq!(number(text.as_bytes()), value, "{text:?}");
        }
        assert_eq!(bits(b"-1"), Some(u64::MAX));
        assert_eq!(bits(b"--1"), None);
        assert_eq!(scaled(b"64K"), Some(65_536));
        assert_eq!(scaled(b"2M"), Some(2 << 20));
        assert_eq!(scaled(b"K"), None);
        assert_eq!(scaled(b"99999999999999999999T"), None);
    }

    #[test]
    fn the_last_line_needs_no_end_and_others_may_have_two() {
        let lines: Vec<_> = Lines::of(b"a\r\n\nb").collect();
        assert_eq!(lines, [&b"a"[..], b"", b"b"]);
        assert_eq!(Lines::of(b"").count(), 0);
    }

    proptest! {
        #[test]
        fn numbers_agree_with_the_standard_library(text in "[0-9]{1,25}") {
            prop_assert_eq!(digits(text.as_bytes()), text.parse().ok());
        }

        #[test]
        fn fields_agree_with_the_standard_library(text in "[a-c \t]{0,40}") {
            let ours: Vec<_> = Fields::of(text.as_bytes()).collect();
            let theirs: Vec<_> = text.split_whitespace().map(str::as_bytes).collect();
            prop_assert_eq!(ours, theirs);
        }
    }
}
