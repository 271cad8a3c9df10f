//! Following targets while they work.

use std::collections::BTreeMap;

use plimsoll_history::{
    Batch, Component, ComponentKind, Differences, GAP_MILLIS, HistoryError, Measure, Reading,
    Selection, Store,
};

use crate::followed::Followed;
use crate::span::Span;
use crate::window::{MEASURES, WINDOW_MILLIS};
use crate::{By, Lately, Latest, TargetCosts};

/// A component that nobody told of for this long is gone.
const GONE_MILLIS: u64 = 10 * 60_000;

/// Samples of a store may come this much later than others.
const LATE_MILLIS: u64 = 60_000;

/// What is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    /// Windows of 5 s of the past that are kept.
    pub windows: u64,
    /// Whether jobs are followed, too.
    pub jobs: bool,
}

/// What targets did lately.
#[derive(Debug)]
pub struct Recent {
    scope: Scope,
    differences: Differences,
    followed: BTreeMap<Component, Followed>,
    /// The time of the latest that was told, in milliseconds since 1970.
    now: u64,
}

impl Recent {
    /// Follows nothing yet.
    pub fn new(scope: Scope) -> Self {
        Recent { scope, differences: Differences::default(), followed: BTreeMap::new(), now: 0 }
    }

    /// Forgets everything, as the clock was set: nothing is compared over that.
    pub fn begin_anew(&mut self) {
        *self = Recent::new(self.scope);
    }

    /// Returns the time of the latest that was told, in milliseconds since 1970; 0 if nothing was.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Takes the readings of a scrape at this moment, in milliseconds since 1970. `costs` is asked once for each component.
    pub fn take(
        &mut self,
        readings: &[Reading],
        now: u64,
        costs: &dyn Fn(&Component) -> TargetCosts,
    ) {
        self.now = self.now.max(now);
        for reading in readings.iter().filter(|it| self.scope.follows(&it.component)) {
            if !self.followed.contains_key(&reading.component) {
                let followed = Followed::new(costs(&reading.component));
                self.followed.insert(reading.component.clone(), followed);
            }
            let Some(followed) = self.followed.get_mut(&reading.component) else { continue };
            take_reading(followed, reading, now, &mut self.differences, self.scope.windows);
        }
        self.forget_gone();
    }

    /// Takes what was added to a store since the last time; at first, its last minutes. `clock` is the time now, in
    /// milliseconds since 1970: a store that is being written has samples of the last minutes, and is not searched for its last ones. What a
    /// clock that was ahead left there of the future does not count, unless there is nothing else.
    ///
    /// # Errors
    /// If the store is damaged or cannot be read.
    pub fn take_store(
        &mut self,
        store: &Store,
        clock: u64,
        costs: &dyn Fn(&Component) -> TargetCosts,
    ) -> Result<(), HistoryError> {
        let before = LATE_MILLIS.max((self.scope.windows + 2) * WINDOW_MILLIS);
        if self.now > clock {
            self.begin_anew();
        }
        let end = match self.now {
            0 => search(store, clock)?,
            now => Some(now),
        };
        let Some(end) = end else { return Ok(()) };
        let since = end.saturating_sub(if self.now == 0 { before } else { LATE_MILLIS });
        let scope = self.scope;
        let is_wanted = |component: &Component| scope.follows(component);
        let measures = with_metadata(&MEASURES);
        let selection = Selection {
            since: Some(since),
            until: Some(clock.max(end)),
            measures: &measures,
            is_wanted: Some(&is_wanted),
        };
        let mut told: BTreeMap<Component, Told> = BTreeMap::new();
        store.read(&selection, |batch| -> Result<(), HistoryError> {
            let is_known = told.contains_key(&batch.series.component);
            if !is_known {
                let end = self.followed.get(&batch.series.component).and_then(Followed::end);
                let new = Told { after: end.unwrap_or(0), ..Told::default() };
                told.insert(batch.series.component.clone(), new);
            }
            if let Some(told) = told.get_mut(&batch.series.component) {
                told.take(&batch);
            }
            Ok(())
        })?;
        for (component, told) in told {
            let new = || Followed::new(costs(&component));
            let followed = self.followed.entry(component.clone()).or_insert_with(new);
            self.now = self.now.max(told.end);
            followed.heard = followed.heard.max(told.end);
            followed.server = told.server;
            for (end, span) in told.spans {
                debug_assert_eq!(end, span.end);
                followed.push(span, self.scope.windows);
            }
        }
        self.forget_gone();
        Ok(())
    }

