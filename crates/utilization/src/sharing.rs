//! How many jobs share targets, from job statistics, beside what is expected where jobs are placed at random (Wright, equations 6.1 to 6.6).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use plimsoll_history::{
    Batch, Component, ComponentKind, Day, GAP_MILLIS, HistoryError, Measure, Selection, Store,
};
use plimsoll_theory::{Contention, Requests};

use crate::Options;

/// A job shares a target if both had to do with each other in the same minute.
const MINUTE_MILLIS: u64 = 60_000;
const WORDS: usize = (Day::MILLIS / MINUTE_MILLIS).div_ceil(64) as usize;

/// Jobs of targets of which a day is worked out: about 200 bytes each. Users think of any number of names.
const PAIRS_MOST: usize = 1 << 17;

const MEASURES: [Measure; 4] =
    [Measure::ReadBytes, Measure::WrittenBytes, Measure::ReadOperations, Measure::WriteOperations];

/// How jobs shared the targets of a file system.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sharing {
    /// The file system.
    pub file_system: String,
    /// Targets that it has, D_total.
    pub targets: usize,
    /// Jobs that did anything.
    pub jobs: usize,
    /// Minutes in which any job did.
    pub minutes: u64,
    /// Over these minutes: jobs that did anything, n,
    pub active_jobs: u64,
    /// targets of each job, added up, D_req,
    pub requested: u64,
    /// targets of at least one job, D_inuse,
    pub in_use: u64,
    /// and how many of these are expected, had each job taken as many targets at random.
    pub expected_in_use: f64,
    /// By target.
    pub of_targets: BTreeMap<String, OfTarget>,
    /// Jobs of targets that were too many to be worked out.
    pub left_out: u64,
}

/// Jobs of a target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OfTarget {
    /// Minutes in which it had any.
    pub minutes: u64,
    /// Jobs of these minutes, added up.
    pub jobs: u64,
    /// Those of the minute that had most.
    pub most: u64,
}

impl Sharing {
    /// Returns how many jobs a target in use had: requested over in use, as measured.
    pub fn load(&self) -> Option<f64> {
        (self.in_use > 0).then(|| self.requested as f64 / self.in_use as f64)
    }

    /// Returns what it would be had jobs taken targets at random: D_load.
    pub fn expected_load(&self) -> Option<f64> {
        (self.expected_in_use > 0.0).then(|| self.requested as f64 / self.expected_in_use)
    }

    /// Returns how many jobs were active at a time, in the mean over minutes that had any.
    pub fn jobs_at_a_time(&self) -> Option<f64> {
        (self.minutes > 0).then(|| self.active_jobs as f64 / self.minutes as f64)
    }

    /// Returns how many targets a job had at a time.
    pub fn targets_per_job(&self) -> Option<f64> {
        (self.active_jobs > 0).then(|| self.requested as f64 / self.active_jobs as f64)
    }
}

/// Works out how jobs shared targets: one of each file system that has job statistics.
///
/// # Errors
/// If the store is damaged or cannot be read.
pub fn sharing(store: &Store, options: &Options) -> Result<Vec<Sharing>, HistoryError> {
    let is_ost = |component: &Component| component.kind == ComponentKind::Ost;
    let is_of_job = |component: &Component| is_ost(component) && component.is_job();
    let select = |is_wanted| Selection {
        since: options.since,
        until: options.until,
        measures: &MEASURES,
        is_wanted: Some(is_wanted),
    };
    let mut all: BTreeMap<String, FileSystem> = BTreeMap::new();
    for day in store.days(&select(&is_ost))? {
        let mut opened = store.day(day)?;
        let series = opened.series(&select(&is_ost));
        if !series.iter().any(|it| it.component.is_job()) {
            continue;
        }
        for it in &series {
            let of = all.entry(it.component.file_system.clone()).or_default();
            if !of.targets.contains(&it.component.name) {
                of.targets.insert(it.component.name.clone());
            }
        }
        let mut days: HashMap<String, SharedDay> = HashMap::new();
        opened.read(&select(&is_of_job), |batch| -> Result<(), HistoryError> {
            let file_system = &batch.series.component.file_system;
            if !days.contains_key(file_system) {
                days.insert(file_system.clone(), SharedDay::default());
            }
            days.get_mut(file_system).into_iter().for_each(|it| it.take(day, batch));
            Ok(())
        })?;
        for (name, shared) in days {
            all.entry(name).or_default().add(shared);
        }
    }
    let of = |(name, it): (String, FileSystem)| Sharing {
        file_system: name,
        targets: it.targets.len(),
        jobs: it.jobs.len(),
        ..it.sharing
    };
    Ok(all.into_iter().filter(|it| it.1.sharing.minutes > 0).map(of).collect())
}

