//! How often the interval of a median holds the median, by simulation: of series of a given length, and of
//! experiments that end when the interval is narrow enough. docs/benchmarking.md shows the tables.
//!
//! `cargo bench --package plimsoll-benches --bench coverage [-- SERIES [SEED]]`

use plimsoll_bench::stopping::Stopping;
use plimsoll_benches::series::{HELD_OUT, Shape, USED};
use plimsoll_stats::{Random, series_median_interval};

/// The intervals were designed while looking at this seed.
const SEED: u64 = 20_260_131;
const CORRELATIONS: [f64; 5] = [0.0, 0.3, 0.5, 0.7, 0.8];
const LENGTHS: [usize; 7] = [10, 20, 25, 30, 60, 100, 300];
const PRECISIONS: [f64; 4] = [0.2, 0.1, 0.05, 0.02];
const ROUNDS_MAX: usize = 300;

fn main() {
    let given: Vec<u64> = std::env::args().skip(1).filter_map(|it| it.parse().ok()).collect();
    let series = given.first().copied().unwrap_or(1000);
    let seed = given.get(1).copied().unwrap_or(SEED);
    println!("{series} series for each cell, from seed {seed}\n");
    println!("## % of 95 % intervals that hold the median, by number of measures\n");
    table("values, correlation", &LENGTHS.map(|it| it.to_string()), |shape| {
        LENGTHS.map(|n| of_length(shape, n, series, seed)).to_vec()
    });
    println!(
        "## The same at the end of experiments that stop at a precision, 300 rounds at most\n"
    );
    println!(
        "In brackets, how many % of them ended before 300 rounds, and after how many in the median.\n"
    );
    let headings = PRECISIONS.map(|it| format!("{} %", it * 100.0));
    table("values, correlation", &headings, |shape| {
        PRECISIONS.map(|precision| at_a_stop(shape, precision, series.div_ceil(4), seed)).to_vec()
    });
}

fn table(first: &str, headings: &[String], cells: impl Fn(Shape) -> Vec<String>) {
    println!("| {first} | {} |", headings.join(" | "));
    println!("|---|{}", "---|".repeat(headings.len()));
    for shape in USED {
        for correlation in CORRELATIONS {
            let cells = cells(shape.correlated(correlation));
            println!("| {}, {correlation} | {} |", shape.name(), cells.join(" | "));
        }
    }
    println!("| *chosen before the design, not for it:* |{}", " |".repeat(headings.len()));
    for shape in HELD_OUT {
        println!("| {} | {} |", shape.name(), cells(shape).join(" | "));
    }
    println!();
}

fn of_length(shape: Shape, n: usize, series: u64, seed: u64) -> String {
    let (mut stated, mut covered) = (0, 0);
    for number in 0..series {
        let values = shape.series(n, &mut Random::for_stream(seed, number));
        let Ok(it) = series_median_interval(&values, 0.95) else { continue };
        stated += 1;
        covered += i32::from(it.low <= shape.median() && shape.median() <= it.high);
    }
    match stated {
        0 => "none".into(),
        stated => format!("{:.0}", 100.0 * f64::from(covered) / f64::from(stated)),
    }
}

fn at_a_stop(shape: Shape, precision: f64, experiments: u64, seed: u64) -> String {
    let (mut covered, mut stopped, mut rounds) = (0, 0, Vec::new());
    for number in 0..experiments {
        let values = shape.series(ROUNDS_MAX, &mut Random::for_stream(seed, number));
        let mut stopping = Stopping::new(precision, 0.95);
        let end = values.iter().position(|value| {
            stopping.observe(&(), *value);
            stopping.verdict(1).reached
        });
        stopped += i32::from(end.is_some());
        rounds.push(end.map_or(ROUNDS_MAX, |it| it + 1));
        let known = stopping.verdict(1).settings[0].1;
        let covers = |(low, high): (f64, f64)| low <= shape.median() && shape.median() <= high;
        covered += i32::from(known.interval.is_some_and(covers));
    }
    let percent = |count: i32| 100.0 * f64::from(count) / experiments as f64;
    rounds.sort_unstable();
    let rounds = rounds[rounds.len() / 2];
    format!("{:.0} ({:.0}, {rounds})", percent(covered), percent(stopped))
}
