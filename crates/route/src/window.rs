//! Policy `window`: a delay-controlled window of bytes in flight per target.
//!
//! Congestion control as in TCP Vegas, for storage: a target whose writes become durable
//! sooner than a delay that is aimed at may have more in flight, one that takes longer less.
//! The window then is rate times delay without the rate being known, on every node, with
//! nothing said between nodes: they meet in the storage's own delay.
//!
//! The law itself (`law`, `choice`) is functions over a flat state without pointers (`state`).

mod choice;
mod flood;
mod law;
mod second;
mod settings;
mod state;

use std::sync::Arc;

use self::state::{LaneControl, Law, NodeControl, WINDOW_BYTES_MAX};
use crate::TargetId;
use crate::lease::{KeptPlacement, POLICY_LANE_WORDS, POLICY_NODE_WORDS};
use crate::placement::{Advice, Lanes, Placement, Timing, Waiting};
use crate::prefetch::prefetch;
use crate::spread::spread;

pub use settings::WindowSettings;

const KIB: u64 = 1 << 10;

/// The policy. One for each node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Window {
    settings: Arc<WindowSettings>,
    node: NodeControl,
    controls: Box<[LaneControl]>,
}

/// See [`Window::lanes`].
const NODES_PER_TARGET: u64 = 8;
const LANES_MIN: u64 = 16;
const LANES_PER_WRITER: u64 = 8;

impl Window {
    /// For a node with this many targets and writers.
    pub fn new(settings: impl Into<Arc<WindowSettings>>, targets: usize, writers: u32) -> Self {
        let settings = settings.into();
        let start_bytes = settings.usual_lease_bytes(writers, targets).clamp(1, WINDOW_BYTES_MAX);
        Window {
            node: NodeControl::new(&settings, start_bytes, targets, writers),
            controls: (0..targets)
                .map(|lane| LaneControl::new(start_bytes, lane, targets))
                .collect(),
            settings,
        }
    }

    /// How many of `targets` each of `nodes` should use. Each target has several nodes, so
    /// that it is never idle, and each node several targets, so that it can avoid slow ones;
    /// more would only mean more logs, and more leases in flight at the start: a node with few writers
    /// has little data for many targets.
    pub fn lanes(nodes: u32, writers_per_node: u32, targets: u16) -> u16 {
        let fair = u64::from(targets) * NODES_PER_TARGET / u64::from(nodes.max(1));
        let is_crowded = u64::from(nodes) > NODES_PER_TARGET * u64::from(targets);
        let few = LANES_PER_WRITER * u64::from(writers_per_node.max(1));
        let least = if is_crowded { few.min(LANES_MIN) } else { LANES_MIN };
        fair.max(least).min(u64::from(targets)) as u16
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
        self.node.aim_ns
    }

    #[inline]
    fn law(&mut self) -> Law<'_> {
        Law { settings: &self.settings, node: &mut self.node, controls: &mut self.controls }
    }
}

impl Placement for Window {
    #[inline]
    fn gather_bytes(&self) -> u64 {
        self.settings.usual_lease_bytes(self.node.writers, self.controls.len())
    }

    #[inline]
    fn hold_bytes(&self) -> u64 {
        self.settings.hold_bytes()
    }

    #[inline]
    fn place(&mut self, waiting: Waiting, lanes: Lanes<'_>) -> Option<Advice> {
        self.law().choose(&waiting, &lanes)
    }

    #[inline]
    fn ended(&mut self, timing: Timing, lanes: Lanes<'_>) {
        self.law().learn(timing, &lanes);
    }

    #[inline]
    fn prefetch(&self, lane: usize) {
        self.controls.get(lane).map(prefetch);
    }

    fn look_every_ns(&self) -> Option<u64> {
        Some(self.node.aim_ns.saturating_mul(2))
    }

    fn overdue(&mut self, timing: Timing, before: u8, lanes: Lanes<'_>) -> u8 {
        self.law().learn_late(timing, before, &lanes)
    }

    fn rescue(&mut self, timing: Timing, is_much: bool, lanes: Lanes<'_>) -> Option<usize> {
        self.law().second_attempt(timing, is_much, &lanes)
    }
}

impl KeptPlacement for Window {
    fn node_words(&self) -> [u64; POLICY_NODE_WORDS] {
        self.node.words()
    }

    fn lane_words(&self, lane: usize) -> [u64; POLICY_LANE_WORDS] {
        self.controls[lane].words()
    }

    fn restore(
        &mut self,
        writers: u32,
        node: [u64; POLICY_NODE_WORDS],
        lanes: impl Iterator<Item = [u64; POLICY_LANE_WORDS]>,
    ) {
        let most_bytes = self.settings.window_bytes_max.min(WINDOW_BYTES_MAX);
        for (control, words) in self.controls.iter_mut().zip(lanes) {
            *control = LaneControl::from_words(words, most_bytes);
        }
        self.node = NodeControl::from_words(node, &self.settings, writers, &self.controls);
        self.law().begin_with_all_writers();
    }

    fn seal_after_ns(&self) -> u64 {
        self.node.aim_ns
    }
}
