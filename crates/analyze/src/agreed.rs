//! What all parts of an analysis agree on, as partials have it.

use plimsoll_history::{Component, Day};
use plimsoll_stored::{Malformed, Reader, Stored, get_at_most, stored};

use crate::frame::COMPONENTS_MAX;
use crate::{Frame, Options, Zone};

/// What all parts of an analysis agree on.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreed {
    pub asked: Asked,
    /// Tells the store from others ([`plimsoll_history::Store::fingerprint`]).
    pub fingerprint: u32,
    pub frame: Frame,
}

/// Options that parts depend on; others are of the whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    since: Option<u64>,
    until: Option<u64>,
    file_system: Option<String>,
    zone: String,
    limit: Option<u64>,
}

stored! { Asked { since, until, file_system, zone, limit } }

impl Asked {
    pub fn of(options: &Options) -> Self {
        Asked {
            since: options.since,
            until: options.until,
            file_system: options.file_system.clone(),
            zone: options.zone.name().to_string(),
            limit: options.limit,
        }
    }

    /// Returns the options on the command line in which they differ.
    pub fn differing(&self, other: &Asked) -> Vec<&'static str> {
        let options = [
            ("--since", self.since == other.since),
            ("--until", self.until == other.until),
            ("--file-system", self.file_system == other.file_system),
            ("--zone", self.zone == other.zone),
            ("--limit", self.limit == other.limit),
        ];
        options.into_iter().filter(|(_, is_same)| !is_same).map(|(name, _)| name).collect()
    }

    /// Returns options with these.
    fn options(&self) -> Option<Options> {
        let zone = Zone::named(&self.zone)?;
        let Asked { since, until, file_system, limit, .. } = self.clone();
        Some(Options { since, until, file_system, zone, limit, ..Options::default() })
    }
}

impl Stored for Agreed {
    fn put(&self, out: &mut Vec<u8>) {
        let Agreed { asked, fingerprint, frame } = self;
        asked.put(out);
        fingerprint.put(out);
        frame.days.put(out);
        for list in [&frame.targets, &frame.metadata, &frame.servers] {
            list.put(out);
        }
        frame.left_out_devices.put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (asked, fingerprint) = <(Asked, u32)>::get(from)?;
        let days: Vec<Day> = Stored::get(from)?;
        let mut list =
            || -> Result<Vec<Component>, Malformed> { get_at_most(from, COMPONENTS_MAX) };
        let lists = [list()?, list()?, list()?];
        let options = asked.options().ok_or(Malformed)?;
        let mut is_in_order = days.is_sorted_by(|one, next| one < next);
        is_in_order &= lists.iter().all(|it| it.is_sorted_by(|one, next| one < next));
        let left_out_devices = usize::get(from)?;
        let frame = Frame::of_lists(days, lists, left_out_devices, &options);
        if !is_in_order || frame.require_size().is_err() {
            return Err(Malformed);
        }
        Ok(Agreed { asked, fingerprint, frame })
    }
}
