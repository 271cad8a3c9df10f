//! Bandwidth of single clients (Xie, fig. 10).

use plimsoll_report::Unit;
use plimsoll_report::html::{Axis, Lines, Section};
use plimsoll_score::bandwidth::{Point, clients};

use super::Measured;
use super::panels::{Panel, even_sample, instances, left_out, panels};

/// Lines of one figure that can be told apart.
const LINES_MAX: usize = 8;

/// `None` where no instance has several clients: the bandwidth of the instance then tells all.
pub fn section(measured: &Measured) -> Option<Section> {
    let section = Section::new("Bandwidth of single clients").text(
        "A client's bytes over its own time, of all clients of all instances (Xie, fig. 10). A steep \
         line means that clients get equal shares; a long way from left to right, that some get much \
         less than others, or at other times.",
    );
    let (panels, more) = panels(measured);
    let mut drawn = false;
    let mut section = section;
    for panel in panels.iter().filter(|it| has_several_clients(measured, it)) {
        let chosen = even_sample(panel.points.clone(), LINES_MAX);
        let note = (chosen.len() < panel.points.len())
            .then(|| format!("{} of {} settings are drawn.", chosen.len(), panel.points.len()));
        section =
            note.into_iter().fold(section.chart(chart(measured, panel, &chosen)), Section::note);
        drawn = true;
    }
    drawn.then(|| left_out(more).into_iter().fold(section, Section::note))
}

fn has_several_clients(measured: &Measured, panel: &Panel<'_>) -> bool {
    panel.points.iter().any(|it| measured.columns.settings[it.setting as usize].clients > 1)
}

fn chart(measured: &Measured, panel: &Panel<'_>, points: &[&Point]) -> Lines {
    let axis = Axis::new("bandwidth of a client", Unit::BytesPerSec).reaching(0.0, 0.0);
    let share = Axis::new("clients with at most so much", Unit::Percent).reaching(0.0, 100.0);
    let title = panel.title("Bandwidth of single clients");
    points.iter().fold(Lines::new(title, axis, share).steps(), |lines, point| {
        let parts = instances(measured, point).flat_map(|it| clients(measured.columns, it));
        let values = parts.map(|part| part.bandwidth()).collect();
        lines.distribution(measured.labels.long(measured.columns, point), values)
    })
}
