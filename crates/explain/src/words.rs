//! Numbers in sentences.

/// "1.5 MiB".
pub(crate) fn bytes(value: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let (mut value, mut unit) = (value as f64, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", short(value), UNITS[unit])
}

/// "12.3 s", "4.56 ms".
pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        0.0 => "0 s".to_string(),
        // What would read as 1000 of the smaller unit is 1 of the larger.
        s if s >= 0.9995 => format!("{} s", short(s)),
        s if s >= 0.9995e-3 => format!("{} ms", short(s * 1e3)),
        s => format!("{} µs", short(s * 1e6)),
    }
}

/// "42 %". What is not nothing and not everything does not read as if it were.
pub(crate) fn percent(share: f64) -> String {
    match share {
        s if s > 0.0 && s < 1e-4 => "less than 0.01 %".to_string(),
        s if s < 1.0 && s > 0.999 => "more than 99.9 %".to_string(),
        s => format!("{} %", short(s * 100.0)),
    }
}

/// Three digits, and all before the point.
pub(crate) fn short(value: f64) -> String {
    let text = match value.abs() {
        v if (1000.0..1e15).contains(&v) && value > 0.0 => return grouped(value.round() as u64),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    };
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// "1 file", "2,000 files".
pub(crate) fn count(n: u64, noun: &str) -> String {
    match n {
        1 => format!("1 {noun}"),
        _ if noun.ends_with("process") => format!("{} {noun}es", grouped(n)),
        _ => format!("{} {noun}s", grouped(n)),
    }
}

/// "1 event is", "2 events are".
pub(crate) fn count_is(n: u64, noun: &str) -> String {
    format!("{} {}", count(n, noun), if n == 1 { "is" } else { "are" })
}

/// "1,048,576".
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
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
        assert_eq!((short(1200.4), short(999.4)), ("1,200".into(), "999".into()));
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
