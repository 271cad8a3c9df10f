//! Answers about the course of time: hours, phases, what tells what comes, metadata.

use plimsoll_analyze::{Analysis, Estimate, Frame, Recurring, apart};
use plimsoll_domain::moment::WEEKDAYS;
use plimsoll_report::words;

use super::{about, bytes, figure, minutes};

/// Whether hours of the day and days of the week differ.
pub fn hours(frame: &Frame, analysis: &Analysis) -> Option<String> {
    let times = &analysis.times;
    let hour = |hour: usize| format!("from {hour:02}:00 to {:02}:00", (hour + 1) % 24);
    let weekday = |day: usize| format!("on {}", WEEKDAYS[day]);
    let mut parts = Vec::new();
    parts.extend(recurring(
        &times.hours,
        ["The hour of the day", "hour of the day"],
        "an hour",
        &hour,
    ));
    parts.extend(recurring(
        &times.weekdays,
        ["The day of the week", "day of the week"],
        "a day",
        &weekday,
    ));
    (!parts.is_empty())
        .then(|| format!("{} (Hours and days in {}.)", parts.join(" "), frame.zone().name()))
}

fn recurring(
    all: &[[Recurring; 2]],
    [what, any]: [&str; 2],
    of: &str,
    name: &dyn Fn(usize) -> String,
) -> Vec<String> {
    let is_known = |direction: usize| {
        all.iter().all(|it| it[direction].mean.is_some_and(|it| it.interval.is_some()))
    };
    let mean = |place: usize, direction: usize| {
        all[place][direction].mean.map_or_else(String::new, |it| bytes(it.value))
    };
    let mut parts = Vec::new();
    let mut alike = Vec::new();
    for (direction, (noun, verb)) in [("reads", "read"), ("writes", "written")].iter().enumerate() {
        if !is_known(direction) {
            continue;
        }
        match apart(all, direction) {
            Some((most, least)) => parts.push(format!(
                "{what} matters for {noun}: most is {verb} {} ({} {of}), least {} ({}).",
                name(most),
                mean(most, direction),
                name(least),
                mean(least, direction)
            )),
            None => alike.push(*noun),
        }
    }
    if !alike.is_empty() {
        parts.push(format!("No {any} stands out beyond chance for {}.", alike.join(" and ")));
    }
    parts
}

/// How long high and low activity lasts.
pub fn phases(frame: &Frame, analysis: &Analysis) -> Option<String> {
    let [high, low] = &analysis.phases;
    let lasts = |it: Option<Estimate>| Some(figure(&it?, minutes));
    let share = |it: f64| words::percent(it);
    Some(format!(
        "High activity, the upper {} of minutes, lasts {} for reads and {} for writes on average, and begins again every {} and {}; low activity, the lower {}, lasts {} and {}.",
        share(1.0 - frame.options.high_from),
        lasts(high[0].mean_length)?,
        lasts(high[1].mean_length)?,
        lasts(high[0].mean_interval)?,
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
    let verdict = |r: f64| match r {
        it if it >= 0.6 => "much",
        it if it >= 0.3 => "something",
        _ => "little",
    };
    let mut parts = Vec::new();
    for (window, width) in ["a minute", "5 minutes", "25 minutes"].into_iter().enumerate() {
        if let Some((reads, writes)) = at(0, window).zip(at(1, window)) {
            parts.push(format!(
                "{width} tell{} {} of the next {} (correlation {} for reads, {} for writes)",
                if window == 0 { "s" } else { "" },
                verdict(reads.r.value.min(writes.r.value)),
                if window == 0 { "one" } else { width },
                figure(&reads.r, words::short),
                figure(&writes.r, words::short)
            ));
        }
    }
    (!parts.is_empty()).then(|| {
        let text = parts.join("; ");
        format!("{}{}.", text[..1].to_uppercase(), &text[1..])
    })
}

/// Whether reads and writes go together.
pub fn reads_tell_writes(analysis: &Analysis) -> Option<String> {
    let r = (*analysis.correlations[2].by_window.first()?.first()?)?.r;
    let is_none = r.interval.is_some_and(|it| it.low <= 0.0 && 0.0 <= it.high);
    let verdict = match r.value {
        _ if is_none => "have nothing to do with each other that could be seen",
        it if it <= -0.3 => "take turns",
        it if it.abs() < 0.3 => "hardly go together",
        it if it < 0.6 => "go together somewhat",
        _ => "go together",
    };
    Some(format!(
        "Reads and writes of the same minute {verdict}: their correlation is {}.",
        figure(&r, words::short)
    ))
}

/// Files opened and closed.
pub fn metadata(analysis: &Analysis) -> Option<String> {
    let metadata = analysis.metadata.as_ref()?;
    let [opens, closes] = &metadata.operations;
    Some(format!(
        "{} files are opened in a minute on average and {} closed, {} closes for each open; the highest minute has {} opens.",
        figure(&opens.mean?, about),
        figure(&closes.mean?, about),
        figure(&metadata.closes_per_open?, words::short),
        about(opens.most?)
    ))
}
