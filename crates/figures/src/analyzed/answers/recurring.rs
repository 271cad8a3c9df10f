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
        one_hot(name, &all)
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

fn one_hot(name: &str, all: &[&HotTarget]) -> String {
    let times: Vec<String> = all
        .iter()
        .map(|hot| {
            let over = figure(&hot.over_median, words::short);
            format!("{} {over} times", DIRECTIONS[hot.direction])
        })
        .collect();
    let days: Vec<String> = all.iter().map(|hot| days_above(hot)).collect();
    let days = match days.as_slice() {
        [one, other] if one == other => one.clone(),
        _ => days.join(" and "),
    };
    let cooled = all.iter().filter_map(|hot| {
        let lately = hot.lately.filter(|it| *it < COOLED)?;
        let verb = DIRECTIONS[hot.direction];
        Some(format!(
            " In the last third of the days it is {verb} {} times as much, so that seems to be over.",
            words::short(lately)
        ))
    });
    format!(
        "Target {name} gets more than others: it is {} as much as the median target, and more than it on {days}.{}",
        times.join(" and "),
        cooled.collect::<String>()
    )
}

fn days_above(hot: &HotTarget) -> String {
    match hot.days - hot.days_above {
        0 => format!("each of {} days", hot.days),
        _ => format!("{} of {} days", hot.days_above, hot.days),
    }
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
        None => ("On many days".to_string(), "a day, also counting those without it"),
    };
    let on_top = job.bytes.as_ref().map(|it| format!("{} more {on} are", figure(it, bytes)));
    let of_days = match &job.weekdays {
        Some(_) => ". It is not so on other days of the week".to_string(),
        None if job.share == 1.0 => format!(". It was so on each of {} days", job.days),
        None => format!(". It was so on {} of {} days", words::percent(job.share), job.days),
    };
    let ended = job
        .lately
        .filter(|it| *it < job.share - 0.2)
        .map(|it| format!(", but only on {} of the last third of them", words::percent(it)));
    format!(
        "{days} from {} on ({zone}), for about {} minutes, {} {} than is usual in the hours around{of_days}{}.",
        clock(job.start),
        job.minutes,
        on_top.unwrap_or_else(|| "more is".to_string()),
        DIRECTIONS[job.direction],
        ended.unwrap_or_default(),
    )
}

/// Whether the next hour can be told.
pub fn forecasts(analysis: &Analysis) -> Vec<String> {
    let both = analysis.forecasts.iter().zip(&analysis.system.directions).zip(["reads", "writes"]);
    let told = both.filter_map(|((forecast, transfer), name)| {
        let forecast = forecast.as_ref()?;
        let over = figure(&forecast.over_naive, words::short);
        let best = forecast.naive_errors.iter().zip(NAIVE);
        let (least, best) = best.min_by(|one, other| one.0.total_cmp(other.0))?;
        let least = *least;
        let of_hour = |error: f64| {
            let mean = transfer.mean.map(|mean: Estimate| mean.value * 60.0);
            let off = mean.filter(|it| *it > 0.0).map(|it| words::percent(error / it));
            off.map_or_else(String::new, |it| format!(", {it} of a mean hour"))
        };
        let off = |error: f64| format!("off by {}{}", bytes(error), of_hour(error));
        Some(if forecast.wins() {
            format!(
                "The {name} of the next hour can be forecast: on days held out, the error is {over} times that of the best simple guess, \"{best}\". The forecast is {}.",
                off(forecast.error)
            )
        } else {
            format!(
                "The {name} of the next hour cannot be forecast usefully: on days held out, the forecast's error is {over} times that of the best simple guess, \"{best}\", which is {} on average.",
                off(least)
            )
        })
    });
    told.collect()
}
