//! Reading argument values that are not quantities of `domain`: counts, shares and directions.

use plimsoll_domain::moment;

/// One direction of data.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Direction {
    Read,
    Write,
}

/// Reads a whole number, not negative: "131072", "131_072".
pub fn count(text: &str) -> Result<u64, String> {
    let digits: String = text.trim().chars().filter(|c| *c != '_').collect();
    if digits.starts_with('-') {
        return Err("is negative; write a whole number like 480".into());
    }
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("is not a whole number; write it like 480".into());
    }
    digits.parse().map_err(|_| format!("is too large (at most {})", u64::MAX))
}

/// Reads a finite number, not negative: "0.2", or "20%" for the same.
pub fn share(text: &str) -> Result<f64, String> {
    match text.trim().strip_suffix('%') {
        Some(percent) => Ok(finite(percent, "0.2 or 20%")? / 100.0),
        None => finite(text, "0.2 or 20%"),
    }
}

/// Reads a finite number of seconds, not negative.
pub fn seconds(text: &str) -> Result<f64, String> {
    finite(text, "0.75")
}

fn finite(text: &str, example: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(value) if !value.is_finite() => Err("is not a finite number".into()),
        Ok(value) if value < 0.0 => Err("is negative".into()),
        Ok(value) => Ok(value),
        Err(_) => Err(format!("is not a number; write it like {example}")),
    }
}

/// Reads a moment or a day, in milliseconds since 1970.
pub fn moment_millis(text: &str) -> Result<u64, String> {
    let nanos = moment::parse(text).or_else(|| moment::parse(&format!("{text}T00:00:00Z")));
    let nanos = nanos.ok_or("is not a moment; write it like 2026-11-16T00:00:00Z or 2026-11-16")?;
    Ok(nanos / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_whole_and_not_negative() {
        assert_eq!(count("131_072"), Ok(131_072));
        for bad in ["", "-1", "1.5", "1e3", "NaN", "0x10", "99999999999999999999"] {
            assert!(count(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn shares_are_finite_and_not_negative() {
        assert_eq!(share("20%"), Ok(0.2));
        assert_eq!(share(" 1.5 "), Ok(1.5));
        for bad in ["", "%", "-0.1", "nan", "inf", "a"] {
            assert!(share(bad).is_err(), "{bad}");
        }
        assert_eq!(seconds("0.75"), Ok(0.75));
        assert!(seconds("75%").is_err());
    }
}
