//! Rows by time, each cell coloured by the class that has most of it.
//!
//! 256 rows of 600 cells as SVG rectangles of 55 bytes would take 8 MB. The cells are
//! embedded as one byte each, and the script paints them into an image inside the SVG.

use serde_json::json;

use crate::Unit;

use super::axis::{Axis, Fitted};
use super::colour::{Hue, Palette};
use super::escape::spelled;
use super::figure::{Drawing, Mark, skipped_note};
use super::frame::Frame;
use super::pack::pack;
use super::svg::{Anchor, px, text, text_width};
use super::table::{Cell, Column, Table};

/// A grid of cells; each class has a value in each cell.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatMap {
    pub(crate) title: String,
    x: Axis,
    /// What the rows are, such as ranks.
    row_title: String,
    rows: Vec<String>,
    /// From where to where the columns reach on the x axis.
    reach: (f64, f64),
    columns: usize,
    /// What a cell shows: its name and unit.
    value: Axis,
    classes: Vec<(String, Vec<f64>)>,
    is_logarithmic: bool,
    palette: Palette,
}

const ROWS_MAX: usize = 256;
const COLUMNS_MAX: usize = 600;

impl HeatMap {
    /// No classes yet: `columns` equal steps of `x` over `reach`, in each of the named rows.
    /// `value` says what the cells hold, such as seconds or a share.
    pub fn new(
        title: impl Into<String>,
        x: Axis,
        reach: (f64, f64),
        columns: usize,
        row_title: impl Into<String>,
        rows: Vec<String>,
        value: Axis,
    ) -> Self {
        let (title, row_title) = (title.into(), row_title.into());
        let x = Axis { scale: Default::default(), ..x };
        HeatMap {
            title,
            x,
            row_title,
            rows,
            reach,
            columns,
            value,
            classes: Vec::new(),
            is_logarithmic: false,
            palette: Palette::default(),
        }
    }

    /// Adds a class: its values row by row. Missing values are nothing, surplus ones are
    /// not shown, negative ones are left out and counted.
    pub fn class(mut self, name: impl Into<String>, values: Vec<f64>) -> Self {
        self.classes.push((name.into(), values));
        self
    }

    /// Colours by orders of magnitude, down to a millionth of the greatest value.
    pub fn logarithmic(mut self) -> Self {
        self.is_logarithmic = true;
        self
    }

    /// Gives each class the colour that its kind of call has on every page.
    pub fn hues(mut self, hues: Vec<Hue>) -> Self {
        self.palette = Palette::new(hues);
        self
    }

    pub(crate) fn draw(&self, width: f64) -> Drawing {
        let cells = self.rows.len().saturating_mul(self.columns);
        let values = || self.classes.iter().flat_map(|(_, values)| values.iter().take(cells));
        let skipped = values().filter(|value| !drawable(**value)).count();
        let greatest = values().copied().filter(|value| drawable(*value)).reduce(f64::max);
        let (Some(greatest), Some(x)) =
            (greatest, self.x.fit([self.reach.0, self.reach.1].into_iter()))
        else {
            return Drawing::empty(skipped);
        };
        let grid = Grid::new(self.rows.len(), self.columns);
        let positive = values().copied().filter(|value| drawable(*value) && *value > 0.0);
        let levels = Levels::new(self.is_logarithmic, positive.reduce(f64::min), greatest);
        let packed: Vec<String> =
            self.classes.iter().map(|(_, values)| pack(&grid.bytes(values, &levels))).collect();
        let mut notes = skipped_note(skipped);
        notes.extend(grid.note());
        notes.extend(self.reading_note(greatest));
        let frame = self.frame(&grid, width);
        let first_rows = (0..grid.rows).map(|row| self.row_name(&grid, row));
        let names: Vec<&String> = self.classes.iter().map(|(name, _)| name).collect();
        let data = json!({ "kind": "heat", "plot": frame.json(), "x": x.json(),
            "value": { "title": spelled(&self.value.title), "unit": self.value.unit.base() },
            "row": spelled(&self.row_title), "rows": first_rows.collect::<Vec<_>>(),
            "columns": grid.columns, "greatest": greatest, "least": levels.least,
            "classes": names.iter().map(|name| spelled(name)).collect::<Vec<_>>(),
            "colours": (0..names.len()).map(|it| self.palette.number(it)).collect::<Vec<_>>(),
            "cells": packed });
        // One class has a colour bar instead.
        let legend = match names.len() {
            1 => Vec::new(),
            _ => names.iter().map(|name| ((*name).clone(), Mark::Block)).collect(),
        };
        let svg = self.svg(&frame, &x, &grid, &levels);
        let table = Some(self.table());
        let palette = self.palette.clone();
        Drawing { svg, legend, palette, filter: true, notes, data: Some(data), table, zoom: true }
    }

