//! How windows, and the delay that is aimed at, follow the delay of writes.

use super::KIB;
use super::state::{Law, WINDOW_BYTES_MAX};
use crate::placement::{Lanes, Timing};

/// The least window, as a part of the least lease: how seldom a slow target is asked.
const TURNS_MAX: u64 = 16;

/// Of what is left, the part that is enough as a share: a larger one for a node that is alone, a smaller one where nodes
/// crowd the targets.
const LEFT_PART: u64 = 4;
const LEFT_PART_ALONE: u64 = 2;
const LEFT_PART_CROWDED: u64 = 8;

/// The aim is never more than this many times the setting.
const AIM_MAX: u64 = 1 << 10;

/// Ends are noticed late where it takes longer than this part of the aim.
const LATE_PART: u64 = 4;

/// A lane on which all had ended when somebody looked grows by so many times what ended.
const DRAINED_TIMES: u64 = 3;

/// How often one attempt that is late changes anything.
pub(super) const REACTIONS_MAX: u8 = 8;

impl Law<'_> {
    /// An attempt ended: its delay changes its lane's window.
    #[inline]
    pub fn learn(&mut self, timing: Timing, lanes: &Lanes<'_>) {
        let Timing { lane, length_bytes, at_least_ns, at_most_ns, .. } = timing;
        self.smooth(lane, at_most_ns);
        self.aim(at_least_ns, length_bytes, lanes);
        self.notice(at_most_ns - at_least_ns, length_bytes);
        if self.is_unsure(timing) && self.grow_if_drained(timing) {
            return;
        }
        let aim_ns = self.node.aim_ns;
        let window_bytes = self.window_bytes(lane);
        // Of a window that is less than a lease, it changes no more than by its own size.
        let unit = length_bytes.min(window_bytes);
        let change = |delay_ns: u64| {
            let ratio = aim_ns.saturating_mul(unit) / delay_ns.max(1);
            ratio.clamp(unit / 4, unit * 2)
        };
        // Who looks seldom must have more in flight: as much as is written until the next look.
        let late_ns = self.late_notice_ns();
        if at_most_ns <= aim_ns {
            // A window that is not used does not grow.
            let used = lanes.lanes[lane].in_flight_bytes + length_bytes;
            if used.saturating_mul(2) > window_bytes {
                self.set_window(lane, window_bytes - unit + change(at_most_ns));
            }
        } else if at_least_ns > aim_ns.saturating_add(late_ns) {
            self.set_window(lane, window_bytes - unit + change(at_least_ns - late_ns));
        }
    }

    /// Whether the delay of an attempt may be anything between very short and too long.
    #[inline]
    fn is_unsure(&self, timing: Timing) -> bool {
        timing.at_most_ns - timing.at_least_ns > self.node.aim_ns / LATE_PART
    }

    /// How much later than they happen ends are noticed; 0 where that is soon enough.
    #[inline]
    pub fn late_notice_ns(&self) -> u64 {
        if self.node.notice_ns > self.node.aim_ns / LATE_PART { self.node.notice_ns } else { 0 }
    }

    /// If all that was in flight on a lane had ended when somebody looked, the lane was idle for an
    /// unknown time, and its window was too small whatever the delay was.
    fn grow_if_drained(&mut self, timing: Timing) -> bool {
        let Timing { lane, length_bytes, at_least_ns, older_bytes, .. } = timing;
        let window_bytes = self.window_bytes(lane);
        let control = &mut self.controls[lane];
        let ended = u64::from(control.ended_bytes).saturating_add(length_bytes);
        if older_bytes > 0 {
            control.ended_bytes = u32::try_from(ended).unwrap_or(u32::MAX);
            return false;
        }
        control.ended_bytes = 0;
        let is_used = ended.saturating_mul(2) > window_bytes;
        let most_ns = self.node.aim_ns.saturating_add(self.late_notice_ns());
        if !is_used || at_least_ns > most_ns {
            return false;
        }
        let times = if at_least_ns <= self.node.aim_ns / LATE_PART { DRAINED_TIMES } else { 1 };
        self.set_window(lane, window_bytes + times * ended.min(window_bytes));
        true
    }

    /// Halves the window when an attempt is still under way at twice the aim, 4 times, ... Before
    /// anything has ended nobody knows what is late: the node may be one of very many, and
    /// those that held back would leave the storage to those that did not.
    pub fn learn_late(&mut self, timing: Timing, before: u8, lanes: &Lanes<'_>) -> u8 {
        if self.node.mean_ns == 0 {
            return self.learn_silence(timing, before, lanes);
        }
        let usual_ns = self.node.aim_ns.saturating_add(self.late_notice_ns());
        let limit_ns = usual_ns.saturating_mul(2 << before);
        if before >= REACTIONS_MAX || timing.at_least_ns < limit_ns {
            return before;
        }
        let known_ns = self.controls[timing.lane].delay_ns;
        self.set_delay(timing.lane, known_ns.max(timing.at_least_ns));
        self.set_window(timing.lane, self.window_bytes(timing.lane) / 2);
        self.node.has_late = 1;
        before + 1
    }

    /// Before anything has ended, windows are not less than they would be had all writers been there at the start. Else the first
    /// lease, which is as long as many writers need it, would be more than the windows that one writer began with hold together, and
    /// all would wait for its end, however slow its target is.
    pub fn begin_with_all_writers(&mut self) {
        if self.node.mean_ns > 0 || self.node.notice_ns > 0 {
            return;
        }
        let start_bytes = self.start_bytes();
        for lane in 0..self.controls.len() {
            if self.window_bytes(lane) < start_bytes {
                self.set_window(lane, start_bytes);
            }
        }
    }

    pub fn set_window(&mut self, lane: usize, bytes: u64) {
        let most = self.settings.window_bytes_max.min(WINDOW_BYTES_MAX);
        let bytes = bytes.min(most).max(self.settings.lease_bytes_min / TURNS_MAX).max(1);
        self.node.sum_bytes = self.node.sum_bytes - self.window_bytes(lane) + bytes;
        self.controls[lane].window_bytes = bytes as u32;
    }

    #[inline]
    fn smooth(&mut self, lane: usize, delay_ns: u64) {
        let known = self.controls[lane].delay_ns;
        let delay_ns = if known == 0 { delay_ns.max(1) } else { known - known / 4 + delay_ns / 4 };
        self.set_delay(lane, delay_ns);
    }

    #[inline]
    fn set_delay(&mut self, lane: usize, delay_ns: u64) {
        let was_slow = self.controls[lane].delay_ns > self.settings.tau_ns;
        let is_slow = delay_ns > self.settings.tau_ns;
        self.controls[lane].delay_ns = delay_ns;
        self.node.slow_lanes = self.node.slow_lanes + u16::from(is_slow) - u16::from(was_slow);
    }

    /// The fair share, which the windows together should not be less than: not less than a lease for each lane, unless
    /// nodes crowd them. Of what is left, if that is known,
    /// a part must do, as far as every lane has a lease.
    #[inline]
    pub fn floor_bytes(&self) -> u64 {
        let mut share = self.settings.share_bytes(self.node.writers);
        if !self.settings.is_crowded() {
            share = share.max(self.every_lane_bytes());
        }
        let part = match self.settings {
            settings if settings.is_alone() => LEFT_PART_ALONE,
            settings if settings.is_crowded() => LEFT_PART_CROWDED,
            _ => LEFT_PART,
        };
        share.min((self.node.left_bytes / part).max(self.every_lane_bytes()))
    }

    #[inline]
    pub fn every_lane_bytes(&self) -> u64 {
        self.settings.lease_bytes_min * self.controls.len() as u64
    }

    /// Aims at the delay that the node would see if its windows added up to the floor, delay
    /// being in proportion to what is in flight; never at less than the setting. So windows that
    /// add up to less grow, and those that add up to more shrink, whatever the delay is.
    #[inline]
    fn aim(&mut self, delay_ns: u64, ended_bytes: u64, lanes: &Lanes<'_>) {
        self.node.mean_ns = match self.node.mean_ns {
            0 => delay_ns,
            mean_ns => self.moved(mean_ns, delay_ns, ended_bytes),
        };
        self.tell_deep_flood();
        let tau_ns = self.settings.tau_ns;
        let mut floor_bytes = self.floor_bytes();
        if self.is_flooded() {
            floor_bytes = floor_bytes.max(self.flood_bytes(lanes.in_flight_bytes));
        }
        self.node.aim_ns = if self.node.mean_ns <= tau_ns && floor_bytes <= self.node.sum_bytes {
            tau_ns
        } else {
            self.delay_at_ns(floor_bytes).clamp(tau_ns, tau_ns.saturating_mul(AIM_MAX))
        };
    }

    /// The delay that the node would see with so much in flight.
    #[inline]
    pub fn delay_at_ns(&self, bytes: u64) -> u64 {
        let sum_kib = (self.node.sum_bytes / KIB).max(1);
        self.node.mean_ns.saturating_mul(bytes / KIB) / sum_kib
    }

    #[inline]
    fn notice(&mut self, late_ns: u64, ended_bytes: u64) {
        if late_ns > 0 || self.node.notice_ns > 0 {
            self.node.notice_ns = self.moved(self.node.notice_ns, late_ns, ended_bytes);
        }
    }

    /// The mean with another value, of about as many bytes as all windows hold.
    #[inline]
    fn moved(&self, mean_ns: u64, value_ns: u64, ended_bytes: u64) -> u64 {
        let sum_bytes = self.node.sum_bytes;
        let bytes = ended_bytes.min(sum_bytes);
        let part = |difference_ns: u64| difference_ns.saturating_mul(bytes) / sum_bytes;
        if value_ns > mean_ns {
            mean_ns + part(value_ns - mean_ns)
        } else {
            mean_ns - part(mean_ns - value_ns)
        }
    }
}