    fn forget_gone(&mut self) {
        let least = self.now.saturating_sub(GONE_MILLIS);
        self.followed.retain(|_, followed| followed.heard > least);
        // Users think of new ones all the time.
        let least = self.now.saturating_sub(GAP_MILLIS);
        self.followed.retain(|component, it| !component.is_job() || it.heard > least);
        self.differences.forget_jobs(least);
    }

    /// Returns what everything does.
    pub fn latest(&self) -> Latest {
        Latest {
            targets: self.groups(By::Target),
            servers: self.groups(By::Server),
            file_systems: self.groups(By::FileSystem),
            jobs: Some(self.jobs()).filter(|jobs| !jobs.is_empty()),
            metadata: self.metadata(),
        }
    }

    /// Returns what targets of metadata do, by name.
    pub fn metadata(&self) -> Vec<Lately> {
        let target = |(component, followed): (&Component, &Followed)| Lately {
            kind: Some(component.kind),
            file_system: component.file_system.clone(),
            ..Lately::new(&component.name).of_metadata(followed, self.now, self.scope.windows)
        };
        self.followed.iter().filter(|it| it.0.kind == ComponentKind::Mdt).map(target).collect()
    }

    /// Returns what targets, servers or file systems do, by name. Targets as a client sees them are only among targets.
    pub fn groups(&self, by: By) -> Vec<Lately> {
        if by == By::Target {
            return self.targets();
        }
        let mut groups: BTreeMap<&str, Vec<&Followed>> = BTreeMap::new();
        let is_part = |it: &Component| it.kind.is_data_target() && it.job.is_empty();
        for (component, followed) in self.followed.iter().filter(|it| is_part(it.0)) {
            let is_named = by == By::FileSystem && !component.file_system.is_empty();
            let name = if is_named { &component.file_system } else { &followed.server };
            groups.entry(name).or_default().push(followed);
        }
        let group = |(name, members): (&str, Vec<&Followed>)| {
            Lately::new(name).of_members(&members, self.now, self.scope.windows)
        };
        groups.into_iter().map(group).collect()
    }

    fn targets(&self) -> Vec<Lately> {
        let target = |(component, followed): (&Component, &Followed)| {
            let lately = Lately::new(&component.name);
            let lately = lately.of_members(&[followed], self.now, self.scope.windows);
            let lately = Lately {
                kind: Some(component.kind),
                server: followed.server.clone(),
                file_system: component.file_system.clone(),
                ..lately
            };
            // What others do on a target is not seen by a client of it.
            if component.kind.is_data_target() { lately } else { lately.without_utilization() }
        };
        let is_target = |it: &Component| it.job.is_empty() && it.kind != ComponentKind::Mdt;
        self.followed.iter().filter(|it| is_target(it.0)).map(target).collect()
    }

    /// Returns what jobs do, added up over targets, by name.
    pub fn jobs(&self) -> Vec<Lately> {
        let mut jobs: BTreeMap<&str, Vec<&Followed>> = BTreeMap::new();
        for (component, followed) in self.followed.iter().filter(|it| !it.0.job.is_empty()) {
            jobs.entry(&component.job).or_default().push(followed);
        }
        let job = |(name, members): (&str, Vec<&Followed>)| {
            let lately = Lately::new(name).of_members(&members, self.now, self.scope.windows);
            // What jobs ask for is not all that disks do: no utilization is said of them.
            lately.without_utilization()
        };
        jobs.into_iter().map(job).collect()
    }

