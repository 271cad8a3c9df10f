//! What must add up in every run, whatever happened in it.

use crate::host::Host;
use crate::scenario::Scenario;

/// How far the integral of rates over time may be from the bytes that were completed, as a
/// share: sums of floating-point numbers are not exact.
const SUM_TOLERANCE: f64 = 1e-6;

/// Holds bytes against bytes, and time integrals against rates. Says what does not add up.
pub fn check(host: &Host, scenario: &Scenario) -> Result<(), String> {
    if let Some(problem) = &host.program.broken {
        return Err(problem.clone());
    }
    let tally = &host.tally;
    let on_targets: u64 = tally.target_bytes.iter().sum();
    if on_targets != tally.committed_bytes {
        return Err(format!("{} bytes committed, {on_targets} on targets", tally.committed_bytes));
    }
    if tally.committed_bytes > tally.done_bytes {
        return Err(format!(
            "{} bytes committed, but only {} written",
            tally.committed_bytes, tally.done_bytes
        ));
    }
    let submitted = host.program.submitted_bytes();
    let total = scenario.application.total_bytes();
    let kept = host.program.kept_bytes();
    if submitted + kept > total {
        return Err(format!("{submitted} bytes handed over and {kept} not, of {total}"));
    }
    let has_faults = !scenario.fault.is_empty();
    if !has_faults && submitted != total {
        return Err(format!("{submitted} bytes handed over of {total}"));
    }
    if !has_faults && tally.committed_bytes != submitted {
        return Err(format!("{submitted} bytes in, {on_targets} on targets"));
    }
    check_integrals(host, scenario)
}

fn check_integrals(host: &Host, scenario: &Scenario) -> Result<(), String> {
    let best_share = scenario.curve().map_err(|error| error.to_string())?.best_share();
    let peak = |target: usize| scenario.storage.rate_of(target) / 1e9 * best_share;
    let fastest = (0..host.targets().len()).map(peak).fold(0.0, f64::max);
    let is_all_done = host.targets().iter().all(|target| target.jobs() == 0);
    let books = Books {
        done: host.tally.done_bytes as f64,
        served: host.targets().iter().map(|target| target.served_bytes()).sum(),
        rounded_up: host.tally.ends as f64 * fastest,
        is_complete: is_all_done && scenario.fault.is_empty(),
    };
    books.check()?;
    for (index, target) in host.targets().iter().enumerate() {
        if target.served_bytes() > peak(index) * target.busy_ns() as f64 * (1.0 + 1e-9) + 1.0 {
            return Err(format!("target {index} gave more than its rate over its busy time"));
        }
    }
    Ok(())
}

/// What was written, against rates over time.
struct Books {
    /// Bytes of writes that ended.
    done: f64,
    /// Rates over time.
    served: f64,
    /// Every end is rounded up to a whole nanosecond, in which a target goes on giving: with small
    /// writes on a fast target that is much of what it gives.
    rounded_up: f64,
    /// Nothing was served that did not end.
    is_complete: bool,
}

impl Books {
    fn check(&self) -> Result<(), String> {
        let Books { done, served, rounded_up, is_complete } = *self;
        let tolerance = done * SUM_TOLERANCE + 1.0;
        if served < done - tolerance {
            return Err(format!("{done} bytes written, rates allow for {served}"));
        }
        if is_complete && served > done + rounded_up + tolerance {
            return Err(format!("{done} bytes written, rates over time make {served}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 400 writes of 4 KiB at 10 GB/s: each takes 410 ns instead of 409.6.
    #[test]
    fn what_is_beyond_rounding_is_found() {
        let books = |served: f64| Books {
            done: 1_638_400.0,
            served,
            rounded_up: 400.0 * 10.0,
            is_complete: true,
        };
        assert_eq!(books(1_640_000.0).check(), Ok(()));
        assert!(books(1_638_400.0 * 1.005).check().is_err(), "more than rounding makes");
        assert!(books(1_638_400.0 * 0.9999).check().is_err(), "nothing is rounded down");
        assert_eq!(Books { is_complete: false, ..books(2e6) }.check(), Ok(()));
    }
}