    /// How colours read where there is no colour bar.
    fn reading_note(&self, greatest: f64) -> Option<String> {
        let greatest = self.value.unit.show(greatest);
        (self.classes.len() > 1).then(|| {
            format!(
                "A cell has the colour of the class with most of it; fainter is less. Full \
                 colour: {} {greatest}.",
                self.value.title
            )
        })
    }

    /// What shades mean, above the right end of the area, where there is one class.
    fn colour_bar(&self, frame: &Frame, levels: &Levels) -> String {
        const SHADES: usize = 20;
        const SHADE_WIDTH: f64 = 6.0;
        if self.classes.len() != 1 {
            return String::new();
        }
        let unit = self.value.unit;
        let (least, greatest) = (levels.least.unwrap_or(0.0), levels.greatest);
        let high = unit.show(greatest);
        let right = frame.left + frame.width - text_width(&high) - 6.0;
        let left = right - SHADES as f64 * SHADE_WIDTH;
        let colour = self.palette.class(0);
        let mut out = text(left - 6.0, 11.0, Anchor::End, "tick", &unit.show(least));
        out.push_str(&text(right + 6.0, 11.0, Anchor::Start, "tick", &high));
        for shade in 0..SHADES {
            // The script paints cells with these opacities.
            let opacity = (50.0 + shade as f64 / (SHADES - 1) as f64 * 205.0) / 255.0;
            out.push_str(&format!(
                "<rect class=\"{colour} in-own-colour\" x=\"{}\" y=\"2\" width=\"{}\" height=\"10\" \
                 fill-opacity=\"{opacity:.2}\"/>",
                px(left + shade as f64 * SHADE_WIDTH),
                px(SHADE_WIDTH)
            ));
        }
        let scale = if levels.least.is_some() { ", logarithmic" } else { "" };
        let title_at = left - 14.0 - text_width(&unit.show(least));
        let title = format!("{}{scale}", self.value.title);
        // The title of the rows is at the left.
        if title_at - text_width(&title) < text_width(&self.row_title) + 10.0 {
            return out;
        }
        out + &text(title_at, 11.0, Anchor::End, "axis", &title)
    }

    fn frame(&self, grid: &Grid, whole: f64) -> Frame {
        let height = (grid.rows as f64 * (240.0 / grid.rows as f64).clamp(1.5, 18.0)).min(400.0);
        Frame::with_names(self.rows.iter().map(String::as_str), height, whole).below(24.0)
    }

    /// Returns the name of a drawn row: its first and last where several are merged.
    fn row_name(&self, grid: &Grid, row: usize) -> String {
        let first = row * grid.rows_merged;
        let last = (first + grid.rows_merged).min(self.rows.len()).saturating_sub(1);
        let name = |index: usize| self.rows.get(index).map_or(String::new(), |name| spelled(name));
        if first >= last { name(first) } else { format!("{} to {}", name(first), name(last)) }
    }

    fn svg(&self, frame: &Frame, x: &Fitted, grid: &Grid, levels: &Levels) -> String {
        let image = format!(
            "<image class=\"cells\" x=\"0\" y=\"0\" width=\"{}\" height=\"{}\" \
             preserveAspectRatio=\"none\"/>",
            px(frame.width),
            px(frame.height)
        );
        let title = text(0.0, 11.0, Anchor::Start, "axis", &self.row_title);
        let inside = title
            + &self.colour_bar(frame, levels)
            + &self.row_names(frame, grid)
            + &frame.x_axis(x)
            + &frame.area(&image)
            + &frame.without_script("Painted by a script, which did not run.")
            + &frame.base_line();
        let words = format!(
            "{}: {} rows, {}. Painted by the script; the numbers below have the sums.",
            self.title,
            self.rows.len(),
            x.words()
        );
        frame.chart(&words, true, &inside)
    }

