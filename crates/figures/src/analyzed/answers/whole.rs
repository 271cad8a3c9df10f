//! Answers about all targets together.

use plimsoll_analyze::{Analysis, Frame, Transfer};
use plimsoll_report::words;

use super::{bytes, figure, minutes};

/// How much of the time is known: what all other answers are about.
pub fn known(frame: &Frame, analysis: &Analysis) -> Option<String> {
    let cleaning = &analysis.cleaning;
    if cleaning.observed == 0 {
        return None;
    }
    let of = |part: u64| words::percent(part as f64 / cleaning.observed as f64);
    let used = cleaning.observed.saturating_sub(cleaning.outage + cleaning.missing);
    let mut text = format!(
        "Of {} with {}, {} of the minutes are used",
        minutes(cleaning.observed as f64),
        words::count(frame.targets.len() as u64, "target"),
        of(used)
    );
    if cleaning.missing > 0 {
        text += &format!("; of {} too little is known", of(cleaning.missing));
    }
    text += ".";
    let outages = analysis.timeline.outages.len() as u64;
    if outages > 0 {
        text += &format!(
            " {} without any activity, {} in all, {} set apart, and in no mean and no distribution.",
            words::count(outages, "time"),
            minutes(cleaning.outage as f64),
            if outages == 1 { "is" } else { "are" },
        );
        if cleaning.flat > 0 {
            text += &format!(
                " During {} of it counters were there and did not move: storage that was down and storage that nobody used look the same.",
                minutes(cleaning.flat as f64)
            );
        }
    }
    let suspicious = analysis.system.suspicious.len() as u64;
    if suspicious > 0 && frame.options.limit.is_none() {
        text += &format!(
            " {} more than three times the 99.9th percentile; no limit was given, so that is kept.",
            if suspicious == 1 {
                "1 minute has".into()
            } else {
                format!("{} have", words::count(suspicious, "minute"))
            }
        );
    }
    Some(text)
}

/// Whether more is read or written.
pub fn more_read(analysis: &Analysis) -> Option<String> {
    let ratio = analysis.system.ratio?;
    let verdict = match ratio.interval {
        Some(it) if it.low > 1.0 => "More was read than written",
        Some(it) if it.high < 1.0 => "More was written than read",
        Some(_) => "Neither reads nor writes clearly prevail",
        None => "What was read and written",
    };
    let [read, written] = analysis.system.directions.each_ref().map(|it| bytes(it.bytes as f64));
    let mut text = format!(
        "{verdict}: {read} read, {written} written, {} times as much read as written.",
        figure(&ratio, words::short)
    );
    let months = &analysis.system.months;
    if months.len() > 2 {
        let more = months.values().filter(|[read, written]| read > written).count();
        text += &format!(" More was read in {more} of {} months.", months.len());
    }
    Some(text)
}

/// Whether it stays as it is; nothing where there is no sign that it does not.
pub fn drift(analysis: &Analysis) -> Option<String> {
    let changed = analysis.drifts.iter().zip(["Reads", "Writes"]).filter_map(|(drift, name)| {
        let drift = drift.filter(plimsoll_analyze::Drift::is_clear)?;
        let over = drift.last_over_first;
        let word = if over.value > 1.0 { "grew" } else { "shrank" };
        Some(format!(
            "{name} {word}: a minute of the last {} days has {} times that of the first {}.",
            drift.days,
            figure(&over, words::short),
            drift.days
        ))
    });
    let changed: Vec<String> = changed.collect();
    (!changed.is_empty()).then(|| {
        format!(
            "{} Figures of the whole time mix unlike times; hint: --since and --until.",
            changed.join(" ")
        )
    })
}

/// How uneven minutes are.
pub fn bursty(analysis: &Analysis) -> Option<String> {
    let [read, written] = &analysis.system.directions;
    let (read_cov, written_cov) = (read.cov?, written.cov?);
    let verdict = match read_cov.interval.zip(written_cov.interval) {
        Some((read, written)) if written.low > read.high => "Writes are burstier than reads",
        Some((read, written)) if read.low > written.high => "Reads are burstier than writes",
        Some(_) => "Neither reads nor writes are clearly the burstier",
        None => "How bursty minutes are",
    };
    let mut text = format!(
        "{verdict}: the standard deviation of minutes is {} times their mean for reads and {} times for writes.",
        figure(&read_cov, words::short),
        figure(&written_cov, words::short)
    );
    for (transfer, name) in [(read, "reads"), (written, "writes")] {
        if let Some(share) = of_few_minutes(transfer).filter(|it| *it > FEW_MATTER) {
            text += &format!(
                " For {name} it rests on few minutes, as the ten highest make {} of the variance: another time may differ by more than the interval says.",
                words::percent(share)
            );
        }
    }
    Some(text)
}

/// Minutes that are few, and the share of the variance from which on that is said.
const FEW: usize = 10;
const FEW_MATTER: f64 = 0.2;

/// Returns the share of the variance that the highest minutes make; nothing where ten minutes are not few.
fn of_few_minutes(transfer: &Transfer) -> Option<f64> {
    let sample = transfer.minutes.as_ref().filter(|it| it.n() >= 100 * FEW)?;
    let mean = sample.mean();
    let squares = |values: &[f64]| values.iter().map(|it| (it - mean).powi(2)).sum::<f64>();
    let values = sample.values();
    let all = squares(values);
    (all > 0.0).then(|| squares(&values[values.len() - FEW..]) / all)
}

/// How far typical minutes are from the mean and from the highest one.
pub fn below_mean(analysis: &Analysis) -> Option<String> {
    let [read, written] = &analysis.system.directions;
    let (below_read, below_written) = (read.below_mean?, written.below_mean?);
    let highest = |of: &Transfer| Some(of.mean?.value / of.minutes.as_ref()?.max());
    let busiest = |of: &Transfer| {
        let values = of.minutes.as_ref()?.values();
        let all: f64 = values.iter().sum();
        let most: f64 = values[values.len() - values.len().div_ceil(100)..].iter().sum();
        (all > 0.0).then(|| words::percent(most / all))
    };
    Some(format!(
        "{} of minutes read less than the mean minute, {} write less. The busiest 1 % of minutes move {} of what is read and {} of what is written; the mean minute is {} of the highest one for reads and {} for writes.",
        figure(&below_read, words::percent),
        figure(&below_written, words::percent),
        busiest(read)?,
        busiest(written)?,
        words::percent(highest(read)?),
        words::percent(highest(written)?)
    ))
}
