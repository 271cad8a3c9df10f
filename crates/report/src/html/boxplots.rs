//! Distributions by category: box, whiskers, outliers.

use crate::Unit;

use super::axis::{Axis, Fitted, exact};
use super::escape::{escape, spelled, tip};
use super::figure::{Drawing, skipped_note};
use super::frame::Frame;
use super::svg::{Anchor, px, text};
use super::table::{Cell, Column, Table};

/// A distribution in a few numbers; whoever made them says how.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BoxSummary {
    /// What it stands for.
    pub name: String,
    /// How many values it sums up.
    pub count: u64,
    /// End of the lower whisker.
    pub low: f64,
    /// First quartile.
    pub first_quartile: f64,
    /// Median.
    pub median: f64,
    /// Third quartile.
    pub third_quartile: f64,
    /// End of the upper whisker.
    pub high: f64,
    /// Confidence interval of the median, where there is one.
    pub median_interval: Option<(f64, f64)>,
    /// Values beyond the whiskers. They are marked, never dropped.
    pub outliers: Vec<f64>,
}

impl BoxSummary {
    fn five(&self) -> [f64; 5] {
        [self.low, self.first_quartile, self.median, self.third_quartile, self.high]
    }
}

/// Distributions below each other on one value axis.
#[derive(Debug, Clone, PartialEq)]
pub struct BoxPlots {
    pub(crate) title: String,
    category_title: String,
    value: Axis,
    boxes: Vec<BoxSummary>,
}

const ROWS_MAX: usize = 64;
const OUTLIERS_MAX: usize = 500;
const SLOT: f64 = 30.0;

impl BoxPlots {
    /// No boxes yet.
    pub fn new(title: impl Into<String>, category_title: impl Into<String>, value: Axis) -> Self {
        let (title, category_title) = (title.into(), category_title.into());
        BoxPlots { title, category_title, value, boxes: Vec::new() }
    }

    /// Adds a distribution.
    pub fn summary(mut self, summary: BoxSummary) -> Self {
        self.boxes.push(summary);
        self
    }

    pub(crate) fn draw(&self, width: f64) -> Drawing {
        let whole = |summary: &&BoxSummary| {
            let five = summary.five();
            five.iter().all(|value| self.value.holds(*value)) && five.is_sorted()
        };
        let drawn: Vec<&BoxSummary> = self.boxes.iter().filter(whole).collect();
        let outliers = |summary: &&BoxSummary| {
            summary.outliers.iter().filter(|value| !self.value.holds(**value)).count()
        };
        let broken = self.boxes.len() - drawn.len();
        let skipped = broken + drawn.iter().map(outliers).sum::<usize>();
        let shown = &drawn[..drawn.len().min(ROWS_MAX)];
        let values = shown
            .iter()
            .flat_map(|summary| summary.five().into_iter().chain(summary.outliers.iter().copied()));
        let Some(axis) = self.value.fit(values) else { return Drawing::empty(skipped) };
        let axis = axis.rounded(false, 6);
        let mut notes = skipped_note(skipped);
        if drawn.len() > ROWS_MAX {
            let more = drawn.len() - ROWS_MAX;
            notes.push(format!("The first {ROWS_MAX} boxes; {more} more are not drawn."));
        }
        if shown.iter().any(|summary| summary.outliers.len() > OUTLIERS_MAX) {
            notes.push(format!("At most {OUTLIERS_MAX} outliers of a box are drawn."));
        }
        let svg = self.svg(&axis, shown, width);
        Drawing { svg, notes, table: Some(self.table()), ..Drawing::default() }
    }

