//! What buffers bring, and what routing brings without them: both against neither, by the time that the program takes.

use plimsoll_report::{RatioMap, words};
use plimsoll_route::PolicyKind;
use plimsoll_simulate::scenario::{Parameter, Sweep};
use plimsoll_simulate::{Point, PolicyOutcomes};
use plimsoll_stats::Sample;

use super::swept::{place, swept_name, value_axis};
use crate::contest::listed;

/// The points of a sweep over the capacity of buffers that has points without buffers, and static placement.
pub struct Buffered<'a> {
    sweep: &'a Sweep,
    points: &'a [Point],
}

/// A gain, and where.
type Best<'a> = (f64, &'a Point);

impl<'a> Buffered<'a> {
    /// Returns `None` for other sweeps: there is nothing to compare with.
    pub fn of(sweep: &'a Sweep, points: &'a [Point]) -> Option<Self> {
        let buffered = Buffered { sweep, points };
        let has_neither = |point: &Point| buffered.neither(point).is_some();
        (buffered.is_capacity_swept() && points.iter().all(has_neither)).then_some(buffered)
    }

    fn is_capacity_swept(&self) -> bool {
        let capacity = Parameter::BufferCapacity;
        self.sweep.parameter == capacity || self.sweep.across == Some(capacity)
    }

    fn capacity(&self, point: &Point) -> Option<f64> {
        match self.sweep.parameter {
            Parameter::BufferCapacity => point.value,
            _ => point.across,
        }
    }

    /// Returns the value of the other parameter.
    fn other(&self, point: &Point) -> Option<f64> {
        match self.sweep.parameter {
            Parameter::BufferCapacity => point.across,
            _ => point.value,
        }
    }

    /// Returns static placement without buffers, where all else is as at a point.
    fn neither(&self, point: &Point) -> Option<&'a PolicyOutcomes> {
        let is_it =
            |it: &&Point| self.capacity(it) == Some(0.0) && self.other(it) == self.other(point);
        let without = self.points.iter().find(is_it)?;
        without.policies.iter().find(|policy| policy.policy.kind == PolicyKind::Static)
    }

    /// Returns how many times as fast the program is as with neither: the median over the seeds. NaN where a seed lost something.
    pub fn gain(&self, point: &Point, nth: usize) -> f64 {
        let times = |policy: &PolicyOutcomes| -> Option<Vec<f64>> {
            policy.outcomes.iter().map(|outcome| outcome.program_time).collect()
        };
        let own = times(&point.policies[nth]);
        let neither = self.neither(point).and_then(times);
        let ratios = neither.zip(own).map(|(neither, own)| {
            neither.iter().zip(&own).map(|(neither, own)| neither / own).collect::<Vec<f64>>()
        });
        ratios.and_then(|it| Sample::new(it).ok()).map_or(f64::NAN, |it| it.median())
    }

    /// Returns the best point of the policies that route or do not, with buffers or without.
    fn best(&self, routes: bool, has_buffers: bool) -> Option<Best<'a>> {
        let of_point = |point: &'a Point| {
            let is_of =
                |nth: &usize| (point.policies[*nth].policy.kind != PolicyKind::Static) == routes;
            (0..point.policies.len()).filter(is_of).map(move |nth| (self.gain(point, nth), point))
        };
        let is_wanted = |point: &&Point| (self.capacity(point) != Some(0.0)) == has_buffers;
        let gains = self.points.iter().filter(is_wanted).flat_map(of_point);
        gains.filter(|(gain, _)| gain.is_finite()).max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// Returns at how many points with buffers these alone bring more than routing alone, and of how many.
    fn won_by_buffers(&self) -> (usize, usize) {
        let gain_of = |point: &Point, routes: bool| {
            let is_of =
                |nth: &usize| (point.policies[*nth].policy.kind != PolicyKind::Static) == routes;
            let gains = (0..point.policies.len()).filter(is_of).map(|nth| self.gain(point, nth));
            gains.fold(f64::NAN, f64::max)
        };
        let routed_alone = |point: &Point| {
            let is_it =
                |it: &&Point| self.capacity(it) == Some(0.0) && self.other(it) == self.other(point);
            self.points.iter().find(is_it).map_or(f64::NAN, |it| gain_of(it, true))
        };
        let with = self.points.iter().filter(|it| self.capacity(it) != Some(0.0));
        let pairs: Vec<(f64, f64)> =
            with.map(|point| (gain_of(point, false), routed_alone(point))).collect();
        let won = pairs.iter().filter(|(buffer, routing)| *buffer > routing * ABOUT).count();
        (won, pairs.len())
    }

    /// Says what each brings at best, and how often buffers alone bring more than routing alone.
    pub fn conclusion(&self) -> String {
        let told = |who: &str, best: Option<Best<'_>>| {
            best.map(|(gain, point)| match gain {
                gain if gain < ABOUT => format!("no faster with {who}"),
                gain => format!(
                    "up to {} times as fast with {who} ({})",
                    words::short(gain),
                    place(self.sweep, point)
                ),
            })
        };
        let parts = [
            told("routing alone", self.best(true, false)),
            told("buffers alone", self.best(false, true)),
            told("both", self.best(true, true)),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let (won, of) = self.won_by_buffers();
        format!(
            "Against neither buffers nor routing, the program is {}. Buffers alone bring more than routing alone at \
             {won} of {of} points.",
            listed(&parts.iter().map(String::as_str).collect::<Vec<_>>())
        )
    }

    /// Returns a map of the gain for each policy; none for a sweep of one parameter.
    pub fn maps(&self) -> Vec<RatioMap> {
        let Some(across) = self.sweep.across else { return Vec::new() };
        let map = |nth: usize| {
            let name = swept_name(self.sweep, &self.points[0].policies[nth].policy);
            let title = format!(
                "The program with {name}: time with neither buffers nor routing over its own"
            );
            let rows = (value_axis(self.sweep.parameter), self.sweep.values.clone());
            let columns = (value_axis(across), self.sweep.across_values.clone());
            let cells = self.points.iter().map(|point| self.gain(point, nth)).collect();
            RatioMap::new(title, rows, columns).cells(cells)
        };
        (0..self.points[0].policies.len()).map(map).collect()
    }
}

