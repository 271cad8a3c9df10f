//! Days that are worked out, one after the other: what is known of the whole of the targets in each minute, and sums of each.

use plimsoll_history::Day;

use crate::clusters::{Degrees, MinuteDegrees};
use crate::lane::MINUTE_MILLIS;
use crate::minutes::Minutes;
use crate::open_day::BOTH;
use crate::outage::LEAST_MINUTES;
use crate::pairs::{EDGE_MINUTES, LagSums};

/// Days that follow each other, worked out. Joining is associative and exact: sums are whole numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stretch {
    /// In their order.
    pub days: Vec<DaySummary>,
    /// By target.
    pub targets: Vec<TargetSums>,
    /// By server.
    pub servers: Vec<ServerSums>,
    /// Clusters of reads and writes: of 5 % in minutes, of 10 % in minutes, of 5 % in windows of 5 minutes.
    pub degrees: [[Degrees; 3]; BOTH],
    /// What its neighbours need.
    pub(crate) edges: Option<Box<Edges>>,
}

/// What is known of all targets together in the minutes of a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaySummary {
    /// Which day.
    pub day: Day,
    /// Targets with samples of bytes.
    pub targets: u32,
    /// 1440 of them.
    pub minutes: Vec<SystemMinute>,
    /// Minutes of targets, reads and writes apart, of which something but not enough is known,
    pub partial: u64,
    /// and those that were dropped because they were over the limit, or impossible.
    pub over_limit: u64,
}

/// All targets in one minute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SystemMinute {
    /// Bytes read and written by the targets that are known.
    pub bytes: [u64; BOTH],
    /// How many are known.
    pub known: [u32; BOTH],
    /// Files opened and closed, if that is known.
    pub metadata: [Option<u64>; BOTH],
    /// Clusters of 5 %.
    pub degrees: [MinuteDegrees; BOTH],
}

/// Sums of one target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TargetSums {
    /// Minutes that are known, of reads and of writes.
    pub known: [u64; BOTH],
    /// The greatest minute.
    pub most: [u64; BOTH],
    /// Bytes of minutes that were dropped.
    pub dropped: [u128; BOTH],
    /// Reads with reads, writes with writes, reads with writes.
    pub lags: [LagSums; 3],
    /// By number of the hour ([`crate::Zone::hour_number`]), in their order.
    pub hours: Vec<(u32, HourSums)>,
}

/// What a target did in an hour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HourSums {
    /// Bytes read and written in minutes that are known,
    pub bytes: [u64; BOTH],
    /// and how many these are.
    pub known: [u8; BOTH],
}

/// Sums of one server, in millionths of its processors' time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerSums {
    /// Minutes that are known.
    pub known: u64,
    /// Their sum,
    pub sum: u128,
    /// and the greatest.
    pub most: u64,
    /// With itself.
    pub lags: LagSums,
}

/// The first and last minutes of a stretch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edges {
    pub first: Edge,
    pub last: Edge,
}

/// Minutes at one end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edge {
    pub day: Day,
    /// Minutes without any activity at the very end.
    pub quiet: usize,
    /// Reads and writes of each target.
    pub targets: Vec<[Minutes; BOTH]>,
    pub servers: Vec<Minutes>,
}

impl Stretch {
    /// Returns these days and those of a later stretch.
    #[must_use]
    pub fn join(mut self, next: Stretch) -> Stretch {
        let (Some(own), Some(others)) = (&self.edges, &next.edges) else {
            return if self.edges.is_some() { self } else { next };
        };
        let (left, right) = (&own.last, &others.first);
        let meeting = Meeting::of(left, right);
        for (place, target) in self.targets.iter_mut().enumerate() {
            let across = meeting.of_target(&left.targets[place], &right.targets[place]);
            target.add(&next.targets[place], across);
        }
        for (place, server) in self.servers.iter_mut().enumerate() {
            let across = meeting.of_server(&left.servers[place], &right.servers[place]);
            server.add(&next.servers[place], &across);
        }
        for (own, more) in self.degrees.iter_mut().flatten().zip(next.degrees.iter().flatten()) {
            own.plus(more);
        }
        self.days.extend(next.days);
        if let (Some(own), Some(others)) = (&mut self.edges, next.edges) {
            own.last = others.last;
        }
        self
    }
}

