//! What a target, or a group of targets, does lately.

use std::collections::BTreeMap;

use plimsoll_history::{ComponentKind, Measure};

use crate::followed::{Current, Followed, Sizes, counts_once};
use crate::window::{WINDOW_MILLIS, Window};

/// What a target, a group of targets or a job does lately. What is not known is missing, and never zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Lately {
    /// The target, server, file system or job.
    pub name: String,
    /// What it is; nothing for groups and jobs.
    pub kind: Option<ComponentKind>,
    /// Who serves it, of a single target.
    pub server: String,
    /// What it is a part of, of a single target.
    pub file_system: String,
    /// Targets of it,
    pub targets: usize,
    /// and those of them whose rates are known: what is said is of these.
    pub known: usize,
    /// Whether all of them are here.
    pub is_present: bool,
    /// File system utilization over the last 5 s, in percent, the mean over targets.
    pub fsu: Option<f64>,
    /// The same if only bytes cost anything: what bandwidth alone says.
    pub bandwidth_only: Option<f64>,
    /// Bytes read a second.
    pub read_bytes: Option<f64>,
    /// Bytes written a second.
    pub written_bytes: Option<f64>,
    /// Operations that read, a second.
    pub read_operations: Option<f64>,
    /// Operations that write, a second.
    pub write_operations: Option<f64>,
    /// Utilization in windows of 5 s, of a target of metadata operations a second, the oldest first; the last one is the last that is over.
    pub history: Vec<Option<f64>>,
    /// Reads and writes between server and disk of the last minute, by the size in bytes that each had at most; nothing
    /// where sizes are not known.
    pub sizes: Option<Sizes>,
    /// Operations of metadata a second by name, of a target of metadata; nothing where none is counted.
    pub metadata: Option<BTreeMap<Measure, f64>>,
}

/// What everything that is followed does lately.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Latest {
    /// Each target.
    pub targets: Vec<Lately>,
    /// Targets by server.
    pub servers: Vec<Lately>,
    /// Targets by file system.
    pub file_systems: Vec<Lately>,
    /// What jobs do; nothing where no job is known.
    pub jobs: Option<Vec<Lately>>,
    /// Each target of metadata.
    pub metadata: Vec<Lately>,
}

impl Lately {
    pub(crate) fn new(name: &str) -> Self {
        Lately {
            name: name.to_owned(),
            kind: None,
            server: String::new(),
            file_system: String::new(),
            targets: 0,
            known: 0,
            is_present: true,
            fsu: None,
            bandwidth_only: None,
            read_bytes: None,
            written_bytes: None,
            read_operations: None,
            write_operations: None,
            history: Vec::new(),
            sizes: None,
            metadata: None,
        }
    }

    /// Takes what its members do.
    pub(crate) fn of_members(mut self, members: &[&Followed], now: u64, windows: u64) -> Self {
        let mut busy = Window::default();
        self.targets = members.len();
        for member in members {
            let current = member.current(now);
            self.known += usize::from(current.read_bytes.or(current.written_bytes).is_some());
            self.is_present &= member.is_present;
            self.add(&current);
            if let Some(window) = &current.window {
                busy.add(window);
            }
        }
        if busy.targets > 0 {
            (self.fsu, self.bandwidth_only) = (Some(busy.fsu()), Some(busy.bandwidth_only()));
        }
        let over = now / WINDOW_MILLIS;
        self.history = (over.saturating_sub(windows)..over).map(|it| fsu(members, it)).collect();
        for sizes in members.iter().filter_map(|member| member.sizes(now)) {
            let sum = self.sizes.get_or_insert_default();
            for (size, (reads, writes)) in sizes {
                let of_size = sum.entry(size).or_default();
                *of_size = (of_size.0.saturating_add(reads), of_size.1.saturating_add(writes));
            }
        }
        self
    }

    /// Returns it with its rates alone.
    pub(crate) fn without_utilization(self) -> Self {
        Lately { fsu: None, bandwidth_only: None, history: Vec::new(), ..self }
    }

    /// Takes what a target of metadata does.
    pub(crate) fn of_metadata(mut self, target: &Followed, now: u64, windows: u64) -> Self {
        let over = now / WINDOW_MILLIS;
        self.history =
            (over.saturating_sub(windows)..over).map(|it| target.metadata_rate(it)).collect();
        self.metadata = target.current(now).metadata;
        self.is_present = target.is_present;
        self.server.clone_from(&target.server);
        (self.targets, self.known) = (1, usize::from(self.metadata.is_some()));
        self
    }

    fn add(&mut self, current: &Current) {
        let add = |sum: &mut Option<f64>, rate: Option<f64>| {
            if let Some(rate) = rate {
                *sum = Some(sum.unwrap_or(0.0) + rate);
            }
        };
        add(&mut self.read_bytes, current.read_bytes);
        add(&mut self.written_bytes, current.written_bytes);
        add(&mut self.read_operations, current.read_operations);
        add(&mut self.write_operations, current.write_operations);
    }

    /// Returns all bytes a second; nothing if neither direction is known.
    pub fn bytes(&self) -> Option<f64> {
        sum(self.read_bytes, self.written_bytes)
    }

    /// Returns all operations a second, of data or of metadata. What is also counted under another name counts once.
    pub fn operations(&self) -> Option<f64> {
        let metadata = self.metadata.as_ref();
        let once = |all: &BTreeMap<Measure, f64>| {
            all.iter().filter(|it| counts_once(*it.0)).map(|it| it.1).sum()
        };
        metadata.map(once).or_else(|| sum(self.read_operations, self.write_operations))
    }

    /// Returns the mean size of a read.
    pub fn read_size(&self) -> Option<f64> {
        mean(self.read_bytes, self.read_operations)
    }

    /// Returns the mean size of a write.
    pub fn write_size(&self) -> Option<f64> {
        mean(self.written_bytes, self.write_operations)
    }

    /// Returns the mean size of an operation, over the directions whose bytes and operations are both known.
    pub fn operation_size(&self) -> Option<f64> {
        let reads = self.read_bytes.zip(self.read_operations);
        let writes = self.written_bytes.zip(self.write_operations);
        let both = reads.into_iter().chain(writes);
        let sum = both.reduce(|one, other| (one.0 + other.0, one.1 + other.1));
        mean(sum.map(|it| it.0), sum.map(|it| it.1))
    }
}

fn sum(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.map(|one| one + other.unwrap_or(0.0)).or(other)
}

fn mean(bytes: Option<f64>, operations: Option<f64>) -> Option<f64> {
    bytes.zip(operations.filter(|it| *it > 0.0)).map(|(bytes, operations)| bytes / operations)
}

/// The utilization of a window of the past: the mean over members of which it is known.
fn fsu(members: &[&Followed], number: u64) -> Option<f64> {
    let mut sum = Window::default();
    members.iter().filter_map(|member| member.window(number)).for_each(|it| sum.add(it));
    (sum.targets > 0).then(|| sum.fsu())
}
