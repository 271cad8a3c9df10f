//! The measures as columns: about 40 bytes for a pair and 80 for an instance.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use plimsoll_domain::burst::{Operation, Setting};
use plimsoll_measures::{Instance, Outcome};

use crate::names::Names;

/// Where instances come from: one directory of results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// What people call it, for messages: the directory.
    pub label: String,
    /// The name of the experiment; instances of equal names and settings are comparable.
    pub experiment: String,
    /// The machine, where it is known.
    pub machine: Option<String>,
}

/// One pair of one instance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairRow {
    /// Number of the client in [`Columns::clients`].
    pub client: u32,
    /// Number of the target in [`Columns::targets`].
    pub target: u32,
    /// Number of the server in [`Columns::servers`].
    pub server: Option<u32>,
    /// Bytes that were moved.
    pub bytes: u64,
    /// Seconds from the release to the last completion, more than 0.
    pub seconds: f64,
}

impl PairRow {
    /// Bytes per second.
    pub fn bandwidth(&self) -> f64 {
        self.bytes as f64 / self.seconds
    }
}

/// One instance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InstanceRow {
    /// Number of the source in [`Columns::sources`].
    pub source: u32,
    /// Number of the experiment in [`Columns::experiments`].
    pub experiment: u32,
    /// Number of the run in its source.
    pub run: u32,
    /// Number of the group in the run.
    pub group: u32,
    /// Number of the round in the group.
    pub round: u32,
    /// Number of the instance in its source.
    pub instance: u64,
    /// Number of the setting in [`Columns::settings`].
    pub setting: u32,
    /// Number of the varied value in [`Columns::varied`].
    pub varied: u32,
    /// Whether all bursts arrived.
    pub complete: bool,
    /// The first release of the barrier, nanoseconds since 1970.
    pub start: u64,
    /// Bytes of all pairs.
    pub bytes: u64,
    /// Seconds to the last completion; 0 without pairs.
    pub seconds: f64,
    first_pair: usize,
    pair_count: usize,
}

impl InstanceRow {
    /// All bytes over the time to the last completion; `None` without pairs.
    pub fn aggregate_bandwidth(&self) -> Option<f64> {
        (self.pair_count > 0).then(|| self.bytes as f64 / self.seconds)
    }

    /// Where its pairs are in [`Columns::all_pairs`].
    pub fn pair_range(&self) -> Range<usize> {
        self.first_pair..self.first_pair + self.pair_count
    }
}

/// Measures of any number of experiments.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    /// Directories of results.
    pub sources: Vec<Source>,
    /// Names of experiments.
    pub experiments: Names,
    /// Names of clients.
    pub clients: Names,
    /// Names of targets; of striped files, all names joined by "+".
    pub targets: Names,
    /// Names of servers.
    pub servers: Names,
    /// Values of the varied parameter, as plans write them.
    pub varied: Names,
    /// Distinct settings.
    pub settings: Vec<Setting>,
    setting_numbers: HashMap<Setting, u32>,
    instances: Vec<InstanceRow>,
    pairs: Vec<PairRow>,
    /// Clients with the targets that they were paired with.
    pairings: HashSet<(u32, u32)>,
    /// Runs with their sources.
    runs: HashSet<(u32, u32)>,
}

impl Columns {
    /// Announces a directory of results; the number is for [`add`](Self::add).
    pub fn source(&mut self, source: Source) -> u32 {
        self.experiments.number(&source.experiment);
        self.sources.push(source);
        self.sources.len() as u32 - 1
    }

