//! Scores: who is slow, by how much, and what to do about it.

pub(crate) mod numbers;
mod peaks;
mod record;
mod rows;

pub use numbers::NUMBERS;
pub use peaks::{notes, why};
pub use record::{View, record};

pub(crate) use record::locality;
pub(crate) use record::verdict;
