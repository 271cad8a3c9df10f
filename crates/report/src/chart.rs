//! Simple plots for a terminal: bars and lines.

use unicode_width::UnicodeWidthStr;

/// One bar: its label, its length, and the value as text.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// What it stands for.
    pub label: String,
    /// Its length; negative and non-finite values draw nothing.
    pub value: f64,
    /// The value as the reader should see it.
    pub shown: String,
}

/// The longest bar; shorter where labels leave less of [`LINE_COLUMNS`].
const BAR_COLUMNS: usize = 40;
const BAR_COLUMNS_MIN: usize = 10;
/// What the narrowest of usual terminals has.
const LINE_COLUMNS: usize = 80;
const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// Horizontal bars on one scale that starts at zero.
pub fn bars(bars: &[Bar]) -> String {
    let labels = bars.iter().map(|bar| bar.label.width()).max().unwrap_or(0);
    let shown = bars.iter().map(|bar| bar.shown.width()).max().unwrap_or(0);
    let lengths = bars.iter().map(|bar| bar.value).filter(|value| value.is_finite());
    let longest = lengths.fold(0.0, f64::max);
    let room = LINE_COLUMNS.saturating_sub(labels + shown + 6).clamp(BAR_COLUMNS_MIN, BAR_COLUMNS);
    let mut out = String::new();
    for bar in bars {
        let columns = if longest > 0.0 { bar.value / longest * room as f64 } else { 0.0 };
        let label = " ".repeat(labels - bar.label.width()) + &bar.label;
        let value = " ".repeat(shown - bar.shown.width()) + &bar.shown;
        out.push_str(format!("  {label}  {value}  {}", block(columns)).trim_end());
        out.push('\n');
    }
    out
}

fn block(columns: f64) -> String {
    // The cast saturates, so NaN and negative lengths draw nothing.
    let eighths = (columns * 8.0).round() as usize;
    let mut block = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        block.push(EIGHTHS[eighths % 8]);
    }
    block
}

pub(crate) const PLOT_COLUMNS: usize = 60;
pub(crate) const PLOT_ROWS: usize = 12;

/// A line through points sorted by x, drawn in Braille dots with both axes labelled by
/// their ends. Empty when there is nothing to draw.
pub fn line_plot(points: &[(f64, f64)], x_label: &str, y_label: &str) -> String {
    let points: Vec<_> =
        points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return String::new() };
    let y_least = points.iter().map(|(_, y)| *y).fold(f64::INFINITY, f64::min);
    let y_most = points.iter().map(|(_, y)| *y).fold(f64::NEG_INFINITY, f64::max);
    let mut dots = Dots::new();
    let mut previous = None;
    for x in 0..PLOT_COLUMNS * 2 {
        let at = first.0 + (last.0 - first.0) * x as f64 / (PLOT_COLUMNS * 2 - 1) as f64;
        let share = position(interpolate(&points, at), y_least, y_most);
        let y = ((1.0 - share) * (PLOT_ROWS * 4 - 1) as f64).round() as usize;
        dots.set(x, y);
        // Where the line is steep, the dots between two columns belong to it too.
        let from = previous.unwrap_or(y);
        (y.min(from) + 1..y.max(from)).for_each(|between| dots.set(x, between));
        previous = Some(y);
    }
    frame(&dots, (first.0, last.0), (y_least, y_most), x_label, y_label)
}

fn position(value: f64, least: f64, most: f64) -> f64 {
    if most > least { ((value - least) / (most - least)).clamp(0.0, 1.0) } else { 0.5 }
}

/// Linear between the two points around `at`.
fn interpolate(points: &[(f64, f64)], at: f64) -> f64 {
    let after = points.partition_point(|(x, _)| *x < at).min(points.len() - 1);
    let (x1, y1) = points[after];
    let (x0, y0) = points[after.saturating_sub(1)];
    if x1 > x0 { y0 + (y1 - y0) * ((at - x0) / (x1 - x0)).clamp(0.0, 1.0) } else { y1 }
}

/// A grid of Braille cells, two dots wide and four high each.
pub(crate) struct Dots {
    cells: Vec<u8>,
}

impl Dots {
    pub(crate) fn new() -> Self {
        Dots { cells: vec![0; PLOT_COLUMNS * PLOT_ROWS] }
    }

    pub(crate) fn set(&mut self, x: usize, y: usize) {
        // Unicode numbers the dots of a Braille cell by column, the bottom row last.
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        self.cells[y / 4 * PLOT_COLUMNS + x / 2] |= BITS[y % 4][x % 2];
    }

    pub(crate) fn row(&self, row: usize) -> String {
        let cells = &self.cells[row * PLOT_COLUMNS..(row + 1) * PLOT_COLUMNS];
        cells.iter().map(|bits| char::from_u32(0x2800 + u32::from(*bits)).unwrap_or(' ')).collect()
    }
}

fn frame(dots: &Dots, x: (f64, f64), y: (f64, f64), x_label: &str, y_label: &str) -> String {
    let (top, bottom) = (tick(y.1), tick(y.0));
    let margin = top.len().max(bottom.len());
    let mut out = format!("  {y_label}\n");
    for row in 0..PLOT_ROWS {
        let label = match row {
            0 => top.as_str(),
            row if row == PLOT_ROWS - 1 => bottom.as_str(),
            _ => "",
        };
        out.push_str(&format!("  {label:>margin$} │{}\n", dots.row(row)));
    }
    let (left, right) = (tick(x.0), tick(x.1));
    let gap = PLOT_COLUMNS.saturating_sub(left.len() + right.len());
    out.push_str(&format!("  {:margin$} └{}\n", "", "─".repeat(PLOT_COLUMNS)));
    out.push_str(&format!("  {:margin$}  {left}{:^gap$}{right}\n", "", x_label));
    out
}

fn tick(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bars_beside_long_labels_fit_a_terminal() {
        let bar = |label: &str, value| Bar { label: label.into(), value, shown: "34.82 s".into() };
        let width =
            |label: &str| bars(&[bar(label, 1.0), bar("b", 0.5)]).lines().map(str::width).max();
        assert_eq!(width("a"), Some(1 + 7 + 6 + 40));
        assert_eq!(width("coordinator:tf=optimal:split=4MiB"), Some(80));
        assert_eq!(width(&"a".repeat(90)), Some(90 + 7 + 6 + 10));
    }

    #[test]
    fn bars_share_one_scale() {
        let bar =
            |label: &str, value: f64| Bar { label: label.into(), value, shown: format!("{value}") };
        let text = bars(&[bar("1", 80.0), bar("10", 1.0), bar("x", f64::NAN)]);
        let full = "█".repeat(40);
        assert_eq!(text, format!("   1   80  {full}\n  10    1  ▌\n   x  NaN\n"));
        assert_eq!(bars(&[]), "");
    }

    #[test]
    fn line_runs_from_corner_to_corner() {
        let plot = line_plot(&[(0.0, 0.0), (1.0, 10.0)], "x", "y");
        let lines: Vec<&str> = plot.lines().collect();
        assert!(lines[1].starts_with("  10 │") && lines[1].ends_with('\u{2809}'), "{plot}");
        assert!(lines[12].contains("0 │\u{28c0}"), "{plot}");
        assert_eq!(line_plot(&[], "x", "y"), "");
    }

    proptest! {
        #[test]
        fn no_points_panic(points in proptest::collection::vec((any::<f64>(), any::<f64>()), 0..20)) {
            let _ = line_plot(&points, "x", "y");
        }
    }
}
