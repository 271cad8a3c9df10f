//! Where the files lie.

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_theory::MeasuredRates;
use plimsoll_trace::{Class, Layer};

use super::Candidate;
use super::mpi::LARGE_REQUEST_RATE;
use crate::analysis::{Analysis, FileAnalysis};
use crate::file_table::FileId;
use crate::placement::{KnownTarget, Placement};
use crate::totals::Direction;
use plimsoll_report::words::{bytes, count, percent, short, some_of};

/// Less than this gain is within what targets and models differ by.
const GAIN_MIN: f64 = 1.5;
/// What a call takes without waiting for storage.
const CALL_SECONDS: f64 = 20e-6;
/// With less than this between two calls that make it durable, a process waits for each piece, and more targets help only as many
/// processes as there are.
const PIECE_BYTES: u64 = 1 << 20;
/// As many names of targets are listed.
const NAMES_MAX: usize = 5;

/// What was written to files that lie on one target alone, target by target.
struct Load<'a> {
    targets: &'a [KnownTarget],
    bytes: Vec<f64>,
    /// The target that would be the last one to finish.
    busiest: usize,
    /// The files that it holds.
    files: Vec<&'a FileAnalysis>,
}

/// Cost: the time of writing to files that lie on the target with the most to do, beyond what the calls and copying take, less what
/// is left of it when all known targets share the bytes (Huang's equation 1 in its general form), by their known rates or as if
/// they were equal. Processes that wait for each small piece gain no more than there are of them.
pub(super) fn one_target(analysis: &Analysis) -> Option<Candidate> {
    let load = Load::of(analysis)?;
    let gain = load.gain()?.min(load.processes_at_once());
    let seconds = load.waiting_seconds(analysis)?;
    (gain >= GAIN_MIN).then(|| Candidate {
        cost_seconds: seconds * (1.0 - 1.0 / gain),
        evidence: load.evidence(analysis, gain),
        advice: load.advice(),
    })
}

impl<'a> Load<'a> {
    /// Returns `None` if fewer than two targets are known, or nothing is held by one alone.
    fn of(analysis: &'a Analysis) -> Option<Self> {
        let Placement { targets, held } = &analysis.placement;
        let by_number: BTreeMap<FileId, &FileAnalysis> =
            analysis.files.iter().map(|it| (it.id, it)).collect();
        let file = |held: &crate::Held| {
            let file = *by_number.get(&held.file)?;
            Some((held.target, file)).filter(|_| held.target < targets.len())
        };
        let files: Vec<(usize, &FileAnalysis)> = held.iter().filter_map(file).collect();
        let mut bytes = vec![0.0; targets.len()];
        files.iter().for_each(|(target, file)| bytes[*target] += written(file));
        let rates = rates(targets);
        let seconds = |target: usize| bytes[target] / rates[target];
        let last = |a: &usize, b: &usize| seconds(*a).total_cmp(&seconds(*b)).then(b.cmp(a));
        let busiest = (0..targets.len()).max_by(last)?;
        let mut files: Vec<&FileAnalysis> =
            files.iter().filter(|it| it.0 == busiest).map(|it| it.1).collect();
        files.sort_by(|a, b| written(b).total_cmp(&written(a)));
        let is_some = targets.len() > 1 && bytes[busiest] > 0.0;
        is_some.then_some(Load { targets, bytes, busiest, files })
    }

    /// How many times as fast all targets together are as each with its own.
    fn gain(&self) -> Option<f64> {
        let shares = self.bytes.iter().copied().zip(rates(self.targets));
        let rates = MeasuredRates::of(shares).ok()?;
        Some(rates.static_time() / rates.fluid_bound())
    }

    /// Returns how many processes can wait for different targets at once; no bound where they do not wait for each piece.
    fn processes_at_once(&self) -> f64 {
        let Some(largest) = self.files.first() else { return 1.0 };
        let syncs =
            largest.ops.class(Layer::Posix, Class::Sync).calls + largest.forced_writes.calls;
        let piece = written(largest) / syncs.max(1) as f64;
        if piece < PIECE_BYTES as f64 { f64::from(largest.writers.max(1)) } else { f64::INFINITY }
    }

    /// Returns the wall time in which somebody waited for storage to take what was written to the busiest target.
    fn waiting_seconds(&self, analysis: &Analysis) -> Option<f64> {
        let headline = analysis.headline(Direction::Write);
        let share = self.bytes[self.busiest] / (headline.all_bytes as f64).max(1.0);
        let busy = headline.busy?.seconds * share.min(1.0);
        let calls: u64 =
            self.files.iter().map(|it| it.ops.class(Layer::Posix, Class::Write).calls).sum();
        let writers = self.files.iter().map(|it| it.writers).max().unwrap_or(1).max(1);
        let copying = self.bytes[self.busiest] / LARGE_REQUEST_RATE;
        let calling = calls as f64 * CALL_SECONDS / f64::from(writers);
        Some((busy - copying - calling).max(0.0))
    }

    fn evidence(&self, analysis: &Analysis, gain: f64) -> Vec<String> {
        let own = &self.targets[self.busiest];
        let others = |it: &&KnownTarget| it.name != own.name;
        let names: Vec<String> =
            self.targets.iter().filter(others).map(|it| it.name.clone()).collect();
        let all = self.bytes.iter().sum::<f64>();
        let mut first = format!(
            "{} of {} that were written to files on a single target went to {}",
            bytes(self.bytes[self.busiest] as u64),
            bytes(all as u64),
            own.name
        );
        if let Some(file) = self.files.first() {
            let share = written(file) / self.bytes[self.busiest];
            first += &format!(", {} of it to {}", percent(share), file.path);
        }
        if let Some(perceived) = analysis.headline(Direction::Write).perceived() {
            first += &format!("; the program wrote {}/s", bytes(perceived as u64));
        }
        let known = match self.targets.iter().all(|it| it.write_rate.is_some()) {
            true => "by the rates of the site file".to_string(),
            false => format!("if the others are as fast as {}", own.name),
        };
        vec![
            first,
            format!(
                "the site file has {}: {}; all together would take it {} times as fast, {known}",
                count(names.len() as u64, "other target"),
                some_of(&names, NAMES_MAX),
                short(gain)
            ),
        ]
    }

    fn advice(&self) -> Vec<String> {
        let path = self.files.first().map_or("", |it| it.path.as_str());
        let directory = Path::new(path).parent().unwrap_or(Path::new(path)).display();
        vec![
            format!(
                "write to all targets at once, most to those that are fast now, without changing the program: plimsoll stow run --mount \
                 {directory} -- PROGRAM (docs/stow.md says what holds; plimsoll simulate plays it with your rates)"
            ),
            "on Lustre also: lfs setstripe -c -1 on the directory before the file is made"
                .to_string(),
        ]
    }
}

fn written(file: &FileAnalysis) -> f64 {
    file.own.bytes(Direction::Write) as f64
}

/// Returns the rates of targets where all are known, or equal ones.
fn rates(targets: &[KnownTarget]) -> Vec<f64> {
    let known: Option<Vec<f64>> = targets.iter().map(|it| it.write_rate).collect();
    known.unwrap_or_else(|| vec![1.0; targets.len()])
}
