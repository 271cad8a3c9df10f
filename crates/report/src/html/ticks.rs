//! Where an axis has its ticks, and how they read. charts.js does the same after a zoom.

use crate::Unit;

use super::escape::spelled;
use super::scale::Scale;
use super::svg::text_width;

/// A labelled place on an axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub value: f64,
    pub label: String,
}

/// At most about `most` ticks from `low` to `high`.
pub(crate) fn ticks(low: f64, high: f64, scale: Scale, unit: Unit, most: usize) -> Vec<Tick> {
    match scale {
        Scale::Linear => linear(low, high, unit, most),
        Scale::Log2 => logarithmic(low, high, 2.0, unit, most),
        Scale::Log10 => logarithmic(low, high, 10.0, unit, most),
    }
}

/// As many of the names as fit side by side, at equal steps from the first.
pub(crate) fn named(names: &[String], width: f64) -> Vec<Tick> {
    let widest = names.iter().map(|name| text_width(&spelled(name))).fold(0.0, f64::max);
    let apart = width / names.len().max(1) as f64;
    let step = one_two_five(((widest + 16.0) / apart).max(1.0)) as usize;
    let tick = |(index, name): (usize, &String)| Tick { value: index as f64, label: spelled(name) };
    names.iter().enumerate().step_by(step.max(1)).map(tick).collect()
}

fn linear(low: f64, high: f64, unit: Unit, most: usize) -> Vec<Tick> {
    let step = step(high - low, unit, most);
    if !(step.is_finite() && step > 0.0) {
        return Vec::new();
    }
    let first = (low / step - 1e-9).ceil();
    let values = (0..=2 * most).map(|index| (first + index as f64) * step);
    let within = values.take_while(|value| *value <= high + step * 1e-9);
    let greatest = low.abs().max(high.abs());
    within.map(|value| Tick { value, label: label(value, step, greatest, unit) }).collect()
}

/// Clock steps in seconds, for spans of minutes and hours.
const CLOCK: [f64; 14] = [
    15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 14400.0, 21600.0,
    43200.0, 86400.0,
];

/// Returns the round step that gives at most `most` intervals: powers of two for bytes, clock steps
/// for minutes and hours, otherwise 1, 2 or 5 times a power of ten.
pub(crate) fn step(span: f64, unit: Unit, most: usize) -> f64 {
    let raw = span / most.max(1) as f64;
    match unit {
        Unit::Bytes | Unit::ExactBytes | Unit::BytesPerSec if raw >= 1.0 => {
            raw.log2().ceil().exp2()
        }
        Unit::Seconds if span >= 120.0 => {
            CLOCK.into_iter().find(|step| *step >= raw).unwrap_or_else(|| one_two_five(raw))
        }
        Unit::Count if raw < 1.0 && span >= 1.0 => 1.0,
        _ => one_two_five(raw),
    }
}