    /// As many row names as fit below each other.
    fn row_names(&self, frame: &Frame, grid: &Grid) -> String {
        let slot = frame.height / grid.rows as f64;
        let every = round_up((18.0 / slot).ceil() as usize);
        let named = (0..grid.rows).step_by(every.max(1));
        named
            .map(|row| {
                let name = self.rows.get(row * grid.rows_merged).map_or("", String::as_str);
                frame.row_name(name, frame.top + (row as f64 + 0.5) * slot)
            })
            .collect()
    }

    /// Sums by class, because single cells are too many for a table.
    fn table(&self) -> Table {
        let cells = self.rows.len().saturating_mul(self.columns);
        let greatest = format!("greatest {}", self.value.title);
        let columns = [
            Column::text("class"),
            Column::figures("cells above zero"),
            Column::figures(format!("mean {}", self.value.title)),
            Column::figures(greatest),
        ];
        let mut table = Table::new(columns.into());
        for (name, values) in &self.classes {
            let drawn = || values.iter().copied().take(cells).filter(|value| drawable(*value));
            let above = drawn().filter(|value| *value > 0.0).count() as u64;
            let mean = drawn().map(|value| value / cells.max(1) as f64).sum::<f64>();
            table.push(vec![
                Cell::Text(name.clone()),
                Cell::value(above, Unit::Count),
                Cell::value(mean, self.value.unit),
                Cell::value(drawn().reduce(f64::max), self.value.unit),
            ]);
        }
        table
    }
}

fn drawable(value: f64) -> bool {
    (0.0..1e300).contains(&value)
}

/// 1, 2, 5, 10, 20, ...: names of ranks then count in round numbers.
fn round_up(count: usize) -> usize {
    let mut step = 1;
    for factor in [2, 5, 10, 20, 50, 100, 200] {
        if step < count {
            step = factor;
        }
    }
    step
}

/// From values to shades.
struct Levels {
    /// What the faintest shade stands for, where shades are logarithmic.
    least: Option<f64>,
    greatest: f64,
}

/// Orders of magnitude that shades can tell apart.
const LEAST_SHARE: f64 = 1e-6;

impl Levels {
    fn new(is_logarithmic: bool, least: Option<f64>, greatest: f64) -> Self {
        let least = least.map(|least| least.max(greatest * LEAST_SHARE));
        // One value needs no scale.
        let least = least.filter(|least| is_logarithmic && *least < greatest);
        Levels { least, greatest }
    }

    /// 1 to 255 for a value above zero.
    fn of(&self, value: f64) -> u8 {
        let level = match self.least {
            Some(least) => 1.0 + 254.0 * (value / least).ln() / (self.greatest / least).ln(),
            None => value / self.greatest * 255.0,
        };
        level.round().clamp(1.0, 255.0) as u8
    }
}

/// How many neighbouring rows and columns are merged into one that is drawn.
struct Grid {
    all: (usize, usize),
    rows: usize,
    columns: usize,
    rows_merged: usize,
    columns_merged: usize,
}

impl Grid {
    fn new(rows: usize, columns: usize) -> Self {
        let rows_merged = rows.div_ceil(ROWS_MAX).max(1);
        let columns_merged = columns.div_ceil(COLUMNS_MAX).max(1);
        Grid {
            all: (rows, columns),
            rows: rows.div_ceil(rows_merged),
            columns: columns.div_ceil(columns_merged),
            rows_merged,
            columns_merged,
        }
    }

    /// A byte for each drawn cell: 0 for nothing, 255 for the greatest of all.
    fn bytes(&self, values: &[f64], levels: &Levels) -> Vec<u8> {
        let mut bytes = vec![0u8; self.rows * self.columns];
        for (index, value) in values.iter().enumerate().take(self.all.0.saturating_mul(self.all.1))
        {
            let (row, column) = (index / self.all.1, index % self.all.1);
            let cell = row / self.rows_merged * self.columns + column / self.columns_merged;
            if drawable(*value) && *value > 0.0 {
                bytes[cell] = bytes[cell].max(levels.of(*value));
            }
        }
        bytes
    }

    fn note(&self) -> Option<String> {
        (self.rows_merged > 1 || self.columns_merged > 1).then(|| {
            format!(
                "A cell stands for {} x {} cells and shows the greatest of them.",
                self.rows_merged, self.columns_merged
            )
        })
    }
}

#[cfg(test)]
mod tests;
