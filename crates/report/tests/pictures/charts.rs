//! Every kind of chart and block, with little data of every kind.

use plimsoll_report::html::{
    Axis, Bars, BoxPlots, BoxSummary, Cell, Column, Finding, Gantt, HeatMap, Lines, Scale, Scatter,
    Section, Severity, Span, StackedBars, Table, Tile, size_bucket,
};
use plimsoll_report::{Number, RatioMap, Record, Unit};

fn calls() -> Axis {
    Axis::new("calls", Unit::Count)
}

fn time() -> Axis {
    Axis::new("time", Unit::Seconds)
}

fn rate(title: &str) -> Axis {
    Axis::new(title, Unit::BytesPerSec)
}

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|nth| format!("{prefix} {nth}")).collect()
}

pub fn by_category() -> Section {
    let sizes = |count| (0..count).map(size_bucket).collect();
    let few = Bars::columns("Few columns", "size", calls(), sizes(5));
    let many = Bars::columns("Many columns", "size", calls(), sizes(30));
    let rows = Bars::rows("Rows", "file", time(), names("/scratch/a/rather/long/name", 4));
    let parts = ["read", "write", "lock"].map(String::from).to_vec();
    let stacked = StackedBars::new("Parts", "call", time(), parts)
        .row("write_at_all", vec![96.3, 312.9, 61.2])
        .row("sync", vec![0.0, 0.0, 18.0])
        .row("nothing", vec![0.0; 3]);
    let boxed = |name: &str, middle: f64, outliers: Vec<f64>| BoxSummary {
        name: name.into(),
        count: 60,
        low: middle * 0.7,
        first_quartile: middle * 0.9,
        median: middle,
        third_quartile: middle * 1.06,
        high: middle * 1.2,
        median_interval: outliers.is_empty().then_some((middle * 0.97, middle * 1.02)),
        outliers,
    };
    Section::new("By category")
        .chart(few.clone().series("reads", vec![5.0, 0.0, 12.0, 3.0, 7.0]))
        .chart(
            few.series("reads", vec![5.0, -2.0, 12.0, f64::NAN, 7.0])
                .series("writes", vec![1.0, 2.0, 3.0, 4.0, 5.0]),
        )
        .chart(many.series("writes", (0..30).map(|k| f64::from(k * k)).collect()))
        .chart(rows.clone().series("time", vec![312.5, 41.0, 7.25, 0.031]))
        .chart(
            rows.series("before", vec![4.0, -3.0, 2.0, 1.0])
                .series("after", vec![1.0, 2.0, -3.0, 4.0]),
        )
        .chart(Bars::columns("No bars", "", calls(), vec![]))
        .chart(stacked.clone())
        .chart(stacked.as_shares())
        .chart(
            BoxPlots::new("Boxes", "stripes", rate("bandwidth"))
                .summary(boxed("1", 110e6, vec![]))
                .summary(boxed("16", 480e6, vec![200e6, 630e6])),
        )
}

pub fn along_an_axis() -> Section {
    let wave = |steps: i32, phase: f64| -> Vec<(f64, f64)> {
        (0..steps)
            .map(|k| (f64::from(k) / 4.0, ((f64::from(k) * phase).sin() * 9.0).round()))
            .collect()
    };
    let log = |title: &str| rate(title).scale(Scale::Log2);
    let pairs: Vec<(f64, f64)> = (0..9)
        .map(|k| (2f64.powi(20 + k), 2f64.powi(20 + k) * [0.8, 1.0, 1.3][k as usize % 3]))
        .collect();
    let kinds = ["lock", "read", "write"].map(String::from).to_vec();
    let mut gantt = Gantt::new("Spans", time(), names("rank", 3), kinds);
    for nth in 0..9usize {
        let (start, detail) = (nth as f64 * 1e-3, format!("cycle {nth}"));
        let end = start + [0.9e-3, 0.2e-3, 1e-7][nth % 3];
        gantt.push(Span { row: nth / 3, kind: nth % 3, start, end, detail });
    }
    Section::new("Along an axis")
        .chart(
            Lines::new("Lines with gaps", time(), calls())
                .line("one", vec![(0.0, -1.0), (1.0, f64::NAN), (2.0, 3.0), (4.0, 1.5)])
                .line("zero", vec![(0.0, 0.0), (4.0, 0.0)]),
        )
        .chart(Lines::new("Steps", time(), calls()).line("a", wave(20, 0.7)).steps().area())
        .chart(Lines::new("One point", time(), calls()).line("only", vec![(12.0, 3.0)]))
        .chart(
            Lines::cdf("Distributions", rate("bandwidth"))
                .distribution("a", vec![4e6, 1e6, 9e6, 4e6])
                .distribution("b", vec![2e6, 3e6]),
        )
        .chart(
            Lines::new("A bundle", Axis::new("n", Unit::Count).scale(Scale::Log10), calls())
                .bundle(
                    "runs",
                    vec![vec![(1.0, 2.0), (1000.0, 5.0)], vec![(1.0, 4.0), (1000.0, 3.0)]],
                ),
        )
        .chart(
            Scatter::new("Predicted", log("measured"), log("predicted"))
                .points("reads", pairs.clone())
                .points("writes", pairs.iter().map(|(x, y)| (*x, y * 2.0)).collect())
                .diagonal(),
        )
        .chart(
            Scatter::new(
                "By target",
                Axis::named("target", names("ost", 4)),
                Axis::new("score", Unit::Ratio).reaching(0.0, 1.0),
            )
            .points("s", vec![(0.0, 0.5), (1.0, 0.75), (3.0, 0.25)]),
        )
        .chart(Scatter::new("No numbers", time(), calls()).points("a", vec![(f64::NAN, 1.0)]))
        .chart(gantt)
        .chart(Gantt::new("No spans", time(), names("a", 1), names("b", 1)))
}

