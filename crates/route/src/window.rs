//! Policy `window`: a delay-controlled window of bytes in flight per target.
//!
//! Congestion control as in TCP Vegas, for storage: a target whose writes become durable
//! sooner than a delay that is aimed at may have more in flight, one that takes longer less.
//! The window then is rate times delay without the rate being known, on every node, with
//! nothing said between nodes: they meet in the storage's own delay.

mod settings;

use std::sync::Arc;

use crate::TargetId;
use crate::placement::{Advice, Lanes, Placement, Timing, Waiting};
use crate::prefetch::prefetch;
use crate::spread::spread;

pub use settings::WindowSettings;

const KIB: u64 = 1 << 10;

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

/// The least window, as a part of the least lease: how seldom a slow target is asked.
const TURNS_MAX: u64 = 16;

/// Of what is left, the part that is enough as a share.
const LEFT_PART: u64 = 8;

/// The aim is never more than this many times the setting.
const AIM_MAX: u64 = 1 << 10;

/// The end is far while more waits than this many times what all windows hold.
const END_WINDOWS: u64 = 2;

/// In which parts of a window are counted.
const WHOLE: u64 = 1 << 10;

/// Leases that a window holds, where they are not too small or too large: more than one, so
/// that a target has something to do while the end of one is noticed; two overshot on limited
/// devices.
const LEASES: u64 = 4;

/// Leases are whole multiples of this, so that logs stay aligned.
const GRAIN_BYTES: u64 = 64 * KIB;

/// See [`Window::lanes`].
const NODES_PER_TARGET: u64 = 8;
const LANES_MIN: u64 = 16;

impl Window {
    /// For a node with this many targets and writers.
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

// The law: how windows follow the delay of writes.
impl Window {
    /// An attempt ended: its delay changes its lane's window.
    #[inline]
    fn learn(&mut self, timing: Timing, lanes: &Lanes<'_>) {
        let Timing { lane, length_bytes, at_least_ns, at_most_ns } = timing;
        self.smooth(lane, at_most_ns);
        self.aim(at_least_ns, length_bytes);
        let aim_ns = self.aim_ns;
        let window_bytes = self.window_bytes(lane);
        // Of a window that is less than a lease, it changes no more than by its own size.
        let unit = length_bytes.min(window_bytes);
        let change = |delay_ns: u64| {
            let ratio = aim_ns.saturating_mul(unit) / delay_ns.max(1);
            ratio.clamp(unit / 4, unit * 2)
        };
        if at_most_ns <= aim_ns {
            // A window that is not used does not grow.
            let used = lanes.lanes[lane].in_flight_bytes + length_bytes;
            if used.saturating_mul(2) > window_bytes {
                self.set_window(lane, window_bytes - unit + change(at_most_ns));
            }
        } else if at_least_ns > aim_ns {
            self.set_window(lane, window_bytes - unit + change(at_least_ns));
        }
    }

    /// Halves the window when an attempt is still under way at twice the aim, 4 times, ... Before
    /// anything has ended nobody knows what is late: the node may be one of very many, and
    /// those that held back would leave the storage to those that did not.
    fn learn_late(&mut self, timing: Timing, before: u8) -> u8 {
        const REACTIONS_MAX: u8 = 8;
        let limit_ns = self.aim_ns.saturating_mul(2 << before);
        if self.mean_ns == 0 || before >= REACTIONS_MAX || timing.at_least_ns < limit_ns {
            return before;
        }
        let known = &mut self.controls[timing.lane].delay_ns;
        *known = (*known).max(timing.at_least_ns);
        self.set_window(timing.lane, self.window_bytes(timing.lane) / 2);
        self.has_late = true;
        before + 1
    }

    fn set_window(&mut self, lane: usize, bytes: u64) {
        let most = self.settings.window_bytes_max.min(WINDOW_BYTES_MAX);
        let bytes = bytes.min(most).max(self.settings.lease_bytes_min / TURNS_MAX).max(1);
        self.sum_bytes = self.sum_bytes - self.window_bytes(lane) + bytes;
        self.controls[lane].window_bytes = bytes as u32;
    }

    #[inline]
    fn smooth(&mut self, lane: usize, delay_ns: u64) {
        let known = &mut self.controls[lane].delay_ns;
        *known = if *known == 0 { delay_ns.max(1) } else { *known - *known / 4 + delay_ns / 4 };
    }

