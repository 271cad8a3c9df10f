//! Answers about the course of time: hours, phases, what tells what comes, metadata.

use plimsoll_analyze::{Analysis, Estimate, Frame, Outstanding, Recurring};
use plimsoll_domain::moment::WEEKDAYS;
use plimsoll_report::words;

use super::likeness::Likeness;
use super::{about, bytes, figure, minutes};

/// Whether hours of the day and days of the week differ.
pub fn hours(frame: &Frame, analysis: &Analysis) -> Option<String> {
    let times = &analysis.times;
    let is_daily = |hour: usize, direction: usize| {
        let mut jobs = analysis.daily_jobs.iter().filter(|it| it.direction == direction);
        jobs.any(|it| it.start / 60 == hour)
    };
    let hour = |hour: usize, direction: usize| {
        let job = if is_daily(hour, direction) { ", when the daily job above begins" } else { "" };
        format!("from {hour:02}:00 to {:02}:00{job}", (hour + 1) % 24)
    };
    let weekday = |day: usize, _| format!("on {}", WEEKDAYS[day]);
    let mut parts = recurring(&times.hours, "hour of the day", "an hour", &hour);
    parts.extend(recurring(&times.weekdays, "day of the week", "a day", &weekday));
    (!parts.is_empty())
        .then(|| format!("{} (Hours and days in {}.)", parts.join(" "), frame.zone().name()))
}

fn recurring(
    all: &[[Recurring; 2]],
    what: &str,
    of: &str,
    name: &dyn Fn(usize, usize) -> String,
) -> Vec<String> {
    let is_known = |direction: usize| {
        all.iter().all(|it| it[direction].mean.is_some_and(|it| it.interval.is_some()))
    };
    let mut parts = Vec::new();
    let mut alike = Vec::new();
    for (direction, (noun, verb)) in [("reads", "read"), ("writes", "written")].iter().enumerate() {
        if !is_known(direction) {
            continue;
        }
        let outstanding = Outstanding::of(all, direction);
        let told = |(word, place): (&str, Option<usize>)| {
            let place = place?;
            let mean = figure(&all[place][direction].mean?, bytes);
            Some(format!("{word} is {verb} {}: {mean} {of}", name(place, direction)))
        };
        let some = [("most", outstanding.most), ("least", outstanding.least)];
        let some: Vec<String> = some.into_iter().filter_map(told).collect();
        match some.is_empty() {
            true => alike.push(*noun),
            false => parts.push(format!("By {what}, {}.", some.join("; "))),
        }
    }
    if !alike.is_empty() {
        parts.push(format!("No {what} stands out beyond chance for {}.", alike.join(" and ")));
    }
    parts
}

/// How long high and low activity lasts.
pub fn phases(frame: &Frame, analysis: &Analysis) -> Option<String> {
    let [high, low] = &analysis.phases;
    let lasts = |it: Option<Estimate>| Some(figure(&it?, minutes));
    let share = |it: f64| words::percent(it);
    Some(format!(
        "High activity, which is the upper {} of minutes, lasts {} on average for reads and begins every {}; for writes it lasts {} and begins every {}. (That is no rhythm: how often follows from the share and the length.) Low activity, the lower {}, lasts {} for reads and {} for writes.",
        share(1.0 - frame.options.high_from),
        lasts(high[0].mean_length)?,
        lasts(high[0].mean_interval)?,
        lasts(high[1].mean_length)?,
        lasts(high[1].mean_interval)?,
        share(frame.options.low_to),
        lasts(low[0].mean_length)?,
        lasts(low[1].mean_length)?
    ))
}

/// Whether what happens tells what comes.
pub fn tells_next(analysis: &Analysis) -> Option<String> {
    let at = |which: usize, window: usize| {
        analysis.correlations[which].by_window.get(window)?.get(1).copied().flatten()
    };
    let spans = [
        ("The next minute is", "this one"),
        ("The next 5 minutes are", "these 5"),
        ("The next 25 minutes are", "these 25"),
    ];
    let mut parts = Vec::new();
    for (window, (next, these)) in spans.into_iter().enumerate() {
        if let Some((reads, writes)) = at(0, window).zip(at(1, window)) {
            let (reads, writes) = (reads.r, writes.r);
            let what = if parts.is_empty() { "correlation " } else { "" };
            parts.push(format!(
                "{next} {} like {these}: {what}{} for reads, {} for writes.",
                Likeness::of_both(&reads, &writes).word(),
                figure(&reads, words::short),
                figure(&writes, words::short)
            ));
        }
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// Whether reads and writes go together.
pub fn reads_tell_writes(analysis: &Analysis) -> Option<String> {
    let r = (*analysis.correlations[2].by_window.first()?.first()?)?.r;
    let verdict = match Likeness::of(&r) {
        Likeness::Opposite => "take turns".to_string(),
        Likeness::Much => "go together".to_string(),
        Likeness::ALittle => "go together a little".to_string(),
        other => format!("{} go together", other.word()),
    };
    Some(format!(
        "Reads and writes of the same minute {verdict}: their correlation is {}.",
        figure(&r, words::short)
    ))
}

/// Closes for each open from which on, and up to which, all of both seem to be counted.
const ALL_COUNTED: std::ops::RangeInclusive<f64> = 0.98..=1.02;

/// Files opened and closed.
pub fn metadata(analysis: &Analysis) -> Option<String> {
    let metadata = analysis.metadata.as_ref()?;
    let [opens, closes] = &metadata.operations;
    let ratio = metadata.closes_per_open?;
    let mut text = format!(
        "{} files are opened in a minute on average and {} closed; the highest minute has {} opens. There are {} closes for each open.",
        figure(&opens.mean?, about),
        figure(&closes.mean?, about),
        about(opens.most?),
        figure(&ratio, words::short),
    );
    if !ALL_COUNTED.contains(&ratio.value) {
        let (fewer, than) =
            if ratio.value < 1.0 { ("closes", "opens") } else { ("opens", "closes") };
        text += &format!(" Fewer {fewer} than {than} are counted; the data do not say why.");
    }
    Some(text)
}
