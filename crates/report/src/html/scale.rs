//! Linear or logarithmic.

/// How values become places on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// Equal steps are equal differences.
    #[default]
    Linear,
    /// Equal steps are doublings; values that are not positive cannot be shown.
    Log2,
    /// Equal steps are decades; values that are not positive cannot be shown.
    Log10,
}
