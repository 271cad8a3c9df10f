//! The throttle: what a target may take in from others (Huang 3.3).

/// A throttling factor in millionths: data moved in over data that was the target's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Factor {
    millionths: u64,
}

const ONE: u64 = 1_000_000;

impl Factor {
    /// Nothing is bounded.
    pub const NONE: Factor = Factor { millionths: u64::MAX };
    /// Nothing moves.
    pub const ZERO: Factor = Factor { millionths: 0 };

    /// `millionths` of a target's own data. 100,000 is the paper's 0.1.
    pub const fn from_millionths(millionths: u64) -> Self {
        Factor { millionths }
    }

    /// False for [`NONE`](Self::NONE).
    pub const fn bounds(self) -> bool {
        self.millionths != u64::MAX
    }

    /// The factor times `bytes`, rounded up. Saturates.
    pub fn of(self, bytes: u64) -> u64 {
        if !self.bounds() {
            return u64::MAX;
        }
        let product = u128::from(bytes) * u128::from(self.millionths);
        u64::try_from(product.div_ceil(u128::from(ONE))).unwrap_or(u64::MAX)
    }
}

/// What is counted for one target: its own data, and what came from others.
///
/// A write may move in while less has moved in than the allowance, so that at the end no
/// more than the allowance rounded up by less than one write is in. The paper grants
/// also when the ratio equals the factor; here not, so that factor 0 means that nothing
/// moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Throttle {
    factor: Factor,
    own_bytes: u64,
    moved_in_bytes: u64,
}

impl Throttle {
    /// Nothing counted yet.
    pub fn new(factor: Factor) -> Self {
        Throttle { factor, own_bytes: 0, moved_in_bytes: 0 }
    }

    /// More data that belongs to this target.
    pub fn add_own(&mut self, bytes: u64) {
        self.own_bytes = self.own_bytes.saturating_add(bytes);
    }

    /// What may still move in before the allowance is reached; 0 is nothing.
    pub fn room_bytes(&self) -> u64 {
        self.factor.of(self.own_bytes).saturating_sub(self.moved_in_bytes)
    }

    /// Books a write that moves in, if there is any room.
    #[must_use]
    pub fn admit(&mut self, bytes: u64) -> bool {
        let admitted = self.room_bytes() > 0;
        if admitted {
            self.moved_in_bytes = self.moved_in_bytes.saturating_add(bytes);
        }
        admitted
    }

    /// A write that moved in was not written after all.
    pub fn take_back(&mut self, bytes: u64) {
        self.moved_in_bytes = self.moved_in_bytes.saturating_sub(bytes);
    }

    /// Data that moved in.
    pub fn moved_in_bytes(&self) -> u64 {
        self.moved_in_bytes
    }

    /// The invariant: moved in is at most the allowance plus one write of `largest_bytes`.
    pub fn is_kept(&self, largest_bytes: u64) -> bool {
        let most = self.factor.of(self.own_bytes).saturating_add(largest_bytes);
        self.moved_in_bytes <= most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allowance_is_rounded_up_to_whole_writes() {
        let mut throttle = Throttle::new(Factor::from_millionths(307_692));
        throttle.add_own(16);
        let granted = (0..16).filter(|_| throttle.admit(1)).count();
        assert_eq!(granted, 5, "4.92 of 16");
        let mut throttle = Throttle::new(Factor::from_millionths(100_000));
        throttle.add_own(16 << 20);
        assert!(throttle.admit(1 << 20) && throttle.admit(1 << 20) && !throttle.admit(1 << 20));
        assert!(throttle.is_kept(1 << 20));
        assert!(!throttle.is_kept(1 << 10), "two writes are more than 1.6 and a small one");
        throttle.take_back(1 << 20);
        assert!(throttle.admit(1 << 20));
    }

    #[test]
    fn zero_moves_nothing_and_none_bounds_nothing() {
        let mut zero = Throttle::new(Factor::ZERO);
        zero.add_own(u64::MAX);
        assert!(!zero.admit(1));
        let mut none = Throttle::new(Factor::NONE);
        assert!(none.admit(u64::MAX) || none.room_bytes() == 0);
        assert_eq!(Factor::from_millionths(2_000_000).of(u64::MAX), u64::MAX);
    }
}
