//! Plots and tables for a terminal.

use plimsoll_report::html::Axis;
use plimsoll_report::{
    Axes, Bar, Number, RatioMap, Record, Unit, bars, fit_plot, line_plot, sparkline,
};

const TIME: Number = Number::new("seconds", "time", Unit::Seconds, "Time.", "");

pub fn plots() -> String {
    let bar =
        |label: &str, value: f64| Bar { label: label.into(), value, shown: format!("{value:.2}") };
    let curve: Vec<(f64, f64)> =
        (0..20).map(|k| 2f64.powi(k)).map(|x| (x, x / (1.0 + x / 1000.0))).collect();
    let measured: Vec<(f64, f64)> = curve.iter().step_by(4).map(|(x, y)| (*x, y * 0.9)).collect();
    let axes = Axes {
        title: "rate by size",
        x_label: "size",
        show_x: |value| format!("{value:.0}B"),
        show_y: |value| format!("{value:.1}"),
    };
    let line: Vec<(f64, f64)> =
        (0..50).map(|k| (f64::from(k), (f64::from(k) / 5.0).sin())).collect();
    let ratios = RatioMap::new(
        "Ratios",
        (Axis::new("jobs", Unit::Count), vec![1.0, 2.0]),
        (Axis::new("size", Unit::Bytes), vec![4096.0, 65536.0, 1048576.0]),
    )
    .cells(vec![0.2, 0.97, 1.0, 1.7, f64::NAN, 9.0])
    .outline(65536.0, "what is used today")
    .mark(262144.0, "of the program");
    let row =
        |name: &str, seconds: f64| Record::new().text("name", "name", name).number(&TIME, seconds);
    let record = Record::new()
        .text("program", "program", "flash-io")
        .number(&TIME, 27.5)
        .texts("hosts", "hosts", vec!["node1".into(), "node2".into()])
        .section("inner", "A section", Record::new().number(&TIME, None::<f64>))
        .rows("rows", "Some rows", vec![row("a", 1.0), row("long name", 12.25)])
        .spectrum(&TIME, "A spectrum", vec![(0, 1.5), (1, 4.0), (10, 0.25)])
        .picture("a picture\n")
        .note("A note.");
    [
        bars(&[bar("a", 3.0), bar("longer", 10.0), bar("none", f64::NAN), bar("less", -1.0)]),
        fit_plot(&curve, &measured, axes),
        line_plot(&line, "x", "y"),
        ratios.to_text(),
        sparkline(&[Some(1.0), Some(2.0), None, Some(0.0), Some(8.0)]),
        record.to_text(),
    ]
    .join("\n----\n")
}
