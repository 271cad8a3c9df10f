//! What recurs: hot targets, daily jobs, forecasts.

use plimsoll_analyze::{Analysis, DailyJob, Forecast, HotPeriod, HotTarget};
use plimsoll_domain::moment::WEEKDAYS;
use plimsoll_report::Record;

use super::numbers::*;
use super::parts::estimate;

/// Names of directions.
pub const DIRECTIONS: [&str; 2] = ["read", "written"];

/// Returns what recurs.
pub fn found(analysis: &Analysis) -> Record {
    let both = analysis.forecasts.iter().zip(DIRECTIONS);
    let forecasts: Vec<Record> =
        both.filter_map(|(it, name)| Some(forecast(it.as_ref()?, name))).collect();
    let mut record = Record::new()
        .rows(
            "hot_targets",
            "targets that get more day after day",
            analysis.hot.iter().map(hot).collect(),
        )
        .rows(
            "hot_periods",
            "targets that got more for a time",
            analysis.hot_periods.iter().map(hot_period).collect(),
        )
        .rows("daily_jobs", "jobs of every day", analysis.daily_jobs.iter().map(job).collect());
    if forecasts.is_empty() {
        record =
            record.note("there are too few hours for a forecast: 21 days without gaps are needed");
    }
    record
        .rows("forecasts", "the next hour", forecasts)
        .note("with nothing to find, one history in twenty has a hot target by chance, one in twenty a target that was hot for a time, and one in twenty a daily job")
}

fn hot(hot: &HotTarget) -> Record {
    let record = Record::new()
        .text("name", "target", &hot.name)
        .text("of", "of", DIRECTIONS[hot.direction])
        .number(&KNOWN_DAYS, hot.days as u64)
        .number(&DAYS_ABOVE, hot.days_above as u64);
    estimate(record, [&OVER_MEDIAN, &OVER_MEDIAN_LOW, &OVER_MEDIAN_HIGH], Some(hot.over_median))
        .number(&LATELY, hot.lately)
        .number(&P_VALUE, hot.p_value)
}

fn hot_period(hot: &HotPeriod) -> Record {
    Record::new()
        .text("name", "target", &hot.name)
        .text("of", "of", DIRECTIONS[hot.direction])
        .text("from", "from about", hot.first.to_string())
        .text("to", "to about", hot.last.to_string())
        .number(&KNOWN_DAYS, hot.days as u64)
        .number(&DAYS_ABOVE, hot.days_above as u64)
        .number(&OVER_MEDIAN, hot.over_median)
        .number(&OTHERWISE, hot.otherwise)
        .number(&PERIOD_P_VALUE, hot.p_value)
}

fn job(job: &DailyJob) -> Record {
    let record = Record::new()
        .text("start", "from", clock(job.start))
        .text("of", "of", DIRECTIONS[job.direction])
        .number(&JOB_TIME, job.minutes as f64 * 60.0)
        .number(&KNOWN_DAYS, job.days as u64)
        .number(&SHARE_OF_DAYS, job.share)
        .number(&SHARE_LATELY, job.lately)
        .optional_text("weekdays", "only on", job.weekdays.as_ref().map(|it| weekdays(it)));
    estimate(record, [&JOB_BYTES, &JOB_BYTES_LOW, &JOB_BYTES_HIGH], job.bytes)
}

/// Returns names of days of the week.
pub fn weekdays(days: &[usize]) -> String {
    let names: Vec<&str> = days.iter().map(|it| WEEKDAYS[*it]).collect();
    names.join(", ")
}

/// Returns a minute of the day as clocks show it.
pub fn clock(minute: usize) -> String {
    format!("{:02}:{:02}", minute / 60, minute % 60)
}

fn forecast(forecast: &Forecast, name: &'static str) -> Record {
    let [made, held] = forecast.hours;
    let [hour, day, this_hour, usual] = forecast.naive_errors;
    let record = Record::new()
        .text("of", "of", name)
        .number(&HOURS_MADE, made as u64)
        .number(&HOURS_HELD, held as u64)
        .number(&ERROR, forecast.error)
        .number(&ERROR_HOUR, hour)
        .number(&ERROR_DAY, day)
        .number(&ERROR_THIS_HOUR, this_hour)
        .number(&ERROR_USUAL, usual);
    let over = [&OVER_NAIVE, &OVER_NAIVE_LOW, &OVER_NAIVE_HIGH];
    let wins = if forecast.wins() { "yes" } else { "no" };
    estimate(record, over, Some(forecast.over_naive)).text("wins", "better", wins)
}
