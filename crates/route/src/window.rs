//! Policy `window`: a delay-controlled window of bytes in flight per target.
//!
//! Congestion control as in TCP Vegas, for storage: a target whose writes become durable
//! sooner than `tau` may have more in flight, one that takes longer less. The window then is
//! rate times `tau` without the rate being known, on every node, with nothing said between
//! nodes: they meet in the storage's own delay.

use std::sync::Arc;

use crate::TargetId;
use crate::placement::{Flight, Lanes, Place, Placement, Waiting};
use crate::prefetch::prefetch;
use crate::spread::spread;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The law's constants, measured on limited loop devices and in simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WindowSettings {
    /// The delay from submission to durable that is aimed at.
    pub tau_ns: u64,
    /// Least lease, and least window: a target that is slow is still asked now and then.
    pub lease_bytes_min: u64,
    /// Largest lease.
    pub lease_bytes_max: u64,
    /// Window of a target at the start. Small: every node starts with it on every target.
    pub start_bytes: u64,
    /// Largest window.
    pub window_bytes_max: u64,
    /// The fair share: a node does not let the sum of its windows fall below this many
    /// bytes for each of its writers, however long the storage takes. Below it windows only
    /// shift to the target with the least delay. Else a neighbour that floods all targets
    /// would starve who watches the delay.
    pub share_bytes_per_writer: u64,
    /// Second attempts at the end.
    pub rescue: bool,
}

impl Default for WindowSettings {
    fn default() -> Self {
        WindowSettings {
            tau_ns: 50_000_000,
            lease_bytes_min: 256 * KIB,
            lease_bytes_max: 4 * MIB,
            start_bytes: 256 * KIB,
            window_bytes_max: 256 * MIB,
            share_bytes_per_writer: 256 * KIB,
            rescue: true,
        }
    }
}

/// One target's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Control {
    window_bytes: u64,
    /// Smoothed delay; 0 before anything ended.
    delay_ns: u64,
}

/// The policy. One for each node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Window {
    settings: Arc<WindowSettings>,
    controls: Box<[Control]>,
    sum_bytes: u64,
    share_bytes: u64,
    /// A window grew that is not the one whose attempt ended.
    is_shifted: bool,
}

/// What waits, and the bounds on a lease for it.
struct Offer<'a> {
    waiting: &'a Waiting,
    horizon_ns: u64,
    most_bytes: u64,
}

/// The end is far while more waits than this many times what all windows hold.
const END_WINDOWS: u64 = 4;

/// Leases are whole multiples of this, so that logs stay aligned.
const GRAIN_BYTES: u64 = 64 * KIB;

impl Window {
    /// For a node with so many targets and writers.
    pub fn new(settings: impl Into<Arc<WindowSettings>>, targets: usize, writers: u32) -> Self {
        let settings = settings.into();
        let start_bytes = settings.start_bytes.max(settings.lease_bytes_min);
        let control = Control { window_bytes: start_bytes, delay_ns: 0 };
        Window {
            controls: vec![control; targets].into(),
            sum_bytes: start_bytes * targets as u64,
            share_bytes: settings.share_bytes_per_writer * u64::from(writers),
            settings,
            is_shifted: false,
        }
    }

    /// The targets of one node of many: `each` of `all`, spread so that every target has
    /// nearly as many nodes as any other and neighbours share few. A node that used
    /// all of a thousand targets would keep a log, and at least one lease, on each.
    pub fn spread(node: u32, all: u16, each: u16) -> Vec<TargetId> {
        spread(node, all, each)
    }

    /// Bytes that may be in flight on the target at `lane`.
    pub fn window_bytes(&self, lane: usize) -> u64 {
        self.controls[lane].window_bytes
    }

    /// Smoothed delay of the target at `lane`, if anything ended there.
    pub fn delay_ns(&self, lane: usize) -> Option<u64> {
        Some(self.controls[lane].delay_ns).filter(|delay_ns| *delay_ns > 0)
    }

    /// The largest lease that is good now: towards the end smaller, so that all targets end
    /// together.
    #[inline]
    fn lease_bytes_max(&self, waiting: &Waiting) -> u64 {
        let most = self.settings.lease_bytes_max.max(self.settings.lease_bytes_min);
        if !waiting.is_last {
            return most;
        }
        let share = waiting.node_bytes / (2 * self.controls.len() as u64);
        most.min(share / GRAIN_BYTES * GRAIN_BYTES).max(self.settings.lease_bytes_min)
    }

    #[inline]
    fn lease_bytes(&self, window_bytes: u64, most: u64) -> u64 {
        let lease = window_bytes / 4 / GRAIN_BYTES * GRAIN_BYTES;
        lease.clamp(self.settings.lease_bytes_min, most)
    }