/// Times that differ by less are about the same.
const ABOUT: f64 = 1.05;

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use plimsoll_simulate::{Repetition, Scenario, experiment};

    use super::*;

    /// Two targets, one of them ten times slower; two processes that write a block a second; one buffer.
    fn scenario(sweep: &str) -> Scenario {
        let text = format!(
            "version = 1\ntitle = \"\"\npolicies = [\"static\", \"window\"]\n[storage]\ntargets = 2\n\
             rate = \"1MB/s\"\nrates = [\"100MB/s\", \"10MB/s\"]\n[application]\nprocesses = 2\n\
             block = \"50MB\"\nbursts = 3\ncompute = \"1s\"\n\
             [buffer]\nnodes = 1\ncapacity = \"1GB\"\nrate = \"1GB/s\"\nstreams = 2\n[sweep]\n{sweep}"
        );
        Scenario::parse("test", &text).unwrap()
    }

    fn points(scenario: &Scenario) -> Vec<Point> {
        let repetition = Repetition { first_seed: 1, seeds: 1, threads: None };
        experiment(scenario, repetition, &AtomicU64::new(0)).unwrap()
    }

    #[test]
    fn buffers_and_routing_are_compared_with_neither() {
        let scenario = scenario("parameter = \"buffer-capacity\"\nvalues = [0, 1000000000]\n");
        let points = points(&scenario);
        let sweep = scenario.sweep.as_ref().unwrap();
        let buffered = Buffered::of(sweep, &points).unwrap();
        assert_eq!(buffered.gain(&points[0], 0), 1.0, "neither");
        // 3 x (1 s + 5 s) without, 3 x (1 s + 0.1 s) with a buffer that holds everything.
        let alone = buffered.gain(&points[1], 0);
        assert!((alone - 18.0 / 3.3).abs() < 0.01, "{alone}");
        // 3 x (1 s + 100 MB at 110 MB/s) routed.
        let routed = buffered.gain(&points[0], 1);
        assert!((routed - 18.0 / (3.0 + 300.0 / 110.0)).abs() < 0.2, "{routed}");
        let said = buffered.conclusion();
        let begin = "Against neither buffers nor routing, the program is up to 3.";
        assert!(said.starts_with(begin), "{said}");
        assert!(
            said.contains("up to 5.45 times as fast with buffers alone (buffers of 954 MiB)"),
            "{said}"
        );
        assert!(said.ends_with("more than routing alone at 1 of 1 points."), "{said}");
        assert!(buffered.maps().is_empty(), "one parameter");
    }

    #[test]
    fn there_is_nothing_to_compare_where_all_have_buffers() {
        let scenario =
            scenario("parameter = \"buffer-capacity\"\nvalues = [500000000, 1000000000]\n");
        let points = points(&scenario);
        assert!(Buffered::of(scenario.sweep.as_ref().unwrap(), &points).is_none());
    }

    #[test]
    fn two_parameters_are_maps_of_every_policy() {
        let scenario = scenario(
            "parameter = \"block\"\nvalues = [10000000, 50000000]\nacross = \"buffer-capacity\"\n\
             across_values = [0, 1000000000]\n",
        );
        let points = points(&scenario);
        let buffered = Buffered::of(scenario.sweep.as_ref().unwrap(), &points).unwrap();
        assert_eq!(buffered.maps().len(), 2);
        let without = points.iter().filter(|it| it.across == Some(0.0));
        assert!(
            without.map(|it| buffered.gain(it, 0)).all(|gain| gain == 1.0),
            "each with its own"
        );
    }
}
