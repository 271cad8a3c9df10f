//! How long programs waited for something, from `/proc/pressure` (Documentation/accounting/psi.rst).

/// For how long programs have waited since the machine started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pressure {
    /// Microseconds in which at least one of them did.
    pub some_microseconds: Option<u64>,
    /// Microseconds in which all of them did.
    pub full_microseconds: Option<u64>,
}

/// Reads the text of `/proc/pressure/io`, `cpu` or `memory`. Lines that are not known are skipped.
pub fn parse_pressure(text: &str) -> Pressure {
    let total = |kind: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(kind))?;
        line.split_whitespace().find_map(|field| field.strip_prefix("total=")?.parse().ok())
    };
    Pressure { some_microseconds: total("some "), full_microseconds: total("full ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_is_there() {
        let text = "some avg10=0.12 avg60=0.00 avg300=0.00 total=2466102\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=1734\n";
        let pressure = parse_pressure(text);
        assert_eq!(pressure.some_microseconds, Some(2_466_102));
        assert_eq!(pressure.full_microseconds, Some(1734));
        assert_eq!(parse_pressure("some total=x\nsomething\n"), Pressure::default());
    }
}
