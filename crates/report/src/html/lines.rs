//! Values over a continuous quantity: lines, steps, areas, cumulative distributions.

use serde_json::json;

use crate::Unit;

use super::axis::{Axis, Fitted};
use super::colour::{Hue, Palette};
use super::escape::spelled;
use super::figure::{Drawing, Mark, skipped_note};
use super::frame::{Frame, value_ends};
use super::svg::{px, px_fine};
use super::table::{Cell, Column, Table};
use super::thin::{Point, points_max, thin_line};

/// Lines over one x axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Lines {
    pub(crate) title: String,
    x: Axis,
    y: Axis,
    series: Vec<(String, Vec<Point>)>,
    steps: bool,
    area: bool,
    thin: bool,
    /// Ends of lines within series, which are not values that could not be drawn.
    seams: usize,
    palette: Palette,
}

/// Points of one chart: about five for each pixel of a wide screen.
const POINTS_MAX: usize = 8000;
const HEIGHT: f64 = 240.0;
/// How many dash patterns style.css has.
const DASHES: usize = 4;
/// No point: it ends a line of a bundle.
const SEAM: Point = (f64::NAN, f64::NAN);

impl Lines {
    /// No lines yet.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Lines {
            title: title.into(),
            x,
            y,
            series: Vec::new(),
            steps: false,
            area: false,
            thin: false,
            seams: 0,
            palette: Palette::default(),
        }
    }

    /// A chart of the share of values that are at most x, for each x.
    pub fn cdf(title: impl Into<String>, x: Axis) -> Self {
        let y = Axis::new("share of values", Unit::Percent).reaching(0.0, 100.0);
        Lines::new(title, x, y).steps()
    }

    /// Adds a line through points sorted by x.
    pub fn line(mut self, name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        self.series.push((name.into(), points));
        self
    }

    /// Adds the cumulative distribution of values in any order.
    pub fn distribution(self, name: impl Into<String>, mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let finite = values.iter().filter(|value| value.is_finite()).count().max(1) as f64;
        let mut below = 0.0;
        let point = |value: f64| {
            below += f64::from(u8::from(value.is_finite()));
            (value, below / finite * 100.0)
        };
        let start = values.iter().find(|value| value.is_finite()).map(|least| (*least, 0.0));
        let points = start.into_iter().chain(values.into_iter().map(point)).collect();
        self.line(name, points)
    }

    /// Adds many lines of one kind, each through points sorted by x: one entry of the legend, one
    /// colour, and all lines of the chart thin, so that a crowd shows.
    pub fn bundle(mut self, name: impl Into<String>, lines: Vec<Vec<(f64, f64)>>) -> Self {
        self.thin = true;
        self.broken_line(name, lines)
    }

    /// Adds a line of several stretches with nothing between them, each through points sorted by x.
    pub fn broken_line(mut self, name: impl Into<String>, stretches: Vec<Vec<(f64, f64)>>) -> Self {
        self.seams += stretches.len().saturating_sub(1);
        self.line(name, stretches.join(&SEAM))
    }

    /// A value holds until the next point.
    pub fn steps(mut self) -> Self {
        self.steps = true;
        self
    }

    /// Tints the area under each line.
    pub fn area(mut self) -> Self {
        self.area = true;
        self
    }

    /// Gives each line the colour that its kind of call has on every page.
    pub fn hues(mut self, hues: Vec<Hue>) -> Self {
        self.palette = Palette::new(hues);
        self
    }

    pub(crate) fn draw(&self, width: f64) -> Drawing {
        let held = |point: &&Point| self.x.holds(point.0) && self.y.holds(point.1);
        let all = || self.series.iter().flat_map(|(_, points)| points);
        let skipped = all().count() - all().filter(held).count() - self.seams;
        let (xs, ys) = (all().filter(held).map(|p| p.0), all().filter(held).map(|p| p.1));
        let (Some(x), Some(y)) = (self.x.fit(xs), self.y.fit(ys)) else {
            return Drawing::empty(skipped);
        };
        let y = value_ends(y, true);
        let runs: Vec<Vec<Vec<Point>>> =
            self.series.iter().map(|(_, points)| self.runs(points)).collect();
        let most = (points_max(POINTS_MAX, width) / self.series.len().max(1)).max(64);
        let thinned: Vec<Vec<Vec<Point>>> = runs.iter().map(|runs| thin_runs(runs, most)).collect();
        let whole: Vec<Vec<Point>> = runs.into_iter().map(|runs| runs.concat()).collect();
        let drawn: Vec<Vec<Point>> = thinned.iter().map(|runs| runs.concat()).collect();
        let mut notes = skipped_note(skipped);
        notes.extend(thinned_note(count(&whole), count(&drawn)));
        let frame = Frame::with_values(&y, HEIGHT, width);
        let zoom = self.x.scale == Default::default();
        let svg = self.svg(&frame, &x, &y, &thinned, zoom);
        let name = |(index, (name, _)): (usize, &(String, Vec<Point>))| {
            (
                name.clone(),
                Mark::Line(if self.thin { 0 } else { self.palette.variant(index, DASHES) }),
            )
        };
        let legend = self.series.iter().enumerate().map(name).collect();
        let series = self.series.iter().zip(&drawn);
        let series: Vec<_> = series
            .map(|((name, _), points)| json!({ "name": spelled(name), "points": points }))
            .collect();
        let data = json!({ "kind": "lines", "plot": frame.json(), "x": x.json(), "y": y.json(),
                           "series": series });
        let table = Some(summary(self.series.iter().map(|(name, _)| name), &whole, &x, &y));
        let palette = self.palette.clone();
        Drawing { svg, legend, palette, filter: true, notes, data: Some(data), table, zoom }
    }

    /// Stretches between points that cannot be drawn: a line across them would claim that
    /// there is something.
    fn runs(&self, points: &[Point]) -> Vec<Vec<Point>> {
        let held = |point: &Point| self.x.holds(point.0) && self.y.holds(point.1);
        let runs = points.split(|point| !held(point));
        runs.filter(|run| !run.is_empty()).map(<[Point]>::to_vec).collect()
    }

    fn svg(
        &self,
        frame: &Frame,
        x: &Fitted,
        y: &Fitted,
        series: &[Vec<Vec<Point>>],
        zoom: bool,
    ) -> String {
        let place = |point: &Point| {
            (x.share(point.0) * frame.width, (1.0 - y.share(point.1)) * frame.height)
        };
        let zero = (1.0 - y.share(0.0)) * frame.height;
        let mut marks = String::new();
        for (index, runs) in series.iter().enumerate() {
            let run = |run: &Vec<Point>| {
                let places: Vec<Point> = run.iter().map(place).collect();
                self.run_svg(&places, zero, self.palette.variant(index, DASHES))
            };
            let runs: String = runs.iter().map(run).collect();
            let colour = self.palette.class(index);
            marks.push_str(&format!("<g class=\"{colour}\" data-s=\"{index}\">{runs}</g>"));
        }
        let inside =
            frame.value_axis(y) + &frame.x_axis(x) + &frame.area(&marks) + &frame.base_line();
        let words = format!("{}: lines, {}; {}", self.title, x.words(), y.words());
        frame.chart(&words, zoom, &inside)
    }

    fn run_svg(&self, places: &[Point], zero: f64, dash: usize) -> String {
        let Some((first, rest)) = places.split_first() else { return String::new() };
        let mut path = format!("M{} {}", px_fine(first.0), px(first.1));
        if rest.is_empty() {
            // One point has no extent: a round cap makes it a dot.
            return format!("<path class=\"s dot\" d=\"{path}h0\"/>");
        }
        for place in rest {
            let (x, y) = (px_fine(place.0), px(place.1));
            path.push_str(&if self.steps { format!("H{x}V{y}") } else { format!("L{x} {y}") });
        }
        let class = if self.thin { "s thin".to_string() } else { format!("s d{dash}") };
        let line = format!("<path class=\"{class}\" d=\"{path}\"/>");
        if self.area {
            let (zero, start) = (px(zero), px_fine(first.0));
            format!("<path class=\"a\" d=\"{path}V{zero}H{start}z\"/>{line}")
        } else {
            line
        }
    }
}

