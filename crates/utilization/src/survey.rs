//! Working out utilization from a store: day by day, some groups at a time, so that memory does not grow with the store.

use std::collections::{BTreeMap, HashMap, HashSet};

use plimsoll_history::{
    Batch, Component, Day, GAP_MILLIS, HistoryError, Measure, Selection, Series, Store, spread,
};

use crate::window::{MEASURES, WINDOW_MILLIS, Window};
use crate::{By, Options, Summary, TargetCosts};

/// Groups that are worked out at a time: about a megabyte each.
const GROUPS_AT_A_TIME: usize = 64;

/// Windows of a day.
const DAY_WINDOWS: usize = (Day::MILLIS / WINDOW_MILLIS) as usize;
/// Windows of the day before that samples of a day may reach back to.
const BACK_WINDOWS: usize = (GAP_MILLIS / WINDOW_MILLIS) as usize;

/// What a store says about utilization.
#[derive(Debug, Clone, PartialEq)]
pub struct Survey {
    /// By name.
    pub groups: Vec<Summary>,
    /// Targets with bytes but without operations: their utilization is not known.
    pub without_operations: Vec<String>,
    /// Bytes in gaps of more than a minute: it is not known when they were moved.
    pub unplaced_bytes: u128,
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
    let mut work = Work::new(options, costs);
    let is_wanted =
        |component: &Component| component.kind.is_data_target() && component.job.is_empty();
    for day in store.days(&selection(options, &is_wanted))? {
        work.close_before(day);
        let plan = Plan::of(store.series(day, &selection(options, &is_wanted))?, options);
        work.without_operations.extend(plan.without_operations.iter().cloned());
        let names: Vec<&String> = plan.groups.keys().collect();
        for some in names.chunks(GROUPS_AT_A_TIME) {
            let members: HashSet<&Component> =
                some.iter().flat_map(|name| &plan.groups[*name]).collect();
            let is_member = |component: &Component| members.contains(component);
            some.iter().for_each(|name| work.begin(name, &plan));
            store.read_day(
                day,
                &selection(options, &is_member),
                |batch| -> Result<(), HistoryError> {
                    work.take(day, &plan, some, batch);
                    Ok(())
                },
            )?;
            some.iter().for_each(|name| work.end(day, name));
        }
    }
    work.close_all();
    Ok(Survey {
        groups: work.summaries.into_values().collect(),
        without_operations: {
            let mut names: Vec<String> = work.without_operations.into_iter().collect();
            names.sort_unstable();
            names
        },
        unplaced_bytes: work.unplaced_bytes,
    })
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
    groups: BTreeMap<String, Vec<Component>>,
    targets: HashMap<Component, TargetPlan>,
    without_operations: Vec<String>,
}

/// How the samples of a target are used.
struct TargetPlan {
    has_sizes: bool,
    /// The series whose samples say which time is known.
    clock: (Measure, u64),
}

impl Plan {
    fn of(series: Vec<Series>, options: &Options) -> Self {
        let mut plan = Plan {
            by: options.by,
            groups: BTreeMap::new(),
            targets: HashMap::new(),
            without_operations: Vec::new(),
        };
        let mut measures: BTreeMap<Component, Vec<(Measure, u64)>> = BTreeMap::new();
        for it in &series {
            measures.entry(it.component.clone()).or_default().push((it.measure, it.bin));
        }
        for (component, measures) in measures {
            let has = |measure| measures.iter().any(|it| it.0 == measure);
            let has_sizes = has(Measure::ReadSizes) || has(Measure::WriteSizes);
            let has_operations = has(Measure::ReadOperations) || has(Measure::WriteOperations);
            match measures.iter().min() {
                Some(clock) if has_sizes || has_operations => {
                    plan.targets.insert(component, TargetPlan { has_sizes, clock: *clock });
                }
                _ => plan.without_operations.push(component.name),
            }
        }
        for it in series.iter().filter(|it| plan.targets.contains_key(&it.component)) {
            let members = plan.groups.entry(group_of(options.by, it)).or_default();
            if !members.contains(&it.component) {
                members.push(it.component.clone());
            }
        }
        plan
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

struct Work<'a> {
    options: &'a Options,
    costs: &'a dyn Fn(&Component) -> TargetCosts,
    summaries: BTreeMap<String, Summary>,
    /// Members of each group that were seen.
    members: BTreeMap<String, HashSet<Component>>,
    /// Windows of groups that are being worked out, from the last ones of the day before on.
    windows: HashMap<String, Vec<Window>>,
    /// The last windows of the day before, which samples of the next day may reach.
    open: BTreeMap<String, (Day, Vec<Window>)>,
    /// The window that a target was counted in last.
    counted: HashMap<(String, Component), u64>,
    without_operations: HashSet<String>,
    unplaced_bytes: u128,
}

impl<'a> Work<'a> {
    fn new(options: &'a Options, costs: &'a dyn Fn(&Component) -> TargetCosts) -> Self {
        Work {
            options,
            costs,
            summaries: BTreeMap::new(),
            members: BTreeMap::new(),
            windows: HashMap::new(),
            open: BTreeMap::new(),
            counted: HashMap::new(),
            without_operations: HashSet::new(),
            unplaced_bytes: 0,
        }
    }