    /// The fair share, which the windows together should not be less than. Of what is left, if
    /// that is known, a small part must do, as far as every lane has a lease.
    #[inline]
    fn floor_bytes(&self) -> u64 {
        let share = self.settings.share_bytes_per_writer * u64::from(self.writers);
        let every_lane = self.settings.lease_bytes_min * self.controls.len() as u64;
        share.min((self.left_bytes / LEFT_PART).max(every_lane))
    }

    /// Aims at the delay that the node would see if its windows added up to the floor, delay
    /// being in proportion to what is in flight; never at less than the setting. So windows that
    /// add up to less grow, and those that add up to more shrink, whatever the delay is.
    #[inline]
    fn aim(&mut self, delay_ns: u64, ended_bytes: u64) {
        self.mean_ns = self.mean_with(delay_ns, ended_bytes);
        let tau_ns = self.settings.tau_ns;
        let floor_bytes = self.floor_bytes();
        self.aim_ns = if self.mean_ns <= tau_ns && floor_bytes <= self.sum_bytes {
            tau_ns
        } else {
            let sum_kib = (self.sum_bytes / KIB).max(1);
            let at_floor_ns = self.mean_ns.saturating_mul(floor_bytes / KIB) / sum_kib;
            at_floor_ns.clamp(tau_ns, tau_ns.saturating_mul(AIM_MAX))
        };
    }

    /// The mean delay, of about as many bytes as all windows hold.
    #[inline]
    fn mean_with(&self, delay_ns: u64, ended_bytes: u64) -> u64 {
        let bytes = ended_bytes.min(self.sum_bytes);
        let part = |difference_ns: u64| difference_ns.saturating_mul(bytes) / self.sum_bytes;
        match self.mean_ns {
            0 => delay_ns,
            mean_ns if delay_ns > mean_ns => mean_ns + part(delay_ns - mean_ns),
            mean_ns => mean_ns - part(mean_ns - delay_ns),
        }
    }
}

// Where the next lease goes, and how large it is.
impl Window {
    /// Where the next piece goes, and how much of it.
    #[inline]
    fn choose(&mut self, waiting: &Waiting, lanes: &Lanes<'_>) -> Option<Advice> {
        self.left_bytes = if waiting.is_last { waiting.node_bytes } else { u64::MAX };
        let offer = if waiting.is_last {
            Offer {
                waiting,
                horizon_ns: self.horizon_ns(waiting),
                fill: self.fill(waiting),
                most_bytes: self.lease_bytes_max(waiting),
            }
        } else {
            Offer {
                waiting,
                horizon_ns: u64::MAX,
                fill: WHOLE,
                most_bytes: self.settings.lease_bytes_max,
            }
        };
        // Near the end leases get smaller, which makes room everywhere.
        let is_end_far = !waiting.is_last || waiting.node_bytes / END_WINDOWS > self.sum_bytes;
        let best = match waiting.only_lane {
            Some(lane) if is_end_far => {
                let lease = self.lease_on(lane, &offer, lanes);
                lease.map(|length_bytes| Advice { lane, length_bytes })
            }
            _ => self.least_filled(&offer, lanes),
        };
        best.or_else(|| self.next_in_turn(&offer, lanes))
    }

    /// The largest lease that is good now: towards the end smaller, so that all targets end
    /// together.
    #[inline]
    fn lease_bytes_max(&self, waiting: &Waiting) -> u64 {
        let share = waiting.node_bytes / (2 * self.controls.len() as u64);
        self.settings
            .lease_bytes_max
            .min(share / GRAIN_BYTES * GRAIN_BYTES)
            .max(self.settings.lease_bytes_min)
    }

    #[inline]
    fn lease_bytes(&self, lane: usize, offer: &Offer<'_>) -> u64 {
        if offer.waiting.is_retry {
            return offer.waiting.length_bytes;
        }
        let lease = self.window_bytes(lane) / LEASES / GRAIN_BYTES * GRAIN_BYTES;
        let lease = lease.min(offer.most_bytes).max(self.settings.lease_bytes_min);
        lease.min(offer.waiting.length_bytes)
    }

    /// How long everything that waits will take, windows being rates times the aim.
    #[inline]
    fn horizon_ns(&self, waiting: &Waiting) -> u64 {
        let waits = (waiting.node_bytes / KIB).saturating_mul(self.aim_ns);
        self.aim_ns.saturating_add(waits / (self.sum_bytes / KIB).max(1))
    }

