//! The law: how windows follow the delay of writes.

use super::{KIB, WINDOW_BYTES_MAX, Window};
use crate::placement::{Lanes, Timing};

/// The least window, as a part of the least lease: how seldom a slow target is asked.
const TURNS_MAX: u64 = 16;

/// Of what is left, the part that is enough as a share.
const LEFT_PART: u64 = 8;

/// The aim is never more than so many times the setting.
const AIM_MAX: u64 = 1 << 10;

impl Window {
    /// An attempt ended: its delay changes its lane's window.
    #[inline]
    pub(super) fn learn(&mut self, timing: Timing, lanes: &Lanes<'_>) {
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
    pub(super) fn learn_late(&mut self, timing: Timing, before: u8) -> u8 {
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
