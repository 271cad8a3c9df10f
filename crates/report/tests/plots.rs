//! Plots in a terminal: where lines, curves and marks lie.

use plimsoll_report::{Axes, fit_plot, line_plot};

const AXES: Axes = Axes {
    title: "rate",
    x_label: "size",
    show_x: |value| format!("{value:.0}"),
    show_y: |value| format!("{value:.0}B"),
};

/// The lines between the axes: what is drawn, without labels and frame.
fn drawn(plot: &str) -> Vec<Vec<char>> {
    let rows = plot.lines().filter_map(|line| line.split_once('│'));
    rows.map(|(_, row)| row.chars().collect()).collect()
}

fn is_dot(cell: Option<&char>) -> bool {
    cell.is_some_and(|c| ('\u{2801}'..='\u{28ff}').contains(c))
}

/// Columns and rows, from the top, of all marks.
fn marks(plot: &str) -> Vec<(usize, usize)> {
    let rows = drawn(plot);
    let in_row = |(row, cells): (usize, &Vec<char>)| {
        let columns = cells.iter().enumerate().filter(|(_, cell)| **cell == '●');
        columns.map(|(column, _)| (column, row)).collect::<Vec<_>>()
    };
    rows.iter().enumerate().flat_map(in_row).collect()
}

#[test]
fn axes_are_logarithmic_and_end_at_the_extremes() {
    let line = [(1.0, 1.0), (10_000.0, 10_000.0)];
    let measured = [(1.0, 1.0), (100.0, 100.0), (10_000.0, 10_000.0)];
    let plot = fit_plot(&line, &measured, AXES);
    let rows = drawn(&plot);
    let (width, height) = (60, rows.len());
    // The middle of the logarithms is in the middle of the plot.
    let middle = ((width - 1) / 2 + 1, (height - 1) / 2);
    let found = marks(&plot);
    assert_eq!(found.len(), 3, "{plot}");
    assert_eq!((found[0], found[2]), ((width - 1, 0), (0, height - 1)), "{plot}");
    assert!(found[1].0.abs_diff(middle.0) <= 1 && found[1].1.abs_diff(middle.1) <= 1, "{plot}");
    let lines: Vec<&str> = plot.lines().collect();
    assert_eq!(lines[0], "  rate");
    assert!(lines[1].starts_with("  10000B │"), "{plot}");
    assert!(lines[height].starts_with("      1B │"), "{plot}");
    assert!(lines[2..height].iter().all(|line| line.starts_with("         │")), "{plot}");
    assert_eq!(lines[height + 1], format!("         └{}", "─".repeat(width)));
    let below = lines[height + 2];
    assert_eq!(below.chars().count(), 10 + width, "{plot}");
    assert!(below.starts_with("          1 ") && below.ends_with(" 10000"), "{plot}");
    assert_eq!(below.split_whitespace().collect::<Vec<_>>(), ["1", "size", "10000"]);
}

#[test]
fn the_curve_is_straight_between_its_points() {
    // Rises over half of the sizes and is flat from there.
    let curve = [(1.0, 1.0), (100.0, 1000.0), (10_000.0, 1000.0)];
    let plot = fit_plot(&curve, &[], AXES);
    let rows = drawn(&plot);
    assert!((31..60).all(|column| is_dot(rows[0].get(column))), "{plot}");
    assert!((0..25).all(|column| !is_dot(rows[0].get(column))), "{plot}");
    let last = rows.len() - 1;
    assert!(is_dot(rows[last].first()) && !is_dot(rows[last].get(10)), "{plot}");
    // Each column of the rising half has its dots one above the other, further up to the right.
    let height_of = |column: usize| rows.iter().position(|row| is_dot(row.get(column)));
    let heights: Vec<usize> = (0..30).map(|column| height_of(column).unwrap()).collect();
    assert!(heights.is_sorted_by(|left, right| left >= right), "{heights:?}");
    assert!(heights[15].abs_diff(last / 2) <= 1, "{heights:?}");
}

#[test]
fn a_mark_off_the_curve_lies_off_it() {
    let flat = [(1.0, 10.0), (100.0, 10.0)];
    let plot = fit_plot(&flat, &[(10.0, 1000.0)], AXES);
    let rows = drawn(&plot);
    let found = marks(&plot);
    assert_eq!((found.len(), found[0].1), (1, 0), "{plot}");
    assert!(found[0].0.abs_diff(30) <= 1, "{plot}");
    assert!(is_dot(rows[rows.len() - 1].get(30)), "the curve is at the bottom: {plot}");
}