    /// Takes an instance of that source.
    pub fn add(&mut self, source: u32, instance: &Instance) {
        let first_pair = self.pairs.len();
        for pair in &instance.pairs {
            let row = PairRow {
                client: self.clients.number(&pair.client),
                target: self.targets.number(&pair.target),
                server: pair.server.as_deref().map(|name| self.servers.number(name)),
                bytes: pair.bytes,
                seconds: pair.seconds(),
            };
            self.pairings.insert((row.client, row.target));
            self.pairs.push(row);
        }
        self.runs.insert((source, instance.run));
        let experiment = self.sources.get(source as usize).map_or("", |it| &it.experiment);
        self.instances.push(InstanceRow {
            source,
            experiment: self.experiments.number(experiment),
            run: instance.run,
            group: instance.group,
            round: instance.round,
            instance: instance.instance,
            setting: setting_number(
                &mut self.setting_numbers,
                &mut self.settings,
                &instance.setting,
            ),
            varied: self.varied.number(&instance.varied),
            complete: instance.outcome == Outcome::Complete,
            start: instance.pairs.iter().map(|pair| pair.start).min().unwrap_or(0),
            bytes: instance.bytes(),
            seconds: instance.seconds().unwrap_or(0.0),
            first_pair,
            pair_count: instance.pairs.len(),
        });
    }

    /// How many rows are held: instances, and their pairs.
    pub fn rows(&self) -> usize {
        self.instances.len() + self.pairs.len()
    }

    /// How many distinct names and settings are held.
    pub fn distinct(&self) -> usize {
        self.names().iter().map(|it| it.len()).sum::<usize>() + self.settings.len()
    }

    /// How many distinct settings are held; some of what is judged is of each two of them.
    pub fn settings_held(&self) -> usize {
        self.settings.len()
    }

    /// How many clients with one of their targets there are; each of them gets scores.
    pub fn pairings(&self) -> usize {
        self.pairings.len()
    }

    /// How many runs there are; each of them is judged.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Bytes of all distinct names that are held.
    pub fn name_bytes(&self) -> usize {
        self.names().iter().map(|it| it.bytes()).sum()
    }

    fn names(&self) -> [&Names; 5] {
        [&self.experiments, &self.clients, &self.targets, &self.servers, &self.varied]
    }

    /// All instances in the order in which they came.
    pub fn instances(&self) -> &[InstanceRow] {
        &self.instances
    }

    /// Two sources that have the same instance: of one experiment, with the same numbers and the
    /// same start to the nanosecond. Copies of results have; counted twice, they would prove
    /// what nobody measured. Takes 40 bytes for an instance while it looks.
    pub fn repeated(&self) -> Option<(&Source, &Source)> {
        let mut seen = HashMap::with_capacity(self.instances.len());
        let measured = self.instances.iter().filter(|it| it.pair_count > 0);
        let mut pairs = measured.filter_map(|it| {
            let whose = (it.experiment, it.run, it.instance, it.start);
            let before = *seen.entry(whose).or_insert(it.source);
            (before != it.source).then_some((before, it.source))
        });
        let (one, other) = pairs.next()?;
        Some((self.sources.get(one as usize)?, self.sources.get(other as usize)?))
    }

    /// The pairs of an instance.
    pub fn pairs(&self, instance: &InstanceRow) -> &[PairRow] {
        &self.pairs[instance.pair_range()]
    }

    /// The pairs of all instances.
    pub fn all_pairs(&self) -> &[PairRow] {
        &self.pairs
    }

    /// The setting of an instance.
    pub fn setting(&self, instance: &InstanceRow) -> &Setting {
        &self.settings[instance.setting as usize]
    }

    /// Which way an instance moved its data.
    pub fn operation(&self, instance: &InstanceRow) -> Operation {
        self.setting(instance).operation
    }

    /// Whether its pairs have scores: complete, each file on one target, of one client.
    pub fn has_scores(&self, instance: &InstanceRow) -> bool {
        instance.complete && self.setting(instance).has_pairs() && instance.pair_count > 0
    }
}

fn setting_number(
    numbers: &mut HashMap<Setting, u32>,
    settings: &mut Vec<Setting>,
    setting: &Setting,
) -> u32 {
    if let Some(number) = numbers.get(setting) {
        return *number;
    }
    let number = settings.len() as u32;
    settings.push(setting.clone());
    numbers.insert(setting.clone(), number);
    number
}
