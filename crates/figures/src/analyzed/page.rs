//! The page: figures 3 to 16 of the paper for this data.

use plimsoll_analyze::{
    Analysis, Beside, Correlations, Frame, Phases, Server, TARGET_LAGS, WINDOWS,
};
use plimsoll_domain::moment::WEEKDAYS;
use plimsoll_report::Unit;
use plimsoll_report::html::{Axis, Bars, Lines, Page, Section};

use super::answers::Answers;
use super::parts::DATA_PAIRS;
use super::{Part, record};

/// Returns the page as one file.
pub fn page(name: &str, frame: &Frame, analysis: &Analysis, beside: &Beside) -> String {
    let subtitle = format!(
        "{} targets, {} days; hours and days in {}",
        frame.targets.len(),
        frame.days.len(),
        frame.zone().name()
    );
    let mut summary = Section::new("In words");
    for part in Answers::of(frame, analysis, beside).parts() {
        if !part.sentences.is_empty() {
            let heading = part.heading[..1].to_uppercase() + &part.heading[1..];
            summary = summary.section(Section::new(heading).text(part.sentences.join("\n")));
        }
    }
    let mut page = Page::new(format!("Analysis of {name}"), subtitle)
        .section(summary)
        .section(over_time(analysis))
        .section(recurring(analysis))
        .section(phases(analysis))
        .section(correlations("Does activity tell what comes", DATA_PAIRS, &analysis.correlations))
        .section(targets(analysis));
    if let Some(metadata) = &analysis.metadata {
        let names = ["opens with opens", "closes with closes", "opens with closes that follow"];
        let section = correlations("Files opened and closed", names, &metadata.correlations);
        page = page.section(section.chart(opened(analysis)));
    }
    if !analysis.servers.is_empty() {
        page = page.section(servers(analysis));
    }
    let numbers = record(frame, analysis, beside, &Part::ALL[..Part::ALL.len() - 1], usize::MAX);
    page.section(Section::new("All numbers").folded(Section::new("show").record(&numbers)))
        .footer(format!("Made by plimsoll analyze --store {name}."))
        .to_html()
}

/// Points of a line over time.
const POINTS: usize = 1000;

/// Figures 3 and 4.
fn over_time(analysis: &Analysis) -> Section {
    let line = &analysis.timeline;
    let time = || Axis::new("time since the first day", Unit::Seconds);
    let cumulated = |series: &[Option<u64>]| -> Vec<(f64, f64)> {
        let step = (line.len() / POINTS).max(1);
        let (mut sum, mut points) = (0.0, Vec::new());
        for (place, bytes) in series.iter().enumerate() {
            sum += bytes.unwrap_or(0) as f64;
            if place % step == step - 1 {
                points.push((place as f64 * 60.0, sum));
            }
        }
        points
    };
    let mut total =
        Lines::new("Bytes up to then (fig. 3)", time(), Axis::new("bytes", Unit::Bytes));
    let mut cdf =
        Lines::cdf("Bytes of a minute (fig. 4)", Axis::new("bytes of a minute", Unit::Bytes));
    for (direction, name) in ["read", "written"].into_iter().enumerate() {
        total = total.line(name, cumulated(&line.bytes[direction]));
        if let Some(sample) = &analysis.system.directions[direction].minutes {
            cdf = cdf.line(name, distribution(sample.values()));
        }
    }
    Section::new("All targets together").chart(total).chart(cdf)
}

/// Points of a cumulative distribution of sorted values, in per cent.
pub(super) fn distribution(sorted: &[f64]) -> Vec<(f64, f64)> {
    let n = sorted.len();
    let step = (n / POINTS).max(1);
    let places = (0..n).step_by(step).chain([n.saturating_sub(1)]);
    places.filter_map(|it| Some((*sorted.get(it)?, (it + 1) as f64 / n as f64 * 100.0))).collect()
}

