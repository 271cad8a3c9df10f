//! Reading results into columns.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

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
    /// They would take too much memory.
    #[error(
        "{directory}: more than {most} {what} in all results together, which would not fit into memory; \
         hint: {hint}"
    )]
    TooMuch {
        /// The directory that has one too many.
        directory: String,
        /// What there is room for.
        most: usize,
        /// Of what.
        what: &'static str,
        /// What can be done.
        hint: &'static str,
    },
}

/// What all results together may have: a Parquet file of a few bytes can be rows without end.
struct Room {
    /// Instances and pairs. A year of one instance an hour on a thousand targets has nine million; these take
    /// about a gigabyte and a half.
    rows: usize,
    /// Clients with one of their targets: a thousand clients, each with each of a thousand targets.
    pairings: usize,
    /// Runs: one every six minutes of a year. `score --json` takes about 6 KB for each.
    runs: usize,
    /// Distinct settings. What is judged takes memory by the square: about 200 MB.
    settings: usize,
    /// Distinct names and settings: those of the nodes and targets of the largest machines. `score --json` takes about
    /// 35 KB for each.
    distinct: usize,
    /// Bytes of all distinct names.
    name_bytes: usize,
}

const ROOM: Room = Room {
    rows: 10_000_000,
    pairings: 1_000_000,
    runs: 100_000,
    settings: 5_000,
    distinct: 20_000,
    name_bytes: 64 << 20,
};

impl Room {
    /// Refuses measures for which there is no room.
    fn check(&self, columns: &Columns, directory: &Path) -> Result<(), GatherError> {
        let rows = "instances and pairs";
        let in_parts =
            "score them in parts, by directory or by filtered copies of the Parquet files";
        let names = "distinct names and settings";
        let is_one = "is this one machine's experiment?";
        let found = [
            (columns.rows(), self.rows, rows, in_parts),
            (columns.pairings(), self.pairings, "clients with one of their targets", in_parts),
            (columns.runs(), self.runs, "runs", in_parts),
            (columns.settings_held(), self.settings, "distinct settings", in_parts),
            (columns.distinct(), self.distinct, names, is_one),
            (columns.name_bytes(), self.name_bytes, "bytes of names", is_one),
        ];
        match found.into_iter().find(|(held, most, ..)| held > most) {
            None => Ok(()),
            Some((_, most, what, hint)) => {
                let directory = directory.display().to_string();
                Err(GatherError::TooMuch { directory, most, what, hint })
            }
        }
    }
}

/// Reads directories of results. Servers of targets come from the site where results do not tell them.
///
/// # Errors
/// If results cannot be read, are given twice, or would not fit into memory.
pub fn gather(directories: &[PathBuf], site: Option<&Site>) -> Result<Gathered, GatherError> {
    gather_within(directories, site, &ROOM)
}

fn gather_within(
    directories: &[PathBuf],
    site: Option<&Site>,
    room: &Room,
) -> Result<Gathered, GatherError> {
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
            room.check(&columns, directory)?;
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

#[cfg(test)]
mod tests {
    use plimsoll_domain::Bytes;
    use plimsoll_domain::burst::Setting;
    use plimsoll_measures::{Instance, Journal, Pair};

    use super::*;

    /// Makes results of two instances with three pairs each: two clients, three targets, four pairings.
    fn results(directory: &Path) {
        let pair = |client: &str, target: &str| Pair {
            client: client.into(),
            target: target.into(),
            server: None,
            processes: 1,
            bytes: 1 << 20,
            start: 1,
            end: 2,
        };
        let mut journal = Journal::create(directory, "pairs", "", &Value::Null).unwrap();
        for number in 0..2 {
            let target = format!("t{number}");
            let pairs = vec![pair("c0", "t"), pair("c1", "t"), pair("c0", &target)];
            let setting = Setting::pairs(2, 1, Bytes::new(1 << 20));
            let (varied, outcome) = ("1".into(), Outcome::Complete);
            let (run, group, round, instance) = (0, 0, 0, number);
            let it = Instance { run, group, round, instance, setting, varied, outcome, pairs };
            journal.append(&it).unwrap();
        }
        journal.finish(true, Value::Null).unwrap();
    }

    /// Whatever would fill the memory is refused at the first that is too much, over all directories together.
    #[test]
    fn results_have_their_bounds_together() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
        results(&one);
        results(&other);
        // Names: one experiment, two clients, three targets, a varied value; and a setting.
        let room =
            || Room { rows: 8, pairings: 4, runs: 1, settings: 1, distinct: 8, name_bytes: 15 };
        gather_within(std::slice::from_ref(&one), None, &room()).unwrap();
        for (room, what) in [
            (Room { rows: 7, ..room() }, "more than 7 instances and pairs"),
            (Room { pairings: 3, ..room() }, "more than 3 clients with one of their targets"),
            (Room { runs: 0, ..room() }, "more than 0 runs"),
            (Room { settings: 0, ..room() }, "more than 0 distinct settings"),
            (Room { distinct: 7, ..room() }, "more than 7 distinct names and settings"),
            (Room { name_bytes: 14, ..room() }, "more than 14 bytes of names"),
        ] {
            let refused = gather_within(std::slice::from_ref(&one), None, &room).err().unwrap();
            let said = refused.to_string();
            assert!(said.contains(what) && said.contains("hint:"), "{said}");
        }
        let both = [one, other];
        let said = gather_within(&both, None, &room()).err().unwrap().to_string();
        assert!(said.contains("other: more than 8 instances and pairs"), "{said}");
    }
}
