//! Answers about all targets together.

use plimsoll_analyze::{Analysis, Frame, Outage, Transfer};
use plimsoll_domain::moment;
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
    if cleaning.incomplete > 0 {
        text += &format!(
            " In {} some target has no value that can be used: {}. Of the other targets these minutes are used, if nearly all targets are known.",
            words::count(cleaning.incomplete, "minute"),
            unusable(frame, analysis)
        );
    }
    Some(text)
}

/// Why values are not used.
fn unusable(frame: &Frame, analysis: &Analysis) -> String {
    let (cleaning, limit) = (&analysis.cleaning, frame.options.limit);
    let others = "a counter began anew or samples are missing";
    if cleaning.over_limit == 0 {
        return others.to_string();
    }
    let over = limit.map_or("1 PiB in a minute, which is impossible", |_| "the limit");
    let impossible = format!(
        "{} over {over} ({} in all, left out)",
        words::count_is(cleaning.over_limit, "value"),
        bytes(cleaning.dropped as f64)
    );
    // One minute may have several such values.
    match cleaning.incomplete == cleaning.over_limit {
        true => impossible,
        false => format!("{impossible}; in the other minutes {others}"),
    }
}

/// Times that are set apart; nothing where there are none.
pub fn outages(analysis: &Analysis) -> Option<String> {
    let all: Vec<&Outage> = analysis.timeline.outages.iter().collect();
    let last = all.last()?;
    let began = moment::rfc3339(last.start * 60_000_000_000);
    let mut text = match all.len() {
        1 => format!("There was an outage of {}, which began {began}.", lasted(&all)),
        many => {
            let (of_each, of_last) = match each(&all) {
                Some(length) => (format!(" of {} each", minutes(length as f64)), String::new()),
                None => (String::new(), format!(" and lasted {}", minutes(last.minutes as f64))),
            };
            format!(
                "There were {many} outages{of_each}, {} in all, {}; the last began {began}{of_last}.",
                lasted(&all),
                apart(&all)
            )
        }
    };
    for (what, is_so) in KINDS {
        let some: Vec<&Outage> = all.iter().copied().filter(|it| is_so(it)).collect();
        match some.len() {
            0 => continue,
            _ if all.len() == 1 => text += " In it",
            count if count == all.len() => text += " In all of them",
            1 => {
                let began = moment::rfc3339(some[0].start * 60_000_000_000);
                text += &format!(" In the one that began {began}");
            }
            count => text += &format!(" In {count} of them ({} together)", lasted(&some)),
        }
        text += &format!(" {what}.");
    }
    Some(
        text + " Outages are left out of all figures but those of servers' processors; `plimsoll analyze` with the part `cleaning` lists them.",
    )
}