#[derive(Default)]
struct FileSystem {
    targets: BTreeSet<String>,
    jobs: BTreeSet<String>,
    sharing: Sharing,
}

/// Minutes of a day in which jobs had to do with targets.
#[derive(Default)]
struct SharedDay {
    targets: HashMap<String, u32>,
    jobs: HashMap<String, u32>,
    /// By target and job, a bit for each minute.
    pairs: HashMap<(u32, u32), [u64; WORDS]>,
    left_out: BTreeSet<(u32, u32)>,
}

impl SharedDay {
    fn take(&mut self, day: Day, batch: Batch<'_>) {
        let Component { name, job, .. } = &batch.series.component;
        let pair = (number(&mut self.targets, name), number(&mut self.jobs, job));
        if self.pairs.len() >= PAIRS_MOST && !self.pairs.contains_key(&pair) {
            if self.left_out.len() < PAIRS_MOST {
                self.left_out.insert(pair);
            }
            return;
        }
        let minutes = self.pairs.entry(pair).or_insert([0; WORDS]);
        for ((end, length), value) in batch.ends.iter().zip(batch.lengths).zip(batch.values) {
            let minute = end.saturating_sub(1).checked_sub(day.start());
            let minute = minute.map(|it| (it / MINUTE_MILLIS) as usize);
            // Nobody knows when in a gap a job did something.
            let is_known = *value > 0 && *length <= GAP_MILLIS;
            if let Some(minute) = minute.filter(|it| is_known && *it < WORDS * 64) {
                minutes[minute / 64] |= 1 << (minute % 64);
            }
        }
    }
}

fn number(numbers: &mut HashMap<String, u32>, name: &str) -> u32 {
    if let Some(number) = numbers.get(name) {
        return *number;
    }
    let next = numbers.len() as u32;
    numbers.insert(name.to_string(), next);
    next
}

impl FileSystem {
    fn add(&mut self, shared: SharedDay) {
        let mut of_targets = vec![OfTarget::default(); shared.targets.len()];
        let mut was_active = vec![false; shared.jobs.len()];
        for word in 0..WORDS {
            let some: Vec<(usize, usize, u64)> = shared
                .pairs
                .iter()
                .filter(|(_, minutes)| minutes[word] != 0)
                .map(|((target, job), minutes)| (*target as usize, *job as usize, minutes[word]))
                .collect();
            if some.is_empty() {
                continue;
            }
            for minute in 0..64 {
                self.add_minute(&some, minute, &mut of_targets, &mut was_active);
            }
        }
        for (name, number) in shared.targets {
            let (of, more) = (self.sharing.of_targets.entry(name), of_targets[number as usize]);
            let sum = of.or_default();
            sum.minutes += more.minutes;
            sum.jobs += more.jobs;
            sum.most = sum.most.max(more.most);
        }
        let active = shared.jobs.into_iter().filter(|(_, number)| was_active[*number as usize]);
        self.jobs.extend(active.map(|(name, _)| name));
        self.sharing.left_out += shared.left_out.len() as u64;
    }

    fn add_minute(
        &mut self,
        some: &[(usize, usize, u64)],
        minute: u32,
        of_targets: &mut [OfTarget],
        was_active: &mut [bool],
    ) {
        let (mut of_jobs, mut of_used) = (HashMap::new(), HashMap::new());
        for (target, job, minutes) in some {
            if minutes >> minute & 1 == 1 {
                *of_jobs.entry(*job).or_insert(0u64) += 1;
                *of_used.entry(*target).or_insert(0u64) += 1;
            }
        }
        let requests: Vec<u64> = of_jobs.values().copied().collect();
        let expected = Requests::each(&requests)
            .and_then(|requests| Contention::new(self.targets.len() as u64, requests));
        // More jobs than the theory knows of are more than there are.
        let Some(expected) = expected.ok().filter(|_| !requests.is_empty()) else { return };
        self.sharing.minutes += 1;
        self.sharing.active_jobs += requests.len() as u64;
        self.sharing.requested += requests.iter().sum::<u64>();
        self.sharing.in_use += of_used.len() as u64;
        self.sharing.expected_in_use += expected.in_use();
        for (target, jobs) in of_used {
            let of = &mut of_targets[target];
            (of.minutes, of.jobs, of.most) = (of.minutes + 1, of.jobs + jobs, of.most.max(jobs));
        }
        of_jobs.into_keys().for_each(|job| was_active[job] = true);
    }
}
