//! How values of every unit read, at the edges where another multiple begins.

use std::collections::BTreeSet;

use plimsoll_report::Unit;

const KIB: f64 = 1024.0;

#[test]
fn a_multiple_begins_where_its_value_is_one() {
    let steps = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    for (power, prefix) in (0..).zip(steps) {
        let size = KIB.powi(power);
        assert_eq!(Unit::Bytes.show(size), format!("1 {prefix}"));
        assert_eq!(Unit::BytesPerSec.show(size), format!("1 {prefix}/s"));
        assert_eq!(Unit::Bytes.show(-size), format!("-1 {prefix}"), "also below zero");
    }
    assert_eq!(Unit::Bytes.show(1023.0), "1023 B");
    assert_eq!(Unit::Bytes.show(1023.0 * KIB), "1023 KiB");
    assert_eq!(Unit::Bytes.show(5000.0 * KIB.powi(6)), "5000 EiB", "there is nothing larger");
    for (exponent, prefix) in [(0, ""), (-3, "m"), (-6, "\u{b5}"), (-9, "n"), (-12, "p")] {
        let size: f64 = format!("1e{exponent}").parse().unwrap();
        assert_eq!(Unit::Seconds.show(size), format!("1 {prefix}s"));
        assert_eq!(Unit::SecondsPerByte.show(size), format!("1 {prefix}s/B"));
    }
    assert_eq!(Unit::Seconds.show(0.0), "0 s", "nothing has no prefix");
    assert_eq!(Unit::Seconds.show(2e-15), "0.002 ps", "there is nothing smaller");
}

#[test]
fn four_digits_are_shown_and_whole_numbers_have_no_decimals() {
    for (value, text) in [
        (1.5, "1.500 s"),
        (15.25, "15.25 s"),
        (152.75, "152.8 s"),
        (1527.5, "1528 s"),
        (15277.5, "15278 s"),
        (10.0, "10 s"),
        (99_999.0, "99999 s"),
        (123_456.0, "123456 s"),
    ] {
        assert_eq!(Unit::Seconds.show(value), text);
        assert_eq!(Unit::Seconds.show(-value), format!("-{text}"));
    }
}

#[test]
fn counts_are_grouped_and_expectations_have_three_decimals() {
    for (value, text) in [
        (0.0, "0"),
        (999.0, "999"),
        (1000.0, "1,000"),
        (-1234567.0, "-1,234,567"),
        (12345.0, "12,345"),
        (0.5, "0.500"),
        (-2.25, "-2.250"),
    ] {
        assert_eq!(Unit::Count.show(value), text);
    }
}

#[test]
fn ratios_turn_scientific_where_three_decimals_say_nothing() {
    for (value, text) in [
        (0.0, "0"),
        (5e-4, "0.001"),
        (4.9e-4, "4.900e-4"),
        (-4.9e-4, "-4.900e-4"),
        (999_999_999.0, "999999999.000"),
        (1e9, "1.000e9"),
        (0.25, "0.250"),
    ] {
        assert_eq!(Unit::Ratio.show(value), text);
    }
    assert_eq!(Unit::Percent.show(-0.04), "-0.0 %");
    assert_eq!(Unit::Percent.show(99.96), "100.0 %");
}

#[test]
fn what_is_no_number_is_missing_in_every_unit() {
    let units = [
        (Unit::Count, "count"),
        (Unit::Bytes, "bytes"),
        (Unit::BytesPerSec, "bytes per second"),
        (Unit::Seconds, "seconds"),
        (Unit::SecondsPerByte, "seconds per byte"),
        (Unit::Ratio, "ratio"),
        (Unit::Percent, "percent"),
    ];
    for (unit, base) in units {
        assert_eq!(unit.base(), base);
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(unit.show(value), "-", "{unit:?}");
        }
    }
    assert_eq!(units.iter().map(|(unit, _)| unit.base()).collect::<BTreeSet<_>>().len(), 7);
}