/// What is known of an outage, and whether that is so.
type Kind = (&'static str, fn(&Outage) -> bool);

const KINDS: [Kind; 3] = [
    ("nothing is known of any target", |it| it.flat == 0),
    ("targets are known, and no counter moved: storage was down, or nobody used it", |it| {
        it.flat == it.minutes
    }),
    ("no counter moved for some of the time, and nothing is known of the rest", |it| {
        it.flat > 0 && it.flat < it.minutes
    }),
];

fn lasted(some: &[&Outage]) -> String {
    minutes(some.iter().map(|it| it.minutes as f64).sum())
}

/// Returns how many minutes each of them has, if that is the same.
fn each(all: &[&Outage]) -> Option<u64> {
    let first = all.first()?.minutes;
    all.iter().all(|it| it.minutes == first).then_some(first)
}

/// Returns on which day the first of several was, and how far they are apart from start to start.
fn apart(all: &[&Outage]) -> String {
    let day = |it: &Outage| (it.start as f64 / 1440.0).floor();
    let first =
        all.first().map_or_else(String::new, |it| moment::rfc3339(it.start * 60_000_000_000));
    let first = first.split('T').next().unwrap_or_default();
    let days = all.windows(2).map(|two| day(two[1]) - day(two[0]));
    let (least, most) =
        days.fold((f64::MAX, 0.0), |it: (f64, f64), day| (it.0.min(day), it.1.max(day)));
    match (least, most) {
        (_, 0.0) => format!("all on {first}"),
        (0.0, _) => format!("from {first} on, up to {} apart", words::count(most as u64, "day")),
        (1.0, 1.0) => format!("about once a day from {first} on"),
        _ if least == most => format!("about every {most} days from {first} on"),
        _ => format!("from {first} on, {least} to {most} days apart"),
    }
}

/// Readings that are left out or doubtful; nothing where there are none.
pub fn dropped(frame: &Frame, analysis: &Analysis) -> Option<String> {
    let (cleaning, limit) = (&analysis.cleaning, frame.options.limit);
    let mut parts = Vec::new();
    // Otherwise it is told with the minutes that lack a value.
    if cleaning.over_limit > 0 && cleaning.incomplete == 0 {
        parts.push(format!("Of values, {}.", unusable(frame, analysis)));
    }
    let suspicious = analysis.system.suspicious.len() as u64;
    if suspicious > 0 && limit.is_none() {
        parts.push(format!(
            "{} more than three times the 99.9th percentile; no limit was given, so that is kept.",
            if suspicious == 1 {
                "1 minute has".into()
            } else {
                format!("{} have", words::count(suspicious, "minute"))
            }
        ));
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// Whether more is read or written.
pub fn more_read(analysis: &Analysis) -> Option<String> {
    let ratio = analysis.system.ratio?;
    let verdict = match ratio.interval {
        Some(it) if it.low > 1.0 => "More is read than written",
        Some(it) if it.high < 1.0 => "More is written than read",
        Some(_) => "Neither reads nor writes clearly prevail",
        None => "What is read and written",
    };
    let directions = &analysis.system.directions;
    let [read, written] = directions.each_ref().map(|it| bytes(it.bytes as f64));
    let mut text = format!(
        "{verdict}: {read} read, {written} written, {} times as much read as written.",
        figure(&ratio, words::short)
    );
    text += &without_daily_jobs(analysis).unwrap_or_default();
    let months = &analysis.system.months;
    if months.len() > 2 {
        let more = months.values().filter(|[read, written]| read > written).count();
        text += &match months.len() - more {
            0 => format!(" More is read in each of {} months.", months.len()),
            _ => format!(" More is read in {more} of {} months.", months.len()),
        };
    }
    if let [Some(read), Some(written)] = directions.each_ref().map(|it| it.mean) {
        text += &format!(
            " {}: {} read and {} written a minute on average.",
            match analysis.space.targets.len() {
                1 => "The one target".to_string(),
                many => format!("All {many} targets together"),
            },
            figure(&read, bytes),
            figure(&written, bytes)
        );
    }
    Some(text)
}

/// What the ratio is without daily jobs, where that differs.
fn without_daily_jobs(analysis: &Analysis) -> Option<String> {
    let mut bytes = analysis.system.directions.each_ref().map(|it| it.bytes as f64);
    let all = bytes[0] / bytes[1];
    for job in &analysis.daily_jobs {
        // Of jobs on some days of the week, how many days had one is not counted.
        let days = if job.weekdays.is_none() { job.days } else { return None };
        bytes[job.direction] -= job.bytes?.value * days as f64;
    }
    let ratio = bytes[0] / bytes[1];
    let differs = ratio > 0.0 && (ratio / all - 1.0).abs() > 0.02;
    let what = if analysis.daily_jobs.len() == 1 { "the daily job" } else { "daily jobs" };
    differs.then(|| format!(" Without {what} above it is about {} times.", words::short(ratio)))
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

/// A standard deviation of minutes over their mean from which on load is said to come in bursts.
const BURSTY: f64 = 1.0;

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
    let least = read_cov.value.min(written_cov.value);
    let is_bursty = if least >= BURSTY { "Load comes in bursts. " } else { "" };
    let mut text = format!(
        "{is_bursty}{verdict}: the standard deviation of minutes is {} times their mean for reads and {} times for writes.",
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
    let highest = |of: &Transfer| {
        let (mean, most) = (of.mean?.value, of.minutes.as_ref()?.max());
        Some(format!("{}, {} times the mean", bytes(most), words::short(most / mean)))
    };
    let busiest = |of: &Transfer| {
        let values = of.minutes.as_ref()?.values();
        let all: f64 = values.iter().sum();
        let most: f64 = values[values.len() - values.len().div_ceil(100)..].iter().sum();
        (all > 0.0).then(|| words::percent(most / all))
    };
    Some(format!(
        "{} of minutes read less than the mean minute, and {} write less. The busiest 1 % of minutes move {} of all that is read and {} of all that is written. The highest minute reads {}; the highest one of writes has {}.",
        figure(&below_read, words::percent),
        figure(&below_written, words::percent),
        busiest(read)?,
        busiest(written)?,
        highest(read)?,
        highest(written)?
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outages_are_apart_as_their_days_are() {
        let at = |days: &[u64]| {
            let outage = |day: &u64| Outage { start: day * 1440 + 700, minutes: 30, flat: 0 };
            let all: Vec<Outage> = days.iter().map(outage).collect();
            apart(&all.iter().collect::<Vec<_>>())
        };
        assert_eq!(at(&[20_091, 20_121, 20_151]), "about every 30 days from 2025-01-03 on");
        assert_eq!(at(&[20_091, 20_092]), "about once a day from 2025-01-03 on");
        assert_eq!(at(&[20_091, 20_093, 20_101]), "from 2025-01-03 on, 2 to 8 days apart");
        assert_eq!(at(&[20_091, 20_091, 20_101]), "from 2025-01-03 on, up to 10 days apart");
        assert_eq!(at(&[20_091, 20_091]), "all on 2025-01-03");
    }

    #[test]
    fn an_outage_is_of_one_kind() {
        for (flat, kind) in [(0, 0), (30, 1), (10, 2)] {
            let outage = Outage { start: 0, minutes: 30, flat };
            assert_eq!(KINDS.map(|it| it.1(&outage)), [0, 1, 2].map(|it| it == kind));
        }
    }
}