    /// Calls for each data target whose utilization is known.
    pub fn each_utilization(&self, mut each: impl FnMut(&Component, f64)) {
        for (component, followed) in &self.followed {
            let window = followed.current(self.now).window;
            let is_target = component.kind.is_data_target() && component.job.is_empty();
            if let Some(window) = window.filter(|_| is_target) {
                each(component, window.fsu());
            }
        }
    }
}

impl Scope {
    fn follows(&self, component: &Component) -> bool {
        let is_target =
            component.kind.is_data_target() || component.kind == ComponentKind::SeenTarget;
        let is_metadata = component.kind == ComponentKind::Mdt && component.job.is_empty();
        is_metadata || is_target && (self.jobs || component.job.is_empty())
    }
}

fn take_reading(
    followed: &mut Followed,
    reading: &Reading,
    now: u64,
    differences: &mut Differences,
    windows: u64,
) {
    let is_absent =
        |it: &plimsoll_history::Value| it.measure == Measure::IsPresent && it.value == 0;
    followed.heard = now;
    followed.server.clone_from(&reading.server);
    followed.is_present = !reading.values.iter().any(is_absent);
    // Only what is used is kept for the next time.
    let uses = |measure| Span::uses(reading.component.kind, measure);
    let values: Vec<_> = reading.values.iter().filter(|it| uses(it.measure)).copied().collect();
    if values.is_empty() {
        return followed.forget();
    }
    let (component, server) = (reading.component.clone(), reading.server.clone());
    let (time, epoch) = (reading.time, reading.epoch);
    let since = differences.take(&Reading { component, server, time, epoch, values });
    if since.is_not_later || since.length_millis == 0 || since.unknown > 0 {
        return;
    }
    let mut span = Span::new(now, since.length_millis);
    since.known.iter().for_each(|it| span.add(it.measure, it.bin, it.value));
    followed.push(span, windows);
}

/// What a store tells of a component that is new.
#[derive(Default)]
struct Told {
    after: u64,
    end: u64,
    server: String,
    spans: BTreeMap<u64, Span>,
}

impl Told {
    fn take(&mut self, batch: &Batch<'_>) {
        let series = batch.series;
        if !Span::uses(series.component.kind, series.measure) {
            return;
        }
        for ((end, length), value) in batch.ends.iter().zip(batch.lengths).zip(batch.values) {
            if *end >= self.end {
                self.end = *end;
                self.server.clone_from(&series.server);
            }
            if *end > self.after && *length > 0 {
                let span = self.spans.entry(*end).or_insert_with(|| Span::new(*end, *length));
                span.add(series.measure, series.bin, *value);
            }
        }
    }
}

fn with_metadata(measures: &[Measure]) -> Vec<Measure> {
    let metadata = Measure::ALL.iter().filter(|it| it.is_metadata());
    measures.iter().chain(metadata).copied().collect()
}

/// Looks for the end of the last sample of a store: among the last minutes, then among those before, then among those of the future.
fn search(store: &Store, clock: u64) -> Result<Option<u64>, HistoryError> {
    let lately = Some(clock.saturating_sub(GONE_MILLIS));
    for (since, until) in [(lately, Some(clock)), (None, Some(clock)), (None, None)] {
        let end = last_end(store, since, until)?;
        if end.is_some() {
            return Ok(end);
        }
    }
    Ok(None)
}

/// Returns the end of the last sample of a store, of those after a moment and up to another.
fn last_end(
    store: &Store,
    since: Option<u64>,
    until: Option<u64>,
) -> Result<Option<u64>, HistoryError> {
    let is_wanted = |component: &Component| Scope { windows: 0, jobs: true }.follows(component);
    let measures = with_metadata(&MEASURES[..4]);
    let selection = Selection { since, until, measures: &measures, is_wanted: Some(&is_wanted) };
    let mut last = None;
    for day in store.days(&selection)?.into_iter().rev() {
        store.read_day(day, &selection, |batch| -> Result<(), HistoryError> {
            last = last.max(batch.ends.iter().max().copied());
            Ok(())
        })?;
        if last.is_some() {
            break;
        }
    }
    Ok(last)
}
