//! How measures scatter while nothing is slow.

use super::Component;

/// Upper quartile of Student's t with 3 degrees of freedom.
const UPPER_QUARTILE: f64 = 0.764_892;

/// Clocks and caches leave at least this much.
const LEAST_SCALE: f64 = 1e-3;

/// Scatter of measures around what is usual for their component, on logarithms.
///
/// Slowness pulls down only, so the scale comes from the upper half of the measures, of all
/// components together. Far from the middle the scatter is taken to be that of Student's t with 3 degrees of
/// freedom, whose tails are heavy, or that of the mirrored upper tail if that is heavier.
#[derive(Debug, Clone, PartialEq)]
pub struct Noise {
    /// Scale of the distribution; about the relative standard deviation of a measure's middle part.
    pub scale: f64,
    /// Measures behind it.
    pub n: usize,
    /// Deviations above, ascending.
    above: Vec<f64>,
}

impl Noise {
    /// From measures that are not low; `None` if there are fewer than ten.
    pub(super) fn new(components: &[Component], limit: f64) -> Option<Self> {
        let mut above = Vec::new();
        let mut n = 0;
        for component in components {
            let mut normal: Vec<f64> = component.measures.iter().map(|it| it.log_ratio).collect();
            normal.retain(|it| *it >= limit);
            n += normal.len();
            let Some(centre) = crate::distribution::median_of(&mut normal) else { continue };
            above.extend(normal.iter().map(|it| it - centre).filter(|it| *it > 0.0));
        }
        above.sort_unstable_by(f64::total_cmp);
        let middle = plimsoll_stats::sample::quantile_sorted(&above, 0.5).unwrap_or(0.0);
        // The median of few deviations may be too small by chance; too large only costs power.
        let margin = 1.0 + 1.0 / (above.len().max(1) as f64).sqrt();
        let scale = (middle / UPPER_QUARTILE * margin).max(LEAST_SCALE);
        (n >= 10).then_some(Noise { scale, n, above })
    }

    /// Where a component's measures lie while it is not slow: from its upper quartile, which slowness
    /// does not reach until it lasts three quarters of the time. Never above the others (then
    /// every measure would look low) nor under the limit.
    pub(super) fn centre(&self, sorted: &[f64], limit: f64) -> f64 {
        let upper = plimsoll_stats::sample::quantile_sorted(sorted, 0.75).unwrap_or(0.0);
        (upper - UPPER_QUARTILE * self.scale).clamp(limit, 0.0)
    }

    /// Probability that noise alone brings a measure so far below its centre.
    pub(super) fn tail(&self, depth: f64) -> f64 {
        let mirrored = self.above.len() - self.above.partition_point(|it| *it < depth);
        let empirical = mirrored as f64 / self.n.max(1) as f64;
        student3_tail(depth / self.scale).max(empirical)
    }
}

/// P(T > x) for Student's t with 3 degrees of freedom, x > 0.
fn student3_tail(x: f64) -> f64 {
    let y = x / 3f64.sqrt();
    // atan2(1, y) is π/2 - atan(y) without losing the digits of a small difference.
    ((1f64.atan2(y) - y / (1.0 + y * y)) / std::f64::consts::PI).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy.stats.t.sf(x, 3)
    #[test]
    fn student_tails() {
        for (x, tail) in [
            (0.764892, 0.25),
            (1.0, 0.195_501_109_5),
            (5.0, 0.007_696_219),
            (20.0, 0.000_136_601_6),
        ] {
            assert!((student3_tail(x) / tail - 1.0).abs() < 1e-4, "{x}: {}", student3_tail(x));
        }
    }
}
