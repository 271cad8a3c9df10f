//! How stretches of days meet: pairs of minutes over the boundary, and outages that go over it.

use std::collections::BTreeMap;

use plimsoll_history::Day;
use plimsoll_stored::{Malformed, Reader, Stored, stored};

use crate::lane::{DAY_MINUTES, MINUTE_MILLIS};
use crate::minutes::Minutes;
use crate::open_day::BOTH;
use crate::outage::LEAST_MINUTES;
use crate::pairs::{EDGE_MINUTES, LagSums};

/// The first and last minutes of a stretch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edges {
    pub first: Edge,
    pub last: Edge,
}

/// Minutes at one end: [`EDGE_MINUTES`] of them, of those components of which any is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    pub day: Day,
    /// Minutes without any activity at the very end.
    pub quiet: usize,
    /// Reads and writes of targets.
    pub targets: BTreeMap<u32, [Minutes; BOTH]>,
    pub servers: BTreeMap<u32, Minutes>,
}

impl Edge {
    /// Returns the first minutes of a day.
    pub fn first(
        day: Day,
        quiet: usize,
        targets: &BTreeMap<u32, [Minutes; BOTH]>,
        servers: &BTreeMap<u32, Minutes>,
    ) -> Self {
        Edge::new(day, quiet, targets, servers, |it| it.first(EDGE_MINUTES))
    }

    /// Returns the last minutes of a day.
    pub fn last(
        day: Day,
        quiet: usize,
        targets: &BTreeMap<u32, [Minutes; BOTH]>,
        servers: &BTreeMap<u32, Minutes>,
    ) -> Self {
        Edge::new(day, quiet, targets, servers, |it| it.last(EDGE_MINUTES))
    }

    fn new(
        day: Day,
        quiet: usize,
        targets: &BTreeMap<u32, [Minutes; BOTH]>,
        servers: &BTreeMap<u32, Minutes>,
        cut: fn(&Minutes) -> Minutes,
    ) -> Self {
        let targets = targets.iter().map(|(number, both)| (*number, both.each_ref().map(cut)));
        let servers = servers.iter().map(|(number, minutes)| (*number, cut(minutes)));
        Edge {
            day,
            quiet,
            targets: targets.filter(|it| !it.1.iter().all(Minutes::is_unknown)).collect(),
            servers: servers.filter(|it| !it.1.is_unknown()).collect(),
        }
    }
}

impl Stored for Edge {
    fn put(&self, out: &mut Vec<u8>) {
        let Edge { day, quiet, targets, servers } = self;
        day.put(out);
        quiet.put(out);
        targets.put(out);
        servers.put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let edge = Edge {
            day: Stored::get(from)?,
            quiet: Stored::get(from)?,
            targets: Stored::get(from)?,
            servers: Stored::get(from)?,
        };
        let all = edge.targets.values().flatten().chain(edge.servers.values());
        let is_whole = all.map(Minutes::len).all(|it| it == EDGE_MINUTES);
        if is_whole && edge.quiet <= DAY_MINUTES { Ok(edge) } else { Err(Malformed) }
    }
}

stored! { Edges { first, last } }

/// How two stretches meet.
pub struct Meeting<'a> {
    left: &'a Edge,
    right: &'a Edge,
    is_adjacent: bool,
    /// First minutes after the one and of the other.
    boundaries: [u64; 2],
    /// Minutes on both sides that turn out to be of an outage.
    quiet: [usize; 2],
}

impl<'a> Meeting<'a> {
    pub fn of(left: &'a Edge, right: &'a Edge) -> Self {
        let is_adjacent = left.day.end() == right.day.start();
        // What is not there is quiet, too.
        let is_outage = !is_adjacent || left.quiet + right.quiet >= LEAST_MINUTES;
        let quiet = if is_outage { [left.quiet, right.quiet] } else { [0, 0] };
        let boundaries = [left.day.end(), right.day.start()].map(|it| it / MINUTE_MILLIS);
        Meeting { left, right, is_adjacent, boundaries, quiet }
    }

    /// Calls for each target with what has to be added to the sums of both sides: pairs over the boundary, less pairs of minutes that are of an outage.
    pub fn each_target(&self, mut each: impl FnMut(u32, [LagSums; 3])) {
        if !self.is_adjacent && self.quiet == [0, 0] {
            return;
        }
        let nothing = [Minutes::unknown(EDGE_MINUTES), Minutes::unknown(EDGE_MINUTES)];
        for number in numbers(&self.left.targets, &self.right.targets) {
            let left = self.left.targets.get(&number).unwrap_or(&nothing);
            let right = self.right.targets.get(&number).unwrap_or(&nothing);
            each(number, self.of_target(left, right));
        }
    }

    fn of_target(&self, left: &[Minutes; BOTH], right: &[Minutes; BOTH]) -> [LagSums; 3] {
        let sums = |of: &[Minutes; BOTH], begin: u64| LagSums::of_both(&of[0], &of[1], begin);
        let begin = self.boundaries[0] - left[0].len() as u64;
        let cut = |of: &Minutes| {
            let mut kept = of.clone();
            kept.forget(of.len() - self.quiet[0].min(of.len())..of.len());
            kept
        };
        let cut_first = |of: &Minutes| {
            let mut kept = of.clone();
            kept.forget(0..self.quiet[1].min(of.len()));
            kept
        };
        let (kept_left, kept_right) = (left.each_ref().map(cut), right.each_ref().map(cut_first));
        let mut all = if self.is_adjacent {
            let [reads, writes] = kept_left;
            let joined = [reads.join(&kept_right[0]), writes.join(&kept_right[1])];
            sums(&joined, begin)
        } else {
            let mut apart = sums(&kept_left, begin);
            let right = sums(&kept_right, self.boundaries[1]);
            apart.iter_mut().zip(&right).for_each(|(sums, more)| sums.plus(more));
            apart
        };
        let before = [sums(left, begin), sums(right, self.boundaries[1])];
        for before in &before {
            all.iter_mut().zip(before).for_each(|(sums, less)| sums.minus(less));
        }
        all
    }

    /// Calls for each server with pairs over the boundary. Processors work also when no data is moved.
    pub fn each_server(&self, mut each: impl FnMut(u32, LagSums)) {
        if !self.is_adjacent {
            return;
        }
        for (number, left) in &self.left.servers {
            let Some(right) = self.right.servers.get(number) else { continue };
            let begin = self.boundaries[0] - left.len() as u64;
            let mut sums = LagSums::of(&left.clone().join(right), begin);
            sums.minus(&LagSums::of(left, begin));
            sums.minus(&LagSums::of(right, self.boundaries[1]));
            each(*number, sums);
        }
    }
}

fn numbers<T>(left: &BTreeMap<u32, T>, right: &BTreeMap<u32, T>) -> Vec<u32> {
    let mut all: Vec<u32> = left.keys().chain(right.keys()).copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}
