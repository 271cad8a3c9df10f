//! Which target is through first with what it has.

use crate::Member;

impl Member {
    /// Returns the target that would be through first with what was in flight there when this process last looked, and with what `more`
    /// says of it and of how much was written out there; of those that are known to be about as fast as any. Where it says nothing, the target takes no more.
    pub fn quickest(&self, more: impl Fn(usize, u64) -> Option<u64>) -> Option<usize> {
        let policy = self.leases.policy();
        let known = |at: &usize| self.is_open(*at) && policy.delay_ns(*at).is_some();
        quickest((0..self.leases.lanes().len()).filter(known).map(|at| {
            let lane = &self.leases.lanes()[at];
            let ended_bytes = lane.placed_bytes.saturating_sub(lane.in_flight_bytes);
            let bytes = more(at, ended_bytes).map(|it| lane.in_flight_bytes.saturating_add(it));
            Load { at, bytes, window_bytes: policy.window_bytes(at) }
        }))
    }

    /// Returns whether something has ended on each target that takes data.
    pub fn knows_all(&self) -> bool {
        let known = |at| !self.is_open(at) || self.leases.policy().delay_ns(at).is_some();
        (0..self.leases.lanes().len()).all(known)
    }

    fn is_open(&self, lane: usize) -> bool {
        self.leases.lanes()[lane].failure.is_none()
    }
}

/// What a target has to do.
#[derive(Debug, Clone, Copy)]
struct Load {
    /// Its place in the list of targets.
    at: usize,
    /// Nothing if it takes no more.
    bytes: Option<u64>,
    /// What it takes in the time that is aimed at.
    window_bytes: u64,
}

/// A target that takes less than this part of what the fastest does is slow.
const SLOW_PART: u64 = 8;

/// In which parts of a window times are compared.
const PARTS: u128 = 1 << 16;

/// Returns the target that is through first. Slow ones do not count, also while all fast ones take no more: several processes that each find one free would keep it busy for long.
fn quickest(loads: impl Iterator<Item = Load> + Clone) -> Option<usize> {
    let most = loads.clone().map(|it| it.window_bytes).max()?;
    let fast = loads.filter(|it| it.window_bytes >= most / SLOW_PART);
    let times = fast.filter_map(|it| {
        let window = u128::from(it.window_bytes.max(1));
        Some((u128::from(it.bytes?) * PARTS / window, it.at))
    });
    times.min().map(|(_, at)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(loads: &[(u64, u64)]) -> Option<usize> {
        let some: Vec<_> = loads.iter().map(|(bytes, window)| (Some(*bytes), *window)).collect();
        of_some(&some)
    }

    fn of_some(loads: &[(Option<u64>, u64)]) -> Option<usize> {
        let loads = loads.iter().enumerate();
        quickest(loads.map(|(at, (bytes, window_bytes))| Load {
            at,
            bytes: *bytes,
            window_bytes: *window_bytes,
        }))
    }

    /// The symptom: once the fast targets had their part of a buffer, the slowest one of all got the next segment, which was seconds of its time.
    #[test]
    fn a_slow_target_does_not_become_fast_while_the_others_are_full() {
        assert_eq!(of_some(&[(None, 100), (Some(0), 6), (None, 100)]), None);
        assert_eq!(of_some(&[(None, 100), (Some(0), 6), (Some(50), 90)]), Some(2));
    }

    #[test]
    fn what_counts_is_the_time_and_slow_ones_do_not_count() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(10, 100), (5, 30), (11, 100)]), Some(0));
        assert_eq!(of(&[(60, 100), (5, 12), (90, 50)]), Some(1));
        assert_eq!(of(&[(60, 100), (0, 11), (90, 50)]), Some(0));
        assert_eq!(of(&[(u64::MAX, 0), (u64::MAX, u64::MAX)]), Some(1));
        assert_eq!(of(&[(3, 0)]), Some(0));
    }
}
