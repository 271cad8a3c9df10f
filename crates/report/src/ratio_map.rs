//! How many times more or less, over two quantities: a map with its values in the cells, for a
//! terminal here and for a page in `html`.

use crate::html::Axis;
use crate::{Align, TextTable};

/// A ratio for each pair of two quantities. Above one is gain, below is loss.
#[derive(Debug, Clone, PartialEq)]
pub struct RatioMap {
    pub(crate) title: String,
    pub(crate) rows: Side,
    pub(crate) columns: Side,
    /// Row by row. A value that is not a number, or not positive, counts as not known.
    pub(crate) cells: Vec<f64>,
    pub(crate) outlined: Option<(usize, String)>,
    pub(crate) marks: Vec<(f64, String)>,
}

/// A side of the map: the quantity along it and its values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Side {
    pub axis: Axis,
    pub values: Vec<f64>,
}

impl RatioMap {
    /// No cells yet.
    pub fn new(
        title: impl Into<String>,
        rows: (Axis, Vec<f64>),
        columns: (Axis, Vec<f64>),
    ) -> Self {
        let side = |(axis, values)| Side { axis, values };
        RatioMap {
            title: title.into(),
            rows: side(rows),
            columns: side(columns),
            cells: Vec::new(),
            outlined: None,
            marks: Vec::new(),
        }
    }

    /// Sets the ratios, row by row. Missing ones are not known; surplus ones are not shown.
    pub fn cells(mut self, cells: Vec<f64>) -> Self {
        self.cells = cells;
        self
    }

    /// Outlines the column of this value, and says why.
    pub fn outline(mut self, value: f64, reason: impl Into<String>) -> Self {
        let column = self.columns.values.iter().position(|known| *known == value);
        self.outlined = column.map(|column| (column, reason.into()));
        self
    }

    /// Marks a value along the columns, which need not be one of theirs, and says what it is.
    pub fn mark(mut self, value: f64, name: impl Into<String>) -> Self {
        self.marks.push((value, name.into()));
        self
    }

    /// Returns the ratio in a cell, where there is one.
    pub(crate) fn ratio(&self, row: usize, column: usize) -> Option<f64> {
        let ratio = *self.cells.get(row * self.columns.values.len() + column)?;
        (ratio > 0.0 && ratio < 1e300).then_some(ratio)
    }

    pub(crate) fn steps(&self) -> Steps {
        let of_row = |row| (0..self.columns.values.len()).map(move |column| (row, column));
        let all = (0..self.rows.values.len()).flat_map(of_row);
        Steps::over(all.filter_map(|(row, column)| self.ratio(row, column)))
    }

    /// For a terminal: a table whose cells are shaded, and what the shades and marks mean.
    pub fn to_text(&self) -> String {
        let steps = self.steps();
        let heading = |(index, value): (usize, &f64)| {
            let is_outlined = self.outlined.as_ref().is_some_and(|(column, _)| *column == index);
            let star = if is_outlined { "*" } else { "" };
            (format!("{}{star}", self.columns.axis.unit.show(*value)), Align::Right)
        };
        let headings = self.columns.values.iter().enumerate().map(heading);
        let mut table =
            TextTable::new([(String::new(), Align::Right)].into_iter().chain(headings).collect());
        for (row, value) in self.rows.values.iter().enumerate() {
            let name = self.rows.axis.unit.show(*value);
            let cell = |column| match self.ratio(row, column) {
                Some(ratio) => format!("{} {}", steps.shade(ratio), shown(ratio)),
                None => "-".to_string(),
            };
            let cells = (0..self.columns.values.len()).map(cell);
            table.push([name].into_iter().chain(cells).collect());
        }
        let (down, across) = (&self.rows.axis.title, &self.columns.axis.title);
        let head = format!("  {}\n  down: {down}, across: {across}\n", self.title);
        head + &table.to_text() + &self.text_notes(&steps)
    }

    fn text_notes(&self, steps: &Steps) -> String {
        let mut out = String::new();
        let shade = |(_, level, words): (bool, usize, String)| format!("{} {words}", SHADES[level]);
        let shades: Vec<String> = steps.legend().into_iter().map(shade).collect();
        if !shades.is_empty() {
            out.push_str(&format!("  {}\n", shades.join("  ")));
        }
        if let Some((_, reason)) = &self.outlined {
            out.push_str(&format!("  * {reason}\n"));
        }
        for (value, name) in &self.marks {
            out.push_str(&format!("  {}: {name}\n", self.columns.axis.unit.show(*value)));
        }
        out
    }
}

/// Two decimals, or three digits where that is more than a cell needs.
pub(crate) fn shown(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 99.95 => format!("{ratio:.0}"),
        ratio if ratio >= 9.995 => format!("{ratio:.1}"),
        ratio => format!("{ratio:.2}"),
    }
}

/// How many shades there are on either side of one.
pub(crate) const LEVELS: usize = 5;

/// Losses have the same shades as gains, and are distinguished by their values: a terminal has one set of blocks.
const SHADES: [&str; LEVELS] = [" ", "\u{2591}", "\u{2592}", "\u{2593}", "\u{2588}"];

