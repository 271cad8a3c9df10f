//! What all parts of an analysis agree on before any of them reads a sample.

use std::collections::{BTreeSet, HashMap, HashSet};

use plimsoll_history::{Component, ComponentKind, Day, Measure, Selection, Store};

use crate::lane_key::{Counted, LaneKey};
use crate::{AnalyzeError, Options, Zone, timeline};

/// Which days, targets and servers an analysis is of, in one order.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// Options that summaries depend on.
    pub options: Options,
    /// Days with samples, in their order.
    pub days: Vec<Day>,
    /// Targets of data, by name.
    pub targets: Vec<Component>,
    /// Targets of metadata.
    pub metadata: Vec<Component>,
    /// Machines whose processors are known.
    pub servers: Vec<Component>,
    /// Block devices that are there but not counted, as they are below targets that are.
    pub left_out_devices: usize,
    /// File systems that the targets are of.
    pub file_systems: Vec<String>,
    places: HashMap<Component, u32>,
}

/// What is read.
pub(crate) const MEASURES: [Measure; 7] = [
    Measure::ReadBytes,
    Measure::WrittenBytes,
    Measure::Opens,
    Measure::Closes,
    Measure::CpuBusyTime,
    Measure::CpuTime,
    Measure::CpuLoad,
];

/// Days from the first to the last that are analysed at once, long gaps shortened: 27 years, of which all minutes are in memory.
pub const DAYS_MAX: u64 = 10_000;

/// Targets and servers that are analysed at once.
pub const COMPONENTS_MAX: usize = 100_000;

/// Days times targets, and days times servers, that are analysed at once: ten years of a thousand targets. Targets are compared with each other day by day.
pub const TARGET_DAYS_MAX: usize = 4_000_000;

impl Frame {
    /// Looks what a store has.
    ///
    /// # Errors
    /// If the store is damaged or cannot be read, or has more than can be analysed at once.
    pub fn of(store: &Store, options: &Options) -> Result<Self, AnalyzeError> {
        let is_wanted = |component: &Component| component.job.is_empty();
        let selection = Selection {
            since: options.since,
            until: options.until,
            measures: &MEASURES,
            is_wanted: Some(&is_wanted),
        };
        let days = store.days(&selection)?;
        require_length(&days)?;
        let mut components: HashSet<Component> = HashSet::new();
        for day in &days {
            for series in store.series(*day, &selection)? {
                if !components.contains(&series.component) {
                    components.insert(series.component);
                }
            }
        }
        // In their order at the end only: names that begin alike take long to be compared.
        let frame = Frame::new(days, components.into_iter().collect(), options);
        frame.require_size()?;
        Ok(frame)
    }

    /// Makes sure that there is room for what is worked out.
    pub(crate) fn require_size(&self) -> Result<(), AnalyzeError> {
        require_length(&self.days)?;
        let components = self.targets.len() + self.metadata.len() + self.servers.len();
        if components > COMPONENTS_MAX {
            return Err(AnalyzeError::TooMany { components });
        }
        let (days, targets) = (self.days.len(), self.targets.len().max(self.servers.len()));
        if days * targets > TARGET_DAYS_MAX {
            return Err(AnalyzeError::TooMuchAtOnce { days, targets });
        }
        Ok(())
    }

    fn new(days: Vec<Day>, components: BTreeSet<Component>, options: &Options) -> Self {
        let file_system = options.file_system.as_deref();
        let is_of_it = |it: &&Component| file_system.is_none_or(|wanted| it.file_system == wanted);
        let of_kind = |kind: ComponentKind| -> Vec<Component> {
            let some = components.iter().filter(|it| it.kind == kind);
            some.filter(is_of_it).cloned().collect()
        };
        let (osts, devices) = (of_kind(ComponentKind::Ost), of_kind(ComponentKind::BlockDevice));
        let has_osts = !osts.is_empty();
        let left_out_devices = if has_osts { devices.len() } else { 0 };
        let targets = if has_osts { osts } else { devices };
        let metadata = of_kind(ComponentKind::Mdt);
        // Servers are of no file system.
        let servers = components.iter().filter(|it| it.kind == ComponentKind::Server);
        let lists = [targets, metadata, servers.cloned().collect()];
        Frame::of_lists(days, lists, left_out_devices, options)
    }

    /// Returns the frame of targets, targets of metadata, and servers.
    pub(crate) fn of_lists(
        days: Vec<Day>,
        [targets, metadata, servers]: [Vec<Component>; 3],
        left_out_devices: usize,
        options: &Options,
    ) -> Self {
        let mut places = HashMap::new();
        for list in [&targets, &metadata, &servers] {
            places.extend(list.iter().cloned().zip(0..));
        }
        let file_systems: BTreeSet<&String> =
            targets.iter().map(|it| &it.file_system).filter(|it| !it.is_empty()).collect();
        let file_systems = file_systems.into_iter().cloned().collect();
        let options = options.clone();
        Frame { options, days, targets, metadata, servers, left_out_devices, file_systems, places }
    }

    /// Returns the time zone of hours and days.
    pub fn zone(&self) -> &Zone {
        &self.options.zone
    }

    /// Returns whether this is one of the targets of data.
    pub(crate) fn has_target(&self, component: &Component) -> bool {
        component.kind.is_data_target() && self.places.contains_key(component)
    }

    /// Returns which of its kind a component is.
    pub(crate) fn place(&self, component: &Component) -> Option<u32> {
        self.places.get(component).copied()
    }

    /// Returns whether it has the component of a lane.
    pub(crate) fn has(&self, key: LaneKey) -> bool {
        let list = match key.counted {
            Counted::Read | Counted::Written => &self.targets,
            Counted::Opened | Counted::Closed => &self.metadata,
            Counted::Busy | Counted::Processors | Counted::Load => &self.servers,
        };
        usize::try_from(key.number).is_ok_and(|number| number < list.len())
    }

    /// Returns the days of one of several parts, which follow each other.
    pub fn part(&self, part: usize, parts: usize) -> &[Day] {
        let bound = |number: usize| self.days.len() * number / parts.max(1);
        &self.days[bound(part.min(parts))..bound((part + 1).min(parts))]
    }
}

fn require_length(days: &[Day]) -> Result<(), AnalyzeError> {
    let days = timeline::days_with_gaps(days.iter().copied());
    if days > DAYS_MAX { Err(AnalyzeError::TooLong { days }) } else { Ok(()) }
}
