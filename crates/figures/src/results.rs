//! Results of a benchmark: a short table, and a page with the figures of the papers.
//!
//! [`Measured`] works out what is shown, once; [`record`] and [`page`] lay it out.

mod bandwidth;
mod clients;
mod components;
mod even_sample;
mod labels;
mod measured;
mod nodes;
mod numbers;
mod page;
mod sequences;
mod stragglers;
mod table;
mod times;

pub use measured::Measured;
pub use numbers::NUMBERS;
pub use page::page;
pub use table::record;
