//! When a cache hides output bursts.

use plimsoll_report::{Record, line_plot, numbers};
use plimsoll_theory::{Absorption, TheoryError};

numbers! {
    STALL = "stall", "wait per iteration", Seconds, "Time that the program waits for its burst to enter the cache, once steady.", "Xie, section 2.1";
    EFFICIENCY = "efficiency", "efficiency", Ratio, "Share of time spent computing, C / (C + wait).", "Xie, section 2.1";
    SLOW_DOWN = "slow_down", "slow-down", Ratio, "Run time over run time without waiting: one over the efficiency.", "Xie, section 2.1";
    STALL_SYNC = "stall_sync", "wait without cache", Seconds, "Time that the program waits in each iteration when it writes synchronously, W / S.", "Xie, section 2.1";
    EFFICIENCY_SYNC = "efficiency_sync", "efficiency without cache", Ratio, "Share of time spent computing with synchronous writes, s / (s + 1) with s = S C / W.", "Xie, section 2.1";
    DRAIN = "drain", "drain rate", BytesPerSec, "Rate at which the storage takes data, S.", "given, or the sum of the site's peak write rates within its network limit";
    ASKED = "efficiency_asked", "to stay at", Ratio, "The efficiency that must be kept.", "given";
    COMPUTE_AT_LEAST = "compute_at_least", "compute at least", Seconds, "The shortest compute time between two bursts of this size that keeps the efficiency; missing when none does.", "inverse of Xie, section 2.1";
    BURST_AT_MOST = "burst_at_most", "or write at most", Bytes, "The largest burst that keeps the efficiency at this compute time.", "inverse of Xie, section 2.1";
}

/// Returns what the model says, and what keeps this efficiency.
///
/// # Errors
/// If no share of time is that efficiency.
pub fn record(absorption: &Absorption, efficiency: f64) -> Result<Record, TheoryError> {
    let interval = absorption.compute_for(efficiency)?;
    let inverse = Record::new()
        .number(&ASKED, efficiency)
        .number(&COMPUTE_AT_LEAST, interval)
        .number(&BURST_AT_MOST, absorption.burst_for(efficiency)?);
    let record = Record::new()
        .number(&STALL, absorption.stall())
        .number(&EFFICIENCY, absorption.efficiency())
        .number(&SLOW_DOWN, absorption.efficiency().map(|efficiency| 1.0 / efficiency))
        .number(&STALL_SYNC, absorption.stall_synchronous())
        .number(&EFFICIENCY_SYNC, absorption.efficiency_synchronous())
        .number(&DRAIN, absorption.drain())
        .section("inverse", "how often may I write?", inverse);
    let record = match interval {
        Some(_) => record,
        None => record
            .note("the burst exceeds the cache, so some wait remains however rarely it is written"),
    };
    let longest = (2.0 * absorption.compute()).max(1.5 * interval.unwrap_or(0.0));
    let points: Result<Vec<(f64, f64)>, TheoryError> = (1..=60)
        .map(|i| longest * f64::from(i) / 60.0)
        .map(|at| Ok((at, absorption.with_compute(at)?.efficiency().unwrap_or(f64::NAN))))
        .collect();
    Ok(record.picture(line_plot(&points?, "compute time between bursts, s", "efficiency")))
}
