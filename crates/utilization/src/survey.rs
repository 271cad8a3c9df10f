//! Working out utilization from a store: day by day, some groups at a time, so that memory does not grow with the store.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use plimsoll_history::{
    Batch, Component, Day, GAP_MILLIS, HistoryError, Measure, OpenDay, Selection, Series, Store,
    spread,
};

use crate::day_windows::DayWindows;
use crate::group::{BACK_WINDOWS, Group, first_window};
use crate::window::{MEASURES, WINDOW_MILLIS, Window};
use crate::{By, Options, Summary, SurveyPart, TargetCosts};

/// Groups that are worked out at a time, by all threads together: about a megabyte each where samples are of all the day.
const GROUPS_AT_A_TIME: usize = 64;

/// More threads than this are not used: others use the machine, too.
const THREADS_MOST: usize = 4;

/// What a store says about utilization.
#[derive(Debug, Clone, PartialEq)]
pub struct Survey {
    /// By name.
    pub groups: Vec<Summary>,
    /// Targets with bytes but without operations: their utilization is not known. A group that has only such has bandwidth, and no more.
    pub without_operations: Vec<String>,
    /// Bytes in gaps of more than a minute: it is not known when they were moved.
    pub unplaced_bytes: u128,
}

/// Which targets are surveyed, and what operations cost them.
pub struct Asked<'a> {
    /// Whether a target of data is wanted.
    pub is_wanted: &'a (dyn Fn(&Component) -> bool + Sync),
    /// What reading and writing cost one whose operations are known.
    pub costs: &'a dyn Fn(&Component) -> TargetCosts,
}

/// Works out how busy targets were.
///
/// # Errors
/// If the store is damaged or cannot be read.
pub fn survey(
    store: &Store,
    options: &Options,
    costs: &dyn Fn(&Component) -> TargetCosts,
) -> Result<Survey, HistoryError> {
    let days = store.days(&selection(options, &|_| true))?;
    let asked = Asked { is_wanted: &|_| true, costs };
    Ok(survey_days(store, &days, options, &asked)?.whole(options))
}

/// Works out how busy targets were on some days that follow each other.
///
/// # Errors
/// If the store is damaged or cannot be read.
pub fn survey_days(
    store: &Store,
    days: &[Day],
    options: &Options,
    asked: &Asked<'_>,
) -> Result<SurveyPart, HistoryError> {
    let mut work = SurveyPart::default();
    // Groups with windows that are open: those of the day before.
    let mut open: BTreeSet<String> = BTreeSet::new();
    let is_wanted = |component: &Component| {
        component.kind.is_data_target() && component.job.is_empty() && (asked.is_wanted)(component)
    };
    let threads = std::thread::available_parallelism().map_or(1, |it| it.get()).min(THREADS_MOST);
    for day in days.iter().copied() {
        open.retain(|name| {
            let group = work.groups.get_mut(name);
            group.is_some_and(|group| group.is_open_before(day, options))
        });
        let mut opened = vec![store.day(day)?];
        let series = opened[0].series(&selection(options, &is_wanted));
        let plan = Plan::of(series, options, &mut |component| {
            *work.costs.entry(component.clone()).or_insert_with(|| (asked.costs)(component))
        });
        work.without_operations.extend(plan.without_operations.iter().cloned());
        let passes = work.passes(&plan, GROUPS_AT_A_TIME / threads);
        let (left, done) = (Mutex::new(passes.into_iter()), Mutex::new(Vec::new()));
        let read = |opened: &mut OpenDay| -> Result<(), HistoryError> {
            loop {
                let next = left.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(mut pass) = next else { return Ok(()) };
                pass.read(opened, day, &plan, options)?;
                done.lock().unwrap_or_else(PoisonError::into_inner).push(pass);
            }
        };
        let others = left.lock().unwrap_or_else(PoisonError::into_inner).len().min(threads);
        for _ in 1..others {
            opened.push(store.day(day)?);
        }
        std::thread::scope(|scope| {
            let (own, others) = opened.split_at_mut(1);
            let others: Vec<_> = others.iter_mut().map(|it| scope.spawn(|| read(it))).collect();
            let mut outcome = own.iter_mut().try_for_each(read);
            for other in others {
                let ended = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                outcome = outcome.and(ended);
            }
            outcome
        })?;
        work.end(done.into_inner().unwrap_or_else(PoisonError::into_inner));
        open.extend(plan.groups.into_keys());
    }
    Ok(work)
}

