//! Do several writers of one file really write at the same time?
//!
//! Two signs are looked for in the bins of a file that several processes write:
//! - **waiting**: of the time in which processes want to write (they are inside a POSIX write or
//!   wait for a lock), two or more at a time, the part in which at most one is inside a write;
//! - **stepping** (Wright, figure 5.1): many writes in flight finish no more bytes per second
//!   than a single one does, so they queue and complete one after the other.

use plimsoll_trace::Layer;

use crate::call_kind::CallKind;
use crate::coverages::Covers;
use crate::file_totals::FileDetail;
use crate::totals::seconds;

/// More than this many writers on average in a bin are "several".
const SEVERAL: f64 = 1.5;
/// Up to this many are "one", allowing for the edges of bins.
const ONE: f64 = 1.1;
/// At least this many, so that the bin is mostly in use by the single writer.
const MOSTLY_ONE: f64 = 0.5;
/// Bins of both kinds that are needed for [`Serialisation::scaling`].
const BINS_MIN: usize = 8;

/// How parallel the POSIX writes to a shared file are.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Serialisation {
    /// Wall time in which several processes want to write.
    pub contended_seconds: f64,
    /// The part of it in which at most one is inside a write.
    pub serial_seconds: f64,
    /// Bytes per second finished while several writes are in flight, over those finished while
    /// one is. 1 when writes queue; as large as `writers_in_flight` when they are parallel.
    /// `None` when the file has too few bins of either kind.
    pub scaling: Option<f64>,
    /// Mean number of writes in flight while there are several.
    pub writers_in_flight: f64,
    /// Time that processes spent inside writes and locks of the file beyond what would do if
    /// they queued without overlap, over all processes.
    pub waiting_seconds: f64,
}

impl Serialisation {
    /// Returns the part of the contended time in which at most one process writes.
    pub fn serial_share(&self) -> Option<f64> {
        (self.contended_seconds > 0.0).then(|| self.serial_seconds / self.contended_seconds)
    }
}

#[derive(Default)]
struct Rate {
    bins: usize,
    bytes: f64,
    nanos: f64,
}

impl Rate {
    fn add(&mut self, bytes: u64, nanos: u64) {
        self.bins += 1;
        self.bytes += bytes as f64;
        self.nanos += nanos as f64;
    }
}

/// Looks at a file that several processes wrote.
pub(crate) fn serialisation(detail: &FileDetail) -> Serialisation {
    let writes = detail.coverages.of(Covers::calls(Layer::Posix, CallKind::Write));
    let locks = detail.coverages.of(Covers::LOCKS);
    let grid = writes.grid();
    let mut found = Serialisation::default();
    let (mut one, mut several) = (Rate::default(), Rate::default());
    let mut several_writing = 0.0;
    for bin in 0..grid.bins() {
        let width = grid.inside_ns(bin).max(1);
        let writing = writes.bin(bin).sum as f64 / width as f64;
        let wanting = writing + locks.bin(bin).sum as f64 / width as f64;
        if wanting >= SEVERAL {
            found.contended_seconds += seconds(width);
            found.serial_seconds += if writing <= ONE { seconds(width) } else { 0.0 };
        }
        let bytes = detail.written.get(bin).copied().unwrap_or(0);
        if writing >= SEVERAL {
            several.add(bytes, width);
            several_writing += writing;
        } else if (MOSTLY_ONE..=ONE).contains(&writing) {
            one.add(bytes, width);
        }
        let beyond = (wanting - writing.min(1.0)).max(0.0);
        found.waiting_seconds += beyond * seconds(width);
    }
    if several.bins > 0 {
        found.writers_in_flight = several_writing / several.bins as f64;
    }
    if one.bins >= BINS_MIN && several.bins >= BINS_MIN && one.bytes > 0.0 {
        found.scaling = Some((several.bytes / several.nanos) / (one.bytes / one.nanos));
    }
    found
}
