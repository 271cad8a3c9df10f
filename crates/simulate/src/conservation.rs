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

    use std::rc::Rc;

    use plimsoll_route::{Attempt, AttemptId, Closed, Outputs, TargetId, WriteId};
    use plimsoll_stats::Random;

    use crate::curve::ServiceCurve;
    use crate::host::Next;
    use crate::messages::MessageSettings;
    use crate::noise::Interference;
    use crate::program::Program;
    use crate::queue::Event;
    use crate::scenario::Discipline;
    use crate::stage::Stages;
    use crate::target::{Target, TargetKind};

    /// One process writes two blocks of 1 MB, one to each of two targets of 100 MB/s and 50 MB/s.
    fn scenario(rest: &str) -> Scenario {
        let text = format!(
            "version = 1\ntitle = \"\"\npolicies = [\"static\"]\n[storage]\ntargets = 2\n\
             rate = \"100MB/s\"\nrates = [\"100MB/s\", \"50MB/s\"]\n[application]\nprocesses = 1\n\
             block = \"1MB\"\nblocks = 2\n{rest}"
        );
        Scenario::parse("test", &text).unwrap()
    }

    const FAULT: &str = "[[fault]]\nat = \"1ms\"\nwhat = \"target-fills\"\nwhich = 0\n";

    /// A run of it by hand, on targets that are so many times faster than the scenario says.
    fn host(scenario: &Scenario, faster: [f64; 2]) -> Host {
        let target = |index: usize| {
            let kind = TargetKind {
                discipline: Discipline::ProcessorSharing,
                bytes_per_ns: scenario.storage.rate_of(index) / 1e9 * faster[index],
                curve: Rc::new(ServiceCurve::flat()),
                stream_cap: f64::INFINITY,
                request_bytes: 0.0,
                is_by_node: false,
            };
            Target::new(kind, Interference::none())
        };
        let settings = MessageSettings {
            latency_ns: 0,
            cost_ns: 0,
            loss: 0.0,
            repeat: 0.0,
            random: Random::new(1),
        };
        let program = Program::new(&scenario.application, 1);
        let stages = Stages::new(&scenario.storage);
        let mut host = Host::new((0..2).map(target).collect(), stages, program, settings, 1);
        host.program.begin_burst(0);
        while host.program.next_call(0).is_some() {}
        let attempts = [0, 1].map(|nth: u32| Attempt {
            attempt: AttemptId { slot: nth, generation: 0 },
            write: WriteId { writer: 0, sequence: nth, part: 0 },
            target: TargetId(nth as u16),
            offset_bytes: 0,
            length_bytes: 1_000_000,
        });
        attempts.into_iter().for_each(|attempt| host.start(attempt));
        while let Some(Next::Event { at_ns }) = host.next() {
            host.now_ns = at_ns;
            let next = host.queue.pop().unwrap();
            let Event::Service(target) = next.event else { panic!("{next:?}") };
            host.serve(target as usize, next.sequence);
            if host.targets()[target as usize].jobs() == 0 {
                host.committed(attempts[target as usize]);
            }
        }
        host.closed(Closed::Writer { writer: 0, committed_bytes: 2_000_000, lost_bytes: 0 });
        host
    }

    /// What is said of a run in which `change` was made.
    fn said(scenario: &Scenario, change: impl FnOnce(&mut Host)) -> Result<(), String> {
        let mut host = host(scenario, [1.0, 1.0]);
        change(&mut host);
        check(&host, scenario)
    }

    #[test]
    fn every_byte_is_accounted_for() {
        let (plain, faulty) = (scenario(""), scenario(FAULT));
        assert_eq!(said(&plain, |_| ()), Ok(()));
        assert_eq!(said(&faulty, |_| ()), Ok(()));
        let broken = |host: &mut Host| host.program.broken = Some("too much".into());
        assert_eq!(said(&plain, broken), Err("too much".into()));
        let moved = |host: &mut Host| host.tally.target_bytes[1] += 1;
        let error = said(&plain, moved).unwrap_err();
        assert_eq!(error, "2000000 bytes committed, 2000001 on targets");
        // Committed without being written, which a fault does not excuse.
        let unwritten = |host: &mut Host| host.tally.done_bytes -= 1;
        let error = said(&faulty, unwritten).unwrap_err();
        assert_eq!(error, "2000000 bytes committed, but only 1999999 written");
        // Less is committed than was handed over: only a fault explains it.
        let lost = |host: &mut Host| {
            host.tally.target_bytes[0] -= 9;
            host.tally.committed_bytes -= 9;
        };
        assert_eq!(said(&plain, lost).unwrap_err(), "2000000 bytes in, 1999991 on targets");
        assert_eq!(said(&faulty, lost), Ok(()));
        // Less is handed over than there is.
        let kept = |scenario: &Scenario| Scenario {
            application: crate::scenario::Application { blocks: 3, ..scenario.application.clone() },
            ..scenario.clone()
        };
        let host = host(&plain, [1.0, 1.0]);
        let error = check(&host, &kept(&plain)).unwrap_err();
        assert_eq!(error, "2000000 bytes handed over of 3000000");
        assert_eq!(check(&host, &kept(&faulty)), Ok(()));
        let fewer = Scenario {
            application: crate::scenario::Application { blocks: 1, ..faulty.application.clone() },
            ..faulty.clone()
        };
        let error = check(&host, &fewer).unwrap_err();
        assert_eq!(error, "2000000 bytes handed over and 0 not, of 1000000");
    }

    #[test]
    fn what_was_served_is_rates_over_time() {
        let (plain, faulty) = (scenario(""), scenario(FAULT));
        assert_eq!(check(&host(&plain, [0.9, 0.5]), &plain), Ok(()), "slower is possible");
        for (index, faster) in [(0, [1.01, 1.0]), (1, [1.0, 1.01])] {
            let error = check(&host(&plain, faster), &plain).unwrap_err();
            assert_eq!(error, format!("target {index} gave more than its rate over its busy time"));
        }
        let doubled = |host: &mut Host| host.tally.done_bytes *= 2;
        let error = said(&plain, doubled).unwrap_err();
        assert!(error.starts_with("4000000 bytes written, rates allow for 2000000"), "{error}");
        // Served and not ended: possible where something broke, or is still being written.
        let halved = |host: &mut Host| {
            host.tally.done_bytes /= 2;
            host.tally.target_bytes[0] = 0;
            host.tally.committed_bytes /= 2;
        };
        assert_eq!(said(&faulty, halved), Ok(()));
        let mut books = host(&plain, [1.0, 1.0]);
        (books.tally.done_bytes, books.tally.ends) = (1_000_000, 1_000_000);
        assert!(check_integrals(&books, &plain).is_err(), "0.1 for every end are too little");
        books.tally.ends = 10_000_000;
        assert_eq!(check_integrals(&books, &plain), Ok(()), "all may be rounding");
        (books.tally.done_bytes, books.tally.ends) = (1_000_000, 0);
        books.start(Attempt {
            attempt: AttemptId { slot: 5, generation: 0 },
            write: WriteId { writer: 0, sequence: 0, part: 0 },
            target: TargetId(0),
            offset_bytes: 0,
            length_bytes: 1_000_000,
        });
        assert_eq!(check_integrals(&books, &plain), Ok(()), "one is not done");
    }

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
        // A millionth and a byte are allowed for, each way.
        let exact = |served: f64| Books { done: 1e9, served, rounded_up: 0.0, is_complete: true };
        for (off, adds_up) in [(1000.0, true), (1001.0, true), (1002.0, false)] {
            assert_eq!(exact(1e9 + off).check().is_ok(), adds_up, "{off} more");
            assert_eq!(exact(1e9 - off).check().is_ok(), adds_up, "{off} less");
        }
    }
}
