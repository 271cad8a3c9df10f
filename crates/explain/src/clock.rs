//! One time line for all processes.
//!
//! Processes of one boot share CLOCK_MONOTONIC. Other nodes are aligned by the barriers that all
//! ranks left together: at each barrier, a node's clock differs from that of rank 0 by the
//! difference of rank 0's exit and the median exit of the node's ranks; between two barriers the
//! difference is interpolated, which takes out drift. Without barriers the nodes'
//! calendar clocks are used, with an unknown error.
//!
//! A process keeps what its file says of its clock, and of what is missing; both are worked out from all processes, in
//! room that counts what a process takes. So this file, `process`, `unseen` and `room` use each other.

use std::collections::BTreeMap;

use plimsoll_trace::Timeline;
use plimsoll_trace::layout::Anchor;

use crate::process::Process;

/// Longest span that is believed, 417 days: a moment beyond it is damage.
pub(crate) const SPAN_MAX_NS: u64 = 1 << 55;

/// What a file says about its clock.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileClock {
    pub boot_id: [u8; 16],
    pub start: Anchor,
    pub latest: Anchor,
    /// CLOCK_MONOTONIC of the node.
    pub node: Timeline,
    pub first_ticks: Option<u64>,
    pub last_ticks: Option<u64>,
    /// Number and ticks of barrier exits.
    pub barriers: Vec<(u32, u64)>,
}

/// From a process's ticks to nanoseconds since the beginning of the recording.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    recording: Timeline,
    span_ns: u64,
}

impl Clock {
    /// Returns the moment, moved to the edge of the recording's span if it lies outside, and whether it
    /// did.
    #[inline]
    pub fn at(&self, ticks: u64) -> (u64, bool) {
        let ns = self.recording.at(ticks);
        let held = (ns.max(0) as u64).min(self.span_ns);
        (held, held as i64 != ns)
    }
}

/// The clocks of all processes, in their order.
#[derive(Debug)]
pub struct Clocks {
    /// One for each process.
    pub clocks: Vec<Clock>,
    /// When each process began, and the last moment at which it is known to have run.
    pub lives: Vec<(u64, u64)>,
    /// From the first process's start to the last known moment of any.
    pub span_ns: u64,
    /// CLOCK_REALTIME of the reference node at the beginning.
    pub start_realtime_ns: i64,
    /// See [`crate::Analysis::clock_error_seconds`].
    pub error_seconds: Option<f64>,
}

/// Puts all processes on the clock of the first one, which is rank 0 where there is one.
pub fn align(processes: &[Process]) -> Clocks {
    let nodes = nodes(processes);
    let Some(reference) = processes.first() else {
        let (clocks, lives, error_seconds) = (Vec::new(), Vec::new(), None);
        return Clocks { clocks, lives, span_ns: 0, start_realtime_ns: 0, error_seconds };
    };
    let mut shifts = vec![Shift::default(); processes.len()];
    let mut is_measured = true;
    for members in nodes.values().filter(|members| !members.contains(&0)) {
        let measured = Shift::by_barriers(processes, members);
        is_measured &= measured.is_some();
        let shift = measured.unwrap_or_else(|| Shift::by_calendar(processes, members));
        members.iter().for_each(|member| shifts[*member] = shift);
    }
    let error_seconds = match (nodes.len(), is_measured) {
        (1, _) => Some(0.0),
        (_, true) => barrier_spread_seconds(processes, &nodes),
        (_, false) => None,
    };
    let (origin, end) = bounds(processes, &shifts);
    let span_ns = (end.saturating_sub(origin).max(0) as u64).min(SPAN_MAX_NS);
    let clocks = processes
        .iter()
        .zip(&shifts)
        .map(|(process, shift)| {
            let node = &process.clock.node;
            let start = shift.apply(node.start_ns()).saturating_sub(origin);
            Clock { recording: node.moved(start, shift.drift), span_ns }
        })
        .collect();
    let held = |ns: i64| (ns.saturating_sub(origin).max(0) as u64).min(span_ns);
    let lives = processes.iter().zip(&shifts).map(|(process, shift)| {
        let (began, ended) = life(process);
        (held(shift.apply(began)), held(shift.apply(ended.max(began))))
    });
    let lives = lives.collect();
    let start_realtime_ns = origin.saturating_add(reference.clock.start.realtime_offset_ns());
    Clocks { clocks, lives, span_ns, start_realtime_ns, error_seconds }
}

