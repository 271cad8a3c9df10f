//! The monitor: what is there, and a reading of all of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use plimsoll_history::{Component, ComponentKind, Measure, Reading, Value};
use plimsoll_lustre::{Content, Parameter, Unknowns};
use plimsoll_machine::Machine;
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::admission::Admission;
use crate::draft::Draft;
use crate::group::{Group, groups};
use crate::host;
use crate::input::Input;
use crate::jobs::{Common, take_rows};
use crate::lctl::{self, Lctl};
use crate::lustre_files;
use crate::mounts::Mounts;
use crate::peers::peers_max;
use crate::readings::Readings;
use crate::unseen::Unseen;

/// What is there is looked for again after this time, and when something is gone.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// Descriptors that are left to the store, to looking for what is there, and to the peer that is let in. So many as there are peers are left to them,
/// so that none keeps anything from being read.
const DESCRIPTORS_LEFT: u64 = 64 + 1;

/// What is monitored.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The machine, or a captured tree.
    pub machine: Machine,
    /// Its name.
    pub server: String,
    /// The site that it belongs to; empty if it has no name.
    pub cluster: String,
    /// Names of block devices by those of the kernel, where somebody gave them one.
    pub names: BTreeMap<String, String>,
    /// Jobs of a target that are read at most; 0 for none.
    pub jobs_most: usize,
    /// The program that prints Lustre's parameters, where their files may not be read. Never one of a captured tree, which anybody may have made.
    pub lctl: Option<PathBuf>,
}

/// What was found, to be told at the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Components by kind.
    pub components: BTreeMap<ComponentKind, Vec<String>>,
    /// Places that may not be looked into.
    pub forbidden: Vec<PathBuf>,
    /// Whether Lustre is asked through `lctl`.
    pub through_lctl: bool,
}

/// Reads everything that a machine tells of its storage.
#[derive(Debug)]
pub struct Monitor {
    settings: Settings,
    start: u64,
    groups: Vec<Group>,
    mounts: Mounts,
    lctl: Option<Lctl>,
    forbidden: Vec<PathBuf>,
    unseen: Vec<Unseen>,
    /// Targets that were here and are not any more.
    absent: BTreeSet<Component>,
    readings: Readings,
    buffer: Vec<u8>,
    unknowns: Unknowns,
    looked: Instant,
    must_look: bool,
    files_kept: usize,
    missed: u64,
    /// The jobs of each target that are read.
    admissions: BTreeMap<Component, Admission>,
    jobs_left_out: u64,
}

impl Monitor {
    /// Finds out what is there.
    pub fn open(settings: Settings) -> Self {
        let mut monitor = Self {
            start: host::start_of(&settings.machine),
            groups: Vec::new(),
            mounts: Mounts::default(),
            lctl: None,
            forbidden: Vec::new(),
            unseen: Vec::new(),
            absent: BTreeSet::new(),
            readings: Readings::default(),
            buffer: Vec::new(),
            unknowns: Unknowns::default(),
            looked: Instant::now(),
            must_look: false,
            files_kept: descriptors(),
            missed: 0,
            admissions: BTreeMap::new(),
            jobs_left_out: 0,
            settings,
        };
        monitor.look();
        monitor
    }

    /// Looks what is there now, as is done every ten seconds and when something is gone. What cannot be looked at is not gone.
    pub fn look(&mut self) {
        let Settings { machine, server, cluster, names, jobs_most, lctl } = &self.settings;
        let known = self.groups.iter().flat_map(|group| &group.sources);
        let known: Vec<&Path> = known.map(|source| source.file.path()).collect();
        let lustre = lustre_files::find(machine, server, cluster, *jobs_most > 0, &known);
        self.lctl = None;
        if lustre.found.is_empty() {
            self.lctl = lctl.clone().map(|program| Lctl::new(program, *jobs_most > 0));
        }
        (self.forbidden, self.unseen) = (lustre.forbidden, lustre.unseen);
        let mut found = host::find(machine, server, cluster, names, &known, &mut self.unseen);
        found.extend(lustre.found);
        let before = std::mem::take(&mut self.groups);
        let mut gone: BTreeSet<Component> = before.iter().map(|it| it.component.clone()).collect();
        self.groups = groups(found, before);
        for group in &self.groups {
            gone.remove(&group.component);
            self.absent.remove(&group.component);
        }
        self.absent.extend(gone.into_iter().filter(|it| is_target(it.kind)));
        if let Ok(mounts) = Mounts::find(machine, cluster) {
            self.mounts = mounts;
        }
        (self.looked, self.must_look) = (Instant::now(), false);
    }

    /// Returns what was found.
    pub fn found(&self) -> Found {
        let mut components: BTreeMap<ComponentKind, Vec<String>> = BTreeMap::new();
        let of_groups = self.groups.iter().map(|group| &group.component);
        for component in of_groups.chain(self.mounts.components()) {
            components.entry(component.kind).or_default().push(component.name.clone());
        }
        let (forbidden, through_lctl) = (self.forbidden.clone(), self.lctl.is_some());
        Found { components, forbidden, through_lctl }
    }

