//! Values by category: columns for what has an order, rows for what has names.

use crate::Unit;

use super::axis::{Axis, Fitted, exact};
use super::colour::{Hue, Palette};
use super::escape::spelled;
use super::figure::{Drawing, Mark, skipped_note};
use super::frame::{Frame, value_ends};
use super::svg::{Anchor, rect, shorten, text, text_width};
use super::table::{Cell, Column, Table};

/// Values by category, one or several series side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    pub(crate) title: String,
    /// What the categories are.
    category_title: String,
    value: Axis,
    categories: Vec<String>,
    series: Vec<(String, Vec<f64>)>,
    upright: bool,
    palette: Palette,
}

/// Returns the label of the request sizes from 2^exponent to the next power of two.
pub fn size_bucket(exponent: u32) -> String {
    Unit::Bytes.show(f64::from(exponent).exp2())
}

const COLUMNS_MAX: usize = 200;
const ROWS_MAX: usize = 100;
const HEIGHT: f64 = 210.0;
/// A label under a column is cut beyond this width.
const LABEL_MAX: f64 = 110.0;

impl Bars {
    /// Upright, for categories that have an order, such as sizes: labels may be left out
    /// where there is no room.
    pub fn columns(
        title: impl Into<String>,
        category_title: impl Into<String>,
        value: Axis,
        categories: Vec<String>,
    ) -> Self {
        let (title, category_title) = (title.into(), category_title.into());
        Bars {
            title,
            category_title,
            value,
            categories,
            series: Vec::new(),
            upright: true,
            palette: Palette::default(),
        }
    }

    /// Lying, for categories that have names, such as files: each is labelled.
    pub fn rows(
        title: impl Into<String>,
        category_title: impl Into<String>,
        value: Axis,
        categories: Vec<String>,
    ) -> Self {
        Bars { upright: false, ..Bars::columns(title, category_title, value, categories) }
    }

    /// Adds a value for each category; surplus values are not shown.
    pub fn series(mut self, name: impl Into<String>, values: Vec<f64>) -> Self {
        self.series.push((name.into(), values));
        self
    }

    /// Gives each series the colour that its kind of call has on every page.
    pub fn hues(mut self, hues: Vec<Hue>) -> Self {
        self.palette = Palette::new(hues);
        self
    }

    pub(crate) fn draw(&self, width: f64) -> Drawing {
        let values = || self.series.iter().flat_map(|(_, values)| self.shown(values));
        let skipped = values().filter(|value| !self.value.holds(*value)).count();
        let Some(axis) = self.value.fit(values()) else { return Drawing::empty(skipped) };
        let mut notes = skipped_note(skipped);
        if self.categories.len() > self.most() {
            let more = self.categories.len() - self.most();
            notes.push(format!("The first {} categories; {more} more are not drawn.", self.most()));
        }
        let svg = if self.upright {
            self.draw_columns(&value_ends(axis, true), width)
        } else {
            self.draw_rows(&axis.reaching_zero(), width)
        };
        let legend = self.series.iter().map(|(name, _)| (name.clone(), Mark::Block)).collect();
        let (palette, table) = (self.palette.clone(), Some(self.table()));
        Drawing { svg, legend, palette, notes, table, ..Drawing::default() }
    }

    fn most(&self) -> usize {
        if self.upright { COLUMNS_MAX } else { ROWS_MAX }
    }

