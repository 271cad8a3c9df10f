//! Lines that no reader knew, counted by their pattern.

use std::collections::BTreeMap;

/// How many lines were not known, by pattern: the line with its numbers taken out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unknowns {
    counts: BTreeMap<String, u64>,
    others: u64,
}

/// Patterns that are kept, and the bytes of one: text that changes all the time must not fill the memory.
const PATTERNS_MAX: usize = 64;
const PATTERN_BYTES_MAX: usize = 100;

impl Unknowns {
    /// Counts a line of that parameter.
    pub fn count(&mut self, parameter: &str, line: &[u8]) {
        let pattern = pattern(parameter, line);
        if let Some(count) = self.counts.get_mut(&pattern) {
            *count += 1;
        } else if self.counts.len() < PATTERNS_MAX {
            self.counts.insert(pattern, 1);
        } else {
            self.others += 1;
        }
    }

    /// Returns how many lines there were.
    pub fn total(&self) -> u64 {
        self.counts.values().sum::<u64>() + self.others
    }

    /// Returns the patterns and how many lines each had. What came after too many patterns is in the total only.
    pub fn patterns(&self) -> impl Iterator<Item = (&str, u64)> {
        self.counts.iter().map(|(pattern, count)| (pattern.as_str(), *count))
    }
}

/// "obdfilter.*.stats: colour N samples [reqs]". What is not text is spelled with `?`.
fn pattern(parameter: &str, line: &[u8]) -> String {
    let mut pattern = format!("{parameter}: ");
    let mut in_number = false;
    for character in String::from_utf8_lossy(line.trim_ascii()).chars() {
        if pattern.len() >= PATTERN_BYTES_MAX {
            break;
        }
        let is_digit = character.is_ascii_digit();
        match character {
            _ if is_digit && in_number => {}
            _ if is_digit => pattern.push('N'),
            ' ' | '\t' if pattern.ends_with(' ') => {}
            '\t' => pattern.push(' '),
            character if character.is_control() || character == '\u{fffd}' => pattern.push('?'),
            character => pattern.push(character),
        }
        in_number = is_digit;
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_patterns_are_counted_together_and_there_is_an_end_of_them() {
        let mut unknowns = Unknowns::default();
        unknowns.count("p", b"colour   12 samples");
        unknowns.count("p", b"colour   9 samples\x1b");
        unknowns.count("p", b"colour   7 samples");
        let patterns: Vec<_> = unknowns.patterns().collect();
        assert_eq!(patterns, [("p: colour N samples", 2), ("p: colour N samples?", 1)]);
        for letter in 0..500 {
            let line: String =
                std::iter::repeat_n(char::from(b'a' + (letter % 26) as u8), letter).collect();
            unknowns.count("p", line.as_bytes());
        }
        assert_eq!(unknowns.patterns().count(), PATTERNS_MAX);
        assert_eq!(unknowns.total(), 503);
        assert!(unknowns.patterns().all(|(pattern, _)| pattern.len() <= PATTERN_BYTES_MAX));
    }
}
