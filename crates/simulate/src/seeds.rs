//! Many runs at once.

use std::num::NonZero;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;

use crate::scenario::PARTS_MAX;
use crate::{Outcome, Policy, Scenario, SimulateError, run};

/// A run to be done.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// What is simulated.
    pub scenario: &'a Scenario,
    /// With which router.
    pub policy: Policy,
    /// With which seed.
    pub seed: u64,
}

/// Returns how many of the largest runs there is room for at one time.
fn room_for(orders: &[Order<'_>]) -> usize {
    let largest = orders.iter().map(|it| it.scenario.kept_parts(&it.policy)).max().unwrap_or(1);
    usize::try_from(PARTS_MAX / largest.max(1)).unwrap_or(usize::MAX)
}

/// Does every run and gives the outcomes in the order of the list, the same for any number
/// of threads. `done` counts finished runs, for a progress bar. The first error in the order
/// of the list is the one that is told.
pub fn run_all(
    orders: &[Order<'_>],
    threads: Option<NonZero<usize>>,
    done: &AtomicU64,
) -> Result<Vec<Outcome>, SimulateError> {
    let available = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = threads.map_or(available, NonZero::get).min(orders.len());
    let threads = threads.min(room_for(orders)).max(1);
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let mut outcomes: Vec<Option<Result<Outcome, SimulateError>>> = vec![None; orders.len()];
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let sender = sender.clone();
            let next = &next;
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(order) = orders.get(index) else { return };
                    let outcome = run(order.scenario, &order.policy, order.seed);
                    done.fetch_add(1, Ordering::Relaxed);
                    // The receiver lives as long as the scope.
                    let _ = sender.send((index, outcome));
                }
            });
        }
        drop(sender);
        for (index, outcome) in receiver {
            outcomes[index] = Some(outcome);
        }
    });
    // A thread that panicked has passed its panic on by now: nothing is missing.
    outcomes.into_iter().flatten().collect()
}
