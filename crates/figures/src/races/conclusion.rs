//! Who won the races.

use plimsoll_race::{FinishedRace, RacePlan};
use plimsoll_route::PolicyKind;

use crate::contest::{self, Entrant, Finish};

/// Returns who was done first and by how much, in a few sentences.
pub fn conclusion(plan: &RacePlan, runs: &[FinishedRace]) -> String {
    if runs.is_empty() {
        return "No race was run.".into();
    }
    contest::conclusion(&entrants(plan, runs), "race")
}

/// Returns the policies that raced, in the order of the plan.
fn entrants(plan: &RacePlan, runs: &[FinishedRace]) -> Vec<Entrant> {
    let time = |run: &FinishedRace| {
        let over_bound = Some(run.ratio()).filter(|ratio| ratio.is_finite());
        run.outcome.is_sound().then(|| Finish { seconds: run.makespan(), over_bound })
    };
    let entrant = |nth: usize| {
        let own = runs.iter().filter(|run| run.policy == nth);
        let racer = &plan.policies[nth];
        Entrant {
            name: racer.to_string(),
            is_static: racer.policy.kind == PolicyKind::Static,
            rounds: own.map(|run| (run.round, time(run))).collect(),
        }
    };
    (0..plan.policies.len()).map(entrant).filter(|it| !it.rounds.is_empty()).collect()
}
