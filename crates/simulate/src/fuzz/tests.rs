use super::*;
use crate::run::{Around, run_around};
use plimsoll_route::{ActorId, AttemptId, Input, Outputs, Router};

/// What a faulty machine does wrong with one of its inputs.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Planted {
    ForgetsWhatEnded,
    LosesWhatItIsGiven,
    NeverCloses,
    WritesTwice,
    SubmitsAfterClose,
}

/// A router that does something wrong with the nth input of a kind.
struct Faulty<R> {
    router: R,
    fault: Planted,
    left: u64,
}

impl<R: Router> Router for Faulty<R> {
    fn actors(&self) -> u32 {
        self.router.actors()
    }

    fn actor_of(&self, writer: u32) -> ActorId {
        self.router.actor_of(writer)
    }

    fn step<O: Outputs>(&mut self, actor: ActorId, now_ns: u64, input: Input, out: &mut O) {
        let is_the_kind = match self.fault {
            Planted::ForgetsWhatEnded => matches!(input, Input::AttemptDone { .. }),
            Planted::LosesWhatItIsGiven | Planted::WritesTwice => {
                matches!(input, Input::Submit { length_bytes, .. } if length_bytes > 0)
            }
            Planted::NeverCloses | Planted::SubmitsAfterClose => {
                matches!(input, Input::Close { .. })
            }
        };
        let is_wrong = is_the_kind && self.left == 0;
        self.left = self.left.saturating_sub(u64::from(is_the_kind));
        match (is_wrong, self.fault) {
            (true, Planted::WritesTwice) => {
                self.router.step(actor, now_ns, input, out);
                self.router.step(actor, now_ns, input, out);
            }
            (true, Planted::SubmitsAfterClose) => {
                self.router.step(actor, now_ns, input, out);
                let Input::Close { writer } = input else { return };
                let late = Input::Submit { writer, length_bytes: 1 };
                self.router.step(actor, now_ns, late, out);
            }
            (true, _) => {}
            (false, _) => self.router.step(actor, now_ns, input, out),
        }
    }

    fn writer_of(&self, actor: ActorId) -> Option<u32> {
        self.router.writer_of(actor)
    }

    fn coordinator(&self) -> Option<ActorId> {
        self.router.coordinator()
    }

    fn prefetch(&self, actor: ActorId, attempt: AttemptId, depth: usize) -> Option<u32> {
        self.router.prefetch(actor, attempt, depth)
    }
}

struct With(Planted);

impl Around for With {
    fn around(&self, router: impl Router) -> impl Router {
        Faulty { router, fault: self.0, left: 2 }
    }
}

/// Seeds of runs in which nothing else breaks, so that what is lost is the machine's doing.
const SEEDS: std::ops::Range<u64> = 1000..1012;

fn one_without_breakage(seed: u64, fault: Option<Planted>) -> Result<Outcome, SimulateError> {
    let (mut scenario, policy) = fuzz_scenario(seed);
    scenario.fault.clear();
    (scenario.network.loss, scenario.network.repeat) = (0.0, 0.0);
    // Enough for the fault to have something to be wrong with.
    scenario.application.processes += 3;
    scenario.check()?;
    match fault {
        None => run(&scenario, &policy, seed),
        Some(fault) => run_around(&scenario, &policy, seed, &With(fault)),
    }
}

fn found(fault: Option<Planted>) -> Vec<(u64, SimulateError)> {
    let (done, runs) = (AtomicU64::new(0), SEEDS.end - SEEDS.start);
    let found = failures(SEEDS.start, runs, &done, |seed| one_without_breakage(seed, fault));
    assert_eq!(done.into_inner(), runs, "every seed is run");
    assert!(found.is_sorted_by_key(|(seed, _)| *seed));
    assert!(found.iter().all(|(seed, _)| SEEDS.contains(seed)));
    found
}

#[test]
fn a_faulty_machine_is_found() {
    assert!(found(None).is_empty(), "{:?}", found(None));
    for fault in [
        Planted::ForgetsWhatEnded,
        Planted::LosesWhatItIsGiven,
        Planted::NeverCloses,
        Planted::WritesTwice,
        Planted::SubmitsAfterClose,
    ] {
        let found = found(Some(fault));
        let seeds: Vec<u64> = found.iter().map(|(seed, _)| *seed).collect();
        assert_eq!(seeds, SEEDS.collect::<Vec<_>>(), "{fault:?} in every run");
    }
}

#[test]
fn a_submission_that_is_refused_is_not_dropped_silently() {
    for (_, error) in found(Some(Planted::SubmitsAfterClose)) {
        let said = error.to_string();
        assert!(said.contains("the router refused 1 bytes of writer"), "{said}");
        assert!(said.ends_with("which has closed"), "{said}");
    }
}

#[test]
fn a_failure_is_that_of_its_seed() {
    let one = |seed| match seed {
        1003 | 1010 => Err(SimulateError::TooLong { seed }),
        _ => one_without_breakage(SEEDS.start, None),
    };
    let failed = failures(1000, 12, &AtomicU64::new(0), one);
    let expected = [1003, 1010].map(|seed| (seed, SimulateError::TooLong { seed }));
    assert_eq!(failed, expected);
}

#[test]
fn all_seeds_are_run() {
    let done = AtomicU64::new(0);
    assert_eq!(fuzz_many(7, 20, &done).len(), 0);
    assert_eq!(done.into_inner(), 20);
}
