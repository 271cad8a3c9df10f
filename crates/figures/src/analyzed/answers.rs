//! The questions of the paper, answered in words: each with its figure and how sure it is.

mod course;
mod recurring;
mod targets;
mod whole;

use plimsoll_analyze::{Analysis, Beside, Frame};
use plimsoll_report::words;

use super::beside;
use super::figure::figure;

/// Returns what can be answered, and what the data cannot answer.
pub fn answers(frame: &Frame, analysis: &Analysis, beside: &Beside) -> (Vec<String>, Vec<String>) {
    let (mut told, mut open) = (Vec::new(), Vec::new());
    let mut add = |answer: Option<String>, question: &str| match answer {
        Some(answer) => told.push(answer),
        None => open.push(question.to_string()),
    };
    add(whole::known(frame, analysis), "anything: no minute is known");
    add(whole::more_read(analysis), "whether more is read or written: too little of both is known");
    let drift = "whether load grows or shrinks: 21 days are needed";
    if let Some(changed) = whole::drift(analysis) {
        add(Some(changed), drift);
    } else if analysis.drifts.iter().all(Option::is_none) {
        add(None, drift);
    }
    add(whole::bursty(analysis), "how bursty reads and writes are: too few minutes are known");
    add(
        whole::below_mean(analysis),
        "how far typical minutes are from the mean: too few minutes are known",
    );
    add(
        course::hours(frame, analysis),
        "whether hours or days of the week differ: 7 of each are needed",
    );
    add(
        course::phases(frame, analysis),
        "how long high activity lasts: quantiles are equal or nothing is known",
    );
    add(
        course::tells_next(analysis),
        "whether activity tells what comes: too few minutes are known",
    );
    add(
        course::reads_tell_writes(analysis),
        "whether reads and writes go together: one of them is not known or does not vary",
    );
    add(
        targets::balance(analysis),
        "how balanced targets are: fewer than two move data, or one moves none",
    );
    add(
        targets::persistence(analysis),
        "whether the same targets stay ahead: fewer than two days, or fewer than three targets",
    );
    add(targets::parallel(analysis), "how many targets work alike: nothing was moved");
    add(
        course::metadata(analysis),
        "how files are opened and closed: no samples of metadata are there",
    );
    add(
        targets::servers(analysis),
        "how busy servers' processors are: no samples of them are there",
    );
    add(
        beside::busy(frame, beside),
        "how busy targets are beyond their bytes (FSU), and how large requests are: operations are not counted here",
    );
    add(
        beside::who(analysis, beside),
        "which jobs make the load: targets do not count by job here",
    );
    told.extend(recurring::hot(analysis));
    told.extend(recurring::hot_periods(analysis));
    told.extend(recurring::jobs(frame, analysis));
    told.extend(recurring::forecasts(analysis));
    if analysis.forecasts.iter().all(Option::is_none) {
        open.push("whether the next hour can be forecast: 21 days without gaps are needed".into());
    }
    (told, open)
}

/// "14 TiB".
fn bytes(value: f64) -> String {
    words::bytes(value.max(0.0) as u64)
}

/// "605,000": three digits that count.
fn about(value: f64) -> String {
    if !(value.is_finite() && value >= 999.5) {
        return words::short(value);
    }
    let unit = 10f64.powf(value.log10().floor() - 2.0);
    words::short((value / unit).round() * unit)
}

/// "6.51 min".
fn minutes(value: f64) -> String {
    match value {
        it if it >= 2.0 * 1440.0 => format!("{} days", words::short(it / 1440.0)),
        it if it >= 120.0 => format!("{} hours", words::short(it / 60.0)),
        it => format!("{} min", words::short(it)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_sentences_have_three_digits() {
        assert_eq!((about(604_806.0), about(0.72)), ("605,000".into(), "0.72".into()));
        assert_eq!((about(999.6), about(5_500_721.0)), ("1,000".into(), "5,500,000".into()));
        assert_eq!((minutes(6.5), minutes(150.0)), ("6.5 min".into(), "2.5 hours".into()));
        assert_eq!(minutes(20.0 * 1440.0), "20 days");
    }
}
