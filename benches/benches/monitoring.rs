//! How fast is Lustre's text read? Megabytes of it in a second of one core, beside `lustre_collector`.

use std::hint::black_box;

use anyhow::{Context, Result, ensure};
use plimsoll_benches::lustre_text::lctl;
use plimsoll_benches::{PAIRS, cpu_seconds, interleaved, report};
use plimsoll_lustre::{
    BrwLine, Content, Name, StatsLine, brw_stats, number, parameter_text, stats,
};
use plimsoll_stats::Sample;

/// Targets of the text that both read; the other reader needs seconds for more.
const TARGETS: u64 = 50;

fn main() -> Result<()> {
    let text = lctl(TARGETS);
    let megabytes = text.len() as f64 / 1e6;
    println!("{megabytes:.2} MB of `lctl get_param` text of {TARGETS} OSTs");
    let ours = || of_cpu(|| _ = black_box(read(black_box(text.as_bytes()))));
    let theirs =
        || of_cpu(|| drop(black_box(lustre_collector::parse_lctl_output(text.as_bytes()))));
    ensure!(lustre_collector::parse_lctl_output(text.as_bytes()).is_ok(), "it cannot read this");
    ensure!(read(text.as_bytes()).1 == 0, "lines that are not known");
    show("ours", megabytes, ours)?;
    show("lustre_collector", megabytes, theirs)?;
    report("  seconds of ours over lustre_collector's", interleaved(PAIRS, ours, theirs));
    Ok(())
}

/// Adds up everything that the text says; the second number counts lines that are not known.
fn read(text: &[u8]) -> (u64, u64) {
    let (mut sum, mut unknown) = (0u64, 0);
    for (name, text) in parameter_text(text) {
        match Name::of(name).parameter().map(|it| it.content) {
            Some(Content::Stats) => stats(text).for_each(|line| match line {
                StatsLine::Operation(_, tally) => sum = sum.wrapping_add(tally.samples),
                StatsLine::Time(_) => {}
                StatsLine::Unknown(_) => unknown += 1,
            }),
            Some(Content::Histograms) => brw_stats(text).for_each(|line| match line {
                BrwLine::Bin(_, bin) => sum = sum.wrapping_add(bin.reads).wrapping_add(bin.writes),
                BrwLine::Time(_) | BrwLine::Head(_) => {}
                BrwLine::Unknown(_) => unknown += 1,
            }),
            Some(Content::Number) => sum = sum.wrapping_add(number(text).unwrap_or_default()),
            _ => {}
        }
    }
    (sum, unknown)
}

fn of_cpu(work: impl FnOnce()) -> f64 {
    let start = cpu_seconds();
    work();
    cpu_seconds() - start
}

/// Prints megabytes in a second of CPU time: median and spread.
fn show(who: &str, megabytes: f64, mut run: impl FnMut() -> f64) -> Result<()> {
    let rates = Sample::new((0..PAIRS).map(|_| megabytes / run()).collect()).context("no time")?;
    let (low, median, high) = (rates.quantile(0.25)?, rates.median(), rates.quantile(0.75)?);
    println!("  {who}: {median:.0} MB/s ({low:.0} to {high:.0}, n = {PAIRS})");
    Ok(())
}