    /// The part of a window that may be filled, in parts of `WHOLE`: all of it until what waits
    /// is less than half of what all windows hold, then less and less. Else all that is left
    /// would go where room happens to be next.
    #[inline]
    fn fill(&self, waiting: &Waiting) -> u64 {
        if waiting.node_bytes >= self.sum_bytes {
            return WHOLE;
        }
        (2 * WHOLE * (waiting.node_bytes / KIB) / (self.sum_bytes / KIB).max(1)).min(WHOLE)
    }

    /// What a delay as it was measured belongs to: a full window, or one lease.
    #[inline]
    fn full_bytes(&self, lane: usize) -> u64 {
        self.window_bytes(lane).max(self.settings.lease_bytes_min)
    }

    /// Whether a lease that makes `out_bytes` in flight on the lane would take longer than
    /// `most_ns`. Multiplies instead of dividing: it is asked for every lane and lease.
    #[inline]
    fn takes_longer(&self, lane: usize, out_bytes: u64, most_ns: u64) -> bool {
        let full_ns = self.controls[lane].delay_ns.max(self.settings.tau_ns / 4);
        let full_bytes = self.full_bytes(lane);
        let is_shorter_at_once = full_ns <= most_ns && out_bytes <= full_bytes;
        !is_shorter_at_once && product(full_ns, out_bytes) > product(most_ns, full_bytes)
    }

    /// How long a lease would take that makes `out_bytes` in flight on the lane.
    fn expected_ns(&self, lane: usize, out_bytes: u64) -> u64 {
        let full_ns = self.controls[lane].delay_ns.max(self.settings.tau_ns / 4);
        let expected = product(full_ns, out_bytes) / u128::from(self.full_bytes(lane));
        u64::try_from(expected).unwrap_or(u64::MAX)
    }

    /// Whether the window of a lane has room. A window of half a lease counts as a whole one.
    #[inline]
    fn fits(&self, lane: usize, length_bytes: u64, fill: u64, lanes: &Lanes<'_>) -> bool {
        let (out_bytes, window_bytes) =
            (lanes.lanes[lane].in_flight_bytes, self.window_bytes(lane));
        out_bytes + length_bytes <= window_bytes * fill / WHOLE
            || out_bytes == 0 && length_bytes <= 2 * window_bytes
    }

    /// It must not be under way on a lane when everything else is done.
    #[inline]
    fn ends_in_time(
        &self,
        lane: usize,
        length_bytes: u64,
        offer: &Offer<'_>,
        lanes: &Lanes<'_>,
    ) -> bool {
        let out_bytes = lanes.lanes[lane].in_flight_bytes + length_bytes;
        !self.takes_longer(lane, out_bytes, offer.horizon_ns)
    }

    /// How much of what waits may go to a lane now, if its window has room.
    #[inline]
    fn lease_on(&self, lane: usize, offer: &Offer<'_>, lanes: &Lanes<'_>) -> Option<u64> {
        let length_bytes = self.lease_bytes(lane, offer);
        let is_good = lanes.admits(lane)
            && self.fits(lane, length_bytes, offer.fill, lanes)
            && self.ends_in_time(lane, length_bytes, offer, lanes);
        is_good.then_some(length_bytes)
    }

    /// How full a lane's window would be, in quarters; more than full where it is smaller than
    /// the lease. Coarse on purpose: nodes that see the same delays would all take the very
    /// best lane and crowd it, so among lanes that are about as full each node has its turn.
    #[inline]
    fn fullness(&self, lane: usize, length_bytes: u64, lanes: &Lanes<'_>) -> u64 {
        let out_bytes = lanes.lanes[lane].in_flight_bytes + length_bytes;
        (4 * out_bytes / self.window_bytes(lane)).min(4)
    }

    /// The least full lane where the lease fits.
    fn least_filled(&mut self, offer: &Offer<'_>, lanes: &Lanes<'_>) -> Option<Advice> {
        let mut best: Option<(Advice, u64)> = None;
        let all = self.controls.len();
        let mut lane = usize::from(self.turn);
        for _ in 0..all {
            lane = if lane + 1 == all { 0 } else { lane + 1 };
            let Some(length_bytes) = self.lease_on(lane, offer, lanes) else { continue };
            let fullness = self.fullness(lane, length_bytes, lanes);
            if best.is_none_or(|(_, known)| fullness < known) {
                best = Some((Advice { lane, length_bytes }, fullness));
            }
            if fullness == 0 {
                break;
            }
        }
        let (place, _) = best?;
        self.turn = place.lane as u16;
        Some(place)
    }

