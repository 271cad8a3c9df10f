//! Who was done first, and by how much: what races on real targets and simulations have in common.

use std::collections::BTreeMap;

use plimsoll_report::words;
use plimsoll_stats::{Sample, median_interval};

/// A policy, and how long it took in each round.
#[derive(Debug, Clone, Default)]
pub struct Entrant {
    pub name: String,
    /// Whether it places data without regard to who is fast, which is what one has without a router.
    pub is_static: bool,
    /// Of each round in which it took part; none where something was lost.
    pub rounds: BTreeMap<u64, Option<Finish>>,
}

/// How long a policy took in one round.
#[derive(Debug, Clone, Copy)]
pub struct Finish {
    pub seconds: f64,
    /// Not known where the rates of targets are not.
    pub over_bound: Option<f64>,
}

/// Differences of less than this are told of nobody.
const EQUAL: f64 = 1.01;
const CONFIDENCE: f64 = 0.95;

/// Returns who was done first, and how much longer others took: those that cannot be told apart from the first, and
/// the one that does without a router. Entrants are compared round by round, as conditions may differ between rounds.
pub fn conclusion(entrants: &[Entrant], round: &str) -> String {
    let mut sentences: Vec<String> = Vec::new();
    let mut whole: Vec<(&Entrant, f64)> = entrants
        .iter()
        .filter(|it| it.lost() == 0)
        .filter_map(|it| Some((it, it.median(|time| Some(time.seconds))?)))
        .collect();
    whole.sort_by(|a, b| a.1.total_cmp(&b.1));
    match whole.split_first() {
        None => sentences.push("No policy got all data to the targets.".into()),
        Some(((first, seconds), others)) => {
            sentences.push(of_first(first, *seconds, !others.is_empty(), round));
            sentences.extend(of_others(first, others));
            sentences.extend(of_few(first.rounds.len(), round).filter(|_| !others.is_empty()));
        }
    }
    sentences.extend(entrants.iter().filter(|it| it.lost() > 0).map(|it| {
        let of = words::count(it.rounds.len() as u64, round);
        format!("{} lost data in {} of {of}.", it.name, it.lost())
    }));
    sentences.join(" ")
}

impl Entrant {
    fn lost(&self) -> usize {
        self.rounds.values().filter(|it| it.is_none()).count()
    }

    /// Returns the median over the rounds of what is known in each.
    pub fn median(&self, of: impl Fn(&Finish) -> Option<f64>) -> Option<f64> {
        let values = self.rounds.values().map(|it| of(it.as_ref()?)).collect::<Option<Vec<f64>>>();
        Sample::new(values?).ok().map(|sample| sample.median())
    }

    /// Returns how many times as long as another it took in each round.
    fn times_of(&self, other: &Entrant) -> Option<Sample> {
        let times = self.rounds.iter().filter_map(|(round, own)| {
            let (own, other) = (own.as_ref()?, other.rounds.get(round)?.as_ref()?);
            // Bounds differ where a target changed at another moment.
            let over = |own: &Finish, other: &Finish| Some(own.over_bound? / other.over_bound?);
            Some(over(own, other).unwrap_or(own.seconds / other.seconds))
        });
        Sample::new(times.collect()).ok()
    }
}

fn of_first(first: &Entrant, seconds: f64, has_others: bool, round: &str) -> String {
    let rounds = match first.rounds.len() as u64 {
        1 => format!("one {round}"),
        n => format!("the median of {}", words::count(n, round)),
    };
    let bound = first.median(|time| time.over_bound);
    let bound = bound.map(words::short).map_or(String::new(), |it| match it.as_str() {
        "1" => ", about the least possible time".into(),
        times => format!(", {times} times the least possible time"),
    });
    let what = if has_others { "was done first: it took" } else { "took" };
    format!("{} {what} {}{bound} ({rounds}).", first.name, words::time(seconds))
}

/// How the others compare with the first.
fn of_others(first: &Entrant, others: &[(&Entrant, f64)]) -> Vec<String> {
    let compared: Vec<(&Entrant, Sample, bool)> = others
        .iter()
        .filter_map(|(it, _)| {
            let times = it.times_of(first)?;
            let interval = median_interval(&times, CONFIDENCE).ok();
            let is_close = times.median() < EQUAL || interval.is_some_and(|it| it.low <= 1.0);
            Some((*it, times, is_close))
        })
        .collect();
    let close: Vec<&str> =
        compared.iter().filter(|it| it.2).map(|(it, ..)| it.name.as_str()).collect();
    let mut sentences = Vec::new();
    match close.as_slice() {
        [] => {}
        names if names.len() == others.len() && names.len() > 1 => {
            sentences.push("All others are too close to it to tell them apart.".into());
        }
        [one] => sentences.push(format!("{one} is too close to it to tell them apart.")),
        names => {
            sentences.push(format!("{} are too close to it to tell them apart.", listed(names)));
        }
    }
    let mut slower = compared.iter().filter(|it| !it.2);
    // What one has without a router; if that is the first itself, the next one.
    let stated = match first.is_static {
        true => slower.next(),
        false => slower.clone().find(|it| it.0.is_static).or_else(|| slower.next_back()),
    };
    sentences.extend(stated.map(|(it, times, _)| {
        format!("{} took {} times as long{}.", it.name, words::short(times.median()), spread(times))
    }));
    sentences
}