fn selection<'a>(
    options: &Options,
    is_wanted: &'a (dyn Fn(&Component) -> bool + Sync),
) -> Selection<'a> {
    let (since, until) = (options.since, options.until);
    Selection { since, until, measures: &MEASURES, is_wanted: Some(is_wanted) }
}

/// What is there on a day.
struct Plan {
    by: By,
    groups: BTreeMap<String, BTreeSet<Component>>,
    targets: HashMap<Component, TargetPlan>,
    without_operations: Vec<String>,
}

/// How the samples of a target are used.
struct TargetPlan {
    has_operations: bool,
    has_sizes: bool,
    /// The series whose samples say which time is known.
    clock: (Measure, u64),
    costs: TargetCosts,
}

impl Plan {
    fn of(
        series: Vec<Series>,
        options: &Options,
        costs: &mut dyn FnMut(&Component) -> TargetCosts,
    ) -> Self {
        let mut plan = Plan {
            by: options.by,
            groups: BTreeMap::new(),
            targets: HashMap::new(),
            without_operations: Vec::new(),
        };
        let mut measures: BTreeMap<&Component, Vec<(Measure, u64)>> = BTreeMap::new();
        for it in &series {
            measures.entry(&it.component).or_default().push((it.measure, it.bin));
        }
        for (component, measures) in measures {
            let has = |measure| measures.iter().any(|it| it.0 == measure);
            let has_sizes = has(Measure::ReadSizes) || has(Measure::WriteSizes);
            let has_operations = has(Measure::ReadOperations) || has(Measure::WriteOperations);
            let has_operations = has_sizes || has_operations;
            if !has_operations {
                plan.without_operations.push(component.name.clone());
            }
            if let Some(clock) = measures.iter().min() {
                // What bytes alone cost is not asked.
                let costs = if has_operations { costs(component) } else { TargetCosts::ASSUMED };
                let target = TargetPlan { has_operations, has_sizes, clock: *clock, costs };
                plan.targets.insert(component.clone(), target);
            }
        }
        plan.add_members(&series, true);
        if !options.only_operations {
            plan.add_members(&series, false);
        }
        plan
    }

    /// Adds targets with operations or without to their groups: the latter only to groups that have none with.
    fn add_members(&mut self, series: &[Series], with_operations: bool) {
        let others: HashSet<String> = match with_operations {
            true => HashSet::new(),
            false => self.groups.keys().cloned().collect(),
        };
        for it in series {
            let target = self.targets.get(&it.component);
            if target.is_none_or(|target| target.has_operations != with_operations) {
                continue;
            }
            let name = group_of(self.by, it);
            if others.contains(&name) {
                continue;
            }
            let members = self.groups.entry(name).or_default();
            if !members.contains(&it.component) {
                members.insert(it.component.clone());
            }
        }
    }
}

/// Returns the name of the group that a series is in.
fn group_of(by: By, series: &Series) -> String {
    let Component { file_system, name, .. } = &series.component;
    match by {
        By::Target => name.clone(),
        By::FileSystem if !file_system.is_empty() => file_system.clone(),
        By::Server | By::FileSystem => series.server.clone(),
    }
}

/// Some groups that are worked out at a time, with the windows of a day, from the last ones of the day before on.
struct Pass {
    groups: BTreeMap<String, (Group, DayWindows)>,
    unplaced_bytes: u128,
}

impl SurveyPart {
    /// Takes the groups of a day, some at a time.
    fn passes(&mut self, plan: &Plan, groups_at_a_time: usize) -> Vec<Pass> {
        let names: Vec<&String> = plan.groups.keys().collect();
        let mut passes = Vec::new();
        for some in names.chunks(groups_at_a_time.max(1)) {
            let groups = some.iter().map(|name| {
                let mut group = self.groups.remove(*name).unwrap_or_else(|| Group::new(name));
                for member in &plan.groups[*name] {
                    group.members.entry(member.clone()).or_default();
                }
                group.summary.targets = group.members.len();
                ((*name).clone(), (group, DayWindows::default()))
            });
            passes.push(Pass { groups: groups.collect(), unplaced_bytes: 0 });
        }
        passes
    }

