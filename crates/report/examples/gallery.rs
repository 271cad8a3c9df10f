//! Writes a page with every block and chart, edge cases included:
//! `cargo run -p plimsoll-report --example gallery -- gallery.html [light|dark]`.

#[path = "gallery/edge_cases.rs"]
mod edge_cases;
#[path = "gallery/experiments.rs"]
mod experiments;

use std::f64::consts::PI;

use plimsoll_report::html::{
    Axis, Bars, Finding, Gantt, HeatMap, Lines, Page, Scatter, Section, Severity, Span,
    StackedBars, Theme, Tile, size_bucket,
};
use plimsoll_report::{Number, Record, Unit};

const PERCEIVED: Number = Number::new(
    "perceived",
    "perceived bandwidth",
    Unit::BytesPerSec,
    "Bytes moved divided by the time from the first start to the last end of any rank.",
    "Wright, section 4.2",
);
const EFFECTIVE_MPI: Number = Number::new(
    "effective_mpi",
    "effective MPI bandwidth",
    Unit::BytesPerSec,
    "Bytes moved divided by the mean time that a rank spends in MPI-IO calls.",
    "Wright, section 4.2",
);
const EFFECTIVE_POSIX: Number = Number::new(
    "effective_posix",
    "effective POSIX bandwidth",
    Unit::BytesPerSec,
    "Bytes moved divided by the mean time that a rank spends in POSIX calls.",
    "Wright, section 4.2",
);
const CALLS: Number = Number::new("calls", "calls", Unit::Count, "Calls that returned.", "");
const BYTES: Number =
    Number::new("bytes", "bytes", Unit::Bytes, "Bytes that the calls reported as moved.", "");
const SECONDS: Number =
    Number::new("seconds", "time", Unit::Seconds, "Time inside the calls, all ranks added.", "");
const SHARE: Number = Number::new(
    "share",
    "share of targets",
    Unit::Ratio,
    "Share of the targets that k jobs use.",
    "Wright, eq. 6.3",
);
const HOSTILE: &str = "/scratch/<script>alert(\"1\")</script>\u{202e}fdp.\u{1b}[2J'&amp;";

/// A sequence that looks random and is the same every time.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }
}

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| "gallery.html".to_string());
    let theme = match arguments.next().as_deref() {
        Some("light") => Theme::Light,
        Some("dark") => Theme::Dark,
        _ => Theme::System,
    };
    let html = page(theme).to_html();
    eprintln!("{path}: {} bytes", html.len());
    std::fs::write(path, html)
}

fn page(theme: Theme) -> Page {
    Page::new(
        "Gallery of report blocks",
        "flash-io, 64 ranks on 4 nodes, 27 s, recorded with Open MPI 5.0.3 on Lustre",
    )
    .theme(theme)
    .footer("plimsoll 0.1.0, made from example data. This file needs no network.")
    .section(overview())
    .section(findings())
    .section(totals())
    .section(sizes_and_shares())
    .section(over_time())
    .section(one_call())
    .section(experiments::experiments())
    .section(edge_cases::edge_cases())
}

fn overview() -> Section {
    let mib = 1048576.0;
    Section::new("Bandwidth").tiles(&[
        Tile::new(&PERCEIVED, 551.3 * mib).note("the targets gave 2.4 GiB/s"),
        Tile::new(&EFFECTIVE_MPI, 812.75 * mib),
        Tile::new(&EFFECTIVE_POSIX, 1.93 * 1024.0 * mib),
    ])
}

fn findings() -> Section {
    Section::new("Findings").findings(&[
        Finding {
            id: "data-sieving".into(),
            title: "Small interleaved writes go through lock, read, write, unlock".into(),
            severity: Severity::High,
            cost_seconds: Some(13.4217),
            evidence: vec![
                "4,096 of 4,160 MPI writes did a POSIX read first; 98.4 % of the bytes read were \
                 not asked for."
                    .into(),
                format!("The file {HOSTILE} was locked 4,096 times; ranks waited 9.8 s for locks."),
            ],
            advice: vec!["Turn data sieving off for writes, or use collective writes.".into()],
            change: "MPI_Info_set(info, \"romio_ds_write\", \"disable\");".into(),
        },
        Finding {
            id: "straggling-rank".into(),
            title: "Rank 17 finishes long after the others".into(),
            severity: Severity::Medium,
            cost_seconds: Some(2.05),
            evidence: vec![
                "Its writes to target 3 ran at 21 MiB/s, the median is 104 MiB/s.".into(),
            ],
            advice: vec!["Check target 3, or let plimsoll route around it.".into()],
            change: String::new(),
        },
        Finding {
            id: "small-requests".into(),
            title: "Attributes are written one by one".into(),
            severity: Severity::Low,
            cost_seconds: None,
            evidence: vec!["312 writes of less than 512 bytes.".into()],
            advice: vec!["Group them, or put them into one data set.".into()],
            change: String::new(),
        },
    ])
}

