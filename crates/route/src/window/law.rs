//! The law: how windows follow the delay of writes.

use super::{WINDOW_BYTES_MAX, Window};
use crate::placement::{Flight, Lanes};

/// The least window, as a part of the least lease: how seldom a slow target is asked.
const TURNS_MAX: u64 = 16;

/// Of what is left, the part that is enough as a share.
const LEFT_PART: u64 = 32;

/// The aim changes by at most this part of itself while one sum of windows ends.
const AIM_STEP: u64 = 4;

/// The aim is never more than so many times the setting.
const AIM_MAX: u64 = 1 << 10;

impl Window {
    /// An attempt ended: its delay changes its lane's window.
    #[inline]
    pub(super) fn learn(&mut self, flight: Flight, lanes: &Lanes<'_>) {
        let Flight { lane, length_bytes, at_least_ns, at_most_ns } = flight;
        let aim_ns = self.aim_ns;
        self.smooth(lane, at_most_ns);
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
        self.aim(length_bytes);
    }

    /// Halves the window when an attempt is still under way at twice the aim, 4 times, ...
    pub(super) fn learn_late(&mut self, flight: Flight, before: u8) -> u8 {
        const REACTIONS_MAX: u8 = 8;
        let limit_ns = self.aim_ns.saturating_mul(2 << before);
        if before >= REACTIONS_MAX || flight.at_least_ns < limit_ns {
            return before;
        }
        let known = &mut self.controls[flight.lane].delay_ns;
        *known = (*known).max(flight.at_least_ns);
        self.set_window(flight.lane, self.window_bytes(flight.lane) / 2);
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

    /// A longer delay is aimed at while less than the node's share may be in flight. Of what is
    /// left, if that is known, a small part must do, as far as every lane has a lease.
    #[inline]
    fn aim(&mut self, ended_bytes: u64) {
        let every_lane = self.settings.lease_bytes_min * self.controls.len() as u64;
        let share_bytes = self.share_bytes.min((self.left_bytes / LEFT_PART).max(every_lane));
        let tau_ns = self.settings.tau_ns;
        let is_short = self.sum_bytes < share_bytes;
        if !is_short && self.aim_ns == tau_ns {
            return;
        }
        let part_ns = self.aim_ns.saturating_mul(ended_bytes) / (self.sum_bytes * AIM_STEP);
        let step_ns = part_ns.min(self.aim_ns / AIM_STEP);
        self.aim_ns = match is_short {
            true => (self.aim_ns + step_ns).min(tau_ns.saturating_mul(AIM_MAX)),
            false => (self.aim_ns - step_ns).max(tau_ns),
        };
    }
}
