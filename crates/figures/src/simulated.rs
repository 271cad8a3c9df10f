//! What simulations gave: a table with the policies side by side or over the values of a sweep, and a page with charts.

mod buffer;
mod conclusion;
mod loss;
pub mod numbers;
mod page;
mod single;
mod sweep;
mod swept;

pub use conclusion::conclusion;
pub use numbers::NUMBERS;
pub use page::page;

use plimsoll_report::Record;
use plimsoll_simulate::{Point, Scenario};

/// Returns a title and what is to be printed of the points of a scenario: one, or those of its sweep.
pub fn record(
    name: &str,
    scenario: &Scenario,
    points: &[Point],
    each_target: bool,
) -> (String, Record) {
    let (title, record) = match &scenario.sweep {
        Some(sweep) => sweep::record(name, scenario, sweep, points),
        None => single::record(name, &points[0], each_target),
    };
    (title, record.sentence("conclusion", conclusion(scenario, points)))
}
