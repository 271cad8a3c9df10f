//! What must add up in every run, whatever happened in it.

use crate::host::Host;
use crate::scenario::Scenario;

/// How far the integral of rates over time may be from the bytes that were completed, as a
/// share: ends are rounded up to whole nanoseconds.
const INTEGRAL_TOLERANCE: f64 = 1e-4;

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
    let has_faults = !scenario.fault.is_empty();
    if !has_faults && submitted != scenario.application.total_bytes() {
        let total = scenario.application.total_bytes();
        return Err(format!("{submitted} bytes handed over of {total}"));
    }
    if !has_faults && tally.committed_bytes != submitted {
        return Err(format!("{submitted} bytes in, {on_targets} on targets"));
    }
    check_integrals(host, scenario)
}

fn check_integrals(host: &Host, scenario: &Scenario) -> Result<(), String> {
    let served: f64 = host.targets().iter().map(|target| target.served_bytes()).sum();
    let done = host.tally.done_bytes as f64;
    let tolerance = done * INTEGRAL_TOLERANCE + 1.0;
    if served < done - tolerance {
        return Err(format!("{done} bytes written, rates allow for {served}"));
    }
    let is_all_done = host.targets().iter().all(|target| target.jobs() == 0);
    if is_all_done && scenario.fault.is_empty() && served > done + tolerance {
        return Err(format!("{done} bytes written, rates over time make {served}"));
    }
    let best_share = scenario.curve().map_err(|error| error.to_string())?.best_share();
    for (index, target) in host.targets().iter().enumerate() {
        let peak = scenario.storage.rate_of(index) / 1e9 * best_share;
        if target.served_bytes() > peak * target.busy_ns() as f64 * (1.0 + 1e-9) + 1.0 {
            return Err(format!("target {index} gave more than its rate over its busy time"));
        }
    }
    Ok(())
}
