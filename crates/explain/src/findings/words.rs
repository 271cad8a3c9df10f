//! Numbers in sentences.

/// "1.5 MiB".
pub(super) fn bytes(value: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let (mut value, mut unit) = (value as f64, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", short(value), UNITS[unit])
}

/// "12.3 s", "4.56 ms".
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{} s", short(s)),
        s if s >= 1e-3 => format!("{} ms", short(s * 1e3)),
        s => format!("{} µs", short(s * 1e6)),
    }
}

/// "42 %".
pub(super) fn percent(share: f64) -> String {
    format!("{} %", short(share * 100.0))
}

/// Three digits.
pub(super) fn short(value: f64) -> String {
    let text = match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    };
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// "1 file", "2 files".
pub(super) fn count(n: u64, noun: &str) -> String {
    match n {
        1 => format!("1 {noun}"),
        _ if noun.ends_with("process") => format!("{n} {noun}es"),
        _ => format!("{n} {noun}s"),
    }
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
        assert_eq!(percent(0.421), "42.1 %");
        assert_eq!(short(1200.0), "1200");
        assert_eq!((count(1, "process"), count(2, "file")), ("1 process".into(), "2 files".into()));
    }
}