/// The interval of the median, where there are enough rounds for one.
fn spread(times: &Sample) -> String {
    let interval = median_interval(times, CONFIDENCE).ok();
    interval.map_or(String::new(), |it| {
        format!(" (95 % interval {} to {})", words::short(it.low), words::short(it.high))
    })
}

fn of_few(rounds: usize, round: &str) -> Option<String> {
    match rounds {
        1 => Some(format!("With one {round} of each, nothing is known of the spread.")),
        2..6 => Some(format!("{rounds} {round}s of each are too few for an interval.")),
        _ => None,
    }
}

/// "a, b and c".
pub fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_string(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entrant(name: &str, seconds: &[f64]) -> Entrant {
        let time = |seconds: &f64| {
            let time = Finish { seconds: *seconds, over_bound: Some(seconds / 2.0) };
            seconds.is_finite().then_some(time)
        };
        Entrant {
            name: name.into(),
            is_static: name == "static",
            rounds: (1..).zip(seconds.iter().map(time)).collect(),
        }
    }

    const STEADY: [f64; 6] = [2.0, 2.1, 2.0, 2.2, 2.0, 2.1];

    fn times(factor: f64) -> [f64; 6] {
        STEADY.map(|seconds| seconds * factor)
    }

    #[test]
    fn the_first_is_told_with_what_one_has_without_a_router() {
        let all = [
            entrant("static", &times(3.0)),
            entrant("striped", &times(5.0)),
            entrant("window", &STEADY),
        ];
        assert_eq!(
            conclusion(&all, "race"),
            "window was done first: it took 2.05 s, 1.02 times the least possible time (the median of 6 races). \
             static took 3 times as long (95 % interval 3 to 3)."
        );
        // Without static, the slowest shows what a choice is worth.
        assert!(conclusion(&all[1..], "race").contains("striped took 5 times as long"));
    }

    /// A median alone makes no winner: the interval of the quotients must be above 1.
    #[test]
    fn those_whose_intervals_reach_one_are_not_told_apart() {
        let near = [2.1, 2.0, 2.3, 2.1, 2.2, 2.0];
        let all = [entrant("window", &STEADY), entrant("near", &near)];
        let said = conclusion(&all, "race");
        assert!(said.contains("near is too close to it to tell them apart."), "{said}");
        assert!(!said.contains("as long"), "{said}");
        let all = [entrant("a", &STEADY), entrant("b", &near), entrant("static", &near)];
        let said = conclusion(&all, "race");
        assert!(said.ends_with("All others are too close to it to tell them apart."), "{said}");
    }

    #[test]
    fn routing_that_does_not_pay_is_said_too() {
        let all = [
            entrant("window", &times(1.5)),
            entrant("static", &STEADY),
            entrant("striped", &times(2.0)),
        ];
        let said = conclusion(&all, "race");
        assert!(said.starts_with("static was done first"), "{said}");
        assert!(
            said.ends_with("window took 1.5 times as long (95 % interval 1.5 to 1.5)."),
            "{said}"
        );
    }

    #[test]
    fn few_rounds_and_losses_are_not_hidden() {
        let all = [entrant("window", &[1.0, 1.0]), entrant("static", &[4.0, f64::NAN])];
        assert_eq!(
            conclusion(&all, "seed"),
            "window took 1 s, 0.5 times the least possible time (the median of 2 seeds). \
             static lost data in 1 of 2 seeds."
        );
        let all = [entrant("window", &[1.0]), entrant("static", &[4.0])];
        let said = conclusion(&all, "race");
        assert!(said.contains("(one race). static took 4 times as long. With one race"), "{said}");
        let said = conclusion(&[entrant("a", &[1.0; 5]), entrant("b", &[2.0; 5])], "race");
        assert!(said.ends_with("5 races of each are too few for an interval."), "{said}");
        assert_eq!(conclusion(&[], "race"), "No policy got all data to the targets.");
        let lost = conclusion(&[entrant("a", &[f64::NAN])], "race");
        assert_eq!(lost, "No policy got all data to the targets. a lost data in 1 of 1 race.");
    }
}