/// Round limits between shades, the same for gains and, turned round, for losses.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Steps {
    /// From which ratio on each level but the first begins.
    limits: Vec<f64>,
    greatest: f64,
    least: f64,
}

impl Steps {
    fn over(ratios: impl Iterator<Item = f64>) -> Self {
        const ROUND: [f64; 14] =
            [1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1e3, 1e4, 1e6];
        let ends =
            |(least, greatest): (f64, f64), ratio: f64| (least.min(ratio), greatest.max(ratio));
        let (least, greatest) = ratios.fold((1.0, 1.0), ends);
        let size = greatest.max(least.recip());
        // As many limits as there are levels, spread over those that something exceeds.
        let known: Vec<f64> = ROUND.into_iter().filter(|limit| *limit <= size).collect();
        let wanted = (LEVELS - 1).min(known.len());
        let place = |nth: usize| (nth * (known.len() - 1)) / (wanted - 1).max(1);
        let limits = (0..wanted).map(|nth| known[place(nth)]).collect();
        Steps { limits, greatest, least }
    }

    /// 0 for a ratio near one, up to `LEVELS` - 1.
    pub fn level(&self, ratio: f64) -> usize {
        let size = if ratio < 1.0 { ratio.recip() } else { ratio };
        self.limits.partition_point(|limit| *limit <= size)
    }

    fn shade(&self, ratio: f64) -> &'static str {
        SHADES[self.level(ratio)]
    }

    /// Returns the limits of a level in words. Those of losses are the inverse of those of gains.
    fn words(&self, is_gain: bool, level: usize) -> String {
        let Some(from) = level.checked_sub(1).map(|below| self.limits[below]) else {
            let to = self.limits.first().copied().unwrap_or(1.05);
            return format!("{} to {to}", shown(to.recip()));
        };
        match (self.limits.get(level), is_gain) {
            (Some(to), true) => format!("{from} to {to}"),
            (None, true) => format!("{from} and more"),
            (Some(to), false) => format!("{} to {}", shown(to.recip()), shown(from.recip())),
            (None, false) => format!("{} and less", shown(from.recip())),
        }
    }

    /// For a legend: whether it is a gain, the level, and its limits in words, from the greatest
    /// loss that there is to the greatest gain.
    pub fn legend(&self) -> Vec<(bool, usize, String)> {
        let losses = (1..=self.level(self.least)).rev().map(|level| (false, level));
        let gains = (0..=self.level(self.greatest)).map(|level| (true, level));
        let named = |(is_gain, level)| (is_gain, level, self.words(is_gain, level));
        losses.chain(gains).map(named).collect()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn ratios_have_two_decimals_or_three_digits() {
        let shown = [0.05, 1.0, 9.994, 9.995, 99.94, 99.95, 1234.5].map(super::shown);
        assert_eq!(shown, ["0.05", "1.00", "9.99", "10.0", "99.9", "100", "1234"]);
    }

    use super::*;
    use crate::Unit;
    use proptest::prelude::*;

    fn map() -> RatioMap {
        let burst = Axis::new("burst", Unit::Seconds);
        let slow = Axis::new("slowness", Unit::Seconds);
        RatioMap::new("gain", (burst, vec![0.2, 20.0]), (slow, vec![0.5, 50.0]))
            .cells(vec![2.5, 7.94, 1.03, f64::NAN])
            .outline(50.0, "measured")
            .mark(60.0, "70 % are shorter")
    }

    #[test]
    fn a_terminal_gets_shades_and_what_they_mean() {
        let text = map().to_text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "  down: burst, across: slowness");
        assert_eq!(lines[2], "          500 ms   50 s*");
        assert_eq!(lines[3], "  200 ms  \u{2593} 2.50  \u{2588} 7.94", "{text}");
        assert_eq!(lines[4], "    20 s    1.03       -", "{text}");
        assert!(text.contains("\u{2591} 1.05 to 1.2  "), "{text}");
        assert!(text.contains("\u{2588} 5 and more\n"), "{text}");
        assert!(text.ends_with("  * measured\n  60 s: 70 % are shorter\n"), "{text}");
    }

    #[test]
    fn gains_and_losses_are_told_apart() {
        let steps = Steps::over([0.5, 2.0].into_iter());
        assert_eq!(steps.level(0.5), steps.level(2.0));
        let legend = steps.legend();
        assert!(legend.iter().any(|(is_gain, ..)| *is_gain));
        assert!(legend.iter().any(|(is_gain, ..)| !is_gain));
        assert_eq!(legend[legend.len() / 2], (true, 0, "0.95 to 1.05".to_string()));
        assert_eq!(Steps::over([0.999].into_iter()).legend().len(), 1, "nearly one is one");
    }

    proptest! {
        #[test]
        fn no_values_panic(cells in proptest::collection::vec(any::<f64>(), 0..9)) {
            let axis = || Axis::new("x", Unit::Ratio);
            let sides = ((axis(), vec![1.0, f64::NAN]), (axis(), vec![0.0, -1.0, 1e300]));
            let map = RatioMap::new("t", sides.0, sides.1).cells(cells).mark(f64::NAN, "m");
            prop_assert!(map.to_text().starts_with("  t\n"));
            let _ = crate::html::Chart::from(map);
        }
    }
}