    /// How long everything that waits will take, windows being rates times `tau`.
    #[inline]
    fn horizon_ns(&self, waiting: &Waiting) -> u64 {
        let tau_ns = self.settings.tau_ns;
        let waits = (waiting.node_bytes / KIB).saturating_mul(tau_ns);
        tau_ns.saturating_add(waits / (self.sum_bytes / KIB).max(1))
    }

    /// Whether a lease that makes `out_bytes` in flight on the lane would take longer than
    /// `most_ns`. Multiplies instead of dividing: it is asked for every lane and lease.
    #[inline]
    fn takes_longer(&self, lane: usize, out_bytes: u64, most_ns: u64) -> bool {
        let control = self.controls[lane];
        let full_ns = control.delay_ns.max(self.settings.tau_ns / 4);
        let is_shorter_at_once = full_ns <= most_ns && out_bytes <= control.window_bytes;
        !is_shorter_at_once && product(full_ns, out_bytes) > product(most_ns, control.window_bytes)
    }

    /// How long a lease would take that makes `out_bytes` in flight on the lane.
    fn expected_ns(&self, lane: usize, out_bytes: u64) -> u64 {
        let control = self.controls[lane];
        let full_ns = control.delay_ns.max(self.settings.tau_ns / 4);
        let expected = product(full_ns, out_bytes) / u128::from(control.window_bytes);
        u64::try_from(expected).unwrap_or(u64::MAX)
    }

    #[inline]
    fn fits(&self, lane: usize, length_bytes: u64, lanes: &Lanes<'_>) -> bool {
        let out_bytes = lanes.lanes[lane].in_flight_bytes;
        out_bytes == 0 || out_bytes + length_bytes <= self.controls[lane].window_bytes
    }

    /// How much of what waits may go to a lane now, if anything.
    #[inline]
    fn lease_on(&self, lane: usize, offer: &Offer<'_>, lanes: &Lanes<'_>) -> Option<u64> {
        if !lanes.admits(lane) {
            return None;
        }
        let waiting = offer.waiting;
        let length_bytes = if waiting.is_retry {
            waiting.length_bytes
        } else {
            let window_bytes = self.controls[lane].window_bytes;
            self.lease_bytes(window_bytes, offer.most_bytes).min(waiting.length_bytes)
        };
        let out_bytes = lanes.lanes[lane].in_flight_bytes + length_bytes;
        // It must not be under way there when everything else is done.
        let is_good = self.fits(lane, length_bytes, lanes)
            && !self.takes_longer(lane, out_bytes, offer.horizon_ns);
        is_good.then_some(length_bytes)
    }

    /// The lane with the lowest (in flight + lease) / window where the lease fits.
    fn least_filled(&self, offer: &Offer<'_>, lanes: &Lanes<'_>) -> Option<Place> {
        let mut best: Option<(Place, u64, u64)> = None;
        let all = self.controls.len();
        let mut lane = offer.waiting.writer as usize % all;
        for _ in 0..all {
            lane = if lane + 1 == all { 0 } else { lane + 1 };
            let Some(length_bytes) = self.lease_on(lane, offer, lanes) else { continue };
            let out_bytes = lanes.lanes[lane].in_flight_bytes + length_bytes;
            let window_bytes = self.controls[lane].window_bytes;
            let is_better = best.is_none_or(|(_, out, window)| {
                product(out_bytes, window) < product(out, window_bytes)
            });
            if is_better {
                best = Some((Place { lane, length_bytes }, out_bytes, window_bytes));
            }
        }
        best.map(|(place, _, _)| place)
    }

    #[inline]
    fn grow(&mut self, lane: usize, bytes: u64) {
        let control = &mut self.controls[lane];
        let grown = (control.window_bytes + bytes).min(self.settings.window_bytes_max);
        self.sum_bytes += grown - control.window_bytes;
        control.window_bytes = grown;
    }

    /// Shrinks a window to no less than a lease; below the node's share it shifts.
    #[inline]
    fn shrink(&mut self, lane: usize, bytes: u64, lanes: &Lanes<'_>) {
        let control = &mut self.controls[lane];
        let shrunk = control.window_bytes.saturating_sub(bytes).max(self.settings.lease_bytes_min);
        let freed = control.window_bytes - shrunk;
        if self.sum_bytes - freed >= self.share_bytes {
            control.window_bytes = shrunk;
            self.sum_bytes -= freed;
            return;
        }
        if let Some(best) = self.quickest(lanes).filter(|best| *best != lane) {
            self.controls[lane].window_bytes = shrunk;
            self.sum_bytes -= freed;
            self.grow(best, freed);
            self.is_shifted = true;
        }
    }

