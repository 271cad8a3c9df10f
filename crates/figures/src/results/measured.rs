//! What the table and the figures show, worked out once.

use plimsoll_score::bandwidth::{Point, points};
use plimsoll_score::columns::InstanceRow;
use plimsoll_score::gain::{Gains, Removed, gains};
use plimsoll_score::{Columns, Peaks};

use super::labels::Labels;
use crate::Gathered;

/// What the table and the figures show.
pub struct Measured<'a> {
    pub(super) gathered: &'a Gathered,
    pub(super) columns: &'a Columns,
    pub(super) peaks: &'a Peaks,
    pub(super) labels: Labels,
    /// Names of the experiments.
    pub(super) experiments: String,
    /// One for each setting and varied value, in the order of the settings.
    pub(super) points: Vec<Point>,
    /// Complete instances, and those that failed.
    pub(super) complete: u64,
    pub(super) failed: u64,
    /// From the first start to the last end.
    pub(super) span_seconds: Option<f64>,
    /// What removing stragglers would give; empty without instances of several pairs.
    pub(super) gains: Vec<Gains>,
    /// Figures of their own, in the order of settings, and how many more there would be.
    pub(super) panels: Vec<Panel>,
    pub(super) panels_left_out: usize,
}

/// Points that one figure shows: those of a direction and a burst size.
pub(super) struct Panel {
    /// What they have in common; empty when they have nothing to tell.
    name: String,
    /// Their places among all points.
    places: Vec<usize>,
}

/// Figures of one kind; what is beyond is in the table.
const PANELS_MAX: usize = 8;

impl<'a> Measured<'a> {
    /// Works it out.
    pub fn new(gathered: &'a Gathered, peaks: &'a Peaks) -> Self {
        let columns = &gathered.columns;
        let labels = Labels::new(columns);
        let points = points(columns, peaks, |_| true);
        let (panels, panels_left_out) = panels(columns, &labels, &points);
        Measured {
            experiments: experiments(gathered),
            complete: points.iter().map(|point| point.instances as u64).sum(),
            failed: points.iter().map(|point| point.failed as u64).sum(),
            span_seconds: span_seconds(columns),
            gains: gains(columns, |_| true),
            panels,
            panels_left_out,
            gathered,
            columns,
            peaks,
            labels,
            points,
        }
    }

    /// Returns whether some effective bandwidth is known.
    pub fn has_peaks(&self) -> bool {
        self.points.iter().any(|point| point.effective_aggregate.is_some())
    }

    /// Returns the median gain without the slowest pair.
    pub(super) fn median_gain(&self) -> Option<f64> {
        let slowest = self.gains.iter().find(|it| it.removed == Removed::Slowest);
        slowest.map(|it| it.gains.median())
    }

    /// Returns the points of a figure.
    pub(super) fn points_of(&self, panel: &Panel) -> Vec<&Point> {
        panel.places.iter().map(|place| &self.points[*place]).collect()
    }

    /// Returns the complete instances of a point.
    pub(super) fn instances_of(&self, point: &Point) -> impl Iterator<Item = &InstanceRow> {
        let key = (point.experiment, point.setting, point.varied);
        let is_its =
            move |it: &&InstanceRow| it.complete && (it.experiment, it.setting, it.varied) == key;
        self.columns.instances().iter().filter(is_its)
    }

    /// Returns the point that an instance belongs to.
    pub(super) fn point_of(&self, instance: &InstanceRow) -> Option<&Point> {
        let key = (instance.experiment, instance.setting, instance.varied);
        self.points.iter().find(|it| (it.experiment, it.setting, it.varied) == key)
    }

    /// Says that figures are left out, if they are.
    pub(super) fn panels_note(&self) -> Option<String> {
        let more = self.panels_left_out;
        (more > 0).then(|| {
            format!(
                "{more} smaller burst sizes are not drawn here; the table above has all of them."
            )
        })
    }
}

impl Panel {
    /// Returns a title that names the panel.
    pub fn title(&self, what: &str) -> String {
        if self.name.is_empty() { what.into() } else { format!("{what}: {}", self.name) }
    }
}

fn experiments(gathered: &Gathered) -> String {
    let mut names: Vec<&str> = Vec::new();
    for results in &gathered.results {
        if !names.contains(&results.experiment.as_str()) {
            names.push(&results.experiment);
        }
    }
    names.join(", ")
}

fn span_seconds(columns: &Columns) -> Option<f64> {
    let timed = columns.instances().iter().filter(|it| it.start > 0);
    let first = timed.clone().map(|it| it.start).min()?;
    timed.map(|it| (it.start - first) as f64 * 1e-9 + it.seconds).reduce(f64::max)
}

/// The panels in the order of settings, and how many more there would be. The largest bursts are kept: what
/// shows with many bytes is not yet there with few.
fn panels(columns: &Columns, labels: &Labels, points: &[Point]) -> (Vec<Panel>, usize) {
    let setting = |place: usize| &columns.settings[points[place].setting as usize];
    let mut panels: Vec<Panel> = Vec::new();
    for place in 0..points.len() {
        let name = labels.panel(setting(place));
        match panels.iter_mut().find(|panel| panel.name == name) {
            Some(panel) => panel.places.push(place),
            None => panels.push(Panel { name, places: vec![place] }),
        }
    }
    let burst = |it: &Panel| it.places.iter().map(|place| setting(*place).burst).max();
    let more = panels.len().saturating_sub(PANELS_MAX);
    let mut bursts: Vec<_> =
        panels.iter().map(burst).enumerate().map(|(at, it)| (it, at)).collect();
    bursts.sort_unstable();
    let smallest: Vec<usize> = bursts.into_iter().take(more).map(|(_, at)| at).collect();
    let mut at = 0..;
    panels.retain(|_| at.next().is_some_and(|at| !smallest.contains(&at)));
    (panels, more)
}