/// Figures 5 and 6.
fn recurring(analysis: &Analysis) -> Section {
    let times = &analysis.times;
    let hours: Vec<String> = (0..24).map(|hour| format!("{hour:02}")).collect();
    let days: Vec<String> = WEEKDAYS.iter().map(ToString::to_string).collect();
    let mut section = Section::new("Hours and days");
    for (title, axis, names, list) in [
        ("Hours of the day (fig. 5)", "hour", hours, &times.hours),
        ("Days of the week (fig. 6)", "day", days, &times.weekdays),
    ] {
        let of = |direction: usize, value: fn(&plimsoll_analyze::Recurring) -> Option<f64>| {
            list.iter().map(|it| value(&it[direction]).unwrap_or(f64::NAN)).collect::<Vec<_>>()
        };
        let bytes = Axis::new("mean bytes", Unit::Bytes);
        let mean = Bars::columns(title, axis, bytes, names.clone())
            .series("read", of(0, |it| Some(it.mean?.value)))
            .series("written", of(1, |it| Some(it.mean?.value)));
        let cov = Axis::new("CoV", Unit::Ratio);
        let cov = Bars::columns(format!("{title}: variation"), axis, cov, names)
            .series("read", of(0, |it| Some(it.cov?.value)))
            .series("written", of(1, |it| Some(it.cov?.value)));
        section = section.chart(mean).chart(cov);
    }
    section
}

/// Figures 7 and 8.
fn phases(analysis: &Analysis) -> Section {
    let mut section = Section::new("High and low activity");
    for (name, [reads, writes]) in ["High", "Low"].into_iter().zip(&analysis.phases) {
        let figure = if name == "High" { "fig. 7" } else { "fig. 8" };
        let minutes = |title: &str| Axis::new(title, Unit::Seconds);
        let cdf = |title: String, axis: &str, of: fn(&Phases) -> &[u32]| {
            let sorted = |phases: &Phases| {
                let mut values: Vec<f64> =
                    of(phases).iter().map(|it| f64::from(*it) * 60.0).collect();
                values.sort_by(f64::total_cmp);
                distribution(&values)
            };
            Lines::cdf(title, minutes(axis))
                .line("reads", sorted(reads))
                .line("writes", sorted(writes))
        };
        section = section
            .chart(cdf(format!("{name} activity: length ({figure})"), "length", |it| &it.lengths))
            .chart(cdf(format!("{name} activity: from start to start ({figure})"), "time", |it| {
                &it.intervals
            }));
    }
    section
}

/// Figures 9 and 14.
fn correlations(title: &str, names: [&str; 3], all: &[Correlations; 3]) -> Section {
    let mut section = Section::new(title);
    for (name, correlations) in names.into_iter().zip(all) {
        let lag = Axis::new("lag in windows", Unit::Count);
        let r = Axis::new("correlation", Unit::Ratio).reaching(0.0, 1.0);
        let mut lines = Lines::new(format!("{}{}", name[..1].to_uppercase(), &name[1..]), lag, r);
        for (width, lags) in WINDOWS.into_iter().zip(&correlations.by_window) {
            let points = lags.iter().enumerate();
            let points = points.filter_map(|(lag, it)| Some((lag as f64, (*it)?.r.value)));
            lines = lines.line(format!("windows of {width} min"), points.collect());
        }
        section = section.chart(lines);
    }
    section
}

