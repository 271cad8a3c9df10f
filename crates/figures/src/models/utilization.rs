//! How busy transactions keep a target.

use plimsoll_report::{Record, numbers};
use plimsoll_theory::{Class, Pattern, TheoryError};

numbers! {
    FSU = "fsu", "file system utilization", Percent, "Time that the transactions take over the interval, in percent, the mean over the targets; 100 is fully busy, larger values are possible and kept.", "Uselton and Wright, eq. 7";
    TIME = "time", "time of the transactions", Seconds, "Time that one target needs for the transactions.", "Uselton and Wright, eq. 5";
    ACHIEVABLE = "achievable", "achievable bandwidth", BytesPerSec, "Bandwidth of one target, fully busy with this pattern; missing without transactions.", "Uselton and Wright, eq. 6";
    OBSERVED = "observed", "observed bandwidth", BytesPerSec, "Bytes over the interval, for each target.", "Uselton and Wright, section II";
    OPTIMAL_SHARE = "optimal_share", "optimal transactions", Ratio, "Share of transactions of at least the optimal size (1 MiB unless --optimal is given); missing when sizes are not known.", "Uselton and Wright, tables II and III";
}

/// Returns what the model says of targets that did this together within this many seconds.
///
/// # Errors
/// If there is no time, or no target.
pub fn record(pattern: &Pattern, seconds: f64, targets: u64) -> Result<Record, TheoryError> {
    let fsu = pattern.fsu(seconds, targets)?;
    Ok(Record::new()
        .number(&FSU, fsu)
        .text("class", "class", Class::of(fsu).name())
        .number(&TIME, pattern.seconds())
        .number(&ACHIEVABLE, pattern.achievable())
        .number(&OBSERVED, pattern.bytes() / seconds / targets as f64)
        .number(&OPTIMAL_SHARE, pattern.optimal_share()))
}
