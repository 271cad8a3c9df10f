//! The empirical cumulative distribution function.

use crate::Sample;

/// F(x) = share of the values that are at most x.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ecdf<'a> {
    sample: &'a Sample,
}

/// One step of the function: from `value` on, the share is `share`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// A distinct value of the sample.
    pub value: f64,
    /// Share of values at most this one; 1 at the last step.
    pub share: f64,
}

impl<'a> Ecdf<'a> {
    /// Returns the function of a sample.
    pub fn new(sample: &'a Sample) -> Self {
        Self { sample }
    }

    /// Returns the number of values behind the function.
    pub fn n(&self) -> usize {
        self.sample.n()
    }

    /// F(x); `None` for NaN, which has no place in an order.
    pub fn evaluate(&self, x: f64) -> Option<f64> {
        if x.is_nan() {
            return None;
        }
        let at_most = self.sample.values().partition_point(|&v| v <= x);
        Some(at_most as f64 / self.n() as f64)
    }

    /// Returns the steps, one for each distinct value in ascending order.
    pub fn steps(&self) -> impl Iterator<Item = Step> + 'a {
        let values = self.sample.values();
        let n = values.len();
        (0..n)
            .filter(move |&i| i + 1 == n || values[i] < values[i + 1])
            .map(move |i| Step { value: values[i], share: (i + 1) as f64 / n as f64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_make_one_step() {
        let sample = Sample::new(vec![2.0, 1.0, 2.0, 4.0]).unwrap();
        let steps: Vec<_> = Ecdf::new(&sample).steps().map(|s| (s.value, s.share)).collect();
        assert_eq!(steps, [(1.0, 0.25), (2.0, 0.75), (4.0, 1.0)]);
    }

    #[test]
    fn is_zero_before_and_one_after_the_data() {
        let sample = Sample::new(vec![1.0, 2.0]).unwrap();
        let ecdf = Ecdf::new(&sample);
        assert_eq!(ecdf.evaluate(f64::NEG_INFINITY), Some(0.0));
        assert_eq!(ecdf.evaluate(1.0), Some(0.5));
        assert_eq!(ecdf.evaluate(f64::INFINITY), Some(1.0));
        assert_eq!(ecdf.evaluate(f64::NAN), None);
    }
}
