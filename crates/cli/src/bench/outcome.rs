//! The end of an experiment: results are closed, and what came of it is printed.

use std::path::Path;

use anyhow::Result;
use plimsoll_bench::describe;
use plimsoll_bench::plan::Plan;
use plimsoll_bench::runner::{Ending, Spent};
use plimsoll_figures::{experiment, scores};
use plimsoll_measures::Journal;
use serde_json::json;

use crate::argument::argument;
use crate::output::{self, Output};

/// Writes the tables and prints what came of it.
pub fn conclude(
    plan: &Plan,
    journal: Journal,
    directory: &Path,
    (ending, spent): (&Ending, &Spent),
    output: Output,
) -> Result<()> {
    let record = experiment::ended(plan, &journal.results()?, directory, ending, spent)?;
    let sentence = describe::ending(ending, plan);
    let note = spent.load.note();
    let summary = json!({
        "ending": sentence,
        "load": spent.load.to_json(),
        "notes": note.as_slice(),
        "result": record.to_json(),
    });
    let results = journal.finish(ending.is_complete(), summary)?;
    output.print("bench", &format!("{}: {}", plan.name, sentence), &record)?;
    let shown = argument(directory);
    if spent.cache.cached > 0 {
        output::message(&format!(
            "note: {} of {} bursts measured memory at least in part: the page cache could not be kept out",
            spent.cache.cached, spent.cache.bursts
        ));
    }
    note.iter().for_each(|note| output::message(&format!("note: {note}")));
    // Of what was measured here, whoever exchanged the directory meanwhile.
    if let Some(conclusion) = scores::conclusion_of(&results.path_by_descriptor())? {
        output.conclude(&conclusion)?;
    }
    output::message(&match ending {
        Ending::Failed(why) => format!(
            "error: {why}; everything measured before is in {shown}; \
             hint: plimsoll bench --resume {shown}"
        ),
        Ending::Interrupted => format!("to continue: plimsoll bench --resume {shown}"),
        Ending::Complete | Ending::Precise | Ending::Imprecise(_) | Ending::BudgetSpent(_) => {
            format!("next: plimsoll score {shown}, plimsoll report {shown} --html {shown}.html")
        }
    });
    Ok(())
}
