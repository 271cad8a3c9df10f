//! Figures of their own for each direction and burst size.

use plimsoll_score::bandwidth::Point;
use plimsoll_score::columns::InstanceRow;

use super::Measured;

/// Figures of one kind; what is beyond is in the table.
pub const PANELS_MAX: usize = 8;

/// The points that one figure shows.
pub struct Panel<'a> {
    /// What they have in common; empty when they have nothing to tell.
    pub name: String,
    pub points: Vec<&'a Point>,
}

/// The panels in the order of settings, and how many more there would be. The largest bursts are kept: what
/// shows with many bytes is not yet there with few.
pub fn panels<'a>(measured: &'a Measured<'_>) -> (Vec<Panel<'a>>, usize) {
    let mut panels: Vec<Panel<'_>> = Vec::new();
    for point in &measured.points {
        let name = measured.labels.panel(&measured.columns.settings[point.setting as usize]);
        match panels.iter_mut().find(|panel| panel.name == name) {
            Some(panel) => panel.points.push(point),
            None => panels.push(Panel { name, points: vec![point] }),
        }
    }
    let burst = |it: &Panel<'_>| {
        let settings = it.points.iter().map(|it| &measured.columns.settings[it.setting as usize]);
        settings.map(|it| it.burst).max()
    };
    let more = panels.len().saturating_sub(PANELS_MAX);
    let mut bursts: Vec<_> =
        panels.iter().map(burst).enumerate().map(|(at, it)| (it, at)).collect();
    bursts.sort_unstable();
    let smallest: Vec<usize> = bursts.into_iter().take(more).map(|(_, at)| at).collect();
    let mut at = 0..;
    panels.retain(|_| at.next().is_some_and(|at| !smallest.contains(&at)));
    (panels, more)
}

/// What to say about panels that are left out.
pub fn left_out(more: usize) -> Option<String> {
    (more > 0).then(|| {
        format!("{more} smaller burst sizes are not drawn here; the table above has all of them.")
    })
}

impl Panel<'_> {
    /// A title that names the panel.
    pub fn title(&self, what: &str) -> String {
        if self.name.is_empty() { what.into() } else { format!("{what}: {}", self.name) }
    }
}

/// The complete instances of a point.
pub fn instances<'a>(
    measured: &'a Measured,
    point: &'a Point,
) -> impl Iterator<Item = &'a InstanceRow> {
    let key = (point.experiment, point.setting, point.varied);
    let is_its =
        move |it: &&InstanceRow| it.complete && (it.experiment, it.setting, it.varied) == key;
    measured.columns.instances().iter().filter(is_its)
}

/// So many of the items, evenly over all of them, the first and the last included.
pub fn even_sample<T>(items: Vec<T>, most: usize) -> Vec<T> {
    let all = items.len();
    if all <= most {
        return items;
    }
    let chosen = |step: usize| step * (all - 1) / (most.max(2) - 1);
    let mut next = 0;
    let mut take = |index: usize| {
        let is_chosen = next < most && index == chosen(next);
        next += usize::from(is_chosen);
        is_chosen
    };
    items.into_iter().enumerate().filter(|(index, _)| take(*index)).map(|(_, item)| item).collect()
}

#[cfg(test)]
mod tests {
    use super::even_sample;

    #[test]
    fn samples_are_even_and_keep_the_ends() {
        assert_eq!(even_sample((0..5).collect(), 9), [0, 1, 2, 3, 4]);
        assert_eq!(even_sample((0..101).collect(), 3), [0, 50, 100]);
        assert_eq!(even_sample((0..10_000).collect::<Vec<_>>(), 40).len(), 40);
        assert_eq!(even_sample((0..3).collect(), 1), [0]);
        assert!(even_sample(Vec::<u8>::new(), 1).is_empty());
    }
}
