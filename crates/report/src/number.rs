//! The definition of a printed number, and how a value of its unit reads.

use crate::words::{BYTE_STEPS, grouped_digits};

/// What a printed number is: its key in JSON, its label in tables, its unit and its
/// meaning. One constant each; docs/numbers.md is generated from them.
#[derive(Debug, PartialEq, Eq)]
pub struct Number {
    /// Key in JSON.
    pub key: &'static str,
    /// Label in tables.
    pub label: &'static str,
    /// Base unit in JSON and how it is shown in tables.
    pub unit: Unit,
    /// One or two sentences that define it.
    pub meaning: &'static str,
    /// The paper and equation, or where else the definition comes from.
    pub source: &'static str,
}

impl Number {
    /// Key, label, unit, meaning and source, in the order in which a reader asks for them.
    pub const fn new(
        key: &'static str,
        label: &'static str,
        unit: Unit,
        meaning: &'static str,
        source: &'static str,
    ) -> Self {
        Number { key, label, unit, meaning, source }
    }
}

/// Defines the numbers that a command prints, one in each row, and `NUMBERS`, the list of them all:
/// name, key, label, unit, meaning and source, as [`Number`] has them.
#[macro_export]
macro_rules! numbers {
    ($($name:ident = $key:expr, $label:expr, $unit:ident, $meaning:expr, $source:expr;)*) => {
        $(/// Defined by its row.
        pub const $name: $crate::Number =
            $crate::Number::new($key, $label, $crate::Unit::$unit, $meaning, $source);)*
        /// Everything that this command prints.
        pub const NUMBERS: &[&$crate::Number] = &[$(&$name,)*];
    };
}

/// Units of printed numbers. JSON has the base unit, tables a readable multiple.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Things: targets, jobs, operations. Expectations have decimals.
    Count,
    /// Bytes.
    Bytes,
    /// Bytes to the last one: sizes that people look for.
    ExactBytes,
    /// Bytes per second.
    BytesPerSec,
    /// Seconds.
    Seconds,
    /// Seconds per byte.
    SecondsPerByte,
    /// A pure number.
    Ratio,
    /// Of a test: how probable such a difference is by chance.
    Probability,
    /// Of one hundred.
    Percent,
    /// Part of a whole: 0 to 1 in JSON, a percentage in tables.
    Share,
}

impl Unit {
    /// Returns the unit of the value in JSON, for documentation.
    pub fn base(self) -> &'static str {
        match self {
            Unit::Count => "count",
            Unit::Bytes | Unit::ExactBytes => "bytes",
            Unit::BytesPerSec => "bytes per second",
            Unit::Seconds => "seconds",
            Unit::SecondsPerByte => "seconds per byte",
            Unit::Ratio => "ratio",
            Unit::Probability => "probability",
            Unit::Percent => "percent",
            Unit::Share => "share",
        }
    }

    /// `value` for a table: rounded, in a multiple that reads well.
    pub fn show(self, value: f64) -> String {
        if !value.is_finite() {
            return MISSING.to_string();
        }
        match self {
            Unit::Count if value.fract() == 0.0 => grouped(value),
            Unit::Count | Unit::Ratio => decimals(value),
            // None is impossible.
            Unit::Probability if value < 1e-3 => "< 0.001".to_string(),
            Unit::Probability => format!("{value:.3}"),
            Unit::Percent => format!("{value:.1} %"),
            Unit::Share => share(value),
            Unit::Bytes => scaled(value, &BYTE_STEPS, "B"),
            Unit::ExactBytes => whole_bytes(value),
            Unit::BytesPerSec => scaled(value, &BYTE_STEPS, "B/s"),
            Unit::Seconds => scaled(value, &SECOND_STEPS, "s"),
            Unit::SecondsPerByte => scaled(value, &SECOND_STEPS, "s/B"),
        }
    }
}

/// What a table shows where there is no value. Missing is not zero.
pub(crate) const MISSING: &str = "-";

