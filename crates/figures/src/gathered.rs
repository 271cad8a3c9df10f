//! Reading results into columns.

use std::collections::HashMap;
use std::path::PathBuf;

use plimsoll_domain::site::Site;
use plimsoll_measures::{MeasuresError, Outcome, Results};
use plimsoll_score::{Columns, Source};
use serde_json::Value;
use thiserror::Error;

/// Measures of all directories, and what is doubtful about them.
pub struct Gathered {
    /// All measures.
    pub columns: Columns,
    /// What is missing or doubtful, one sentence each.
    pub warnings: Vec<String>,
    /// The directories themselves, in the order given.
    pub results: Vec<Results>,
    /// Why instances failed, most frequent first.
    pub failures: Vec<(String, u64)>,
}

/// Why results cannot be gathered.
#[derive(Debug, Error)]
pub enum GatherError {
    /// They cannot be read.
    #[error(transparent)]
    Measures(#[from] MeasuresError),
    /// They would be counted twice.
    #[error(
        "cannot score {one} and {other} together: they hold the same instances; hint: name each of the \
         results once"
    )]
    Same {
        /// A directory.
        one: String,
        /// Another one.
        other: String,
    },
}

/// Reads directories of results. Servers of targets come from the site where results do not tell them.
///
/// # Errors
/// If results cannot be read, or are given twice.
pub fn gather(directories: &[PathBuf], site: Option<&Site>) -> Result<Gathered, GatherError> {
    let servers: HashMap<&str, &String> = site
        .iter()
        .flat_map(|site| &site.targets)
        .filter_map(|target| Some((target.name.as_str(), target.server.as_ref()?)))
        .collect();
    let mut columns = Columns::default();
    let mut warnings = Vec::new();
    let (mut all, mut failures) = (Vec::new(), HashMap::new());
    for directory in directories {
        let results = Results::open(directory)?;
        warnings.extend(results.warnings.iter().cloned());
        let source = columns.source(Source {
            label: directory.display().to_string(),
            experiment: results.experiment.clone(),
            machine: machine(&results.environment),
        });
        for instance in results.instances()? {
            let mut instance = instance?;
            for pair in instance.pairs.iter_mut().filter(|pair| pair.server.is_none()) {
                pair.server = servers.get(pair.target.as_str()).map(|it| it.to_string());
            }
            if let Outcome::Failed(reason) = &instance.outcome {
                count(&mut failures, reason);
            }
            columns.add(source, &instance);
        }
        all.push(results);
    }
    if let Some((one, other)) = columns.repeated() {
        let (one, other) = (one.label.clone(), other.label.clone());
        return Err(GatherError::Same { one, other });
    }
    warnings.extend(several_machines(&columns));
    let mut failures: Vec<(String, u64)> = failures.into_iter().collect();
    failures.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Ok(Gathered { columns, warnings, results: all, failures })
}

/// Distinct reasons that are kept apart; each instance may have one of its own.
const REASONS_MAX: usize = 1000;
const OTHER_REASONS: &str = "other reasons";

fn count(failures: &mut HashMap<String, u64>, reason: &str) {
    let is_listed = failures.contains_key(reason) || failures.len() < REASONS_MAX;
    let reason = if is_listed { reason } else { OTHER_REASONS };
    *failures.entry(reason.to_string()).or_default() += 1;
}

/// The machine of an environment, under whichever key it is told.
fn machine(environment: &Value) -> Option<String> {
    let keys = ["machine", "host", "hostname", "node"];
    keys.iter().find_map(|key| environment.get(key)?.as_str().map(str::to_string))
}

fn several_machines(columns: &Columns) -> Option<String> {
    let mut machines: Vec<&str> =
        columns.sources.iter().filter_map(|it| it.machine.as_deref()).collect();
    machines.sort_unstable();
    machines.dedup();
    (machines.len() > 1).then(|| {
        let machines = machines.join(", ");
        format!("results come from {machines}: targets of equal names count as the same")
    })
}

/// Returns the names of directories, as a title has them.
pub fn names(directories: &[PathBuf]) -> String {
    let names: Vec<String> = directories.iter().map(|it| it.display().to_string()).collect();
    names.join(", ")
}
