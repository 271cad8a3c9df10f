//! Points: offsets against time, predicted against measured.

use serde_json::json;

use super::axis::{Axis, Fitted};
use super::colour::{Hue, Palette};
use super::escape::spelled;
use super::figure::{Drawing, Mark, skipped_note};
use super::frame::{Frame, value_ends};
use super::lines::{summary, thinned_note};
use super::svg::px;
use super::thin::{Point, points_max, thin_cloud};

/// Points in series, each with its own shape and colour.
#[derive(Debug, Clone, PartialEq)]
pub struct Scatter {
    pub(crate) title: String,
    x: Axis,
    y: Axis,
    series: Vec<(String, Vec<Point>)>,
    diagonal: bool,
    palette: Palette,
}

/// 20,000 points with their exact values take about 1.3 MB.
const POINTS_MAX: usize = 20_000;
const HEIGHT: f64 = 320.0;

/// A path from the point itself for each shape: dot, square, triangle, cross, diamond, plus.
/// Strokes only, so that points under points show.
const SHAPES: [&str; 6] = [
    "h.01",
    "m-2.5-2.5h5v5h-5z",
    "m-3 2.5h6l-3-5z",
    "m-2.5-2.5l5 5m0-5l-5 5",
    "m-3 0l3-3 3 3-3 3z",
    "m-3 0h6m-3-3v6",
];

impl Scatter {
    /// No points yet.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        let (series, palette) = (Vec::new(), Palette::default());
        Scatter { title: title.into(), x, y, series, diagonal: false, palette }
    }

    /// Adds points in any order.
    pub fn points(mut self, name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        self.series.push((name.into(), points));
        self
    }

    /// Draws where x equals y, and gives both axes the same ends.
    pub fn diagonal(mut self) -> Self {
        self.diagonal = true;
        self
    }

    /// Gives each series the colour that its kind of call has on every page.
    pub fn hues(mut self, hues: Vec<Hue>) -> Self {
        self.palette = Palette::new(hues);
        self
    }

    pub(crate) fn draw(&self, width: f64) -> Drawing {
        let held = |point: &&Point| self.x.holds(point.0) && self.y.holds(point.1);
        let all = || self.series.iter().flat_map(|(_, points)| points);
        let skipped = all().count() - all().filter(held).count();
        let (xs, ys) = (all().filter(held).map(|p| p.0), all().filter(held).map(|p| p.1));
        let (Some(x), Some(y)) = (self.x.fit(xs), self.y.fit(ys)) else {
            return Drawing::empty(skipped);
        };
        let (x, y) = self.ends(x, y);
        let whole: Vec<Vec<Point>> = self
            .series
            .iter()
            .map(|(_, points)| points.iter().filter(held).copied().collect())
            .collect();
        let total: usize = whole.iter().map(Vec::len).sum();
        let most = points_max(POINTS_MAX, width);
        let thinned: Vec<Vec<Point>> = whole
            .iter()
            .map(|points| thin_cloud(points, share_of(points.len(), total, most)))
            .collect();
        let mut notes = skipped_note(skipped);
        notes.extend(thinned_note(total, thinned.iter().map(Vec::len).sum()));
        let frame = Frame::with_values(&y, HEIGHT, width);
        let zoom = self.x.scale == Default::default() && !self.diagonal;
        let svg = self.svg(&frame, &x, &y, &thinned, zoom);
        let series: Vec<_> = (self.series.iter().zip(&thinned).enumerate())
            .map(|(index, ((name, _), points))| {
                json!({ "name": spelled(name), "shape": shape(index), "points": points })
            })
            .collect();
        let data = json!({ "kind": "scatter", "plot": frame.json(), "x": x.json(), "y": y.json(),
                           "series": series });
        let names = || self.series.iter().map(|(name, _)| name);
        let legend = names().enumerate().map(|(i, n)| (n.clone(), Mark::Shape(shape(i)))).collect();
        let table = Some(summary(names(), &whole, &x, &y));
        let palette = self.palette.clone();
        Drawing { svg, legend, palette, filter: true, notes, data: Some(data), table, zoom }
    }

    fn ends(&self, x: Fitted, y: Fitted) -> (Fitted, Fitted) {
        if !self.diagonal {
            return (x, value_ends(y, false));
        }
        let (low, high) = (x.low.min(y.low), x.high.max(y.high));
        let same = |fitted: Fitted| value_ends(Fitted { low, high, ..fitted }, false);
        (same(x), same(y))
    }

    fn svg(
        &self,
        frame: &Frame,
        x: &Fitted,
        y: &Fitted,
        series: &[Vec<Point>],
        zoom: bool,
    ) -> String {
        let mut marks = String::new();
        if self.diagonal {
            let (width, height) = (px(frame.width), px(frame.height));
            marks.push_str(&format!("<path class=\"diagonal\" d=\"M0 {height}L{width} 0\"/>"));
        }
        for (index, points) in series.iter().enumerate() {
            let shape = shape(index);
            let mut path = String::with_capacity(points.len() * 24);
            for (at, value) in points {
                let (left, top) =
                    (x.share(*at) * frame.width, (1.0 - y.share(*value)) * frame.height);
                path.extend(["M", &px(left), " ", &px(top), shape]);
            }
            marks.push_str(&format!(
                "<path class=\"p {}{}\" data-s=\"{index}\" d=\"{path}\"/>",
                self.palette.class(index),
                if index.is_multiple_of(SHAPES.len()) { " round" } else { "" }
            ));
        }
        let inside =
            frame.value_axis(y) + &frame.x_axis(x) + &frame.area(&marks) + &frame.base_line();
        let words = format!("{}: points, {}; {}", self.title, x.words(), y.words());
        frame.chart(&words, zoom, &inside)
    }
}

fn shape(index: usize) -> &'static str {
    SHAPES[index % SHAPES.len()]
}

/// Returns how many of `most` a series with this many of all points may draw.
fn share_of(points: usize, total: usize, most: usize) -> usize {
    if total <= most { points } else { (points * most / total).max(8) }
}