const SECOND_STEPS: [(f64, &str); 5] =
    [(1.0, ""), (1e-3, "m"), (1e-6, "\u{b5}"), (1e-9, "n"), (1e-12, "p")];

/// Steps run from large to small; the first that does not exceed the value is used.
fn scaled(value: f64, steps: &[(f64, &str)], unit: &str) -> String {
    let smallest = steps.last().copied().unwrap_or((1.0, ""));
    let (size, prefix) = match value {
        0.0 => (1.0, ""),
        _ => steps.iter().copied().find(|(size, _)| value.abs() >= *size).unwrap_or(smallest),
    };
    format!("{} {prefix}{unit}", significant(value / size))
}

/// Four significant digits, but never fewer than the integer part has.
fn significant(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e5 {
        return format!("{value:.0}");
    }
    let integer_digits = value.abs().max(1.0).log10().floor() as usize + 1;
    format!("{value:.*}", 4usize.saturating_sub(integer_digits))
}

/// Three decimals, as the papers print; tiny and huge values in scientific form.
fn decimals(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_string(),
        size if !(5e-4..1e9).contains(&size) => format!("{value:.3e}"),
        _ => format!("{value:.3}"),
    }
}

/// In the largest multiple of which it is a whole number.
fn whole_bytes(value: f64) -> String {
    let is_whole = |size: &f64| (value / size).fract() == 0.0 && value != 0.0;
    let step = BYTE_STEPS.into_iter().find(|(size, _)| is_whole(size));
    let (size, prefix) = step.unwrap_or((1.0, ""));
    format!("{} {prefix}B", grouped(value / size))
}

/// A percentage. A share that is neither 0 nor 1 is never shown as 0 % or 100 %.
fn share(value: f64) -> String {
    match value {
        0.0 => "0 %".to_string(),
        1.0 => "100 %".to_string(),
        value if value > 0.0 && value < 0.0005 => "< 0.1 %".to_string(),
        value if (0.9995..1.0).contains(&value) => "> 99.9 %".to_string(),
        value => format!("{:.1} %", value * 100.0),
    }
}

/// A whole number with its sign.
fn grouped(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", grouped_digits(&format!("{:.0}", value.abs())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_well() {
        for (unit, value, text) in [
            (Unit::Count, 640.0, "640"),
            (Unit::Count, 1_048_576.0, "1,048,576"),
            (Unit::Count, 385.185_185, "385.185"),
            (Unit::Ratio, 1.0, "1.000"),
            (Unit::Ratio, 1e-7, "1.000e-7"),
            (Unit::Percent, 45.23, "45.2 %"),
            (Unit::Share, 0.0, "0 %"),
            (Unit::Share, 0.0002, "< 0.1 %"),
            (Unit::Share, 0.0005, "0.1 %"),
            (Unit::Share, 0.4523, "45.2 %"),
            (Unit::Share, 0.9994, "99.9 %"),
            (Unit::Share, 0.9996, "> 99.9 %"),
            (Unit::Share, 1.0, "100 %"),
            (Unit::Share, 1.25, "125.0 %"),
            (Unit::Bytes, 0.0, "0 B"),
            (Unit::Bytes, 1536.0, "1.500 KiB"),
            (Unit::ExactBytes, 0.0, "0 B"),
            (Unit::ExactBytes, 1048576.0, "1 MiB"),
            (Unit::ExactBytes, 1048577.0, "1,048,577 B"),
            (Unit::ExactBytes, 48128.0, "47 KiB"),
            (Unit::BytesPerSec, 551.0 * 1048576.0, "551 MiB/s"),
            (Unit::Seconds, 1.04e-3, "1.040 ms"),
            (Unit::Seconds, 290.0, "290 s"),
            (Unit::Seconds, 123456.7, "123457 s"),
            (Unit::SecondsPerByte, 1.73e-9, "1.730 ns/B"),
            (Unit::Seconds, f64::NAN, "-"),
            (Unit::Seconds, f64::INFINITY, "-"),
        ] {
            assert_eq!(unit.show(value), text);
        }
    }
}