fn totals() -> Section {
    let row = |layer: &str, operation: &str, calls: u64, bytes: u64, seconds: f64| {
        Record::new()
            .text("layer", "layer", layer)
            .text("operation", "operation", operation)
            .number(&CALLS, calls)
            .number(&BYTES, bytes)
            .number(&SECONDS, seconds)
    };
    let record = Record::new()
        .text("program", "program", "flash-io")
        .number(&CALLS, 1_213_440u64)
        .number(&BYTES, 15_604_029_440u64)
        .number(&SECONDS, 812.339_127)
        .text("file", "largest file", HOSTILE)
        .number(&PERCEIVED, None::<f64>)
        .rows(
            "totals",
            "By layer and operation",
            vec![
                row("MPI-IO", "write_at_all", 4_160, 15_300_820_992, 702.5),
                row("POSIX", "pwrite", 1_204_224, 15_300_820_992, 512.904),
                row("POSIX", "pread", 4_096, 301_989_888, 96.31),
                row("POSIX", "fcntl", 8_192, 0, 88.7),
                row("POSIX", "fsync", 64, 0, 4.002_117),
                row("stdio", "fwrite", 312, 1_218_560, 0.000_817),
            ],
        )
        .spectrum(
            &SHARE,
            "Targets by number of jobs that use them",
            (0..9)
                .map(|k| {
                    (k, [0.135, 0.271, 0.271, 0.18, 0.09, 0.036, 0.012, 0.003, 0.001][k as usize])
                })
                .collect(),
        )
        .note("Calls inside stdio are not seen by the preload library.");
    Section::new("Totals")
        .text("All times are sums over ranks unless said otherwise.")
        .record(&record)
}

fn sizes_and_shares() -> Section {
    let reads: Vec<f64> = (0..26)
        .map(|k| (4000.0 * (-(f64::from(k) - 9.0f64).powi(2) / 9.0).exp()).round())
        .collect();
    let writes: Vec<f64> = (0..26)
        .map(|k| (6200.0 * (-(f64::from(k) - 20.0f64).powi(2) / 5.0).exp()).round())
        .collect();
    let sizes = Bars::columns(
        "Request sizes",
        "request size from, up to the next power of two",
        Axis::new("calls", Unit::Count),
        (0..26).map(size_bucket).collect(),
    );
    let files = Bars::rows(
        "Time by file",
        "file",
        Axis::new("time in calls", Unit::Seconds),
        vec![
            "/scratch/run-17/checkpoint_0000.h5".into(),
            "plot.h5".into(),
            HOSTILE.into(),
            "log".into(),
        ],
    );
    let parts = ["read", "write", "lock", "unlock", "other", "waiting"].map(String::from).to_vec();
    let mpi = StackedBars::new(
        "Where the time of MPI-IO calls goes",
        "call",
        Axis::new("time", Unit::Seconds),
        parts.clone(),
    )
    .row("write_at_all", vec![96.3, 312.9, 61.2, 27.5, 14.0, 190.6])
    .row("write_at", vec![12.0, 41.5, 55.0, 9.0, 3.2, 20.1])
    .row("read_at_all", vec![71.0, 0.0, 0.0, 0.0, 2.0, 44.0])
    .row("sync", vec![0.0, 0.0, 0.0, 0.0, 18.0, 1.0]);
    Section::new("Sizes and shares")
        .chart(sizes.clone().series("reads", reads.clone()).series("writes", writes))
        .chart(sizes.series("reads", reads))
        .chart(files.series("time", vec![312.5, 41.0, 7.25, 0.031]))
        .chart(mpi.clone())
        .chart(mpi.as_shares())
}

