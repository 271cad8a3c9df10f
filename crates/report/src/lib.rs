//! How results look: one [`Record`] gives both the table that people read and the
//! JSON that programs read, from the same [`Number`] definitions that make up
//! docs/numbers.md. Nothing can be printed that is not defined there. [`html`] has the
//! building blocks of reports for a browser, [`words`] writes numbers in sentences.
//!
//! Deliberately not here: printing (`cli`), and what the numbers mean (whoever made the record; for results
//! of this program, `figures`). Only strings are made.

mod chart;
mod fit_plot;
pub mod html;
mod json;
mod number;
mod ratio_map;
mod record;
mod sparkline;
mod styled;
mod table;
mod terminal;
mod value;
mod visible;
pub mod words;

pub use chart::{Bar, bars, line_plot};
pub use fit_plot::{Axes, fit_plot};
pub use json::Envelope;
pub use number::{Number, Unit};
pub use ratio_map::RatioMap;
pub use record::Record;
pub use sparkline::{sparkline, sparkline_within};
pub use styled::{Emphasis, StyledText};
pub use table::{Align, TextTable};
pub use terminal::Layout;
pub use value::Value;
pub use visible::{visible, visible_json, visible_lines};
