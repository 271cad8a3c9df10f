//! Is a component slow in some settings only?

use std::collections::{BTreeMap, BTreeSet, HashSet};

use plimsoll_domain::burst::{Caching, Engine, Pattern, Setting};

use super::component::Component;
use super::median_of;

/// How often low measures that have nothing to do with settings seem to, at most.
const ERROR: f64 = 0.01;

/// Measures on either side, at least.
const LEAST: usize = 3;

/// Inside, at least this share is low; outside, at most this share less than all.
const CLEAR: f64 = 0.75;

/// A part of settings with more values than this is not looked at: each value is up to three ways to split, and results can be of thousands of settings.
pub const VALUES_MOST: usize = 100;

/// Settings that have something in common, and what to call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Common {
    /// As in "slow at bursts of 1 MiB and more only".
    pub name: String,
    /// Numbers of the settings.
    pub settings: BTreeSet<u32>,
}

/// A component that is slow in some settings only.
#[derive(Debug, Clone, PartialEq)]
pub struct SomeSettings {
    /// What these settings have in common.
    pub name: String,
    /// Their numbers.
    pub settings: BTreeSet<u32>,
    /// Median ratio to the others in them.
    pub inside: f64,
    /// Median ratio in all others.
    pub outside: f64,
    /// Low measures and all measures in them.
    pub low_inside: (usize, usize),
    /// Low measures and all measures in all others.
    pub low_outside: (usize, usize),
}

/// Every way to split the settings in two by one of their parts; by those that have [`VALUES_MOST`] values at most.
pub fn in_common(settings: &[Setting]) -> Vec<Common> {
    let (mut all, mut known) = (Vec::new(), HashSet::new());
    for part in parts(settings) {
        for it in part.splits(settings) {
            if known.insert(it.settings.clone()) {
                all.push(it);
            }
        }
    }
    all
}

/// Returns the parts that have more values, by which settings are not split.
pub fn not_split(settings: &[Setting]) -> Vec<&'static str> {
    let mut parts = parts(settings);
    parts.retain(|it| it.values(settings).len() > VALUES_MOST);
    parts.into_iter().map(|it| it.what).collect()
}

/// A part of a setting.
struct Part {
    what: &'static str,
    /// Its value, by which settings are put in order.
    value: fn(&Setting) -> u64,
    /// What to call a value.
    name: fn(&Setting) -> String,
    /// Whether more and less mean something.
    is_ordered: bool,
}

fn parts(settings: &[Setting]) -> Vec<Part> {
    let ordered = |what, value, name| Part { what, value, name, is_ordered: true };
    let either = |what, value, name| Part { what, value, name, is_ordered: false };
    let paired = settings.iter().all(|it| it.clients == it.targets);
    vec![
        ordered("bursts", |it| it.burst.get(), |it| format!("bursts of {}", it.burst)),
        ordered("transfers", |it| it.transfer.get(), |it| format!("transfers of {}", it.transfer)),
        either("operations", |it| it.operation as u64, |it| it.operation.plural().into()),
        if paired {
            ordered("pairs", |it| u64::from(it.clients), |it| counted(it.clients, "pair"))
        } else {
            ordered("clients", |it| u64::from(it.clients), |it| counted(it.clients, "client"))
        },
        ordered("processes", |it| u64::from(it.processes), |it| counted(it.processes, "process")),
        ordered("targets", |it| u64::from(it.targets), |it| counted(it.targets, "target")),
        either(
            "patterns",
            |it| it.pattern as u64,
            |it| match it.pattern {
                Pattern::Sequential => "sequential bursts".into(),
                Pattern::Random => "random bursts".into(),
            },
        ),
        ordered("depths", |it| u64::from(it.depth), |it| format!("a depth of {}", it.depth)),
        either(
            "caching",
            |it| it.caching as u64,
            |it| match it.caching {
                Caching::Direct => "direct I/O".into(),
                Caching::Synced => "I/O through the cache".into(),
            },
        ),
        either(
            "engines",
            |it| it.engine as u64,
            |it| match it.engine {
                Engine::Synchronous => "synchronous I/O".into(),
                Engine::Uring => "io_uring".into(),
            },
        ),
    ]
}

fn counted(count: u32, what: &str) -> String {
    match (count, what) {
        (1, what) => format!("1 {what}"),
        (count, "process") => format!("{count} processes"),
        (count, what) => format!("{count} {what}s"),
    }
}

