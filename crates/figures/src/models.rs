//! Answers of closed-form models. Each module has the numbers that it prints, and makes records of them.

pub mod absorption;
pub mod contention;
pub mod throttle;
pub mod utilization;
