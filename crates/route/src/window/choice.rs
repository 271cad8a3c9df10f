//! Where the next lease goes, and how large it is.

use super::KIB;
use super::state::Law;
use crate::placement::{Advice, Lanes, Waiting};

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

/// Smaller ones, where there is little to write, are multiples of this.
const ALIGNMENT_BYTES: u64 = 4 * KIB;

/// A lane with nothing in flight may get a lease of so many windows; of more where requests are known
/// to cost much, because there only large leases are any good.
const IDLE_WINDOWS: u64 = 2;
const IDLE_WINDOWS_COSTLY: u64 = 8;

/// Where ends are noticed late, so much of a window may begin at one look, in parts of `WHOLE`: what
/// begins together ends together, and the lane would be idle until the next look.
const AT_ONE_LOOK: u64 = WHOLE / 4 * 3;

/// How much more of a window is filled near the end in a deep flood.
const DEEP_FILL_TIMES: u64 = 4;

/// What waits, and the bounds on a lease for it.
struct Offer<'a> {
    waiting: &'a Waiting,
    /// When everything is expected to be done.
    horizon_ns: u64,
    /// The part of a window that may be filled, in parts of `WHOLE`.
    fill: u64,
    least_bytes: u64,
    most_bytes: u64,
    /// There is less to write than a lease for each lane: what is least is that everywhere.
    is_little: bool,
    /// The mean window, which tells slow lanes from others.
    mean_bytes: u64,
    /// Leases round to what a window holds, up or down, so that all windows together hold their sum.
    rounds: bool,
}

