//! What is to be said about targets that hardly rested between bursts.

use plimsoll_score::Columns;
use plimsoll_score::rest::unrested;
use plimsoll_score::verdict::Verdicts;

/// Returns one sentence on the target that may be slow because it rested less than others.
pub fn note_on_rests(columns: &Columns, verdicts: &Verdicts) -> Option<String> {
    let found = unrested(columns, verdicts);
    // One target ends last; of several that do at times, the one that rests least tells enough.
    let first = found.iter().min_by(|a, b| a.rest.total_cmp(&b.rest))?;
    Some(format!(
        "{} may be slow because it ended last and rested least: {:.0} ms before a burst, other targets {:.0} ms, and \
         storage saves something up while it rests (caches, throttles); hint: plimsoll bench --pause {:.0}ms lets \
         all rest",
        columns.targets.name(first.target),
        first.rest * 1e3,
        first.usual * 1e3,
        (first.pause * 1e3).ceil().max(1.0),
    ))
}
