//! Which covered times are kept: of each layer's calls by kind, of the program's own, and of
//! writing until data is durable.

use plimsoll_trace::Layer;

use crate::call_kind::CallKind;
use crate::coverage::{Coverage, Cursor};
use crate::grid::Grid;
use crate::totals::Direction;
use plimsoll_stored::{Malformed, Reader};

/// Index of a layer in tables. Logs have tables of their own ([`crate::logs`]), and no place in these.
#[inline]
pub(crate) const fn layer_index(layer: Layer) -> usize {
    match layer {
        Layer::Mpi => 0,
        Layer::Stdio => 1,
        Layer::Posix | Layer::Logs => 2,
    }
}

const LAYERS: usize = 3;
const OWN_POSIX: usize = LAYERS * CallKind::ALL.len();
const DURABLE: usize = OWN_POSIX + 2;
const COVERAGES: usize = DURABLE + LAYERS + 3;

/// A covered time that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Covers(usize);

impl Covers {
    /// Calls that take or wait for locks, below MPI-IO or not.
    pub const LOCKS: Covers = Covers(DURABLE + LAYERS);
    /// MPI-IO calls of whatever kind.
    pub const IN_MPI: Covers = Covers(DURABLE + LAYERS + 1);
    /// Calls that are made inside MPI-IO calls.
    pub const BELOW_MPI: Covers = Covers(DURABLE + LAYERS + 2);

    /// All calls of a layer and kind, whoever makes them.
    #[inline]
    pub const fn calls(layer: Layer, kind: CallKind) -> Covers {
        Covers(layer_index(layer) * CallKind::ALL.len() + kind as usize)
    }

    /// Data calls of a layer that the program makes itself. Only POSIX calls are also made by
    /// others: by MPI-IO.
    #[inline]
    pub const fn own(layer: Layer, direction: Direction) -> Covers {
        match layer {
            Layer::Posix => Covers(OWN_POSIX + direction as usize),
            _ => Covers::calls(layer, direction.kind()),
        }
    }

    /// Writes of a layer that the program makes itself, and the calls that make them durable.
    #[inline]
    pub const fn durable(layer: Layer) -> Covers {
        Covers(DURABLE + layer_index(layer))
    }

    /// Returns the time of reading or of writing: for writes until they are durable.
    pub const fn whole(layer: Layer, direction: Direction) -> Covers {
        match direction {
            Direction::Read => Covers::own(layer, direction),
            Direction::Write => Covers::durable(layer),
        }
    }
}

/// Covered times.
#[derive(Debug, Clone)]
pub(crate) struct Coverages([Coverage; COVERAGES]);

impl Coverages {
    pub fn new(grid: Grid) -> Self {
        Coverages(std::array::from_fn(|_| Coverage::new(grid)))
    }

    pub fn of(&self, covers: Covers) -> &Coverage {
        &self.0[covers.0]
    }

    /// Appends them, without their grid.
    pub fn put(&self, out: &mut Vec<u8>) {
        self.0.iter().for_each(|coverage| coverage.put(out));
    }

    /// Reads what was written of coverages of this grid.
    pub fn get(from: &mut Reader<'_>, grid: Grid) -> Result<Self, Malformed> {
        let mut coverages = Coverages::new(grid);
        for coverage in &mut coverages.0 {
            *coverage = Coverage::get(from, grid)?;
        }
        Ok(coverages)
    }

    pub fn merge(&mut self, other: Coverages) {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| own.merge(other));
    }
}

/// Where one thread is in [`Coverages`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Cursors([Cursor; COVERAGES]);

impl Cursors {
    /// Adds a call of a thread.
    #[inline]
    pub fn add(&mut self, coverages: &mut Coverages, covers: Covers, (start, end): (u64, u64)) {
        self.0[covers.0].add(&mut coverages.0[covers.0], start, end);
    }

    /// Adds a data call, which the program makes itself or not.
    #[inline]
    pub fn data(
        &mut self,
        coverages: &mut Coverages,
        layer: Layer,
        direction: Direction,
        is_own: bool,
        span: (u64, u64),
    ) {
        self.add(coverages, Covers::calls(layer, direction.kind()), span);
        if !is_own {
            return;
        }
        if layer == Layer::Posix {
            self.add(coverages, Covers::own(layer, direction), span);
        }
        if direction == Direction::Write {
            self.add(coverages, Covers::durable(layer), span);
        }
    }

    /// The thread is at its end.
    pub fn finish(&mut self, coverages: &mut Coverages) {
        for (cursor, coverage) in self.0.iter_mut().zip(&mut coverages.0) {
            cursor.finish(coverage);
            *cursor = Cursor::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_covered_time_has_a_place_of_its_own() {
        let mut places = vec![Covers::LOCKS.0, Covers::IN_MPI.0, Covers::BELOW_MPI.0];
        for layer in Layer::OF_PROGRAMS {
            places.extend(CallKind::ALL.map(|kind| Covers::calls(layer, kind).0));
            places.push(Covers::durable(layer).0);
        }
        places.extend(Direction::ALL.map(|direction| Covers::own(Layer::Posix, direction).0));
        places.sort_unstable();
        assert_eq!(places, (0..COVERAGES).collect::<Vec<_>>());
    }
}