impl Part {
    fn values(&self, settings: &[Setting]) -> BTreeSet<u64> {
        settings.iter().map(self.value).collect()
    }

    fn splits(&self, settings: &[Setting]) -> Vec<Common> {
        let values = self.values(settings);
        let name = |value: u64| {
            let one = settings.iter().find(|it| (self.value)(it) == value);
            one.map_or(String::new(), self.name)
        };
        let with = |name: String, is_in: &dyn Fn(u64) -> bool| {
            let numbered = (0..).zip(settings).filter(|(_, it)| is_in((self.value)(it)));
            Common { name, settings: numbered.map(|(number, _)| number).collect() }
        };
        let mut splits = Vec::new();
        if !(2..=VALUES_MOST).contains(&values.len()) {
            return splits;
        }
        for value in &values {
            splits.push(with(name(*value), &|it| it == *value));
            if self.is_ordered {
                splits.push(with(format!("{} and less", name(*value)), &|it| it <= *value));
                splits.push(with(format!("{} and more", name(*value)), &|it| it >= *value));
            }
        }
        splits.retain(|it| it.settings.len() < settings.len());
        splits
    }
}

/// Low measures of all measures.
type Low = (usize, usize);

/// The settings that explain best when a component is low, if any do.
pub(super) fn explained(
    component: &Component,
    common: &[Common],
    limit: f64,
) -> Option<SomeSettings> {
    let mut of_settings: BTreeMap<u32, Low> = BTreeMap::new();
    for measure in &component.measures {
        let (low, n) = of_settings.entry(measure.setting).or_default();
        (*low, *n) = (*low + usize::from(measure.log_ratio < limit), *n + 1);
    }
    let all = common.iter().filter_map(|it| Some((it, split(&of_settings, it)?)));
    let (best, (inside, outside)) = all.min_by_key(|(it, (inside, outside))| {
        // Of equally good ones the one with the most settings: "1 MiB and more", not "4 MiB".
        (outside.0 + inside.1 - inside.0, std::cmp::Reverse(it.settings.len()))
    })?;
    let share = |(low, n): Low| low as f64 / n as f64;
    let is_clear = share(inside) >= CLEAR && share(outside) <= 1.0 - CLEAR;
    let p_value = by_chance(inside, outside) * common.len() as f64;
    (is_clear && p_value <= ERROR).then(|| told(component, best, inside, outside))
}

/// Counts measures in some settings and in all others, if there are enough of both.
fn split(of_settings: &BTreeMap<u32, Low>, common: &Common) -> Option<(Low, Low)> {
    let (mut inside, mut outside) = ((0, 0), (0, 0));
    for (setting, (low, n)) in of_settings {
        let is_in = common.settings.contains(setting);
        let sum = if is_in { &mut inside } else { &mut outside };
        *sum = (sum.0 + low, sum.1 + n);
    }
    (inside.1 >= LEAST && outside.1 >= LEAST).then_some((inside, outside))
}

fn told(component: &Component, best: &Common, inside: Low, outside: Low) -> SomeSettings {
    let median = |is_in: bool| {
        let some = component.measures.iter();
        let some = some.filter(|it| best.settings.contains(&it.setting) == is_in);
        let mut logs: Vec<f64> = some.map(|it| it.log_ratio).collect();
        median_of(&mut logs).unwrap_or(0.0).exp()
    };
    SomeSettings {
        name: best.name.clone(),
        settings: best.settings.clone(),
        inside: median(true),
        outside: median(false),
        low_inside: inside,
        low_outside: outside,
    }
}