/// When a process began and the last moment that is known of it, on its node's clock. A forked
/// process shares the start of its recording with the one that forked it, so the kernel's start
/// time counts where it is later; but never later than the first call.
fn life(process: &Process) -> (i64, i64) {
    let source = &process.clock;
    let loaded = source.node.start_ns();
    let started = process.circumstances.began_ns.map(|ns| i64::try_from(ns).unwrap_or(i64::MAX));
    let began = started.map_or(loaded, |ns| loaded.max(ns));
    let first = source.first_ticks.map_or(i64::MAX, |ticks| source.node.at(ticks));
    let last = source.last_ticks.map_or(i64::MIN, |ticks| source.node.at(ticks));
    (began.min(first.max(loaded)), source.latest.monotonic().max(last))
}

/// Processes by the clock that they share.
fn nodes(processes: &[Process]) -> BTreeMap<([u8; 16], &str), Vec<usize>> {
    let mut nodes: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (index, process) in processes.iter().enumerate() {
        let boot_id = process.clock.boot_id;
        // Where the boot is not known, the name of the node is used.
        let host = if boot_id == [0; 16] { process.host.as_str() } else { "" };
        nodes.entry((boot_id, host)).or_default().push(index);
    }
    nodes
}

/// What a node's clock is behind the reference: `offset + drift (t - at)`.
#[derive(Debug, Clone, Copy, Default)]
struct Shift {
    offset_ns: i64,
    drift: f64,
    at: i64,
}

impl Shift {
    fn apply(&self, local: i64) -> i64 {
        let drifted = (local.saturating_sub(self.at) as f64 * self.drift) as i64;
        local.saturating_add(self.offset_ns).saturating_add(drifted)
    }

    fn by_barriers(processes: &[Process], members: &[usize]) -> Option<Shift> {
        let difference = |number| {
            let local = middle(exits(processes, members, number))?;
            let reference = middle(exits(processes, &[0], number))?;
            Some((local, reference.saturating_sub(local)))
        };
        let (first, last) = (difference(0), difference(1));
        let (at, offset_ns) = first.or(last)?;
        let drift = match (first, last) {
            (Some((t0, d0)), Some((t1, d1))) => {
                d1.saturating_sub(d0) as f64 / t1.saturating_sub(t0) as f64
            }
            _ => 0.0,
        };
        // Clocks of computers drift by parts per million: more is damage, and so is what is no number.
        let drift = if drift.abs() < 0.001 { drift } else { 0.0 };
        Some(Shift { offset_ns, drift, at })
    }

    fn by_calendar(processes: &[Process], members: &[usize]) -> Shift {
        let offset = |index: usize| processes[index].clock.start.realtime_offset_ns();
        let offset_ns = members.first().map_or(0, |m| offset(*m).saturating_sub(offset(0)));
        Shift { offset_ns, drift: 0.0, at: 0 }
    }
}

/// When the members left a barrier, each on its node's clock, ascending.
fn exits(processes: &[Process], members: &[usize], number: u32) -> Vec<i64> {
    let exit = |member: &usize| {
        let clock = &processes[*member].clock;
        let (_, ticks) = clock.barriers.iter().find(|(found, _)| *found == number)?;
        Some(clock.node.at(*ticks))
    };
    let mut exits: Vec<i64> = members.iter().filter_map(exit).collect();
    exits.sort_unstable();
    exits
}

fn middle(sorted: Vec<i64>) -> Option<i64> {
    let high = sorted.get(sorted.len() / 2)?;
    let low = sorted[(sorted.len() - 1) / 2];
    Some(((i128::from(low) + i128::from(*high)) / 2) as i64)
}

/// Half the range of the exits of one barrier by the ranks of one node, which share a clock: what
/// a barrier can tell at best. `None` when no node has two ranks.
fn barrier_spread_seconds(
    processes: &[Process],
    nodes: &BTreeMap<([u8; 16], &str), Vec<usize>>,
) -> Option<f64> {
    let ranges = nodes.values().flat_map(|members| {
        [0, 1].into_iter().filter_map(|number| {
            let exits = exits(processes, members, number);
            let range = exits.last()?.saturating_sub(*exits.first()?);
            (exits.len() > 1).then_some(range)
        })
    });
    ranges.max().map(|range| range as f64 / 2.0 * 1e-9)
}

/// Returns the first and the last moment of all processes.
fn bounds(processes: &[Process], shifts: &[Shift]) -> (i64, i64) {
    let (mut origin, mut end) = (i64::MAX, i64::MIN);
    for (process, shift) in processes.iter().zip(shifts) {
        let source = &process.clock;
        let start = source.node.start_ns();
        let is_near = |ns: &i64| ns.saturating_sub(start).unsigned_abs() <= SPAN_MAX_NS;
        let moments = [
            Some(start),
            Some(source.latest.monotonic()),
            source.first_ticks.map(|ticks| source.node.at(ticks)),
            source.last_ticks.map(|ticks| source.node.at(ticks)),
        ];
        for moment in moments.into_iter().flatten().filter(is_near) {
            let moment = shift.apply(moment);
            origin = origin.min(moment);
            end = end.max(moment);
        }
    }
    (origin, end)
}
