//! Empty, broken, hostile and very large data.

use plimsoll_report::Unit;
use plimsoll_report::html::{
    Axis, Bars, Column, Gantt, HeatMap, Lines, Scale, Scatter, Section, Table,
};

use crate::HOSTILE;

/// Every chart with data that could break it.
pub fn edge_cases() -> Section {
    let time = || Axis::new("time", Unit::Seconds);
    let count = || Axis::new("calls", Unit::Count);
    let million = (0..1_000_000).map(|k| {
        (
            f64::from(k) / 1000.0,
            if k == 654_321 { 40.0 } else { (f64::from(k) / 1e5).sin() * 10.0 + 12.0 },
        )
    });
    let cloud = |k: u32| (f64::from(k), f64::from(k.wrapping_mul(2_654_435_761) >> 12));
    let names: Vec<String> =
        (0..12).map(|k| format!("a rather long category name, number {k}")).collect();
    let empty = Section::new("Empty and broken data")
        .chart(Bars::columns("No bars", "", count(), vec![]))
        .chart(Lines::new("No lines", time(), count()))
        .chart(
            Scatter::new("Only values that are not numbers", time(), count())
                .points("a", vec![(f64::NAN, 1.0), (1.0, f64::INFINITY)]),
        )
        .chart(HeatMap::new("No cells", time(), (0.0, 1.0), 0, "rank", vec![], count()))
        .chart(Gantt::new("No spans", time(), vec!["a".into()], vec!["b".into()]))
        .table(&Table::new(vec![Column::text("x")]).caption("Files"))
        .findings(&[]);
    Section::new("Edge cases")
        .chart(Lines::new("One point", time(), count()).line("only", vec![(12.0, 3.0)]))
        .chart(
            Lines::new(
                "Gaps and values that are not numbers",
                time(),
                Axis::new("balance", Unit::Ratio),
            )
            .line(
                HOSTILE,
                vec![
                    (0.0, -1.0),
                    (1.0, f64::NAN),
                    (2.0, 3.0),
                    (3.0, f64::NEG_INFINITY),
                    (4.0, 1.5),
                ],
            )
            .line("zero", vec![(0.0, 0.0), (4.0, 0.0)]),
        )
        .chart(Lines::new("A million points", time(), count()).line("calls", million.collect()))
        .chart(
            Scatter::new(
                "A million points, logarithmic",
                Axis::new("request", Unit::Count).scale(Scale::Log10),
                Axis::new("latency", Unit::Count),
            )
            .points("calls", (0..1_000_000).map(cloud).collect()),
        )
        .chart(
            Bars::columns("Long names in columns", "category", count(), names.clone())
                .series("x", (0..12).map(f64::from).collect()),
        )
        .chart(
            Bars::rows(
                "Long names in rows, some negative",
                "category",
                Axis::new("change", Unit::Seconds),
                names,
            )
            .series("x", (0..12).map(|k| f64::from(k) - 4.0).collect()),
        )
        .section(empty)
        .folded(
            Section::new("Something folded")
                .code("$ plimsoll report rec --html report.html\n  done"),
        )
}