    fn begin(&mut self, name: &str, plan: &Plan) {
        let mut windows = vec![Window::default(); BACK_WINDOWS + DAY_WINDOWS];
        if let Some((_, open)) = self.open.remove(name) {
            windows[..BACK_WINDOWS].copy_from_slice(&open);
        }
        self.windows.insert(name.to_string(), windows);
        let summary = self.summaries.entry(name.to_string()).or_insert_with(|| Summary::new(name));
        let members = self.members.entry(name.to_string()).or_default();
        members.extend(plan.groups[name].iter().cloned());
        summary.targets = members.len();
    }

    fn take(&mut self, day: Day, plan: &Plan, some: &[&String], batch: Batch<'_>) {
        let series = batch.series;
        let name = group_of(plan.by, series);
        let Some(target) = plan.targets.get(&series.component) else { return };
        // A target whose server changed is in another group, which has its turn.
        if some.binary_search(&&name).is_err() {
            return;
        }
        let Some(windows) = self.windows.get_mut(&name) else { return };
        let costs = (self.costs)(&series.component);
        let is_clock = (series.measure, series.bin) == target.clock;
        let counted = self.counted.entry((name.clone(), series.component.clone())).or_default();
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
                let Some(window) = place.and_then(|place| windows.get_mut(place)) else { return };
                if is_clock {
                    window.covered = window.covered.saturating_add(piece.covered);
                    window.targets += u32::from(*counted != piece.window);
                    *counted = piece.window;
                }
                add(window, series, target.has_sizes, &costs, piece.value, self.options);
            });
        }
        if is_size && of_size > 0 {
            let summary = self.summaries.get_mut(&name);
            let sizes = summary.map(|it| it.sizes.entry(series.bin).or_default());
            if let Some((reads, writes)) = sizes {
                let is_read = series.measure == Measure::ReadSizes;
                let sum = if is_read { reads } else { writes };
                *sum = sum.saturating_add(of_size);
            }
        }
    }

    fn end(&mut self, day: Day, name: &str) {
        let Some(windows) = self.windows.remove(name) else { return };
        let Some(summary) = self.summaries.get_mut(name) else { return };
        let first = first_window(day);
        let (done, open) = windows.split_at(DAY_WINDOWS);
        for (number, window) in (first..).zip(done) {
            // Before the first day that there is, there are none.
            if let Some(number) = number.checked_sub(BACK_WINDOWS as u64) {
                summary.add(number, window, self.options);
            }
        }
        self.open.insert(name.to_string(), (day, open.to_vec()));
    }

    /// Closes windows that no sample of this day reaches.
    fn close_before(&mut self, day: Day) {
        let is_day_before = |of: &Day| of.end() == day.start();
        let closed: Vec<String> = self
            .open
            .iter()
            .filter(|(_, it)| !is_day_before(&it.0))
            .map(|it| it.0.clone())
            .collect();
        closed.iter().for_each(|name| self.close(name));
    }

    fn close_all(&mut self) {
        let names: Vec<String> = self.open.keys().cloned().collect();
        names.iter().for_each(|name| self.close(name));
    }

    fn close(&mut self, name: &str) {
        let Some((day, open)) = self.open.remove(name) else { return };
        let Some(summary) = self.summaries.get_mut(name) else { return };
        let first = first_window(day) + (DAY_WINDOWS - BACK_WINDOWS) as u64;
        for (number, window) in (first..).zip(&open) {
            summary.add(number, window, self.options);
        }
    }
}

fn first_window(day: Day) -> u64 {
    day.start() / WINDOW_MILLIS
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
