//! Numbers in sentences: shorter than in tables, and with their nouns.

/// Multiples of a byte, from large to small.
pub(crate) const BYTE_STEPS: [(f64, &str); 7] = [
    ((1u64 << 60) as f64, "Ei"),
    ((1u64 << 50) as f64, "Pi"),
    ((1u64 << 40) as f64, "Ti"),
    ((1u64 << 30) as f64, "Gi"),
    ((1u64 << 20) as f64, "Mi"),
    ((1u64 << 10) as f64, "Ki"),
    (1.0, ""),
];

/// "1.5 MiB".
pub fn bytes(value: u64) -> String {
    let value = value as f64;
    let step = BYTE_STEPS.into_iter().find(|(size, _)| value >= *size);
    let (size, prefix) = step.unwrap_or((1.0, ""));
    format!("{} {prefix}B", short(value / size))
}

/// "12.3 s", "4.56 ms".
pub fn time(seconds: f64) -> String {
    match seconds {
        0.0 => "0 s".to_string(),
        // What would read as 1000 of the smaller unit is 1 of the larger.
        s if s >= 0.9995 => format!("{} s", short(s)),
        s if s >= 0.9995e-3 => format!("{} ms", short(s * 1e3)),
        s => format!("{} µs", short(s * 1e6)),
    }
}

/// "42 %". A share that is neither 0 nor 1 is never shown as 0 % or 100 %.
pub fn percent(share: f64) -> String {
    match share {
        s if s > 0.0 && s < 1e-4 => "less than 0.01 %".to_string(),
        s if s < 1.0 && s > 0.999 => "more than 99.9 %".to_string(),
        s => format!("{} %", short(s * 100.0)),
    }
}

/// Three digits, and all before the point.
pub fn short(value: f64) -> String {
    let text = match value.abs() {
        v if (1000.0..1e15).contains(&v) && value > 0.0 => return grouped(value.round() as u64),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    };
    if !text.contains('.') {
        return text;
    }
    match text.trim_end_matches('0').trim_end_matches('.') {
        "-0" => "0".to_string(),
        text => text.to_string(),
    }
}

/// Returns the first names, and how many more there are.
pub fn some_of(names: &[String], most: usize) -> String {
    let shown = names[..names.len().min(most)].join(", ");
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// "1 file", "2,000 files".
pub fn count(n: u64, noun: &str) -> String {
    match n {
        1 => format!("1 {noun}"),
        _ if noun.ends_with("process") => format!("{} {noun}es", grouped(n)),
        _ => format!("{} {noun}s", grouped(n)),
    }
}

/// "1 event is", "2 events are".
pub fn count_is(n: u64, noun: &str) -> String {
    format!("{} {}", count(n, noun), if n == 1 { "is" } else { "are" })
}

/// "1,048,576": a grouping that copies and pastes.
pub fn grouped(n: u64) -> String {
    grouped_digits(&n.to_string())
}

/// Digits in groups of three.
pub(crate) fn grouped_digits(digits: &str) -> String {
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(u64::MAX), "16 EiB");
        assert_eq!(time(12.345), "12.3 s");
        assert_eq!(time(0.0045), "4.5 ms");
        assert_eq!((time(0.9996), time(0.9996e-3)), ("1 s".into(), "1 ms".into()));
        assert_eq!((time(0.0), time(2e-9)), ("0 s".into(), "0 \u{b5}s".into()));
        assert_eq!(percent(0.421), "42.1 %");
        assert_eq!((percent(0.0), percent(1.0)), ("0 %".into(), "100 %".into()));
        assert_eq!(percent(2e-5), "less than 0.01 %");
        assert_eq!(percent(0.9998), "more than 99.9 %");
        assert_eq!((percent(1e-4), percent(0.999)), ("0.01 %".into(), "99.9 %".into()));
        assert_eq!((short(1200.4), short(999.4)), ("1,200".into(), "999".into()));
        assert_eq!((short(-0.001), short(-0.5)), ("0".into(), "-0.5".into()));
        assert_eq!((count(1, "process"), count(2, "file")), ("1 process".into(), "2 files".into()));
        assert_eq!(count(6_000_000, "process"), "6,000,000 processes");
        assert_eq!(count_is(0, "event"), "0 events are");
        assert_eq!(count_is(1, "event"), "1 event is");
        assert_eq!(
            (grouped(0), grouped(999), grouped(1000)),
            ("0".into(), "999".into(), "1,000".into())
        );
    }
}