fn one_two_five(raw: f64) -> f64 {
    let power = 10f64.powf(raw.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= raw * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// Returns the value with the decimals that its step needs, in the prefix of the axis' greatest.
fn label(value: f64, step: f64, greatest: f64, unit: Unit) -> String {
    if value == 0.0 {
        return "0".to_string();
    }
    if unit == Unit::Seconds && step >= 15.0 && (120.0..1e9).contains(&greatest) {
        return clock(value);
    }
    let (size, suffix) = prefix(greatest, unit);
    let decimals = decimals(step / size);
    let shown = value / size;
    if !(1e-6..1e15).contains(&shown.abs()) {
        return format!("{shown:.2e}{suffix}");
    }
    if decimals == 0 && shown.abs() < 1e12 {
        return format!("{}{suffix}", Unit::Count.show(shown.round()));
    }
    format!("{shown:.decimals$}{suffix}")
}

fn decimals(step: f64) -> usize {
    let whole = |decimals: &usize| {
        let scaled = step * 10f64.powi(*decimals as i32);
        scaled >= 1.0 - 1e-9 && (scaled - scaled.round()).abs() < 1e-6 * scaled
    };
    (0..9).find(whole).unwrap_or(9)
}

/// Minutes and seconds, with hours where there are some.
fn clock(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    let seconds = value.abs().round() as u64;
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{sign}{minutes}:{rest:02}"),
        _ => format!("{sign}{hours}:{minutes:02}:{rest:02}"),
    }
}

/// Returns the size and suffix in which values up to `greatest` read well.
fn prefix(greatest: f64, unit: Unit) -> (f64, String) {
    let binary = || (1..=5).rev().find(|power| greatest >= 1024f64.powi(*power)).unwrap_or(0);
    let power = binary();
    let bytes = (1024f64.powi(power), ["", "Ki", "Mi", "Gi", "Ti", "Pi"][power as usize]);
    let seconds = [(1.0, ""), (1e-3, "m"), (1e-6, "\u{b5}"), (1e-9, "n")]
        .into_iter()
        .find(|(size, _)| greatest >= *size * (1.0 - 1e-9))
        .unwrap_or((1e-12, "p"));
    let (size, prefix, symbol) = match unit {
        Unit::Bytes | Unit::ExactBytes => (bytes.0, bytes.1, " B"),
        Unit::BytesPerSec => (bytes.0, bytes.1, " B/s"),
        Unit::Seconds => (seconds.0, seconds.1, " s"),
        Unit::SecondsPerByte => (seconds.0, seconds.1, " s/B"),
        Unit::Percent => (1.0, "", " %"),
        Unit::Share => (0.01, "", " %"),
        Unit::Count | Unit::Ratio | Unit::Probability => (1.0, "", ""),
    };
    let suffix = match symbol.strip_prefix(' ') {
        Some(symbol) => format!(" {prefix}{symbol}"),
        None => String::new(),
    };
    (size, suffix)
}

/// Powers of the base, every power or every so many.
fn logarithmic(low: f64, high: f64, base: f64, unit: Unit, most: usize) -> Vec<Tick> {
    let exponent = |value: f64| value.ln() / base.ln();
    let (first, last) = (exponent(low), exponent(high));
    let raw = ((last - first) / most.max(1) as f64).max(1.0);
    // Ten binary steps are one prefix of bytes.
    let strides: &[f64] = if base == 2.0 { &[1.0, 2.0, 5.0, 10.0, 20.0] } else { &[1.0, 2.0, 3.0] };
    let stride =
        strides.iter().copied().find(|stride| *stride >= raw).unwrap_or_else(|| raw.ceil());
    let start = (first / stride - 1e-9).ceil();
    let exponents = (0..=2 * most).map(|index| (start + index as f64) * stride);
    let within = exponents.take_while(|exponent| *exponent <= last + 1e-9);
    let tick = |exponent: f64| {
        let value = base.powf(exponent);
        Tick { value, label: label(value, value, value, unit) }
    };
    within.map(tick).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(low: f64, high: f64, scale: Scale, unit: Unit, most: usize) -> Vec<String> {
        ticks(low, high, scale, unit, most).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_in_their_unit() {
        let gib = 1073741824.0;
        let linear = |high, unit, most| labels(0.0, high, Scale::Linear, unit, most);
        assert_eq!(linear(10.0, Unit::Count, 5), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(linear(1.0, Unit::Ratio, 5), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(linear(0.5, Unit::Share, 5), ["0", "10 %", "20 %", "30 %", "40 %", "50 %"]);
        assert_eq!(
            linear(2.0 * gib, Unit::Bytes, 4),
            ["0", "0.5 GiB", "1.0 GiB", "1.5 GiB", "2.0 GiB"]
        );
        assert_eq!(linear(0.009, Unit::Seconds, 5), ["0", "2 ms", "4 ms", "6 ms", "8 ms"]);
        assert_eq!(linear(300.0, Unit::Seconds, 5), ["0", "1:00", "2:00", "3:00", "4:00", "5:00"]);
        assert_eq!(linear(2e4, Unit::Count, 4), ["0", "5,000", "10,000", "15,000", "20,000"]);
        assert_eq!(
            labels(1000.001, 1000.0035, Scale::Linear, Unit::Seconds, 3),
            ["1000.001 s", "1000.002 s", "1000.003 s"]
        );
    }

    #[test]
    fn counts_have_whole_steps_and_no_span_has_no_ticks() {
        let linear = |low, high, unit, most| labels(low, high, Scale::Linear, unit, most);
        assert_eq!(linear(0.0, 2.0, Unit::Count, 5), ["0", "1", "2"]);
        assert_eq!(linear(0.0, 0.4, Unit::Count, 4), ["0", "0.1", "0.2", "0.3", "0.4"]);
        assert_eq!(linear(0.0, 2.0, Unit::Ratio, 5), ["0", "0.5", "1.0", "1.5", "2.0"]);
        assert!(linear(5.0, 5.0, Unit::Ratio, 5).is_empty());
        assert_eq!([1.0, 2.5, 0.25, 0.05, 20.0, 1e-4].map(decimals), [0, 1, 2, 2, 0, 4]);
        assert_eq!(decimals(1.0 / 3.0), 6, "nobody reads more of a third");
    }

    #[test]
    fn logarithmic_ticks_are_powers() {
        assert_eq!(
            labels(1024.0, 1048576.0, Scale::Log2, Unit::Bytes, 4),
            ["1 KiB", "32 KiB", "1 MiB"]
        );
        assert_eq!(
            labels(1e-6, 1.0, Scale::Log10, Unit::Seconds, 8),
            ["1 \u{b5}s", "10 \u{b5}s", "100 \u{b5}s", "1 ms", "10 ms", "100 ms", "1 s"]
        );
    }
}
