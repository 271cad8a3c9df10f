//! Policy `window`: a delay-controlled window of bytes in flight per target.
//!
//! Congestion control as in TCP Vegas, for storage: a target whose writes become durable
//! sooner than a delay that is aimed at may have more in flight, one that takes longer less.
//! The window then is rate times delay without the rate being known, on every node, with
//! nothing said between nodes: they meet in the storage's own delay.

mod choice;
mod law;

use std::sync::Arc;

use crate::TargetId;
use crate::placement::{Advice, Lanes, Placement, Timing, Waiting};
use crate::prefetch::prefetch;
use crate::spread::spread;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The law's constants, measured on limited loop devices and in simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WindowSettings {
    /// The delay from submission to durable that is aimed at.
    pub tau_ns: u64,
    /// Least lease. A target whose window is smaller gets one only now and then.
    pub lease_bytes_min: u64,
    /// Largest lease.
    pub lease_bytes_max: u64,
    /// Largest window, as far as it is less than 4 GiB.
    pub window_bytes_max: u64,
    /// The fair share: a node does not let the sum of its windows fall below this many
    /// bytes for each of its writers, however long the storage takes, but aims at a longer
    /// delay. Else a neighbour that floods the targets would starve who watches the delay.
    pub share_bytes_per_writer: u64,
    /// Second attempts where nothing waits.
    pub rescue: bool,
}

impl Default for WindowSettings {
    fn default() -> Self {
        WindowSettings {
            tau_ns: 50_000_000,
            lease_bytes_min: 256 * KIB,
            lease_bytes_max: 4 * MIB,
            window_bytes_max: 256 * MIB,
            share_bytes_per_writer: MIB,
            rescue: true,
        }
    }
}

/// One target's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Control {
    window_bytes: u32,
    /// Towards the next turn of a target whose window is less than a lease.
    credit_bytes: u32,
    /// Smoothed delay; 0 before anything ended.
    delay_ns: u64,
}

/// The policy. One for each node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Window {
    settings: Arc<WindowSettings>,
    controls: Box<[Control]>,
    sum_bytes: u64,
    writers: u32,
    /// The delay that this node aims at now: longer than the setting while its share would
    /// not be in flight otherwise.
    aim_ns: u64,
    /// Smoothed delay on all lanes together; 0 before anything ended.
    mean_ns: u64,
    /// What is left to place, if that is known: once all writers have closed.
    left_bytes: u64,
    /// The lane that had a turn last.
    turn: u16,
    /// Attempts may be under way that should have ended long ago.
    has_late: bool,
}

/// Windows are kept in 32 bits.
const WINDOW_BYTES_MAX: u64 = u32::MAX as u64;

/// See [`Window::lanes`].
const NODES_PER_TARGET: u64 = 8;
const LANES_MIN: u64 = 16;

impl Window {
    /// For a node with so many targets and writers.
    pub fn new(settings: impl Into<Arc<WindowSettings>>, targets: usize, writers: u32) -> Self {
        let settings = settings.into();
        let start_bytes = settings.lease_bytes_min.clamp(1, WINDOW_BYTES_MAX);
        // Not equal, so that turns do not come to all lanes, and on all nodes, at once.
        let control = |lane: usize| Control {
            window_bytes: start_bytes as u32,
            credit_bytes: (start_bytes * lane as u64 / targets as u64) as u32,
            delay_ns: 0,
        };
        Window {
            controls: (0..targets).map(control).collect(),
            sum_bytes: start_bytes * targets as u64,
            writers,
            aim_ns: settings.tau_ns,
            mean_ns: 0,
            left_bytes: u64::MAX,
            turn: 0,
            has_late: false,
            settings,
        }
    }

    /// How many of `targets` each of `nodes` should use. Each target has several nodes, so
    /// that it is never idle, and each node several targets, so that it can avoid slow ones;
    /// more would only mean more logs, and more leases in flight at the start.
    pub fn lanes(nodes: u32, targets: u16) -> u16 {
        let fair = u64::from(targets) * NODES_PER_TARGET / u64::from(nodes.max(1));
        fair.max(LANES_MIN).min(u64::from(targets)) as u16
    }

    /// The targets of one node of many: `each` of `all`, spread so that every target has
    /// nearly as many nodes as any other and neighbours share few, in an order of the node's
    /// own.
    pub fn spread(node: u32, all: u16, each: u16) -> Vec<TargetId> {
        spread(node, all, each)
    }

    /// Bytes that may be in flight on the target at `lane`.
    pub fn window_bytes(&self, lane: usize) -> u64 {
        u64::from(self.controls[lane].window_bytes)
    }

    /// Smoothed delay of the target at `lane`, if anything ended there.
    pub fn delay_ns(&self, lane: usize) -> Option<u64> {
        Some(self.controls[lane].delay_ns).filter(|delay_ns| *delay_ns > 0)
    }

    /// The delay that is aimed at now.
    pub fn aim_ns(&self) -> u64 {
        self.aim_ns
    }
}

impl Placement for Window {
    #[inline]
    fn place(&mut self, waiting: Waiting, lanes: Lanes<'_>) -> Option<Advice> {
        self.choose(&waiting, &lanes)
    }

    #[inline]
    fn ended(&mut self, timing: Timing, lanes: Lanes<'_>) {
        self.learn(timing, &lanes);
    }

    #[inline]
    fn prefetch(&self, lane: usize) {
        self.controls.get(lane).map(prefetch);
    }

    fn look_every_ns(&self) -> Option<u64> {
        Some(self.aim_ns.saturating_mul(2))
    }

    fn overdue(&mut self, timing: Timing, before: u8, _lanes: Lanes<'_>) -> u8 {
        self.learn_late(timing, before)
    }

    fn rescue(&mut self, timing: Timing, lanes: Lanes<'_>) -> Option<usize> {
        self.second_attempt(timing, &lanes)
    }
}
