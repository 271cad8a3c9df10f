//! Self-contained HTML reports: one file, no network, light and dark, print and phone.
//!
//! A [`Page`] is made of [`Section`]s; a section holds text, [`Record`](crate::Record)s,
//! [`Table`]s, [`Tile`]s, [`Finding`]s and [`Chart`]s. Charts are plain data; what is drawn
//! follows from it alone. Without the script every chart but the heat map still shows, and
//! its numbers are in a table below it.
//!
//! Deliberately not here: statistics (box plots take their five numbers), reading of
//! recordings, and the choice of what is worth drawing.

mod axis;
mod bars;
mod boxplots;
mod colour;
mod escape;
mod figure;
mod finding;
mod frame;
mod gantt;
mod heatmap;
mod lines;
mod pack;
mod page;
mod ratio_map;
mod record;
mod scale;
mod scatter;
mod section;
mod stacked;
mod svg;
mod table;
mod thin;
mod ticks;
mod tile;

pub use axis::Axis;
pub use bars::{Bars, size_bucket};
pub use boxplots::{BoxPlots, BoxSummary};
pub use colour::Hue;
pub use figure::Chart;
pub use finding::{Finding, Severity};
pub use gantt::{Gantt, Span};
pub use heatmap::HeatMap;
pub use lines::Lines;
pub use page::{Page, Theme};
pub use scale::Scale;
pub use scatter::Scatter;
pub use section::Section;
pub use stacked::StackedBars;
pub use table::{Cell, Column, Table};
pub use tile::Tile;
