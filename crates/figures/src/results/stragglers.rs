//! What removing stragglers would give (Xie, fig. 21).

use plimsoll_report::html::{Axis, Lines, Section};
use plimsoll_report::{Unit, words};
use plimsoll_score::gain::Removed;

use super::Measured;

pub fn section(measured: &Measured) -> Section {
    let section = Section::new("What stragglers cost").text(
        "An instance ends with its slowest pair. The gain is the time to the last completion over the \
         time to the last one that stays, if the slowest pair, the two slowest, or all but the fastest \
         had kept up.",
    );
    if measured.gains.is_empty() {
        return section.note("No instance has more than one pair: there is no straggler.");
    }
    let axis = Axis::new("gain, times as fast", Unit::Ratio).reaching(1.0, 1.0);
    let share = Axis::new("instances that gain at most so much", Unit::Percent);
    let share = share.reaching(0.0, 100.0);
    let slowest = measured.gains.iter().find(|it| it.removed == Removed::Slowest);
    let title = match slowest {
        Some(it) => format!(
            "Gain from removing stragglers: without the slowest pair, half of {} would be {} times as fast or more",
            words::count(it.gains.n() as u64, "instance"),
            words::short(it.gains.median())
        ),
        None => "Gain from removing stragglers".into(),
    };
    let mut lines = Lines::new(title, axis, share).steps();
    for gain in &measured.gains {
        let name = match gain.removed {
            Removed::Slowest => "the slowest removed",
            Removed::TwoSlowest => "the two slowest removed",
            Removed::All => "all but the fastest removed",
        };
        lines = lines.distribution(name, gain.gains.values().to_vec());
    }
    section.chart(lines)
}
