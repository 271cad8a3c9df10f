//! Policy `window` by worked examples: how windows follow delays, how large the next lease is, where it goes,
//! and what is tried a second time. All sizes are in KiB, all delays in nanoseconds, and 1000 ns are aimed at.

mod choice;
mod law;

use plimsoll_route::placement::{Advice, Lane, Lanes, Placement, Timing, Waiting};
use plimsoll_route::{TargetId, Window, WindowSettings};

const KIB: u64 = 1 << 10;

/// Leases of 64 to 256, windows of at most 4096, and so many nodes on each target that none has a share of its own.
const SETTINGS: WindowSettings = WindowSettings {
    tau_ns: 1000,
    lease_bytes_min: 64 * KIB,
    lease_bytes_usual: 0,
    lease_bytes_max: 256 * KIB,
    request_bytes: 0,
    window_bytes_max: 4096 * KIB,
    share_bytes_per_writer: 0,
    nodes_per_target: 17,
    rescue: true,
};

/// Much waits, and more may come.
const MUCH: Waiting = Waiting {
    writer: 0,
    length_bytes: 100_000 * KIB,
    offset_bytes: 0,
    submission_bytes: 100_000 * KIB,
    is_retry: false,
    node_bytes: 100_000 * KIB,
    is_last: false,
    only_lane: None,
};

/// All writers have closed and so much waits.
fn last(kib: u64) -> Waiting {
    Waiting { node_bytes: kib * KIB, is_last: true, ..MUCH }
}

/// The policy of a node, and what the node has in flight.
struct Bed {
    window: Window,
    lanes: Vec<Lane>,
    now_ns: u64,
    most_placed_bytes: u64,
}

impl Bed {
    fn new(settings: WindowSettings, targets: usize, writers: u32) -> Self {
        let lane = |index: usize| Lane::new(TargetId(index as u16));
        let lanes = (0..targets).map(lane).collect();
        let window = Window::new(settings, targets, writers);
        Bed { window, lanes, now_ns: 1 << 40, most_placed_bytes: u64::MAX }
    }

    /// With windows of these sizes, and a delay of half of what is aimed at.
    fn with_windows(windows: &[u64]) -> Self {
        let mut bed = Bed::new(SETTINGS, windows.len(), 1);
        for (lane, wanted) in windows.iter().enumerate() {
            bed.grow(lane, *wanted);
        }
        assert_eq!(bed.windows(), windows);
        bed
    }

    fn grow(&mut self, lane: usize, wanted: u64) {
        loop {
            let now = self.windows()[lane];
            if now >= wanted {
                break;
            }
            let out = std::mem::replace(&mut self.lanes[lane].in_flight_bytes, now * KIB);
            self.end(lane, now.min(wanted - now), 500);
            self.lanes[lane].in_flight_bytes = out;
        }
    }

    fn windows(&self) -> Vec<u64> {
        (0..self.lanes.len()).map(|lane| self.window.window_bytes(lane) / KIB).collect()
    }

    fn in_flight(mut self, kib: &[u64]) -> Self {
        self.set_in_flight(kib);
        self
    }

    fn set_in_flight(&mut self, kib: &[u64]) {
        for (lane, kib) in self.lanes.iter_mut().zip(kib) {
            lane.in_flight_bytes = kib * KIB;
        }
    }

    /// An attempt of so much begins now.
    fn begin(&mut self, lane: usize, kib: u64) {
        self.lanes[lane].begin(self.now_ns, kib * KIB);
    }

    /// An attempt of so much ended after this time.
    fn end(&mut self, lane: usize, kib: u64, delay_ns: u64) {
        self.end_between(lane, kib * KIB, delay_ns, delay_ns);
    }

    fn end_between(&mut self, lane: usize, length_bytes: u64, at_least_ns: u64, at_most_ns: u64) {
        let older_bytes = self.lanes[lane].in_flight_bytes;
        let timing = Timing { lane, length_bytes, at_least_ns, at_most_ns, older_bytes };
        self.window.ended(timing, view(&self.lanes, self.now_ns, self.most_placed_bytes));
    }

    /// An attempt ended between two looks; so much of what began before is still under way.
    fn end_at_look(&mut self, lane: usize, kib: u64, at_least: u64, at_most: u64, older: u64) {
        let (length_bytes, older_bytes) = (kib * KIB, older * KIB);
        let (at_least_ns, at_most_ns) = (at_least, at_most);
        let timing = Timing { lane, length_bytes, at_least_ns, at_most_ns, older_bytes };
        self.window.ended(timing, view(&self.lanes, self.now_ns, self.most_placed_bytes));
    }

    /// The lane seems to take about so long, which changes no window.
    fn seen(&mut self, lane: usize, delay_ns: u64) {
        self.end_between(lane, 1, 0, delay_ns);
    }

    /// Lane and size of the next lease.
    fn place(&mut self, waiting: Waiting) -> Option<(usize, u64)> {
        let advice =
            self.window.place(waiting, view(&self.lanes, self.now_ns, self.most_placed_bytes));
        advice.map(|Advice { lane, length_bytes }| (lane, length_bytes / KIB))
    }

    /// What is under way on a lane since so long: is it late?
    fn look(&mut self, lane: usize, age_ns: u64, before: u8) -> u8 {
        let timing = under_way(lane, age_ns);
        self.window.overdue(timing, before, view(&self.lanes, self.now_ns, self.most_placed_bytes))
    }

    /// Where it is tried a second time.
    fn rescue(&mut self, lane: usize, age_ns: u64) -> Option<usize> {
        let timing = under_way(lane, age_ns);
        self.window.rescue(timing, false, view(&self.lanes, self.now_ns, self.most_placed_bytes))
    }

    /// The same where much was tried a second time before.
    fn rescue_more(&mut self, lane: usize, age_ns: u64) -> Option<usize> {
        self.window.rescue(
            under_way(lane, age_ns),
            true,
            view(&self.lanes, self.now_ns, self.most_placed_bytes),
        )
    }
}

/// An attempt that is under way since so long.
fn under_way(lane: usize, age_ns: u64) -> Timing {
    let (at_least_ns, at_most_ns) = (age_ns, age_ns);
    Timing { lane, length_bytes: 64 * KIB, at_least_ns, at_most_ns, older_bytes: 0 }
}

fn view(lanes: &[Lane], now_ns: u64, most_placed_bytes: u64) -> Lanes<'_> {
    let in_flight_bytes = lanes.iter().map(|lane| lane.in_flight_bytes).sum();
    let idle = lanes.iter().filter(|lane| lane.in_flight_bytes == 0).count();
    Lanes { lanes, in_flight_bytes, idle, most_placed_bytes, now_ns }
}
