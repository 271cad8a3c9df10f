//! Where the next lease goes, and how large it is.

use super::{KIB, Window};
use crate::placement::{Advice, Lanes, Timing, Waiting};

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

/// What waits, and the bounds on a lease for it.
struct Offer<'a> {
    waiting: &'a Waiting,
    /// When everything is expected to be done.
    horizon_ns: u64,
    /// The part of a window that may be filled, in parts of `WHOLE`.
    fill: u64,
    most_bytes: u64,
}

impl Window {
    /// Where the next piece goes, and how much of it.
    #[inline]
    pub(super) fn choose(&mut self, waiting: &Waiting, lanes: &Lanes<'_>) -> Option<Advice> {
        self.left_bytes = if waiting.is_last { waiting.node_bytes } else { u64::MAX };
        let offer = match waiting.is_last {
            true => Offer {
                waiting,
                horizon_ns: self.horizon_ns(waiting),
                fill: self.fill(waiting),
                most_bytes: self.lease_bytes_max(waiting),
            },
            false => Offer {
                waiting,
                horizon_ns: u64::MAX,
                fill: WHOLE,
                most_bytes: self.settings.lease_bytes_max,
            },
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
    pub(super) fn second_attempt(&self, timing: Timing, lanes: &Lanes<'_>) -> Option<usize> {
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

fn product(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}