/// How two stretches meet.
struct Meeting {
    is_adjacent: bool,
    /// First minutes after the one and of the other.
    boundaries: [u64; 2],
    /// Minutes on both sides that turn out to be of an outage.
    quiet: [usize; 2],
}

impl Meeting {
    fn of(left: &Edge, right: &Edge) -> Self {
        let is_adjacent = left.day.end() == right.day.start();
        // What is not there is quiet, too.
        let is_outage = !is_adjacent || left.quiet + right.quiet >= LEAST_MINUTES;
        let quiet = if is_outage { [left.quiet, right.quiet] } else { [0, 0] };
        let boundaries = [left.day.end(), right.day.start()].map(|it| it / MINUTE_MILLIS);
        Meeting { is_adjacent, boundaries, quiet }
    }

    /// Returns what has to be added to the sums of both sides: pairs over the boundary, less pairs of minutes that are of an outage.
    fn of_target(&self, left: &[Minutes; BOTH], right: &[Minutes; BOTH]) -> [LagSums; 3] {
        let is_empty = |of: &[Minutes; BOTH]| of.iter().all(Minutes::is_unknown);
        let is_nothing = is_empty(left) && is_empty(right);
        if is_nothing || (!self.is_adjacent && self.quiet == [0, 0]) {
            return Default::default();
        }
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

    /// Returns pairs of a server over the boundary. Processors work also when no data is moved.
    fn of_server(&self, left: &Minutes, right: &Minutes) -> LagSums {
        if !self.is_adjacent || left.is_unknown() || right.is_unknown() {
            return LagSums::default();
        }
        let begin = self.boundaries[0] - left.len() as u64;
        let mut sums = LagSums::of(&left.clone().join(right), begin);
        sums.minus(&LagSums::of(left, begin));
        sums.minus(&LagSums::of(right, self.boundaries[1]));
        sums
    }
}

impl TargetSums {
    fn add(&mut self, more: &TargetSums, across: [LagSums; 3]) {
        for direction in 0..BOTH {
            self.known[direction] += more.known[direction];
            self.most[direction] = self.most[direction].max(more.most[direction]);
            self.dropped[direction] += more.dropped[direction];
        }
        for ((own, more), between) in self.lags.iter_mut().zip(&more.lags).zip(&across) {
            own.plus(more);
            own.plus(between);
        }
        let mut hours = more.hours.iter();
        // Hours of some time zones go over midnight in UTC.
        if let (Some(last), Some(first)) = (self.hours.last_mut(), more.hours.first())
            && last.0 == first.0
        {
            last.1.plus(&first.1);
            hours.next();
        }
        self.hours.extend(hours);
    }
}

impl ServerSums {
    fn add(&mut self, more: &ServerSums, across: &LagSums) {
        self.known += more.known;
        self.sum += more.sum;
        self.most = self.most.max(more.most);
        self.lags.plus(&more.lags);
        self.lags.plus(across);
    }
}

impl HourSums {
    /// Adds what another one has.
    pub fn plus(&mut self, other: &HourSums) {
        for direction in 0..BOTH {
            self.bytes[direction] = self.bytes[direction].saturating_add(other.bytes[direction]);
            self.known[direction] = self.known[direction].saturating_add(other.known[direction]);
        }
    }
}

impl Edge {
    /// Returns the first minutes of a day.
    pub fn first(day: Day, quiet: usize, targets: &[[Minutes; BOTH]], servers: &[Minutes]) -> Self {
        let cut = |it: &Minutes| it.first(EDGE_MINUTES);
        Edge::new(day, quiet, targets, servers, &cut)
    }

    /// Returns the last minutes of a day.
    pub fn last(day: Day, quiet: usize, targets: &[[Minutes; BOTH]], servers: &[Minutes]) -> Self {
        let cut = |it: &Minutes| it.last(EDGE_MINUTES);
        Edge::new(day, quiet, targets, servers, &cut)
    }

    fn new(
        day: Day,
        quiet: usize,
        targets: &[[Minutes; BOTH]],
        servers: &[Minutes],
        cut: &dyn Fn(&Minutes) -> Minutes,
    ) -> Self {
        let targets = targets.iter().map(|[reads, writes]| [cut(reads), cut(writes)]).collect();
        Edge { day, quiet, targets, servers: servers.iter().map(cut).collect() }
    }
}