    fn shown<'a>(&self, values: &'a [f64]) -> impl Iterator<Item = f64> + use<'a> {
        values.iter().copied().take(self.categories.len().min(self.most()))
    }

    fn words(&self, axis: &Fitted) -> String {
        format!("{}: bars, {}", self.title, axis.words())
    }

    fn tip(&self, series: usize, category: &str, value: f64) -> String {
        let exact = exact(value, self.value.unit);
        let category = match self.category_title.as_str() {
            "" => spelled(category),
            title => spelled(&format!("{title} {category}")),
        };
        let name = self.series.get(series).map_or(String::new(), |(name, _)| spelled(name));
        format!("{category}\n{name}: {exact}")
    }

    /// Each bar: its series, its category and its value.
    fn each(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        self.series.iter().enumerate().flat_map(|(series, (_, values))| {
            let drawn = self.shown(values).enumerate();
            let held = drawn.filter(|(_, value)| self.value.holds(*value));
            held.map(move |(category, value)| (series, category, value))
        })
    }

    fn draw_columns(&self, axis: &Fitted, whole: f64) -> String {
        let titled = !self.category_title.is_empty();
        let frame = Frame { titled, ..Frame::with_values(axis, HEIGHT, whole) };
        let count = self.categories.len().clamp(1, COLUMNS_MAX) as f64;
        let slot = frame.width / count;
        let gap = (slot * 0.2).min(14.0);
        // A few columns should not become walls.
        let wide = ((slot - gap) / self.series.len().max(1) as f64).min(72.0);
        let indent = (slot - wide * self.series.len() as f64) / 2.0;
        let zero = axis.share(0.0);
        let mut inside = frame.value_axis(axis) + &self.column_labels(&frame, slot);
        let label_all = self.series.len() == 1
            && self.each().all(|(_, _, value)| text_width(&axis.show(value)) + 4.0 < slot);
        for (series, category, value) in self.each() {
            let name = &self.categories[category];
            let share = axis.share(value);
            let x = frame.left + category as f64 * slot + indent + series as f64 * wide;
            let y = frame.top + (1.0 - share.max(zero)) * frame.height;
            let height = (share - zero).abs() * frame.height;
            let tip = self.tip(series, name, value);
            let class = format!("f {}", self.palette.class(series));
            inside.push_str(&rect(x, y, wide.max(1.0) - 0.5, height, &class, &tip));
            if label_all && value != 0.0 {
                let middle = x + wide / 2.0;
                inside.push_str(&text(middle, y - 4.0, Anchor::Middle, "value", &axis.show(value)));
            }
        }
        inside.push_str(&frame.base_line());
        inside.push_str(&frame.title_below(&self.category_title));
        frame.chart(&self.words(axis), false, &inside)
    }

    /// As many labels as fit side by side.
    fn column_labels(&self, frame: &Frame, slot: f64) -> String {
        let categories = &self.categories[..self.categories.len().min(COLUMNS_MAX)];
        let widest = categories.iter().map(|name| text_width(&spelled(name))).fold(0.0, f64::max);
        let widest = widest.min(LABEL_MAX);
        let every = ((widest + 10.0) / slot).ceil().clamp(1.0, 1e6) as usize;
        let labelled = categories.iter().enumerate().step_by(every);
        let label = |(index, name): (usize, &String)| {
            let middle = frame.left + (index as f64 + 0.5) * slot;
            let most = (slot * every as f64).min(LABEL_MAX);
            let short = shorten(&spelled(name), most);
            text(middle, frame.top + frame.height + 17.0, Anchor::Middle, "tick", &short)
        };
        labelled.map(label).collect()
    }

    fn draw_rows(&self, axis: &Fitted, whole: f64) -> String {
        let thick = if self.series.len() == 1 { 16.0 } else { 11.0 };
        let slot = thick * self.series.len() as f64 + 9.0;
        let names = || self.categories.iter().take(ROWS_MAX).map(String::as_str);
        let frame = Frame::with_names(names(), slot * names().count() as f64, whole);
        // Room for the value at the end of the longest bar.
        let widest = self.each().map(|(_, _, value)| text_width(&axis.show(value)));
        let room = (widest.fold(0.0, f64::max) + 8.0).min(frame.width / 3.0);
        let frame = Frame { width: frame.width - room, ..frame };
        let zero = axis.share(0.0);
        let mut inside = frame.x_axis(axis);
        for (index, name) in names().enumerate() {
            let middle = frame.top + (index as f64 + 0.5) * slot;
            inside.push_str(&frame.row_name(name, middle));
        }
        for (series, category, value) in self.each() {
            let share = axis.share(value);
            let x = frame.left + share.min(zero) * frame.width;
            let y = frame.top + category as f64 * slot + 4.5 + series as f64 * thick;
            let width = (share - zero).abs() * frame.width;
            let tip = self.tip(series, &self.categories[category], value);
            let class = format!("f {}", self.palette.class(series));
            inside.push_str(&rect(x, y, width, thick - 1.0, &class, &tip));
            let end = x + width + 5.0;
            let shown = axis.show(value);
            inside.push_str(&text(end, y + thick / 2.0 + 3.5, Anchor::Start, "value", &shown));
        }
        frame.chart(&self.words(axis), false, &inside)
    }

    fn table(&self) -> Table {
        let title = if self.category_title.is_empty() { "category" } else { &self.category_title };
        let values = self.series.iter().map(|(name, _)| Column::figures(name.as_str()));
        let mut table = Table::new([Column::text(title)].into_iter().chain(values).collect());
        for (index, category) in self.categories.iter().enumerate() {
            let cell = |(_, values): &(String, Vec<f64>)| match values.get(index) {
                Some(value) => Cell::value(*value, self.value.unit),
                None => Cell::Missing,
            };
            let name = Cell::Text(category.clone());
            table.push([name].into_iter().chain(self.series.iter().map(cell)).collect());
        }
        table
    }
}