/// Each stretch thinned to its share of `most`.
fn thin_runs(runs: &[Vec<Point>], most: usize) -> Vec<Vec<Point>> {
    let total: usize = runs.iter().map(Vec::len).sum();
    if runs.len() > most / 4 {
        // More gaps than can be drawn.
        return vec![thin_line(&runs.concat(), most)];
    }
    let share = |run: &Vec<Point>| (run.len() * most / total.max(1)).max(4);
    runs.iter()
        .map(|run| if total <= most { run.clone() } else { thin_line(run, share(run)) })
        .collect()
}

fn count(series: &[Vec<Point>]) -> usize {
    series.iter().map(Vec::len).sum()
}

/// Says that fewer points are drawn than there are.
pub(crate) fn thinned_note(all: usize, drawn: usize) -> Option<String> {
    (drawn < all).then(|| {
        let (drawn, all) = (Unit::Count.show(drawn as f64), Unit::Count.show(all as f64));
        format!("{drawn} of {all} points are drawn; the least and the greatest are among them.")
    })
}

/// What there is in each series, for those who do not read it off the chart.
pub(crate) fn summary<'a>(
    names: impl Iterator<Item = &'a String>,
    series: &[Vec<Point>],
    x: &Fitted,
    y: &Fitted,
) -> Table {
    let ends = |axis: &Fitted| {
        let title = &axis.axis.title;
        [Column::figures(format!("{title}, least")), Column::figures(format!("{title}, greatest"))]
    };
    let first = [Column::text("series"), Column::figures("points")];
    let mut table = Table::new(first.into_iter().chain(ends(x)).chain(ends(y)).collect());
    for (name, points) in names.zip(series) {
        let cells = |key: fn(&Point) -> f64, axis: &Fitted| {
            let values = || points.iter().map(key);
            [values().reduce(f64::min), values().reduce(f64::max)].map(|end| match end {
                Some(end) if !axis.axis.names.is_empty() => Cell::Text(axis.show(end)),
                _ => Cell::value(end, axis.axis.unit),
            })
        };
        let first = [Cell::Text(name.clone()), Cell::value(points.len() as u64, Unit::Count)];
        let ends = cells(|p| p.0, x).into_iter().chain(cells(|p| p.1, y));
        table.push(first.into_iter().chain(ends).collect());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_breaks_the_line() {
        let axis = || Axis::new("x", Unit::Count);
        let points = vec![(0.0, 1.0), (1.0, 2.0), (2.0, f64::NAN), (3.0, 1.0), (4.0, 0.0)];
        let drawing = Lines::new("gap", axis(), axis()).line("a", points).draw(760.0);
        assert_eq!(drawing.svg.matches("class=\"s d0\"").count(), 2);
        assert_eq!(drawing.notes.len(), 1);
    }

    #[test]
    fn a_bundle_is_many_lines_of_one_name() {
        let axis = || Axis::new("x", Unit::Count);
        let line = |height: f64| vec![(0.0, height), (1.0, height)];
        let lines = Lines::new("crowd", axis(), axis());
        let drawing = lines.bundle("a", vec![line(1.0), line(2.0)]).bundle("b", vec![line(3.0)]);
        let drawing = drawing.draw(760.0);
        assert_eq!(drawing.svg.matches("class=\"s thin\"").count(), 3);
        assert_eq!((drawing.legend.len(), drawing.notes.len()), (2, 0));
    }

    #[test]
    fn a_distribution_climbs_from_nothing_to_all() {
        let lines = Lines::cdf("cdf", Axis::new("x", Unit::Count));
        let lines = lines.distribution("a", vec![3.0, 1.0, f64::NAN, 2.0, 2.0]);
        let points: Vec<_> = lines.series[0].1.iter().filter(|point| point.0.is_finite()).collect();
        assert_eq!(points, [&(1.0, 0.0), &(1.0, 25.0), &(2.0, 50.0), &(2.0, 75.0), &(3.0, 100.0)]);
    }
}