    /// Takes back what was worked out.
    fn end(&mut self, passes: Vec<Pass>) {
        for pass in passes {
            self.unplaced_bytes = self.unplaced_bytes.saturating_add(pass.unplaced_bytes);
            self.groups.extend(pass.groups.into_iter().map(|(name, (group, _))| (name, group)));
        }
    }
}

impl Pass {
    /// Works out the groups for a day.
    fn read(
        &mut self,
        opened: &mut OpenDay,
        day: Day,
        plan: &Plan,
        options: &Options,
    ) -> Result<(), HistoryError> {
        let members: HashSet<&Component> =
            self.groups.keys().flat_map(|name| &plan.groups[name]).collect();
        let is_member = |component: &Component| members.contains(component);
        for (group, windows) in self.groups.values_mut() {
            *windows = group.begin();
        }
        let read: Result<(), HistoryError> =
            opened.read(&selection(options, &is_member), |batch| {
                self.take(day, plan, batch, options);
                Ok(())
            });
        read?;
        for (group, windows) in self.groups.values_mut() {
            group.end(day, &std::mem::take(windows), options);
        }
        Ok(())
    }

    fn take(&mut self, day: Day, plan: &Plan, batch: Batch<'_>, options: &Options) {
        let series = batch.series;
        let Some(target) = plan.targets.get(&series.component) else { return };
        // A target whose server changed is in another group, which has its turn.
        let Some((group, windows)) = self.groups.get_mut(&group_of(plan.by, series)) else {
            return;
        };
        let Some(member) = group.members.get_mut(&series.component) else { return };
        let is_clock = (series.measure, series.bin) == target.clock;
        let is_bytes = matches!(series.measure, Measure::ReadBytes | Measure::WrittenBytes);
        let first = first_window(day);
        let is_size = matches!(series.measure, Measure::ReadSizes | Measure::WriteSizes);
        let mut of_size = 0;
        for ((end, length), value) in batch.ends.iter().zip(batch.lengths).zip(batch.values) {
            if *length > GAP_MILLIS {
                self.unplaced_bytes += if is_bytes { u128::from(*value) } else { 0 };
                continue;
            }
            of_size = if is_size { value.saturating_add(of_size) } else { 0 };
            spread(*end, *length, *value, WINDOW_MILLIS, |piece| {
                let place = (piece.window + BACK_WINDOWS as u64).checked_sub(first);
                let place = place.and_then(|it| usize::try_from(it).ok());
                let Some(window) = place.and_then(|it| windows.get_mut(it)) else { return };
                if is_clock {
                    window.covered = window.covered.saturating_add(piece.covered);
                    window.targets += u32::from(member.count(piece.window));
                    window.is_bytes_only = !target.has_operations;
                }
                add(window, series, target.has_sizes, &target.costs, piece.value, options);
            });
        }
        if is_size && of_size > 0 {
            let (reads, writes) = group.summary.sizes.entry(series.bin).or_default();
            let sum = if series.measure == Measure::ReadSizes { reads } else { writes };
            *sum = sum.saturating_add(of_size);
        }
    }
}

/// Adds what was counted of a series to a window.
fn add(
    window: &mut Window,
    series: &Series,
    has_sizes: bool,
    costs: &TargetCosts,
    value: u64,
    options: &Options,
) {
    let cost = match series.measure {
        Measure::ReadBytes | Measure::ReadOperations | Measure::ReadSizes => costs.read,
        _ => costs.write,
    };
    let (operations, bytes) = match series.measure {
        Measure::ReadBytes | Measure::WrittenBytes => {
            let sum = match series.measure {
                Measure::ReadBytes => &mut window.read_bytes,
                _ => &mut window.written_bytes,
            };
            *sum = sum.saturating_add(value);
            (0, u128::from(value))
        }
        Measure::ReadSizes | Measure::WriteSizes => {
            window.sized = window.sized.saturating_add(value);
            if series.bin >= options.optimal_bytes {
                window.optimal = window.optimal.saturating_add(value);
            }
            (value, u128::from(value) * u128::from(series.bin))
        }
        _ => (value, 0),
    };
    // Where sizes between server and disk are known, they count, and not what clients asked for.
    if series.measure.is_histogram() == has_sizes {
        window.cost = window.cost.saturating_add(cost.of(operations, bytes));
        window.byte_cost = window.byte_cost.saturating_add(cost.of(0, bytes));
    }
}
