//! A figure in words.

use plimsoll_analyze::{Estimate, Interval};
use plimsoll_report::words;

/// "1.75 (1.61 to 1.90)", "14 TiB (12 to 16)": the unit once, where it is the same; where both ends would look the same, by how much it may be off.
pub(super) fn figure(estimate: &Estimate, show: impl Fn(f64) -> String) -> String {
    let value = show(estimate.value);
    let Some(interval) = estimate.interval else {
        return format!("{value} (too few days to say how sure)");
    };
    let (low, high) = (show(interval.low), show(interval.high));
    // A figure that is shown as one of its ends looks as if it could not lie beyond it.
    let is_close = value == low || value == high;
    let more = || with_more_digits(estimate.value, interval).filter(|_| is_plain(&value, estimate));
    if let Some(more) = if is_close { more() } else { None } {
        return more;
    }
    if low == high {
        return format!("{value} ({})", closely(estimate.value, interval));
    }
    let [low, high] = outward(&show, interval);
    let [of_value, of_low, of_high] = [&value, &low, &high].map(|it| in_two(it));
    if of_value.1 != of_low.1 || of_value.1 != of_high.1 {
        return format!("{value} ({low} to {high})");
    }
    let [value, low, high] = alike([of_value.0, of_low.0, of_high.0]);
    let unit = of_value.1;
    format!("{value}{unit} ({low} to {high})")
}

/// Shows the ends of an interval: where digits would round one inwards, the next ones outwards.
fn outward(show: &impl Fn(f64) -> String, Interval { low, high }: Interval) -> [String; 2] {
    [end_outward(show, low, -1.0), end_outward(show, high, 1.0)]
}

fn end_outward(show: &impl Fn(f64) -> String, end: f64, sign: f64) -> String {
    let shown = show(end);
    let (further, to_outside) = until_other(show, end, sign, &shown);
    let (_, to_inside) = until_other(show, end, -sign, &shown);
    // What is shown stands for all that is as near to it: on which side of it the end is, is told by how far both borders are.
    if to_outside < to_inside * 0.99 { further } else { shown }
}

/// Returns what is shown next in a direction, and how far away that is.
fn until_other(show: &impl Fn(f64) -> String, from: f64, sign: f64, shown: &str) -> (String, f64) {
    let is_other = |away: f64| show(from + sign * away) != shown;
    let mut far = from.abs().max(1e-3) * 1e-6;
    while !is_other(far) {
        far *= 2.0;
        if far > from.abs().max(1.0) {
            return (shown.to_string(), f64::INFINITY);
        }
    }
    let mut near = 0.0;
    for _ in 0..20 {
        let middle = (near + far) / 2.0;
        if is_other(middle) { far = middle } else { near = middle }
    }
    (show(from + sign * far), far)
}

/// Divides what is shown into the number and its unit, with the space before it.
fn in_two(shown: &str) -> (&str, &str) {
    shown.split_at(shown.find(' ').unwrap_or(shown.len()))
}

/// Digits that figures have at least, where others beside them have more.
const DIGITS: usize = 3;

/// Gives numbers as many decimals as the one that has most, within three digits: "1.9" beside "1.85" is "1.90".
fn alike(numbers: [&str; 3]) -> [String; 3] {
    let decimals = |number: &str| number.split_once('.').map_or(0, |it| it.1.len());
    let most = numbers.iter().map(|it| decimals(it)).max().unwrap_or(0);
    numbers.map(|number| {
        let is_plain = number.parse::<f64>().is_ok();
        let counted = number.trim_start_matches(['-', '0', '.']);
        let digits = counted.chars().filter(char::is_ascii_digit).count();
        let missing = most.saturating_sub(decimals(number)).min(DIGITS.saturating_sub(digits));
        if !is_plain || missing == 0 || digits == 0 {
            return number.to_string();
        }
        let point = if number.contains('.') { "" } else { "." };
        format!("{number}{point}{}", "0".repeat(missing))
    })
}

/// Returns whether a figure is shown as the number that it is, without a unit.
fn is_plain(shown: &str, estimate: &Estimate) -> bool {
    shown.parse::<f64>().is_ok_and(|it| (it - estimate.value).abs() <= estimate.value.abs() * 0.01)
}

/// Returns a figure and its interval with as many digits as it takes to tell them apart.
fn with_more_digits(value: f64, interval: Interval) -> Option<String> {
    let shown = |digits: usize, it: f64| format!("{it:.digits$}");
    // Three digits behind the first one that counts, at least as many as are shown otherwise.
    let before_point = value.abs().max(1.0).log10() as usize;
    let digits = (3usize.saturating_sub(before_point).max(1)..=5).find(|digits| {
        let [value, low, high] = [value, interval.low, interval.high].map(|it| shown(*digits, it));
        value != low && value != high
    })?;
    let [low, high] = outward(&|it| shown(digits, it), interval);
    Some(format!("{} ({low} to {high})", shown(digits, value)))
}

/// How sure a figure is whose interval is narrower than its digits.
fn closely(value: f64, Interval { low, high }: Interval) -> String {
    if low == high {
        return "the same whichever days are taken".to_string();
    }
    let off = (high - value).max(value - low) / value.abs();
    // Of what is next to nothing a share says nothing.
    if off < 0.1 {
        return format!("give or take {} of it", words::percent(off));
    }
    "sure to these digits".to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_is_narrower_than_the_digits_says_so() {
        let of = |value: f64, low: f64, high: f64| {
            figure(&Estimate { value, interval: Some(Interval { low, high }) }, words::short)
        };
        assert_eq!(of(1.75, 1.61, 1.9), "1.75 (1.61 to 1.90)");
        assert_eq!(of(1.75, 1.618, 1.902), "1.75 (1.61 to 1.91)");
        assert_eq!(of(15.2, 14.04, 99.97), "15.2 (14.0 to 100)");
        assert_eq!(of(2.0, 1.98, 2.04), "2.00 (1.98 to 2.04)");
        assert_eq!(of(0.555, 0.547, 0.565), "0.555 (0.547 to 0.565)");
        assert_eq!(of(28.24, 28.2, 28.9), "28.24 (28.20 to 28.90)");
        assert_eq!(of(1.003, 0.9991, 1.007), "1.003 (0.999 to 1.007)");
        assert_eq!(of(0.6, 0.58, 0.61), "0.60 (0.58 to 0.61)");
        assert_eq!(of(0.1, 0.0, 0.21), "0.10 (0 to 0.21)");
        assert_eq!(of(0.72, 0.7197, 0.7202), "0.7200 (0.7197 to 0.7202)");
        assert_eq!(of(0.72, 0.72, 0.72), "0.72 (the same whichever days are taken)");
        assert_eq!(of(1234.0, 1233.999, 1234.001), "1,234 (give or take less than 0.01 % of it)");
        assert_eq!(of(0.001, -0.002, 0.003), "0 (sure to these digits)");
        let tebibytes = |value: f64| format!("{value} TiB");
        let three = Interval { low: 2.5, high: 3.5 };
        let some = Estimate { value: 3.0, interval: Some(three) };
        assert_eq!(figure(&some, tebibytes), "3.0 TiB (2.5 to 3.5)");
        let mixed = |value: f64| if value > 2.9 { tebibytes(value) } else { "2,500 GiB".into() };
        assert_eq!(figure(&some, mixed), "3 TiB (2,500 GiB to 3.5 TiB)");
        let alone = Estimate { value: 2.0, interval: None };
        assert_eq!(figure(&alone, words::short), "2 (too few days to say how sure)");
    }
}
