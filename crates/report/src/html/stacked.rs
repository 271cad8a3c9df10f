//! Values by category, each made of parts: where the time goes.

use crate::Unit;

use super::axis::{Axis, Fitted, exact};
use super::colour::{Hue, Palette};
use super::escape::spelled;
use super::figure::{Drawing, Mark, skipped_note};
use super::frame::Frame;
use super::svg::{Anchor, rect, text, text_width};
use super::table::{Cell, Column, Table};

/// One row for each category, made of the same parts in the same order.
#[derive(Debug, Clone, PartialEq)]
pub struct StackedBars {
    pub(crate) title: String,
    category_title: String,
    value: Axis,
    parts: Vec<String>,
    rows: Vec<(String, Vec<f64>)>,
    shares: bool,
    palette: Palette,
}

const ROWS_MAX: usize = 64;
const THICK: f64 = 20.0;
const SLOT: f64 = 28.0;

impl StackedBars {
    /// No rows yet. The value axis is linear and starts at zero.
    pub fn new(
        title: impl Into<String>,
        category_title: impl Into<String>,
        value: Axis,
        parts: Vec<String>,
    ) -> Self {
        let (title, category_title) = (title.into(), category_title.into());
        let value = Axis { scale: Default::default(), ..value };
        StackedBars {
            title,
            category_title,
            value,
            parts,
            rows: Vec::new(),
            shares: false,
            palette: Palette::default(),
        }
    }

    /// Adds a row with a value for each part. Negative values cannot be stacked and are
    /// left out, and counted.
    pub fn row(mut self, name: impl Into<String>, values: Vec<f64>) -> Self {
        self.rows.push((name.into(), values));
        self
    }

    /// Every row as long as the others: parts of one hundred.
    pub fn as_shares(mut self) -> Self {
        self.shares = true;
        self
    }

    fn stacks(&self, value: f64) -> bool {
        self.value.holds(value) && value >= 0.0
    }

    fn parts_of<'a>(&'a self, values: &'a [f64]) -> impl Iterator<Item = (usize, f64)> + 'a {
        let values = values.iter().copied().take(self.parts.len()).enumerate();
        values.filter(|(_, value)| self.stacks(*value) && *value > 0.0)
    }

    fn total(&self, values: &[f64]) -> f64 {
        self.parts_of(values).map(|(_, value)| value).sum::<f64>().min(1e299)
    }

    /// Gives each part the colour that its kind of call has on every page.
    pub fn hues(mut self, hues: Vec<Hue>) -> Self {
        self.palette = Palette::new(hues);
        self
    }

    pub(crate) fn draw(&self, width: f64) -> Drawing {
        let values = || self.rows.iter().flat_map(|(_, row)| row.iter().take(self.parts.len()));
        let skipped = values().filter(|value| !self.stacks(**value)).count();
        if values().all(|value| !self.stacks(*value)) {
            return Drawing::empty(skipped);
        }
        let mut notes = skipped_note(skipped);
        if self.rows.len() > ROWS_MAX {
            let more = self.rows.len() - ROWS_MAX;
            notes.push(format!("The first {ROWS_MAX} rows; {more} more are not drawn."));
        }
        let Some(axis) = self.axis() else { return Drawing::empty(skipped) };
        let svg = self.svg(&axis, width);
        let legend = self.parts.iter().map(|name| (name.clone(), Mark::Block)).collect();
        let (palette, table) = (self.palette.clone(), Some(self.table()));
        Drawing { svg, legend, palette, notes, table, ..Drawing::default() }
    }

    fn axis(&self) -> Option<Fitted> {
        if self.shares {
            let title = format!("share of {}", self.value.title);
            let axis = Axis::new(title, Unit::Percent).reaching(0.0, 100.0);
            return axis.fit([0.0, 100.0].into_iter());
        }
        let totals = self.rows.iter().take(ROWS_MAX).map(|(_, row)| self.total(row));
        self.value.fit(totals).map(|axis| axis.rounded(true, 6))
    }

    fn svg(&self, axis: &Fitted, whole: f64) -> String {
        let rows = &self.rows[..self.rows.len().min(ROWS_MAX)];
        let names = rows.iter().map(|(name, _)| name.as_str());
        let frame = Frame::with_names(names, SLOT * rows.len() as f64, whole);
        let mut inside = frame.x_axis(axis);
        for (index, (name, values)) in rows.iter().enumerate() {
            let top = frame.top + index as f64 * SLOT;
            inside.push_str(&frame.row_name(name, top + SLOT / 2.0));
            inside.push_str(&self.row_svg(&frame, axis, name, values, top));
        }
        let words = format!("{}: stacked bars of {}", self.title, self.parts.join(", "));
        frame.chart(&words, false, &inside)
    }

    fn row_svg(&self, frame: &Frame, axis: &Fitted, name: &str, row: &[f64], top: f64) -> String {
        let total = self.total(row);
        let scale = if self.shares { 100.0 / total } else { 1.0 };
        let (mut out, mut done) = (String::new(), 0.0);
        for (part, value) in self.parts_of(row) {
            let x = frame.left + axis.share(done * scale) * frame.width;
            done += value;
            let width = frame.left + axis.share(done * scale) * frame.width - x;
            let share = value / total * 100.0;
            let tip = format!(
                "{}\n{}: {}\n{} of the row",
                spelled(name),
                spelled(&self.parts[part]),
                exact(value, self.value.unit),
                Unit::Percent.show(share)
            );
            let y = top + (SLOT - THICK) / 2.0;
            // A hair of background between neighbours, so that edges show without colour.
            let drawn = if width > 4.0 { width - 1.8 } else { width };
            let class = format!("f {}", self.palette.class(part));
            out.push_str(&rect(x, y, drawn, THICK, &class, &tip));
            // A share is shown as what it is, not as a part of those that are drawn.
            let shown = match self.value.unit {
                Unit::Share if !self.shares => Unit::Share.show(value),
                _ => format!("{share:.0} %"),
            };
            out.push_str(&inner_label(
                &self.parts[part],
                &shown,
                x,
                y,
                drawn,
                &self.palette.class(part),
            ));
        }
        out
    }

    fn table(&self) -> Table {
        let title = if self.category_title.is_empty() { "row" } else { &self.category_title };
        let parts = self.parts.iter().map(|name| Column::figures(name.as_str()));
        let columns = [Column::text(title)].into_iter().chain(parts);
        let mut table = Table::new(columns.chain([Column::figures("total")]).collect());
        for (name, values) in &self.rows {
            let cell = |index: usize| match values.get(index) {
                Some(value) => Cell::value(*value, self.value.unit),
                None => Cell::Missing,
            };
            let cells =
                [Cell::Text(name.clone())].into_iter().chain((0..self.parts.len()).map(cell));
            let total = Cell::value(self.total(values), self.value.unit);
            table.push(cells.chain([total]).collect());
        }
        table
    }
}

/// Returns the name of the part inside it, with its share where there is room for both.
fn inner_label(part: &str, share: &str, x: f64, y: f64, width: f64, colour: &str) -> String {
    let both = format!("{part} {share}");
    let fitting = [both.as_str(), part].into_iter().find(|text| text_width(text) + 10.0 < width);
    let Some(label) = fitting else { return String::new() };
    let class = format!("on {colour}");
    text(x + width / 2.0, y + THICK / 2.0 + 4.0, Anchor::Middle, &class, label)
}
