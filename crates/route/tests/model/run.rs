//! Ways through the model: all of them, or one chosen by a seed.

use std::time::Instant;

use plimsoll_stats::Random;
use stateright::{Checker, Model};

use super::{Bounds, Checked, Party, State};

/// Checks every state, says how many there were, and fails with the shortest trace.
pub fn check<P: Party>(name: &str, party: P, bounds: Bounds) -> usize {
    let start = Instant::now();
    let checker = Checked { party, bounds }.checker().threads(2).spawn_bfs().join();
    let (states, depth) = (checker.unique_state_count(), checker.max_depth());
    println!("{name}: {states} states, depth {depth}, {:.1} s", start.elapsed().as_secs_f64());
    checker.assert_properties();
    states
}

/// One way through the model, chosen by `seed`; panics where a property does not hold.
pub fn walk<P: Party>(party: P, bounds: Bounds, seed: u64) -> State<P> {
    let model = Checked { party, bounds };
    let mut state = model.init_states().remove(0);
    let mut random = Random::new(seed);
    let mut actions = Vec::new();
    for _ in 0..1_000_000 {
        actions.clear();
        model.actions(&state, &mut actions);
        if !actions.iter().any(|action| model.is_certain(&state, action)) {
            assert!(model.is_finished(&state), "seed {seed}: hangs: {state:?}");
            assert!(state.commits.values().all(|count| *count == 1), "seed {seed}: {state:?}");
            return state;
        }
        let action = actions.swap_remove(random.index(actions.len()));
        model.apply(&mut state, action);
        assert!(state.party.is_throttle_kept(), "seed {seed}: throttle: {state:?}");
        assert!(state.used.retries < 100, "seed {seed}: retries without end: {state:?}");
    }
    panic!("seed {seed}: did not end");
}