    fn svg(&self, axis: &Fitted, boxes: &[&BoxSummary], whole: f64) -> String {
        let names = boxes.iter().map(|summary| summary.name.as_str());
        let mut frame = Frame::with_names(names, SLOT * boxes.len() as f64, whole);
        if !self.category_title.is_empty() {
            frame = frame.below(24.0);
        }
        let mut inside = text(0.0, 11.0, Anchor::Start, "axis", &self.category_title);
        inside.push_str(&frame.x_axis(axis));
        for (index, summary) in boxes.iter().enumerate() {
            let middle = frame.top + (index as f64 + 0.5) * SLOT;
            inside.push_str(&frame.row_name(&summary.name, middle));
            let at = |value: f64| frame.left + axis.share(value) * frame.width;
            inside.push_str(&self.box_svg(summary, at, middle));
        }
        let words = format!("{}: box plots, {}", self.title, axis.words());
        frame.chart(&words, false, &inside)
    }

    fn box_svg(&self, summary: &BoxSummary, at: impl Fn(f64) -> f64, middle: f64) -> String {
        let [low, first, median, third, high] = summary.five().map(|value| px(at(value)));
        let (top, bottom) = (px(middle - 8.0), px(middle + 8.0));
        let path = format!(
            "M{low} {m}H{first}M{third} {m}H{high}M{low} {a}V{b}M{high} {a}V{b}",
            m = px(middle),
            a = px(middle - 4.0),
            b = px(middle + 4.0),
        );
        let held = |(from, to): &(f64, f64)| self.value.holds(*from) && self.value.holds(*to);
        let interval = summary.median_interval.filter(held).map_or(String::new(), |(from, to)| {
            let (from, to) = (px(at(from)), px(at(to)));
            format!("<path class=\"interval\" d=\"M{from} {}H{to}\"/>", px(middle + 11.0))
        });
        format!(
            "<g class=\"box k0\" data-tip=\"{tip}\"><path class=\"hit\" d=\"M{low} {top}H{high}\
             V{bottom}H{low}z\"/><path class=\"whisker\" d=\"{path}\"/><path class=\"quartiles\" \
             d=\"M{first} {top}H{third}V{bottom}H{first}z\"/><path class=\"median\" \
             d=\"M{median} {top}V{bottom}\"/>{interval}</g>{outliers}",
            tip = tip(&self.tip(summary)),
            outliers = self.outliers_svg(summary, at, middle),
        )
    }

    fn outliers_svg(&self, summary: &BoxSummary, at: impl Fn(f64) -> f64, middle: f64) -> String {
        let held = summary.outliers.iter().filter(|value| self.value.holds(**value));
        held.take(OUTLIERS_MAX)
            .map(|value| {
                format!(
                    "<circle class=\"outlier\" cx=\"{}\" cy=\"{}\" r=\"2.5\" data-tip=\"{}\"/>",
                    px(at(*value)),
                    px(middle),
                    escape(&format!(
                        "{}: outlier {}",
                        summary.name,
                        exact(*value, self.value.unit)
                    ))
                )
            })
            .collect()
    }

    fn tip(&self, summary: &BoxSummary) -> String {
        let [low, first, median, third, high] =
            summary.five().map(|value| exact(value, self.value.unit));
        let interval = summary.median_interval.map_or(String::new(), |(from, to)| {
            let show = |value| self.value.unit.show(value);
            format!("\nits interval: {} to {}", show(from), show(to))
        });
        format!(
            "{}: {} values\nhigh whisker {high}\nthird quartile {third}\nmedian {median}{interval}\
             \nfirst quartile {first}\nlow whisker {low}",
            spelled(&summary.name),
            Unit::Count.show(summary.count as f64)
        )
    }

    fn table(&self) -> Table {
        let title = if self.category_title.is_empty() { "box" } else { &self.category_title };
        let figures = ["values", "low", "first quartile", "median", "third quartile", "high"];
        let figures = figures.into_iter().chain(["outliers"]).map(Column::figures);
        let mut table = Table::new([Column::text(title)].into_iter().chain(figures).collect());
        for summary in &self.boxes {
            let count = |count: u64| Cell::value(count, Unit::Count);
            let first = [Cell::Text(summary.name.clone()), count(summary.count)];
            let five = summary.five().map(|value| Cell::value(value, self.value.unit));
            let outliers = count(summary.outliers.len() as u64);
            table.push(first.into_iter().chain(five).chain([outliers]).collect());
        }
        table
    }
}