/// Figures 10 to 12.
fn targets(analysis: &Analysis) -> Section {
    let space = &analysis.space;
    let mut section = Section::new("Targets");
    let mut sorted = Lines::new(
        "Bytes of targets, sorted (fig. 10)",
        Axis::new("target", Unit::Count),
        Axis::new("bytes", Unit::Bytes).reaching(0.0, 0.0),
    );
    let mut degrees = Lines::cdf(
        "Degree of parallelism (fig. 11)",
        Axis::new("targets of a cluster", Unit::Count),
    );
    for (direction, name) in ["read", "written"].into_iter().enumerate() {
        let mut bytes: Vec<f64> =
            space.targets.iter().map(|it| it.bytes[direction] as f64).collect();
        bytes.sort_by(f64::total_cmp);
        sorted = sorted.line(name, (1..).map(f64::from).zip(bytes).collect());
        let counts = &space.parallelism[direction].degrees[0];
        let all = counts.clusters().max(1) as f64;
        let mut sum = 0;
        let points = counts.counts.iter().enumerate().skip(1).map(|(size, count)| {
            sum += count;
            (size as f64, sum as f64 / all * 100.0)
        });
        degrees = degrees.line(name, points.collect());
    }
    section = section.chart(sorted).chart(degrees);
    for (which, name) in DATA_PAIRS.into_iter().enumerate() {
        let lag = Axis::new("lag in minutes", Unit::Count);
        let r = Axis::new("correlation", Unit::Ratio).reaching(0.0, 1.0);
        let of_target = |target: &plimsoll_analyze::TargetTotals| -> Vec<(f64, f64)> {
            let at = |lag: usize| Some((lag as f64, target.lags[which].at(0, lag).correlation()?));
            (0..TARGET_LAGS).filter_map(at).collect()
        };
        let lines = space.targets.iter().map(of_target).collect();
        let title = format!("Each target: {name}, by the minute (fig. 12)");
        section = section.chart(Lines::new(title, lag, r).bundle("targets", lines));
    }
    section
}

/// Figure 13.
fn opened(analysis: &Analysis) -> Lines {
    let line = &analysis.timeline;
    let time = Axis::new("time since the first day", Unit::Seconds);
    let mut lines = Lines::new("Files up to then (fig. 13)", time, Axis::new("files", Unit::Count));
    let step = (line.len() / POINTS).max(1);
    for (series, name) in line.metadata.iter().zip(["opened", "closed"]) {
        let mut sum = 0.0;
        let mut points = Vec::new();
        for (place, count) in series.iter().enumerate() {
            sum += count.unwrap_or(0) as f64;
            if place % step == step - 1 {
                points.push((place as f64 * 60.0, sum));
            }
        }
        lines = lines.line(name, points);
    }
    lines
}

/// Figures 15 and 16.
fn servers(analysis: &Analysis) -> Section {
    let sorted = |of: &dyn Fn(&Server) -> f64| -> Vec<(f64, f64)> {
        let mut values: Vec<f64> = analysis.servers.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        (1..).map(f64::from).zip(values).collect()
    };
    let share = Axis::new("share of processors' time", Unit::Share).reaching(0.0, 1.0);
    let cpu = Lines::new(
        "Processors of servers, sorted (fig. 15)",
        Axis::new("server", Unit::Count),
        share,
    )
    .line("mean", sorted(&|it| it.mean.value))
    .line("highest minute", sorted(&Server::most));
    let lines = analysis.servers.iter().map(|it| {
        let at = |lag: usize| Some((lag as f64, it.sums.lags.at(0, lag).correlation()?));
        (0..TARGET_LAGS).filter_map(at).collect()
    });
    let r = Axis::new("correlation", Unit::Ratio).reaching(0.0, 1.0);
    let lags = Lines::new(
        "Each server with itself, by the minute (fig. 16)",
        Axis::new("lag in minutes", Unit::Count),
        r,
    )
    .bundle("servers", lines.collect());
    Section::new("Servers").chart(cpu).chart(lags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_ends_at_all_values() {
        assert_eq!(distribution(&[]), []);
        assert_eq!(distribution(&[3.0, 5.0]), [(3.0, 50.0), (5.0, 100.0), (5.0, 100.0)]);
        let many: Vec<f64> = (0..100_000).map(f64::from).collect();
        assert_eq!(distribution(&many).last(), Some(&(99_999.0, 100.0)));
    }
}
