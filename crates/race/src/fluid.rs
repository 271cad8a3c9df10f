//! The least time in which targets can take a volume, if data were a fluid.

/// A target whose rate changes once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateChange {
    /// Which target.
    pub target: usize,
    /// From when on, in seconds.
    pub after_seconds: f64,
    /// Its rate then, bytes per second.
    pub rate: f64,
}

/// The time at which the integral of all rates reaches `bytes`, in seconds. `None` when it
/// never does.
///
/// With constant rates this is T = sum(D) / sum(B) (Huang's equation 1 in general form).
pub fn fluid_bound(bytes: f64, rates: &[f64], changes: &[RateChange]) -> Option<f64> {
    let mut rates = rates.to_vec();
    let mut changes = changes.to_vec();
    changes.sort_by(|a, b| a.after_seconds.total_cmp(&b.after_seconds));
    let (mut now, mut left) = (0.0, bytes);
    for change in changes {
        let sum: f64 = rates.iter().sum();
        let taken = sum * (change.after_seconds - now).max(0.0);
        if taken >= left {
            break;
        }
        left -= taken;
        now = change.after_seconds.max(now);
        if let Some(rate) = rates.get_mut(change.target) {
            *rate = change.rate;
        }
    }
    let sum: f64 = rates.iter().sum();
    (sum > 0.0).then(|| now + left / sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_rates_and_a_drop_and_one_that_comes_too_late() {
        let rates = [20.0, 20.0, 20.0, 20.0];
        assert_eq!(fluid_bound(400.0, &rates, &[]), Some(5.0));
        let drop = |after_seconds| RateChange { target: 1, after_seconds, rate: 0.0 };
        // Two seconds with 80, then 240 at 60.
        assert_eq!(fluid_bound(400.0, &rates, &[drop(2.0)]), Some(6.0));
        assert_eq!(fluid_bound(400.0, &rates, &[drop(5.5)]), Some(5.0));
        assert_eq!(fluid_bound(1.0, &[0.0], &[]), None);
    }
}