#[test]
fn what_has_no_logarithm_is_left_out() {
    let curve = [(1.0, 1.0), (10.0, 10.0)];
    let right = fit_plot(&curve, &[(10.0, 10.0)], AXES);
    for wrong in [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)] {
        assert_eq!(fit_plot(&curve, &[wrong, (10.0, 10.0)], AXES), right, "{wrong:?}");
    }
    assert_eq!(fit_plot(&[(0.0, 1.0)], &[], AXES), "");
    // One value everywhere lies in the middle.
    let plot = fit_plot(&[(5.0, 5.0)], &[(5.0, 5.0)], AXES);
    let found = marks(&plot);
    assert_eq!(found.len(), 1, "{plot}");
    assert!(found[0].0.abs_diff(30) <= 1 && found[0].1.abs_diff(6) <= 1, "{plot}");
}

/// The row, from the top, of the highest dot of each column.
fn heights(plot: &str) -> Vec<usize> {
    let rows = drawn(plot);
    let highest = |column: usize| rows.iter().position(|row| is_dot(row.get(column)));
    (0..60).map(|column| highest(column).unwrap_or(usize::MAX)).collect()
}

#[test]
fn a_line_is_framed_by_the_ends_of_its_axes() {
    let plot = line_plot(&[(-2.0, 0.125), (4.0, 1000.0)], "load", "jobs");
    let lines: Vec<&str> = plot.lines().collect();
    assert_eq!(lines.len(), 15, "{plot}");
    assert_eq!(lines[0], "  jobs");
    assert!(lines[1].starts_with("   1000 │"), "{plot}");
    assert!(lines[12].starts_with("  0.125 │"), "{plot}");
    assert!(lines[2..12].iter().all(|line| line.starts_with("        │")), "{plot}");
    assert_eq!(lines[13], format!("        └{}", "─".repeat(60)));
    assert_eq!(lines[14], format!("         -2{:^57}4", "load"));
}

#[test]
fn a_line_is_straight_between_points_however_far_apart() {
    // Up to the top over a quarter of the way, down to the bottom over the rest.
    let plot = line_plot(&[(0.0, 10.0), (1.0, 13.0), (4.0, 10.0)], "x", "y");
    let heights = heights(&plot);
    assert!(heights[..15].is_sorted_by(|left, right| left >= right), "{plot}");
    assert!(heights[15..].is_sorted(), "{plot}");
    assert_eq!((heights[0], heights[14], heights[15], heights[59]), (11, 0, 0, 11), "{plot}");
    assert!(heights[7].abs_diff(5) <= 1 && heights[37].abs_diff(5) <= 1, "{plot}");
}

/// Wherever the axis begins.
#[test]
fn a_line_far_from_zero_is_as_straight() {
    let near = line_plot(&[(0.0, 0.0), (10.0, 10.0)], "x", "y");
    let far = line_plot(&[(1000.0, 0.0), (1010.0, 10.0)], "x", "y");
    assert_eq!(heights(&near), heights(&far));
    let heights = heights(&far);
    assert_eq!((heights[0], heights[59]), (11, 0), "{far}");
    assert!(heights[30].abs_diff(5) <= 1, "{far}");
}

#[test]
fn a_step_is_drawn_as_an_upright_and_a_constant_in_the_middle() {
    let step = line_plot(&[(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (2.0, 1.0)], "x", "y");
    let rows = drawn(&step);
    let upright = |column: usize| rows.iter().all(|row| is_dot(row.get(column)));
    assert!(upright(29) || upright(30), "{step}");
    let filled = rows.iter().map(|row| row.iter().filter(|cell| is_dot(Some(*cell))).count());
    let filled: Vec<usize> = filled.collect();
    assert!(filled[1..11].iter().all(|count| *count == 1), "{step}");
    assert!(filled[0].abs_diff(30) <= 1 && filled[11].abs_diff(30) <= 1, "{step}");
    let constant = line_plot(&[(0.0, 7.0), (2.0, 7.0), (3.0, f64::NAN)], "x", "y");
    assert!(heights(&constant).iter().all(|row| row.abs_diff(5) <= 1), "{constant}");
}