    /// Whether less is in flight than all windows hold. What is beyond the window of a lane that
    /// is late does not count: others must not wait for it.
    fn has_room_for_a_turn(&mut self, lanes: &Lanes<'_>) -> bool {
        if lanes.in_flight_bytes < self.sum_bytes {
            return true;
        }
        if !self.has_late {
            return false;
        }
        let beyond = |lane: usize| {
            let out_bytes = lanes.lanes[lane].in_flight_bytes;
            let is_beyond = out_bytes > self.full_bytes(lane);
            if is_beyond { out_bytes - self.window_bytes(lane) } else { 0 }
        };
        let stuck_bytes: u64 = (0..self.controls.len()).map(beyond).sum();
        self.has_late = stuck_bytes > 0;
        lanes.in_flight_bytes - stuck_bytes < self.sum_bytes
    }

    /// Lanes whose windows are less than a lease take turns, each as often as its window says
    /// (deficit round robin), while the node has less in flight than all windows together: so a
    /// slow lane is tried now and then, and no number of lanes is too many.
    fn next_in_turn(&mut self, offer: &Offer<'_>, lanes: &Lanes<'_>) -> Option<Advice> {
        if lanes.idle == 0 || !self.has_room_for_a_turn(lanes) {
            return None;
        }
        let mut best: Option<(Advice, u64)> = None;
        let all = self.controls.len();
        let mut lane = usize::from(self.turn);
        for _ in 0..all {
            lane = if lane + 1 == all { 0 } else { lane + 1 };
            if lanes.lanes[lane].in_flight_bytes > 0 || !lanes.admits(lane) {
                continue;
            }
            let length_bytes = self.lease_bytes(lane, offer);
            if !self.ends_in_time(lane, length_bytes, offer, lanes) {
                continue;
            }
            let control = &mut self.controls[lane];
            let credit = u64::from(control.credit_bytes) + u64::from(control.window_bytes);
            control.credit_bytes = u32::try_from(credit).unwrap_or(u32::MAX);
            if best.is_none_or(|(_, known)| known < credit) {
                best = Some((Advice { lane, length_bytes }, credit));
            }
            if credit >= length_bytes {
                break;
            }
        }
        let (place, _) = best?;
        self.turn = place.lane as u16;
        let credit_bytes = &mut self.controls[place.lane].credit_bytes;
        *credit_bytes = u64::from(*credit_bytes).saturating_sub(place.length_bytes) as u32;
        Some(place)
    }

    /// Where to try an attempt a second time, if that is worth its bytes.
    fn second_attempt(&self, timing: Timing, lanes: &Lanes<'_>) -> Option<usize> {
        if !self.settings.rescue {
            return None;
        }
        let delay_ns = self.controls[timing.lane].delay_ns;
        let age_ns = timing.at_least_ns;
        // What is late already is expected to be late by as much again.
        let left_ns = if delay_ns > age_ns { delay_ns - age_ns } else { age_ns };
        // Not worth its bytes where all ends within about the usual delay anyway.
        if left_ns <= self.aim_ns / 2 * 3 {
            return None;
        }
        let takes_ns = |lane: usize| {
            self.expected_ns(lane, lanes.lanes[lane].in_flight_bytes + timing.length_bytes)
        };
        let fits = |lane: &usize| {
            *lane != timing.lane
                && lanes.admits(*lane)
                && (lanes.lanes[*lane].in_flight_bytes == 0
                    || self.fits(*lane, timing.length_bytes, WHOLE, lanes))
        };
        let best = (0..self.controls.len()).filter(fits).min_by_key(|lane| takes_ns(*lane))?;
        (left_ns > takes_ns(best).saturating_mul(2)).then_some(best)
    }
}

/// What waits, and the bounds on a lease for it.
struct Offer<'a> {
    waiting: &'a Waiting,
    /// When everything is expected to be done.
    horizon_ns: u64,
    /// The part of a window that may be filled, in parts of `WHOLE`.
    fill: u64,
    most_bytes: u64,
}

fn product(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}
