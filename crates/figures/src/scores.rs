//! Scores: who is slow, by how much, and what to do about it: as a record, as a table of all pairs ([`pairs`]), and
//! as entries of a site file ([`write_back`]).

pub(crate) mod numbers;
pub mod pairs;
mod peaks;
mod record;
mod rests;
mod rows;
mod write_back;

pub use numbers::NUMBERS;
pub use peaks::{notes, why};
pub use record::{View, conclusion, conclusion_of, record};
pub use rests::note_on_rests;
pub use write_back::write_back;

pub(crate) use record::locality;
pub(crate) use record::verdict;
