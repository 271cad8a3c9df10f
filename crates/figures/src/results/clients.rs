//! Bandwidth of single clients (Xie, fig. 10).

use plimsoll_report::html::{Axis, Lines, Section};
use plimsoll_report::{Unit, words};
use plimsoll_score::bandwidth::{Point, clients};
use plimsoll_stats::Sample;

use super::Measured;
use super::even_sample::even_sample;
use super::measured::Panel;

/// Lines of one figure that can be told apart.
const LINES_MAX: usize = 8;

/// `None` where no instance has several clients: the bandwidth of the instance then tells all.
pub fn section(measured: &Measured) -> Option<Section> {
    let section = Section::new("Bandwidth of single clients").text(
        "A client's bytes over its own time, of all clients of all instances. A steep \
         line means that clients get equal shares; a long way from left to right, that some get much \
         less than others, or at other times.",
    );
    let mut drawn = false;
    let mut section = section;
    for panel in measured.panels.iter().filter(|it| has_several_clients(measured, it)) {
        let all = measured.points_of(panel).len();
        let chosen = even_sample(measured.points_of(panel), LINES_MAX);
        let note =
            (chosen.len() < all).then(|| format!("{} of {all} settings are drawn.", chosen.len()));
        section =
            note.into_iter().fold(section.chart(chart(measured, panel, &chosen)), Section::note);
        drawn = true;
    }
    drawn.then(|| measured.panels_note().into_iter().fold(section, Section::note))
}

fn has_several_clients(measured: &Measured, panel: &Panel) -> bool {
    measured
        .points_of(panel)
        .iter()
        .any(|it| measured.columns.settings[it.setting as usize].clients > 1)
}

fn chart(measured: &Measured, panel: &Panel, points: &[&Point]) -> Lines {
    let axis = Axis::new("bandwidth of a client", Unit::BytesPerSec).reaching(0.0, 0.0);
    let share = Axis::new("clients with at most so much", Unit::Percent).reaching(0.0, 100.0);
    let bandwidths = |point: &Point| -> Vec<f64> {
        let parts = measured.instances_of(point).flat_map(|it| clients(measured.columns, it));
        parts.map(|part| part.bandwidth()).collect()
    };
    let title = panel.title("Bandwidth of single clients");
    let title = match points {
        [one] => title + &spread(bandwidths(one)),
        _ => title,
    };
    points.iter().fold(Lines::new(title, axis, share).steps(), |lines, point| {
        lines.distribution(measured.labels.long(measured.columns, point), bandwidths(point))
    })
}

/// Says how the fastest tenth compares with the slowest, where there are enough for tenths.
fn spread(bandwidths: Vec<f64>) -> String {
    const ENOUGH: usize = 20;
    let Some(sample) = Sample::new(bandwidths).ok().filter(|it| it.n() >= ENOUGH) else {
        return String::new();
    };
    match (sample.quantile(0.1), sample.quantile(0.9)) {
        (Ok(low), Ok(high)) if low > 0.0 => {
            let (low, times) = (Unit::BytesPerSec.show(low), words::short(high / low));
            format!(": a tenth gets {low} or less, a tenth {times} times as much")
        }
        _ => String::new(),
    }
}
