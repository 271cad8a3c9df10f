//! Answers about what recurs: hot targets, daily jobs, forecasts.

use plimsoll_analyze::{Analysis, DailyJob, Estimate, Frame, HotPeriod, HotTarget, NAIVE};
use plimsoll_report::words;

use super::super::found::{DIRECTIONS, clock, weekdays};
use super::{bytes, figure};

/// Hot targets and jobs that are told; the others are counted.
const TOLD: usize = 5;

/// A target below this multiple of the median one is not hot any more.
const COOLED: f64 = 1.1;

/// Targets that get more than others, one sentence for each.
pub fn hot(analysis: &Analysis) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    for hot in &analysis.hot {
        if !names.contains(&hot.name.as_str()) {
            names.push(&hot.name);
        }
    }
    let of = |name: &&str| {
        let all: Vec<&HotTarget> = analysis.hot.iter().filter(|it| it.name == *name).collect();
        let parts: Vec<String> = all.iter().map(|it| one_hot(it)).collect();
        format!("Target {name} gets more than others: {}.", parts.join(", and "))
    };
    let mut told: Vec<String> = names.iter().take(TOLD).map(of).collect();
    if names.len() > TOLD {
        told.push(format!(
            "{} more get more than others; hint: the part findings has them.",
            words::count((names.len() - TOLD) as u64, "target")
        ));
    }
    told
}

fn one_hot(hot: &HotTarget) -> String {
    let cooled = hot.lately.filter(|it| *it < COOLED).map(|it| {
        format!(", but not any more: {} times in the last third of the days", words::short(it))
    });
    format!(
        "it is {} {} times as much as the median target, on {} of {} days more than it{}",
        DIRECTIONS[hot.direction],
        figure(&hot.over_median, words::short),
        hot.days_above,
        hot.days,
        cooled.unwrap_or_default()
    )
}

/// Targets that got more than others for some time, one sentence for each.
pub fn hot_periods(analysis: &Analysis) -> Vec<String> {
    let of = |hot: &HotPeriod| {
        let otherwise = hot.otherwise.map(|it| format!("; otherwise {} times", words::short(it)));
        let when = match hot.is_lasting {
            true => format!("since about {}", hot.first),
            false => format!("from about {} to {}", hot.first, hot.last),
        };
        format!(
            "Target {} got more than others for a time: {when} it was {} {} times as much as the median target, on {} of {} days more than it{}.",
            hot.name,
            DIRECTIONS[hot.direction],
            words::short(hot.over_median),
            hot.days_above,
            hot.days,
            otherwise.unwrap_or_default()
        )
    };
    let all = &analysis.hot_periods;
    let mut told: Vec<String> = all.iter().take(TOLD).map(of).collect();
    if all.len() > TOLD {
        told.push(format!(
            "There are {} more such times of targets; hint: the part findings has them.",
            all.len() - TOLD
        ));
    }
    told
}

/// Jobs that recur at the same time of the day.
pub fn jobs(frame: &Frame, analysis: &Analysis) -> Vec<String> {
    let zone = frame.zone().name();
    let all = &analysis.daily_jobs;
    let mut told: Vec<String> = all.iter().take(TOLD).map(|job| one_job(job, zone)).collect();
    if all.len() > TOLD {
        told.push(format!(
            "There are {} more such times of the day; hint: the part findings has them.",
            all.len() - TOLD
        ));
    }
    let is_shifted = |one: &DailyJob, other: &DailyJob| {
        one.direction == other.direction && one.start + 60 == other.start
    };
    if all.iter().any(|one| all.iter().any(|other| is_shifted(one, other))) {
        told.push(format!(
            "Two of these times are an hour apart: they may be one job that goes by another clock than {zone}; hint: --zone."
        ));
    }
    told
}

fn one_job(job: &DailyJob, zone: &str) -> String {
    let (days, on) = match &job.weekdays {
        Some(days) => (format!("On {}", weekdays(days)), "on each of these days"),
        None if job.share >= 0.95 => ("Every day".to_string(), "a day"),
        None => ("On many days".to_string(), "a day, also those without it"),
    };
    let on_top = job.bytes.as_ref().map(|it| format!(", {} on top {on}", figure(it, bytes)));
    let of_days = match &job.weekdays {
        Some(_) => ", and not on other days of the week".to_string(),
        None => format!(": on {} of all days", words::percent(job.share)),
    };
    let ended = job
        .lately
        .filter(|it| *it < job.share - 0.2)
        .map(|it| format!(", but only on {} of the last third of the days", words::percent(it)));
    format!(
        "{days}, more is {} from {} on ({zone}) for about {} minutes than in the hours around{}{}{}.",
        DIRECTIONS[job.direction],
        clock(job.start),
        job.minutes,
        of_days,
        ended.unwrap_or_default(),
        on_top.unwrap_or_default()
    )
}

/// Whether the next hour can be told.
pub fn forecasts(analysis: &Analysis) -> Vec<String> {
    let both = analysis.forecasts.iter().zip(&analysis.system.directions).zip(["reads", "writes"]);
    let told = both.filter_map(|((forecast, transfer), name)| {
        let forecast = forecast.as_ref()?;
        let over = figure(&forecast.over_naive, words::percent);
        let best = forecast.naive_errors.iter().zip(NAIVE);
        let (_, best) = best.min_by(|one, other| one.0.total_cmp(other.0))?;
        let hour = |mean: Estimate| mean.value * 60.0;
        let off = transfer.mean.map(hour).filter(|it| *it > 0.0).map(|it| forecast.error / it);
        let off = off.map(|it| format!(" It is off by {} of a mean hour.", words::percent(it)));
        Some(if forecast.wins() {
            format!(
                "The {name} of the next hour can be told better than by saying \"{best}\": on days held out, the error is {over} of that.{}",
                off.unwrap_or_default()
            )
        } else {
            format!(
                "No forecast of the {name} of the next hour is better than saying \"{best}\": on days held out, its error is {over} of that."
            )
        })
    });
    told.collect()
}