impl Law<'_> {
    /// Where the next piece goes, and how much of it.
    #[inline]
    pub fn choose(&mut self, waiting: &Waiting, lanes: &Lanes<'_>) -> Option<Advice> {
        self.node.waiting_bytes = waiting.node_bytes;
        self.node.left_bytes = if waiting.is_last { waiting.node_bytes } else { u64::MAX };
        self.node.block_bytes = self.node.block_bytes.max(waiting.submission_bytes);
        let offer = self.offer(waiting, lanes);
        // Near the end leases get smaller, which makes room everywhere.
        let is_end_far = !waiting.is_last || waiting.node_bytes / END_WINDOWS > self.node.sum_bytes;
        let best = match waiting.only_lane {
            Some(lane) if is_end_far => {
                let lease = self.lease_on(lane, &offer, lanes);
                lease.map(|length_bytes| Advice { lane, length_bytes })
            }
            _ => self.least_filled(&offer, lanes),
        };
        best.or_else(|| self.next_in_turn(&offer, lanes))
    }

    #[inline]
    fn offer<'a>(&self, waiting: &'a Waiting, lanes: &Lanes<'_>) -> Offer<'a> {
        let writers = self.node.writers;
        let is_stretched = self.node.aim_ns > self.settings.tau_ns;
        let mut offer = Offer {
            waiting,
            horizon_ns: u64::MAX,
            fill: WHOLE,
            least_bytes: self.settings.usual_lease_bytes(writers, self.controls.len()),
            most_bytes: self.settings.lease_bytes_max,
            is_little: false,
            mean_bytes: self.node.sum_bytes / self.controls.len() as u64,
            rounds: is_stretched
                && (!waiting.is_last || waiting.node_bytes / END_WINDOWS > self.node.sum_bytes),
        };
        if is_stretched {
            // Others share by stream, too: as many leases as there are writers.
            let each = self.floor_bytes() / u64::from(writers.max(1));
            offer.most_bytes = offer.most_bytes.min(each).max(self.settings.lease_bytes_min);
        }
        let is_deep = is_stretched && self.is_deeply_flooded();
        if is_deep {
            let each = self.flood_lease_bytes(lanes.in_flight_bytes) / GRAIN_BYTES * GRAIN_BYTES;
            // What a request is known to cost is lost on others' streams, too.
            let least = if self.settings.request_bytes > 0 {
                offer.least_bytes
            } else {
                self.settings.lease_bytes_min
            };
            offer.most_bytes = offer.most_bytes.min(each).max(least);
            offer.least_bytes = offer.least_bytes.min(offer.most_bytes);
        }
        if waiting.is_last {
            let sum_bytes = self.open_bytes(lanes);
            offer.horizon_ns = self.horizon_ns(waiting, sum_bytes);
            // In a deep flood nearly everything must be in the queues to get its share.
            let times = if is_deep { DEEP_FILL_TIMES } else { 1 };
            offer.fill = (times * fill(waiting, sum_bytes)).min(WHOLE);
            let most_bytes = self.lease_bytes_max(waiting);
            offer.most_bytes = offer.most_bytes.min(most_bytes);
            offer.least_bytes = offer.least_bytes.min(most_bytes);
        }
        self.split_little(&mut offer, lanes);
        offer
    }

    /// Where there is less to write than a lease for each lane, each gets a part of it, so that none is idle. Not where
    /// a lease is for what is yet to come.
    #[inline]
    fn split_little(&self, offer: &mut Offer<'_>, lanes: &Lanes<'_>) {
        let all_bytes = lanes.in_flight_bytes.saturating_add(offer.waiting.node_bytes);
        let each_bytes = all_bytes / self.controls.len() as u64;
        let is_to_come = offer.waiting.length_bytes > offer.waiting.node_bytes;
        if each_bytes >= offer.least_bytes || is_to_come || self.settings.is_crowded() {
            return;
        }
        let each_bytes = each_bytes.next_multiple_of(ALIGNMENT_BYTES);
        let part_bytes = each_bytes.max(self.settings.small_lease_bytes());
        offer.most_bytes = offer.most_bytes.min(part_bytes);
        offer.least_bytes = offer.least_bytes.min(part_bytes);
        offer.is_little = true;
    }

    /// What the windows hold of all lanes that the throttle leaves open.
    fn open_bytes(&self, lanes: &Lanes<'_>) -> u64 {
        if lanes.most_placed_bytes == u64::MAX {
            return self.node.sum_bytes;
        }
        let open = (0..self.controls.len()).filter(|lane| lanes.admits(*lane));
        open.map(|lane| self.window_bytes(lane)).sum()
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
        let window_bytes = self.window_bytes(lane);
        let lease = window_bytes / LEASES / GRAIN_BYTES * GRAIN_BYTES;
        let lease = lease.min(offer.most_bytes).max(self.least_bytes(window_bytes, offer));
        lease.min(offer.waiting.length_bytes)
    }

    /// The least lease on a lane: less where the lane is slower than the others, so that no lease takes
    /// much longer than elsewhere.
    #[inline]
    fn least_bytes(&self, window_bytes: u64, offer: &Offer<'_>) -> u64 {
        let part = if 4 * window_bytes >= 3 * offer.mean_bytes {
            1
        } else if 2 * window_bytes >= offer.mean_bytes {
            2
        } else {
            4
        };
        if offer.is_little {
            return offer.least_bytes;
        }
        (offer.least_bytes / part).max(self.settings.lease_bytes_min)
    }

    /// How long everything that waits will take, windows being rates times the aim.
    #[inline]
    fn horizon_ns(&self, waiting: &Waiting, sum_bytes: u64) -> u64 {
        let aim_ns = self.node.aim_ns.saturating_add(self.late_notice_ns());
        let waits = (waiting.node_bytes / KIB).saturating_mul(aim_ns);
        aim_ns.saturating_add(waits / (sum_bytes / KIB).max(1))
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
    pub fn expected_ns(&self, lane: usize, out_bytes: u64) -> u64 {
        let full_ns = self.controls[lane].delay_ns.max(self.settings.tau_ns / 4);
        let expected = product(full_ns, out_bytes) / u128::from(self.full_bytes(lane));
        u64::try_from(expected).unwrap_or(u64::MAX)
    }

    /// Whether the window of a lane has room. A window of half a lease counts as a whole one.
    #[inline]
    fn fits(&self, lane: usize, length_bytes: u64, offer: &Offer<'_>, lanes: &Lanes<'_>) -> bool {
        let (out_bytes, window_bytes) =
            (lanes.lanes[lane].in_flight_bytes, self.window_bytes(lane));
        if out_bytes == 0 {
            return length_bytes <= self.idle_windows() * window_bytes;
        }
        let slack = if offer.rounds { length_bytes / 2 } else { 0 };
        out_bytes + length_bytes <= window_bytes * offer.fill / WHOLE + slack
            && self.may_begin_now(lane, length_bytes, lanes)
    }

    #[inline]
    fn idle_windows(&self) -> u64 {
        if self.settings.request_bytes > 0 { IDLE_WINDOWS_COSTLY } else { IDLE_WINDOWS }
    }

    /// Whether so much more may begin on a lane at this very moment.
    #[inline]
    fn may_begin_now(&self, lane: usize, length_bytes: u64, lanes: &Lanes<'_>) -> bool {
        if self.late_notice_ns() == 0 {
            return true;
        }
        let at = &lanes.lanes[lane];
        let begun_bytes = at.in_flight_bytes - at.older_bytes(lanes.now_ns);
        let most_bytes = self.window_bytes(lane) * AT_ONE_LOOK / WHOLE;
        begun_bytes == 0 || begun_bytes + length_bytes <= most_bytes
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
            && self.fits(lane, length_bytes, offer, lanes)
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
        let mut lane = usize::from(self.node.turn);
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
        self.node.turn = place.lane as u16;
        Some(place)
    }

    /// Whether less is in flight than all windows hold. What is beyond the window of a lane that
    /// is late does not count: others must not wait for it.
    fn has_room_for_a_turn(&mut self, lanes: &Lanes<'_>) -> bool {
        if lanes.in_flight_bytes < self.node.sum_bytes {
            return true;
        }
        if self.node.has_late == 0 {
            return false;
        }
        let beyond = |lane: usize| {
            let out_bytes = lanes.lanes[lane].in_flight_bytes;
            let is_beyond = out_bytes > self.full_bytes(lane);
            if is_beyond { out_bytes - self.window_bytes(lane) } else { 0 }
        };
        let stuck_bytes: u64 = (0..self.controls.len()).map(beyond).sum();
        self.node.has_late = u32::from(stuck_bytes > 0);
        lanes.in_flight_bytes - stuck_bytes < self.node.sum_bytes
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
        let mut lane = usize::from(self.node.turn);
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
        self.node.turn = place.lane as u16;
        let credit_bytes = &mut self.controls[place.lane].credit_bytes;
        *credit_bytes = u64::from(*credit_bytes).saturating_sub(place.length_bytes) as u32;
        Some(place)
    }
}

/// The part of a window that may be filled, in parts of `WHOLE`: all of it until what waits
/// is less than half of what all windows hold, then less and less. Else all that is left
/// would go where room happens to be next.
#[inline]
fn fill(waiting: &Waiting, sum_bytes: u64) -> u64 {
    if waiting.node_bytes >= sum_bytes {
        return WHOLE;
    }
    (2 * WHOLE * (waiting.node_bytes / KIB) / (sum_bytes / KIB).max(1)).min(WHOLE)
}

fn product(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}
