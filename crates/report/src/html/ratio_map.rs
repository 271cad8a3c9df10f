//! A ratio map on a page: shaded cells with their values, marks above the columns.

use crate::Unit;
use crate::ratio_map::{LEVELS, RatioMap, Side, shown};

use super::escape::spelled;
use super::figure::{Drawing, Mark};
use super::frame::Frame;
use super::svg::{Anchor, px, rect, text};
use super::table::{Cell, Column, Table};

const ROW: f64 = 34.0;
/// Room above the cells: the title of the rows, and the letters of marks.
const ABOVE: f64 = 44.0;
const ROWS_MAX: usize = 60;
const COLUMNS_MAX: usize = 24;
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";

impl RatioMap {
    pub(crate) fn draw(&self, width: f64) -> Drawing {
        let (rows, columns) = self.drawn();
        let known = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        if known.filter_map(|(row, column)| self.ratio(row, column)).next().is_none() {
            return Drawing::empty(0);
        }
        let mark = |(is_gain, level, words)| (words, Mark::Cell(is_gain, level));
        let legend = self.steps().legend().into_iter().map(mark).collect();
        let (svg, notes, table) = (self.svg(width), self.notes(), Some(self.table()));
        Drawing { svg, legend, notes, table, ..Drawing::default() }
    }

    fn drawn(&self) -> (usize, usize) {
        (self.rows.values.len().min(ROWS_MAX), self.columns.values.len().min(COLUMNS_MAX))
    }

    fn svg(&self, whole: f64) -> String {
        let (rows, columns) = self.drawn();
        let names: Vec<String> =
            self.rows.values.iter().take(rows).map(|v| self.rows.show(*v)).collect();
        let frame = Frame::with_names(names.iter().map(String::as_str), ROW * rows as f64, whole);
        let frame = frame.below(ABOVE);
        let wide = frame.width / columns.max(1) as f64;
        let mut inside = text(0.0, 11.0, Anchor::Start, "axis", &self.rows.axis.title);
        for (row, name) in names.iter().enumerate() {
            inside.push_str(&frame.row_name(name, frame.top + (row as f64 + 0.5) * ROW));
            for column in 0..columns {
                inside.push_str(&self.cell(&frame, wide, row, column));
            }
        }
        for (column, value) in self.columns.values.iter().take(columns).enumerate() {
            let middle = frame.left + (column as f64 + 0.5) * wide;
            let below = frame.top + frame.height + 17.0;
            inside.push_str(&text(
                middle,
                below,
                Anchor::Middle,
                "tick",
                &self.columns.show(*value),
            ));
        }
        inside.push_str(&frame.title_below(&self.columns.axis.title));
        inside.push_str(&self.outline_svg(&frame, wide));
        inside.push_str(&self.marks_svg(&frame, wide));
        let words = format!(
            "{}: a map of {rows} rows by {columns} columns; the numbers below have its values",
            self.title
        );
        frame.chart(&words, false, &inside)
    }

    fn cell(&self, frame: &Frame, wide: f64, row: usize, column: usize) -> String {
        let (x, y) = (frame.left + column as f64 * wide, frame.top + row as f64 * ROW);
        let (row_value, column_value) = (self.rows.values[row], self.columns.values[column]);
        let place = format!(
            "{} {}\n{} {}",
            spelled(&self.rows.axis.title),
            self.rows.show(row_value),
            spelled(&self.columns.axis.title),
            self.columns.show(column_value)
        );
        let middle = (x + wide / 2.0, y + ROW / 2.0 + 4.0);
        // A hair of background between neighbours, so that edges show without colour.
        let cell = |class: &str, tip: &str| rect(x, y, wide - 1.5, ROW - 1.5, class, tip);
        let Some(ratio) = self.ratio(row, column) else {
            let label = text(middle.0, middle.1, Anchor::Middle, "tick", "-");
            return cell("hit", &format!("{place}\nnot known")) + &label;
        };
        let level = self.steps().level(ratio);
        let is_gain = ratio >= 1.0 || level == 0;
        let class = cell_class(is_gain, level);
        let tip = format!("{place}\n{} times", Unit::Ratio.show(ratio));
        let on = match (level + 1 == LEVELS, is_gain) {
            (true, true) => "inside full",
            (true, false) => "inside full lost",
            (false, _) => "inside",
        };
        cell(&class, &tip) + &text(middle.0, middle.1, Anchor::Middle, on, &shown(ratio))
    }

    fn outline_svg(&self, frame: &Frame, wide: f64) -> String {
        let Some((column, _)) = self.outlined.as_ref().filter(|(column, _)| *column < COLUMNS_MAX)
        else {
            return String::new();
        };
        let x = frame.left + *column as f64 * wide;
        format!(
            "<rect class=\"here\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            px(x - 1.2),
            px(frame.top - 1.2),
            px(wide + 0.9),
            px(frame.height + 0.9)
        )
    }

    /// A letter and a tick above the cells for each mark that lies among the columns.
    fn marks_svg(&self, frame: &Frame, wide: f64) -> String {
        let mut out = String::new();
        for ((value, name), letter) in self.marks.iter().zip(LETTERS.chars()) {
            let Some(place) = self.columns.place(*value) else { continue };
            let x = frame.left + (place + 0.5) * wide;
            let tip = format!("{}: {}", self.columns.show(*value), spelled(name));
            let (top, letter) = (frame.top - 10.0, letter.to_string());
            out.push_str(&format!("<path class=\"base\" d=\"M{} {}v8\"/>", px(x), px(top)));
            out.push_str(&text(x, top - 3.0, Anchor::Middle, "tick", &letter));
            out.push_str(&rect(x - 6.0, top - 14.0, 12.0, 22.0, "hit", &tip));
        }
        out
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some((_, reason)) = &self.outlined {
            notes.push(format!("Outlined: {reason}."));
        }
        for ((value, name), letter) in self.marks.iter().zip(LETTERS.chars()) {
            notes.push(format!("{letter}, {}: {name}.", self.columns.show(*value)));
        }
        if (self.rows.values.len(), self.columns.values.len()) != self.drawn() {
            notes.push(format!("The first {ROWS_MAX} rows and {COLUMNS_MAX} columns are drawn."));
        }
        notes
    }

