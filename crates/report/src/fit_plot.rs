//! Measured points against the curve that a model predicts, on logarithmic axes.

use crate::chart::{Dots, PLOT_COLUMNS, PLOT_ROWS};

/// What a plot says along its edges.
#[derive(Debug, Clone, Copy)]
pub struct Axes<'a> {
    /// What is drawn, and by which signs.
    pub title: &'a str,
    /// What runs to the right.
    pub x_label: &'a str,
    /// How a value of the horizontal axis reads.
    pub show_x: fn(f64) -> String,
    /// How a value of the vertical axis reads.
    pub show_y: fn(f64) -> String,
}

/// Where a measurement lies.
const MARK: char = '●';

/// Draws the curve in Braille dots and the measurements as dots of their own over it. Points must be
/// sorted by x; what is not positive and finite is left out. Empty without a curve.
pub fn fit_plot(curve: &[(f64, f64)], measured: &[(f64, f64)], axes: Axes) -> String {
    let curve = logarithms(curve);
    let measured = logarithms(measured);
    let all = || curve.iter().chain(&measured).copied();
    let (Some(x), Some(y)) = (range(all().map(|it| it.0)), range(all().map(|it| it.1))) else {
        return String::new();
    };
    let mut rows = drawn(&curve, x, y);
    for &(at, value) in &measured {
        let column = (share(at, x) * (PLOT_COLUMNS - 1) as f64).round() as usize;
        let row = ((1.0 - share(value, y)) * (PLOT_ROWS - 1) as f64).round() as usize;
        rows[row][column] = MARK;
    }
    frame(&rows, x, y, axes)
}

fn logarithms(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let usable = |value: f64| value.is_finite() && value > 0.0;
    let usable = points.iter().filter(|(x, y)| usable(*x) && usable(*y));
    usable.map(|(x, y)| (x.ln(), y.ln())).collect()
}

fn range(values: impl Iterator<Item = f64> + Clone) -> Option<(f64, f64)> {
    let least = values.clone().reduce(f64::min)?;
    Some((least, values.reduce(f64::max)?))
}

fn share(value: f64, (least, most): (f64, f64)) -> f64 {
    if most > least { ((value - least) / (most - least)).clamp(0.0, 1.0) } else { 0.5 }
}

/// Returns the curve, straight between its points.
fn drawn(curve: &[(f64, f64)], x: (f64, f64), y: (f64, f64)) -> Vec<Vec<char>> {
    let mut dots = Dots::new();
    for pair in curve.windows(2) {
        let column = |at: f64| share(at, x) * (PLOT_COLUMNS * 2 - 1) as f64;
        let (first, last) = (column(pair[0].0), column(pair[1].0));
        for dot in first.ceil() as usize..=last as usize {
            let part = if last > first { (dot as f64 - first) / (last - first) } else { 0.0 };
            let value = pair[0].1 + part * (pair[1].1 - pair[0].1);
            let row = (1.0 - share(value, y)) * (PLOT_ROWS * 4 - 1) as f64;
            dots.set(dot, row.round() as usize);
        }
    }
    (0..PLOT_ROWS).map(|row| dots.row(row).chars().collect()).collect()
}

fn frame(rows: &[Vec<char>], x: (f64, f64), y: (f64, f64), axes: Axes) -> String {
    let (top, bottom) = ((axes.show_y)(y.1.exp()), (axes.show_y)(y.0.exp()));
    let margin = top.chars().count().max(bottom.chars().count());
    let mut out = format!("  {}\n", axes.title);
    for (index, row) in rows.iter().enumerate() {
        let label = match index {
            0 => top.as_str(),
            last if last == rows.len() - 1 => bottom.as_str(),
            _ => "",
        };
        let row: String = row.iter().collect();
        out.push_str(format!("  {label:>margin$} │{row}").trim_end_matches([' ', '\u{2800}']));
        out.push('\n');
    }
    let (left, right) = ((axes.show_x)(x.0.exp()), (axes.show_x)(x.1.exp()));
    let gap = PLOT_COLUMNS.saturating_sub(left.chars().count() + right.chars().count());
    out.push_str(&format!("  {:margin$} └{}\n", "", "─".repeat(PLOT_COLUMNS)));
    out.push_str(&format!("  {:margin$}  {left}{:^gap$}{right}\n", "", axes.x_label));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const AXES: Axes = Axes {
        title: "rate",
        x_label: "size",
        show_x: |value| format!("{value:.0}"),
        show_y: |value| format!("{value:.0}"),
    };

    #[test]
    fn marks_lie_on_a_curve_that_is_right() {
        let points = [(1.0, 10.0), (10.0, 100.0), (100.0, 1000.0)];
        let plot = fit_plot(&points, &points, AXES);
        let lines: Vec<&str> = plot.lines().collect();
        assert!(lines[1].starts_with("  1000 │") && lines[1].ends_with(MARK), "{plot}");
        assert!(lines[12].starts_with("    10 │●"), "{plot}");
        assert_eq!(plot.matches(MARK).count(), 3, "{plot}");
        assert!(lines[14].trim().starts_with('1') && lines[14].ends_with("100"), "{plot}");
        assert_eq!(fit_plot(&[], &[], AXES), "");
    }

    proptest! {
        #[test]
        fn no_points_panic(
            curve in proptest::collection::vec((any::<f64>(), any::<f64>()), 0..9),
            marks in proptest::collection::vec((any::<f64>(), any::<f64>()), 0..9),
        ) {
            let _ = fit_plot(&curve, &marks, AXES);
        }
    }
}
