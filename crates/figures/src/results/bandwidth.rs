//! Box plots of bandwidth by what was varied (Xie, figs 7, 9, 12, 14, 16, 18, 20).

use plimsoll_report::Unit;
use plimsoll_report::html::{Axis, BoxPlots, BoxSummary, Section};
use plimsoll_score::Distribution;
use plimsoll_score::bandwidth::{Point, effective_aggregate};
use plimsoll_score::columns::InstanceRow;

use super::Measured;
use super::measured::Panel;
use crate::scores::notes;

pub fn section(measured: &Measured) -> Section {
    let mut section = Section::new("Bandwidth").text(
        "Aggregate bandwidth is all bytes of an instance over the time to its last completion, fsync \
         included. A box reaches from the lower to the upper quartile, whiskers to the last instance \
         within 1.5 interquartile ranges, dots are the instances beyond. The line under a box is the \
         95 % interval of its median, which needs twenty instances.",
    );
    for panel in &measured.panels {
        section = section.chart(aggregate(measured, panel));
        if measured.points_of(panel).iter().any(|point| point.effective_aggregate.is_some()) {
            section = section.chart(effective(measured, panel));
        }
    }
    let section = measured.panels_note().into_iter().fold(section, Section::note);
    if measured.has_peaks() {
        return section;
    }
    let why = notes(measured.columns, measured.peaks, None);
    let is_new = |it: &String| !measured.gathered.warnings.contains(it);
    let section = why.into_iter().filter(is_new).fold(section, Section::note);
    section.note(
        "Peaks of the targets are not known, so that there is no effective bandwidth: the experiment \
         \"target\" measures them.",
    )
}

fn aggregate(measured: &Measured, panel: &Panel) -> BoxPlots {
    // From nothing, and the same for all figures: lengths compare.
    let known = measured.points.iter().filter_map(|point| point.aggregate.as_ref());
    let greatest = known.map(|it| it.max).fold(0.0, f64::max);
    let axis = Axis::new("aggregate bandwidth", Unit::BytesPerSec).reaching(0.0, greatest);
    let mut plots =
        BoxPlots::new(aggregate_title(measured, panel), measured.labels.varied.as_str(), axis);
    for point in measured.points_of(panel) {
        let Some(distribution) = &point.aggregate else { continue };
        let value = |it: &InstanceRow| it.aggregate_bandwidth();
        plots = plots.summary(summary(measured, point, distribution, value));
    }
    plots
}

/// Says the median where there is one setting, and which are least and most where there are several.
fn aggregate_title(measured: &Measured, panel: &Panel) -> String {
    let title = panel.title("Aggregate bandwidth");
    let name = |point: &Point| measured.labels.long(measured.columns, point);
    let known = measured.points_of(panel).into_iter();
    let known = known.filter_map(|point| Some((point.aggregate.as_ref()?, point)));
    let mut known: Vec<(&Distribution, &Point)> = known.collect();
    known.sort_by(|a, b| a.0.median.total_cmp(&b.0.median));
    let show = |it: &Distribution| Unit::BytesPerSec.show(it.median);
    match known.as_slice() {
        [] => title,
        [(it, _)] => format!("{title}: median {}, n = {}", show(it), it.n),
        [(least, low), .., (most, high)] => format!(
            "{title}: medians from {} ({}) to {} ({})",
            show(least),
            name(low),
            show(most),
            name(high)
        ),
    }
}

fn effective(measured: &Measured, panel: &Panel) -> BoxPlots {
    let axis = Axis::new("share of the targets' peak", Unit::Ratio).reaching(0.0, 1.0);
    let title = panel.title("Effective aggregate bandwidth (EAB)");
    let mut plots = BoxPlots::new(title, measured.labels.varied.as_str(), axis);
    for point in measured.points_of(panel) {
        let Some(distribution) = &point.effective_aggregate else { continue };
        let value = |it: &InstanceRow| effective_aggregate(measured.columns, measured.peaks, it);
        plots = plots.summary(summary(measured, point, distribution, value));
    }
    plots
}

fn summary(
    measured: &Measured,
    point: &Point,
    distribution: &Distribution,
    value: impl Fn(&InstanceRow) -> Option<f64>,
) -> BoxSummary {
    let (low, high) = (distribution.whisker_low, distribution.whisker_high);
    let values = measured.instances_of(point).filter_map(value);
    BoxSummary {
        name: measured.labels.point(measured.columns, point),
        count: distribution.n as u64,
        low,
        first_quartile: distribution.q1,
        median: distribution.median,
        third_quartile: distribution.q3,
        high,
        median_interval: distribution.median_interval,
        outliers: values.filter(|value| *value < low || *value > high).collect(),
    }
}