fn over_time() -> Section {
    let mut noise = Noise(7);
    let mut in_flight = Vec::new();
    for step in 0..2700 {
        let at = f64::from(step) / 100.0;
        let phase = (at % 9.0) / 9.0;
        let level = if phase < 0.5 {
            64.0 - (phase * 2.0 * 8.0).floor() * 8.0 + (noise.next() * 4.0).floor()
        } else {
            0.0
        };
        in_flight.push((at, level.clamp(0.0, 64.0)));
    }
    let reads = in_flight
        .iter()
        .map(|(x, y)| (*x, ((*x * 0.7).sin() * 6.0 + 7.0 + y / 16.0).floor()))
        .collect();
    let flight = Lines::new(
        "Calls in flight",
        Axis::new("time", Unit::Seconds),
        Axis::new("calls in flight", Unit::Count),
    )
    .line("writes", in_flight)
    .line("reads", reads);
    let offsets = |rank: f64, count: usize, noise: &mut Noise| -> Vec<(f64, f64)> {
        (0..count)
            .map(|index| {
                let share = index as f64 / count as f64;
                let at = share * 27.0 + noise.next() * 0.2;
                (
                    at,
                    (rank * 64.0
                        + (share * 8.0).fract() * 60.0
                        + (share * 8.0).floor() * 8.0 * noise.next())
                        * 1048576.0,
                )
            })
            .collect()
    };
    let mut scatter = Scatter::new(
        "Offset against time",
        Axis::new("time", Unit::Seconds),
        Axis::new("offset", Unit::Bytes),
    );
    for rank in 0..4 {
        scatter = scatter
            .points(format!("rank {rank}"), offsets(f64::from(rank) * 2.0, 5000, &mut noise));
    }
    Section::new("Over time")
        .chart(flight.steps().area())
        .chart(scatter)
        .chart(heat(256, 600, &mut noise))
        .chart(heat(8, 120, &mut noise))
}

fn heat(rows: usize, columns: usize, noise: &mut Noise) -> HeatMap {
    let mut classes = vec![vec![0.0; rows * columns]; 3];
    for row in 0..rows {
        for column in 0..columns {
            let phase =
                (column as f64 / columns as f64 * 6.0 * PI + row as f64 / rows as f64).sin();
            let cell = row * columns + column;
            let straggler = row == rows * 17 / 64 && phase > -0.6;
            classes[1][cell] = if phase > 0.1 || straggler {
                (phase.abs() * 0.8 + noise.next() * 0.2).min(1.0)
            } else {
                0.0
            };
            classes[0][cell] = if phase < -0.75 { noise.next() * 0.7 } else { 0.0 };
            classes[2][cell] = if phase.abs() < 0.1 { 0.2 + noise.next() * 0.5 } else { 0.0 };
        }
    }
    let names = (0..rows).map(|rank| rank.to_string()).collect();
    let mut map = HeatMap::new(
        format!("What {rows} ranks do over time"),
        Axis::new("time", Unit::Seconds),
        (0.0, 27.0),
        columns,
        "rank",
        names,
        Axis::new("share of the bin", Unit::Ratio),
    );
    for (name, values) in ["read", "write", "metadata"].into_iter().zip(classes) {
        map = map.class(name, values);
    }
    map
}

fn one_call() -> Section {
    let kinds = ["lock", "read", "write", "unlock"].map(String::from).to_vec();
    let rows = (0..8).map(|rank| format!("rank {rank}")).collect();
    let mut gantt = Gantt::new(
        "MPI_File_write_at, call 1,017",
        Axis::new("time since the call began", Unit::Seconds),
        rows,
        kinds,
    );
    for rank in 0..8usize {
        let mut at = rank as f64 * 0.9e-3;
        for cycle in 0..6 {
            for (kind, length) in
                [0.05e-3 + rank as f64 * 0.11e-3, 0.22e-3, 0.41e-3, 0.04e-3].into_iter().enumerate()
            {
                let detail =
                    format!("cycle {cycle}, 512 KiB at offset {}", (rank + cycle * 8) * 524288);
                gantt.push(Span { row: rank, kind, start: at, end: at + length, detail });
                at += length;
            }
            at += 0.3e-3;
        }
    }
    Section::new("One call")
        .text("A single call as the POSIX calls that it made on each rank.")
        .chart(gantt)
}