    fn table(&self) -> Table {
        let corner = format!("{} \\ {}", self.rows.axis.title, self.columns.axis.title);
        let columns = self.columns.values.iter().map(|v| Column::figures(self.columns.show(*v)));
        let mut table = Table::new([Column::figures(corner)].into_iter().chain(columns).collect());
        for (row, value) in self.rows.values.iter().enumerate() {
            let cell = |column| match self.ratio(row, column) {
                Some(ratio) => Cell::value(ratio, Unit::Ratio),
                None => Cell::Missing,
            };
            let cells = (0..self.columns.values.len()).map(cell);
            let name = Cell::value(*value, self.rows.axis.unit);
            table.push([name].into_iter().chain(cells).collect());
        }
        table
    }
}

impl Side {
    fn show(&self, value: f64) -> String {
        self.axis.unit.show(value)
    }

    /// Where a value lies among those of the side, 0 being the middle of the first; by
    /// their logarithms where all are positive.
    fn place(&self, value: f64) -> Option<f64> {
        let is_positive = value > 0.0 && self.values.iter().all(|known| *known > 0.0);
        let scaled = |value: f64| if is_positive { value.ln() } else { value };
        let between = |pair: &[f64]| {
            let (low, high) = (scaled(pair[0]), scaled(pair[1]));
            let share = (scaled(value) - low) / (high - low);
            (0.0..=1.0).contains(&share).then_some(share)
        };
        let mut pairs = self.values.windows(2).take(COLUMNS_MAX - 1).enumerate();
        pairs.find_map(|(nth, pair)| Some(nth as f64 + between(pair)?))
    }
}

/// Returns the class of a cell in style.css: gains and losses, from faint to full.
pub(crate) fn cell_class(is_gain: bool, level: usize) -> String {
    format!("{}{level}", if is_gain { "gain" } else { "loss" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::Axis;

    fn map() -> RatioMap {
        let axis = |title: &str| Axis::new(title, Unit::Seconds);
        RatioMap::new("t", (axis("<r>"), vec![1.0]), (axis("c"), vec![5.0, 50.0, 500.0]))
            .cells(vec![2.0, f64::NAN, 0.5])
            .mark(158.113_883, "m")
            .mark(5000.0, "beyond")
            .outline(50.0, "o")
    }

    #[test]
    fn marks_lie_between_columns() {
        assert!((map().columns.place(158.113_883).unwrap() - 1.5).abs() < 1e-6);
        assert_eq!(map().columns.place(5000.0), None);
        assert_eq!(map().columns.place(f64::NAN), None);
    }

    /// By logarithms only where all values have one.
    #[test]
    fn places_are_between_neighbours_by_logarithms_if_there_are_any() {
        let place = |values: &[f64], value: f64| {
            let side = (Axis::new("c", Unit::Count), values.to_vec());
            RatioMap::new("t", (Axis::new("r", Unit::Count), vec![1.0]), side).columns.place(value)
        };
        assert_eq!(place(&[0.0, 10.0, 20.0], 15.0), Some(1.5));
        assert_eq!(place(&[-10.0, 10.0], 0.0), Some(0.5));
        assert!((place(&[1.0, 100.0], 10.0).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(
            (place(&[1.0, 100.0], 1.0), place(&[1.0, 100.0], 100.0)),
            (Some(0.0), Some(1.0))
        );
        assert_eq!(place(&[5.0], 5.0), None, "there is nothing between");
        let many: Vec<f64> = (1..40).map(f64::from).collect();
        assert!(
            place(&many, 24.0).is_some() && place(&many, 25.0).is_none(),
            "columns that are drawn"
        );
    }

    #[test]
    fn an_outline_is_drawn_around_columns_that_are_drawn() {
        let outlined = |at: f64| {
            let columns = (Axis::new("c", Unit::Count), (1..40).map(f64::from).collect());
            let map = RatioMap::new("t", (Axis::new("r", Unit::Count), vec![1.0]), columns);
            map.cells(vec![2.0; 39]).outline(at, "o").draw(760.0).svg.contains("class=\"here\"")
        };
        assert!(outlined(24.0) && !outlined(25.0));
    }

    #[test]
    fn no_ratio_is_known_that_is_none() {
        let columns = (Axis::new("c", Unit::Count), vec![1.0, 2.0, 3.0, 4.0]);
        let map = RatioMap::new("t", (Axis::new("r", Unit::Count), vec![1.0]), columns);
        let map = map.cells(vec![0.0, -1.0, f64::INFINITY, 0.5]);
        let ratios: Vec<Option<f64>> = (0..5).map(|column| map.ratio(0, column)).collect();
        assert_eq!(ratios, [None, None, None, Some(0.5), None]);
    }

    #[test]
    fn cells_have_values_shades_and_tips() {
        let drawing = map().draw(760.0);
        assert!(drawing.svg.contains(">2.00</text>") && drawing.svg.contains("class=\"loss4\""));
        assert!(drawing.svg.contains("&lt;r&gt; 1 s"), "{}", drawing.svg);
        assert_eq!(drawing.notes.len(), 3);
        assert!(map().cells(vec![f64::NAN]).draw(760.0).svg.is_empty());
    }
}