    /// Returns the places that could not be looked into the last time.
    pub fn unseen(&self) -> &[Unseen] {
        &self.unseen
    }

    /// Reads everything once. `now` is in nanoseconds since 1970, and is the time of what does not tell its own.
    pub fn scrape(&mut self, now: u64) -> &[Reading] {
        if self.must_look || self.looked.elapsed() >= LOOK_AGAIN {
            self.look();
        }
        self.readings.begin();
        self.read_groups(now);
        self.read_lctl(now);
        let server = &self.settings.server;
        for component in &self.absent {
            let reading = self.readings.next(component, server, now, self.start);
            reading.values.push(Value::new(Measure::IsPresent, 0));
        }
        self.mounts.take(server, now, &mut self.readings);
        self.readings.of_scrape()
    }

    fn read_groups(&mut self, now: u64) {
        let Settings { machine, server, jobs_most, .. } = &self.settings;
        let common = Common { server, time: now, jobs_most: *jobs_most };
        let mut descriptors = self.files_kept;
        for group in &mut self.groups {
            let reading = self.readings.next(&group.component, server, now, self.start);
            let mut draft = Draft::new(reading, &mut self.unknowns);
            for source in group.sources.iter_mut().filter(|it| rows(it.input).is_none()) {
                descriptors = descriptors.saturating_sub(1);
                match source.file.read(machine, descriptors > 0, &mut self.buffer) {
                    Ok(()) => source.input.take(&self.buffer, &mut draft),
                    Err(_) => (self.missed, self.must_look) = (self.missed + 1, true),
                }
            }
            end_reading(&group.component, &mut self.readings);
            for source in &mut group.sources {
                let Some(parameter) = rows(source.input) else { continue };
                if source.file.read(machine, false, &mut self.buffer).is_err() {
                    self.missed += 1;
                    continue;
                }
                let (readings, unknowns) = (&mut self.readings, &mut self.unknowns);
                let owner = &group.component;
                let admission = self.admissions.entry(owner.clone()).or_default();
                let text = &self.buffer;
                self.jobs_left_out +=
                    take_rows(parameter, owner, text, &common, admission, readings, unknowns);
            }
        }
    }

    fn read_lctl(&mut self, now: u64) {
        let Settings { server, cluster, jobs_most, .. } = &self.settings;
        let Some(lctl) = &self.lctl else { return };
        let Ok(printed) = lctl.run() else {
            self.missed += 1;
            return;
        };
        let common = Common { server, time: now, jobs_most: *jobs_most };
        // The server's own reading was made of other files already, and a component has one reading.
        let mut texts = lctl::texts(&printed, server, cluster);
        texts.retain(|component, _| component.kind != ComponentKind::Server);
        for (component, texts) in &texts {
            let reading = self.readings.next(component, server, now, self.start);
            let mut draft = Draft::new(reading, &mut self.unknowns);
            for (parameter, text) in texts {
                Input::Lustre(parameter).take(text, &mut draft);
            }
            end_reading(component, &mut self.readings);
            for (parameter, text) in texts {
                let Some(parameter) = rows(Input::Lustre(parameter)) else { continue };
                let (readings, unknowns) = (&mut self.readings, &mut self.unknowns);
                let admission = self.admissions.entry(component.clone()).or_default();
                self.jobs_left_out +=
                    take_rows(parameter, component, text, &common, admission, readings, unknowns);
            }
        }
    }

    /// Returns the readings of the last scrape.
    pub fn readings(&self) -> &[Reading] {
        self.readings.of_scrape()
    }

    /// Returns the lines that were not known, since the start.
    pub fn unknowns(&self) -> &Unknowns {
        &self.unknowns
    }

    /// Returns how many files could not be read, since the start.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Returns how many jobs were too many, added up over scrapes.
    pub fn jobs_left_out(&self) -> u64 {
        self.jobs_left_out
    }
}

/// A component of which nothing could be read has no reading; one of which something could is present.
fn end_reading(component: &Component, readings: &mut Readings) {
    let Some(reading) = readings.last() else { return };
    if reading.values.is_empty() {
        readings.drop_last();
    } else if is_target(component.kind) {
        reading.values.push(Value::new(Measure::IsPresent, 1));
    }
}

/// Whether others need to know that it is gone.
fn is_target(kind: ComponentKind) -> bool {
    matches!(kind, ComponentKind::Ost | ComponentKind::Mdt | ComponentKind::Mgt)
}

/// The parameter, if each row of its text is a component of its own.
fn rows(input: Input) -> Option<&'static Parameter> {
    match input {
        Input::Lustre(parameter) => {
            matches!(parameter.content, Content::Jobs | Content::LnetTable).then_some(parameter)
        }
        _ => None,
    }
}

/// Raises the limit of descriptors as far as it goes, and returns how many files may be kept open.
fn descriptors() -> usize {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
    let current = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(current.saturating_sub(DESCRIPTORS_LEFT + peers_max())).unwrap_or(usize::MAX)
}