    fn quickest(&self, lanes: &Lanes<'_>) -> Option<usize> {
        let admitted = (0..self.controls.len()).filter(|lane| lanes.admits(*lane));
        admitted.min_by_key(|lane| self.controls[*lane].delay_ns)
    }

    #[inline]
    fn smooth(&mut self, lane: usize, delay_ns: u64) {
        let known = &mut self.controls[lane].delay_ns;
        *known = if *known == 0 { delay_ns.max(1) } else { *known - *known / 4 + delay_ns / 4 };
    }
}

impl Placement for Window {
    #[inline]
    fn place(&mut self, waiting: Waiting, lanes: Lanes<'_>) -> Option<Place> {
        let offer = Offer {
            horizon_ns: if waiting.is_last { self.horizon_ns(&waiting) } else { u64::MAX },
            most_bytes: self.lease_bytes_max(&waiting),
            waiting: &waiting,
        };
        // Near the end leases get smaller, which makes room everywhere.
        let is_end_far = !waiting.is_last || waiting.node_bytes / END_WINDOWS > self.sum_bytes;
        if let (Some(lane), true) = (waiting.only_lane, is_end_far && !self.is_shifted) {
            let length_bytes = self.lease_on(lane, &offer, &lanes)?;
            return Some(Place { lane, length_bytes });
        }
        let best = self.least_filled(&offer, &lanes);
        self.is_shifted &= best.is_some();
        best
    }

    #[inline]
    fn ended(&mut self, flight: Flight, lanes: Lanes<'_>) {
        let Flight { lane, length_bytes, at_least_ns, at_most_ns } = flight;
        let tau_ns = self.settings.tau_ns;
        self.smooth(lane, at_most_ns);
        let change = |delay_ns: u64| {
            let ratio = tau_ns.saturating_mul(length_bytes) / delay_ns.max(1);
            ratio.clamp(length_bytes / 4, length_bytes.saturating_mul(2))
        };
        if at_most_ns <= tau_ns {
            // A window that is not used does not grow.
            let used = lanes.lanes[lane].in_flight_bytes + length_bytes;
            if used.saturating_mul(2) > self.controls[lane].window_bytes {
                self.grow(lane, change(at_most_ns).saturating_sub(length_bytes));
            }
        } else if at_least_ns > tau_ns {
            self.shrink(lane, length_bytes.saturating_sub(change(at_least_ns)), &lanes);
        }
    }

    #[inline]
    fn prefetch(&self, lane: usize) {
        self.controls.get(lane).map(prefetch);
    }

    fn look_every_ns(&self) -> Option<u64> {
        Some(self.settings.tau_ns.saturating_mul(2))
    }

    /// Halves the window when an attempt is still under way at 2 tau, 4 tau, 8 tau, ...
    fn overdue(&mut self, flight: Flight, before: u8, lanes: Lanes<'_>) -> u8 {
        const REACTIONS_MAX: u8 = 8;
        let limit_ns = self.settings.tau_ns.saturating_mul(2 << before);
        if before >= REACTIONS_MAX || flight.at_least_ns < limit_ns {
            return before;
        }
        let known = &mut self.controls[flight.lane].delay_ns;
        *known = (*known).max(flight.at_least_ns);
        self.shrink(flight.lane, self.controls[flight.lane].window_bytes / 2, &lanes);
        before + 1
    }

    fn rescue(&mut self, flight: Flight, lanes: Lanes<'_>) -> Option<usize> {
        if !self.settings.rescue {
            return None;
        }
        let delay_ns = self.controls[flight.lane].delay_ns;
        let age_ns = flight.at_least_ns;
        // What is late already is expected to be late by as much again.
        let left_ns = if delay_ns > age_ns { delay_ns - age_ns } else { age_ns };
        // Not worth its bytes where all ends within about the usual delay anyway.
        let usual_ns = self.settings.tau_ns + self.settings.tau_ns / 2;
        if left_ns <= usual_ns {
            return None;
        }
        let takes_ns = |lane: usize| {
            self.expected_ns(lane, lanes.lanes[lane].in_flight_bytes + flight.length_bytes)
        };
        let fits = |lane: &usize| {
            *lane != flight.lane
                && lanes.admits(*lane)
                && self.fits(*lane, flight.length_bytes, &lanes)
        };
        let best = (0..self.controls.len()).filter(fits).min_by_key(|lane| takes_ns(*lane))?;
        (left_ns > takes_ns(best).saturating_mul(2)).then_some(best)
    }
}

fn product(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}
