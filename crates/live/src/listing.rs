//! Which things are listed, and in which order.

use plimsoll_utilization::{Lately, Latest};

/// What a list is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listing {
    Targets,
    Servers,
    FileSystems,
    Jobs,
    Metadata,
}

impl Listing {
    pub const ALL: [Listing; 5] = [
        Listing::Targets,
        Listing::Servers,
        Listing::FileSystems,
        Listing::Jobs,
        Listing::Metadata,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Listing::Targets => "targets",
            Listing::Servers => "servers",
            Listing::FileSystems => "file systems",
            Listing::Jobs => "jobs",
            Listing::Metadata => "metadata",
        }
    }

    /// Returns what is listed; nothing if it is not known.
    pub fn of(self, latest: &Latest) -> Option<&[Lately]> {
        match self {
            Listing::Targets => Some(&latest.targets),
            Listing::Servers => Some(&latest.servers),
            Listing::FileSystems => Some(&latest.file_systems),
            Listing::Jobs => latest.jobs.as_deref(),
            Listing::Metadata => Some(latest.metadata.as_slice()).filter(|all| !all.is_empty()),
        }
    }

    /// Returns the one after it, or before it.
    pub fn step(self, by: usize) -> Self {
        let place = Self::ALL.iter().position(|it| *it == self).unwrap_or(0);
        Self::ALL[(place + by) % Self::ALL.len()]
    }
}

/// What a list is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SortBy {
    Fsu,
    Read,
    Written,
    Size,
    Operations,
    Name,
}

impl SortBy {
    const ALL: [SortBy; 6] = [
        SortBy::Fsu,
        SortBy::Read,
        SortBy::Written,
        SortBy::Size,
        SortBy::Operations,
        SortBy::Name,
    ];

    pub fn next(self) -> Self {
        let place = Self::ALL.iter().position(|it| *it == self).unwrap_or(0);
        Self::ALL[(place + 1) % Self::ALL.len()]
    }

    pub fn words(self) -> &'static str {
        match self {
            SortBy::Fsu => "FSU",
            SortBy::Read => "read",
            SortBy::Written => "written",
            SortBy::Size => "op size",
            SortBy::Operations => "operations",
            SortBy::Name => "name",
        }
    }

    fn value(self, of: &Lately) -> Option<f64> {
        match self {
            SortBy::Fsu => of.fsu,
            SortBy::Read => of.read_bytes,
            SortBy::Written => of.written_bytes,
            SortBy::Size => of.operation_size(),
            SortBy::Operations => of.operations(),
            SortBy::Name => None,
        }
    }

    /// Sorts, the greatest first unless it is reversed, and names from A on. What is not known comes last either way;
    /// what is equal comes by its bytes, then by its operations and its name.
    pub fn sort(self, rows: &mut [&Lately], is_reversed: bool) {
        rows.sort_by(|one, other| {
            let by_name = one.name.cmp(&other.name);
            let order = match (self.value(one), self.value(other)) {
                (Some(one), Some(other)) if is_reversed => one.total_cmp(&other),
                (Some(one), Some(other)) => other.total_cmp(&one),
                (None, None) if self == SortBy::Name && is_reversed => by_name.reverse(),
                (None, None) if self == SortBy::Name => by_name,
                (one, other) => other.is_some().cmp(&one.is_some()),
            };
            let bytes = |it: &Lately| it.bytes().unwrap_or(-1.0);
            let operations = |it: &Lately| it.operations().unwrap_or(-1.0);
            let order = order.then_with(|| bytes(other).total_cmp(&bytes(one)));
            order.then_with(|| operations(other).total_cmp(&operations(one))).then(by_name)
        });
    }
}

/// Returns whether the words are in a name of it.
pub(crate) fn matches(words: &str, of: &Lately) -> bool {
    let words = words.to_lowercase();
    let kind = of.kind.map_or("", |kind| kind.name());
    [&of.name, &of.server, &of.file_system, kind]
        .iter()
        .any(|name| name.to_lowercase().contains(&words))
}