pub fn maps() -> Section {
    let cells = |scale: f64| (0..24).map(|k| f64::from(k % 7) * scale).collect::<Vec<f64>>();
    let heat = |title: &str, value: Axis| {
        HeatMap::new(title, time(), (0.0, 27.0), 8, "rank", names("", 3), value)
    };
    let ratios = RatioMap::new(
        "Ratios",
        (Axis::new("jobs", Unit::Count), vec![1.0, 2.0, 8.0]),
        (Axis::new("size", Unit::Bytes), vec![4096.0, 65536.0, 1048576.0, 16777216.0]),
    )
    .cells(vec![0.2, 0.6, 0.97, 1.0, 1.02, 1.2, 1.7, 2.5, 4.0, f64::NAN, 9.0, 0.05])
    .outline(65536.0, "what is used today")
    .mark(262144.0, "of the program")
    .mark(16777216.0, "of the site");
    Section::new("Maps")
        .chart(heat("Shares", Axis::new("share", Unit::Ratio)).class("read", cells(0.1)))
        .chart(
            heat("Two classes", Axis::new("bytes", Unit::Bytes))
                .class("read", cells(1e6))
                .class("write", cells(3e6).into_iter().rev().collect())
                .logarithmic(),
        )
        .chart(HeatMap::new("No cells", time(), (0.0, 1.0), 0, "rank", vec![], calls()))
        .chart(ratios)
}

const CALLS: Number = Number::new("calls", "calls", Unit::Count, "Calls that returned.", "");
const RATE: Number = Number::new(
    "rate",
    "bandwidth",
    Unit::BytesPerSec,
    "Bytes over seconds.",
    "Wright, section 4.2",
);

pub fn words_and_figures() -> Section {
    let finding = |id: &str, severity, cost_seconds, change: &str| Finding {
        id: id.into(),
        title: format!("The title of {id}"),
        severity,
        cost_seconds,
        evidence: vec!["What was seen.".into(), "And where <there>.".into()],
        advice: vec!["What to do.".into()],
        change: change.into(),
    };
    let row =
        |layer: &str, calls: u64| Record::new().text("layer", "layer", layer).number(&CALLS, calls);
    let record = Record::new()
        .text("program", "program", "flash-io")
        .number(&CALLS, 1_213_440u64)
        .number(&RATE, None::<f64>)
        .texts("hosts", "hosts", names("node", 3))
        .rows("totals", "By layer", vec![row("MPI-IO", 4160), row("POSIX", 1_204_224)])
        .spectrum(&CALLS, "By number", vec![(0, 1.5), (1, 4.0), (2, 0.25)])
        .note("Something to know.");
    let table = Table::new(vec![Column::text("target"), Column::figures("score")])
        .caption("Scores")
        .row(vec![Cell::Text("t0".into()), Cell::value(0.981, Unit::Ratio)])
        .row(vec![Cell::Text("t1".into()), Cell::Missing]);
    Section::new("Words and figures")
        .tiles(&[Tile::new(&RATE, 551.3e6).note("the targets gave more"), Tile::new(&CALLS, 3u64)])
        .findings(&[
            finding("first", Severity::High, Some(13.4217), "MPI_Info_set(info);"),
            finding("second", Severity::Medium, Some(2.0), ""),
            finding("third", Severity::Low, None, ""),
        ])
        .findings(&[])
        .text("A paragraph.")
        .note("A note.")
        .record(&record)
        .table(&table)
        .folded(Section::new("Folded").code("$ plimsoll report rec"))
}
