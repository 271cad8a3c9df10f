//! The order in which people count names.

use std::cmp::Ordering;

/// Compares names so that digits count as numbers: ost2 comes before ost10, and ost2 before ost02.
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut rest_a, mut rest_b) = (a, b);
    loop {
        let ((part_a, next_a), (part_b, next_b)) = (part(rest_a), part(rest_b));
        match compare(part_a, part_b) {
            // Equal as numbers need not be equal as text.
            Ordering::Equal if part_a.is_empty() => return a.len().cmp(&b.len()).then(a.cmp(b)),
            Ordering::Equal => (rest_a, rest_b) = (next_a, next_b),
            differ => return differ,
        }
    }
}

/// Returns the digits that a text begins with, or what is before its first digit.
fn part(text: &str) -> (&str, &str) {
    let first = is_number(text);
    let end = text.bytes().position(|byte| byte.is_ascii_digit() != first);
    text.split_at(end.unwrap_or(text.len()))
}

fn is_number(part: &str) -> bool {
    part.as_bytes().first().is_some_and(u8::is_ascii_digit)
}

fn compare(a: &str, b: &str) -> Ordering {
    if !is_number(a) || !is_number(b) {
        return a.cmp(b);
    }
    // Of numbers without leading zeros the longer one is the greater, however long.
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_count_as_numbers() {
        let sorted = [
            "", "2", "10", "OST0009", "OST0010", "ost", "ost2", "ost02", "ost2a", "ost10",
            "\u{fc}1",
        ];
        let mut names: Vec<&str> = sorted.iter().rev().copied().collect();
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, sorted);
        assert_eq!(natural("100", "z"), Ordering::Less, "a number and a letter as text");
        assert_eq!(
            natural("t99999999999999999999999", "t100000000000000000000000"),
            Ordering::Less
        );
    }

    #[test]
    fn only_equal_names_are_equal() {
        for (a, b) in [("a01", "a1"), ("a", "b"), ("1x", "01x"), ("", "0")] {
            assert_ne!(natural(a, b), Ordering::Equal, "{a} {b}");
            assert_eq!(natural(a, b), natural(b, a).reverse());
        }
    }
}
