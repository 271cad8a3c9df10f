//! When pairs completed (Xie, fig. 19), and bandwidth over the time of the experiment.

use plimsoll_report::Unit;
use plimsoll_report::html::{Axis, Lines, Scatter, Section};
use plimsoll_score::bandwidth::Point;
use plimsoll_score::columns::InstanceRow;

use super::Measured;
use super::even_sample::even_sample;
use super::measured::Panel;

/// Lines of one figure: more cannot be told apart.
const LINES_MAX: usize = 48;
/// Points of one line, and varied values with lines of their own.
const LINE_POINTS_MAX: usize = 60;
const KINDS_MAX: usize = 8;

pub fn completions(measured: &Measured) -> Section {
    let section = Section::new("Completion of pairs").text(
        "One thin line for each instance: the share of its pairs that have completed by each \
         second after the release. A line that ends in a long flat tail has stragglers; the program waits for \
         its end.",
    );
    let mut drawn = 0;
    let mut section = section;
    for panel in &measured.panels {
        let (lines, note) = completion(measured, panel);
        if let Some(lines) = lines {
            section = section.chart(lines);
            drawn += 1;
        }
        section = note.into_iter().fold(section, Section::note);
    }
    if drawn == 0 {
        return section.note("No instance has more than one pair: there is nothing to compare.");
    }
    measured.panels_note().into_iter().fold(section, Section::note)
}

fn completion(measured: &Measured, panel: &Panel) -> (Option<Lines>, Option<String>) {
    let several = |it: &&InstanceRow| measured.columns.pairs(it).len() > 1;
    // The largest settings have the most pairs, and the longest tails.
    let points = measured.points_of(panel);
    let smaller = points.len().saturating_sub(KINDS_MAX);
    let kinds: &[&Point] = &points[smaller..];
    let most = (LINES_MAX / kinds.len().max(1)).max(2);
    let title = panel.title("Time to completion of pairs");
    let seconds = Axis::new("time since the release", Unit::Seconds).reaching(0.0, 0.0);
    let share = Axis::new("pairs completed", Unit::Percent).reaching(0.0, 100.0);
    let mut lines = Lines::new(title, seconds, share).steps();
    let (mut all, mut shown) = (0, 0);
    for point in &points {
        all += measured.instances_of(point).filter(several).count();
    }
    for point in kinds.iter().copied() {
        let chosen: Vec<&InstanceRow> = measured.instances_of(point).filter(several).collect();
        let chosen = even_sample(chosen, most);
        if chosen.is_empty() {
            continue;
        }
        shown += chosen.len();
        let bundle = chosen.into_iter().map(|it| distribution(measured, it)).collect();
        lines = lines.bundle(measured.labels.long(measured.columns, point), bundle);
    }
    let settings = match smaller {
        0 => String::new(),
        _ => format!(", of the {} largest of {} settings", kinds.len(), points.len()),
    };
    let note = (shown < all).then(|| {
        format!("{shown} of {all} instances are drawn, evenly over the experiment{settings}.")
    });
    ((shown > 0).then_some(lines), note)
}

/// Completed pairs in percent over seconds, from none to all.
fn distribution(measured: &Measured, instance: &InstanceRow) -> Vec<(f64, f64)> {
    let mut seconds: Vec<f64> =
        measured.columns.pairs(instance).iter().map(|pair| pair.seconds).collect();
    seconds.sort_unstable_by(f64::total_cmp);
    let all = seconds.len() as f64;
    let steps = (1..).zip(seconds.iter()).map(|(done, at)| (*at, f64::from(done) / all * 100.0));
    let mut steps: Vec<(f64, f64)> = steps.collect();
    // The tail is drawn whole: left out, it would look like one straggler.
    let tail = steps.split_off(steps.len().saturating_sub(LINE_POINTS_MAX / 2));
    let start = seconds.first().map(|first| (*first, 0.0));
    let rest = even_sample(steps, LINE_POINTS_MAX - tail.len());
    start.into_iter().chain(rest).chain(tail).collect()
}

pub fn over_time(measured: &Measured) -> Section {
    let instances = measured.columns.instances();
    let timed = instances.iter().filter(|it| it.start > 0);
    let Some(first) = timed.map(|it| it.start).min() else {
        return Section::new("Over time").note("No instance has a time: none had a pair.");
    };
    let mut marks = Marks::default();
    // An instance without pairs has no time of its own: it came after the one before it.
    let mut at = 0.0;
    for instance in instances {
        if instance.start > 0 {
            at = (instance.start - first) as f64 * 1e-9;
        }
        marks.add(measured, instance, at);
    }
    let beginning = Axis::new("time since the beginning of the experiment", Unit::Seconds);
    let axis = Axis::new("aggregate bandwidth", Unit::BytesPerSec).reaching(0.0, 0.0);
    let mut chart = Scatter::new("Aggregate bandwidth of each instance", beginning, axis);
    for (name, points) in [
        ("as usual", marks.usual),
        ("stood out", marks.stood_out),
        ("failed, of the pairs that arrived", marks.failed),
        ("failed without any pair, drawn at 0", marks.nothing),
    ] {
        if !points.is_empty() {
            chart = chart.points(name, points);
        }
    }
    Section::new("Over time")
        .text(
            "An instance stood out when it lies more than 1.5 interquartile ranges outside the quartiles \
             of the instances with equal settings.",
        )
        .chart(chart)
}

#[derive(Default)]
struct Marks {
    usual: Vec<(f64, f64)>,
    stood_out: Vec<(f64, f64)>,
    failed: Vec<(f64, f64)>,
    nothing: Vec<(f64, f64)>,
}

impl Marks {
    fn add(&mut self, measured: &Measured, instance: &InstanceRow, at: f64) {
        match (instance.complete, instance.aggregate_bandwidth()) {
            (false, Some(bandwidth)) => self.failed.push((at, bandwidth)),
            (_, None) => self.nothing.push((at, 0.0)),
            (true, Some(bandwidth)) if stands_out(measured, instance, bandwidth) => {
                self.stood_out.push((at, bandwidth));
            }
            (true, Some(bandwidth)) => self.usual.push((at, bandwidth)),
        }
    }
}

fn stands_out(measured: &Measured, instance: &InstanceRow, bandwidth: f64) -> bool {
    let point = measured.point_of(instance);
    let aggregate = point.and_then(|point| point.aggregate.as_ref());
    aggregate.is_some_and(|it| bandwidth < it.whisker_low || bandwidth > it.whisker_high)
}