/// Fisher's exact test: how likely this many of the low measures, or more, lie inside by chance.
fn by_chance((low_in, n_in): (usize, usize), (low_out, n_out): (usize, usize)) -> f64 {
    let (low, n) = (low_in + low_out, n_in + n_out);
    let ways = |of: usize, chosen: usize| -> f64 {
        (0..chosen).map(|it| ((of - it) as f64 / (it + 1) as f64).ln()).sum()
    };
    let all = ways(n, low);
    let most = low.min(n_in);
    let tail = (low_in..=most).filter(|it| low - it <= n_out);
    tail.map(|it| (ways(n_in, it) + ways(n_out, low - it) - all).exp()).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_domain::Bytes;
    use plimsoll_domain::burst::Operation;

    fn settings() -> Vec<Setting> {
        [1, 4, 16].map(|mib| Setting::pairs(4, 1, Bytes::new(mib << 20))).to_vec()
    }

    #[test]
    fn splits_have_names() {
        let names: Vec<String> = in_common(&settings()).into_iter().map(|it| it.name).collect();
        let expected = ["1MiB", "4MiB", "4MiB and less", "4MiB and more", "16MiB"];
        assert_eq!(names, expected.map(|it| format!("bursts of {it}")));
        assert!(in_common(&settings()[..1]).is_empty());
    }

    /// The attack: 4 MB of results of thousands of settings kept `score` at work for minutes: ways to split by settings by measures.
    #[test]
    fn parts_of_too_many_values_are_left_out_and_named() {
        let pair = |it| Setting::pairs(1 + it as u32 % 2, 1, Bytes::new(it));
        let of = |bursts: u64| -> Vec<Setting> { (1..=bursts).map(pair).collect() };
        let most = VALUES_MOST as u64;
        assert_eq!(not_split(&of(most)), [""; 0]);
        assert_eq!(in_common(&of(most)).len(), 3 * VALUES_MOST - 4 + 2);
        assert_eq!(not_split(&of(most + 1)), ["bursts"]);
        let names: Vec<String> = in_common(&of(5000)).into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["1 pair", "2 pairs"]);
    }

    /// One of each pair differs in one part from the other.
    #[test]
    fn every_part_of_a_setting_is_called_what_it_is() {
        let common = Setting::pairs(4, 1, Bytes::new(1 << 20));
        let names = |change: &dyn Fn(&mut Setting)| {
            let mut other = common.clone();
            change(&mut other);
            let found = in_common(&[common.clone(), other]);
            let each: Vec<Vec<u32>> =
                found.iter().map(|it| it.settings.iter().copied().collect()).collect();
            assert!(each == [[0], [1]] || each == [[1], [0]], "{found:?}");
            let mut names: Vec<String> = found.into_iter().map(|it| it.name).collect();
            names.sort();
            names.join(", ")
        };
        let burst = names(&|it| it.burst = Bytes::new(1 << 10));
        assert_eq!(burst, "bursts of 1KiB, bursts of 1MiB");
        let transfer = names(&|it| it.transfer = Bytes::new(1 << 10));
        assert_eq!(transfer, "transfers of 1KiB, transfers of 1MiB");
        assert_eq!(names(&|it| it.operation = Operation::Read), "reads, writes");
        assert_eq!(names(&|it| (it.clients, it.targets) = (1, 1)), "1 pair, 4 pairs");
        assert_eq!(names(&|it| it.clients = 1), "1 client, 4 clients");
        assert_eq!(names(&|it| it.targets = 1), "1 target, 4 targets");
        assert_eq!(names(&|it| it.processes = 6), "1 process, 6 processes");
        let pattern = names(&|it| it.pattern = Pattern::Random);
        assert_eq!(pattern, "random bursts, sequential bursts");
        assert_eq!(names(&|it| it.depth = 8), "a depth of 1, a depth of 8");
        let caching = names(&|it| it.caching = Caching::Synced);
        assert_eq!(caching, "I/O through the cache, direct I/O");
        assert_eq!(names(&|it| it.engine = Engine::Uring), "io_uring, synchronous I/O");
    }

    #[test]
    fn splits_have_the_settings_that_they_name() {
        let found = in_common(&settings());
        let all: Vec<Vec<u32>> =
            found.iter().map(|it| it.settings.iter().copied().collect()).collect();
        assert_eq!(all, [vec![0], vec![1], vec![0, 1], vec![1, 2], vec![2]]);
    }

    /// Counted by hand: every choice of the low ones of all.
    #[test]
    fn fisher_counts_arrangements() {
        let (n_in, n_out) = (4, 5);
        for low in 0..=9u32 {
            let arrangements = (0..1u32 << 9).filter(|it| it.count_ones() == low);
            let inside = |it: u32| (it & 0b1111).count_ones() as usize;
            let all: Vec<usize> = arrangements.map(inside).collect();
            for low_in in 0..=4usize {
                let Some(low_out) = (low as usize).checked_sub(low_in) else { continue };
                if low_out > n_out {
                    continue;
                }
                let as_many = all.iter().filter(|it| **it >= low_in).count();
                let expected = as_many as f64 / all.len() as f64;
                let found = by_chance((low_in, n_in), (low_out, n_out));
                assert!((found - expected).abs() < 1e-12, "{low_in} {low_out}: {found} {expected}");
            }
        }
    }

    /// A component with so many low measures of all in each of two settings.
    fn low_in(settings: [(usize, usize); 2]) -> Component {
        let mut component = Component::default();
        for (setting, (low, n)) in (0..).zip(settings) {
            for at in 0..n {
                let log_ratio = if at < low { 0.5f64.ln() } else { 0.0 };
                let set = component.measures.len() as u32;
                let measure = super::super::Measure { start: set.into(), set, setting, log_ratio };
                component.measures.push(measure);
            }
        }
        component
    }

    fn explained_by(ways: usize, settings: [(usize, usize); 2]) -> Option<SomeSettings> {
        let of = |setting: u32| Common { name: setting.to_string(), settings: [setting].into() };
        // Ways to split that explain nothing, beside the two that could.
        let nothing = |_| Common { name: "none".into(), settings: BTreeSet::new() };
        let common: Vec<Common> =
            [of(1), of(0)].into_iter().chain((2..ways).map(nothing)).collect();
        explained(&low_in(settings), &common, 0.85f64.ln())
    }

    #[test]
    fn settings_explain_what_is_low_nearly_always_in_them_and_hardly_ever_otherwise() {
        let found = explained_by(2, [(1, 12), (11, 12)]).unwrap();
        assert_eq!((found.low_inside, found.low_outside), ((11, 12), (1, 12)));
        assert_eq!((found.name.as_str(), found.settings), ("1", [1].into()));
        assert!((found.inside - 0.5).abs() < 1e-12 && (found.outside - 1.0).abs() < 1e-12);
        // Three quarters inside and one quarter outside are just enough, with enough of them.
        assert!(explained_by(2, [(6, 24), (18, 24)]).is_some());
        assert!(explained_by(2, [(7, 24), (18, 24)]).is_none(), "often outside");
        assert!(explained_by(2, [(6, 24), (17, 24)]).is_none(), "not always inside");
        assert!(explained_by(2, [(0, 24), (0, 24)]).is_none(), "never low");
    }

    #[test]
    fn measures_on_both_sides_are_three_at_least() {
        assert!(explained_by(2, [(0, 30), (3, 3)]).is_some());
        assert!(explained_by(2, [(0, 30), (2, 2)]).is_none());
        assert!(explained_by(2, [(0, 2), (20, 20)]).is_none());
    }

    /// Five of five inside and none of five outside is one of 252 by chance; so are so many ways to split.
    #[test]
    fn the_more_ways_to_split_the_less_one_of_them_explains() {
        let five = [(0, 5), (5, 5)];
        assert!(explained_by(2, five).is_some(), "2 of 252 is less than a hundredth");
        assert!(explained_by(3, five).is_none(), "3 of 252 is more");
    }

    #[test]
    fn a_measure_at_the_limit_is_not_low_in_any_setting() {
        let mut component = low_in([(0, 12), (12, 12)]);
        let limit = 0.85f64.ln();
        component.measures[0].log_ratio = limit;
        let common = [Common { name: "1".into(), settings: [1].into() }];
        assert_eq!(explained(&component, &common, limit).unwrap().low_outside, (0, 12));
    }

    #[test]
    fn fisher() {
        // Five of five inside, none of five outside: 1 of 252.
        assert!((by_chance((5, 5), (0, 5)) - 1.0 / 252.0).abs() < 1e-12);
        assert!((by_chance((0, 5), (3, 5)) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn low_at_large_bursts_only() {
        let measure = |round: u64, setting: u32| super::super::Measure {
            start: round,
            set: round as u32,
            setting,
            log_ratio: if setting == 0 { 0.01 } else { -0.7 },
        };
        let measures = (0..15).map(|it| measure(it, it as u32 % 3)).collect();
        let component = Component { measures, others: 3, inseparable: None };
        let found = explained(&component, &in_common(&settings()), -0.16).unwrap();
        assert_eq!(found.name, "bursts of 4MiB and more");
        assert_eq!((found.low_inside, found.low_outside), ((10, 10), (0, 5)));
    }
}
