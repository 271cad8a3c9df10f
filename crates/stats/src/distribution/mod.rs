//! The few distributions the other modules need, accurate in their tails and for
//! large samples.
//!
//! As is usual for special functions, an argument outside the domain gives NaN.

mod beta;
mod binomial;
mod normal;
mod student;

pub use beta::symmetric_beta_at_most;
pub use binomial::{binomial_at_least, binomial_at_most};
pub use normal::{normal_cdf, normal_quantile};
pub use student::student_two_sided;
