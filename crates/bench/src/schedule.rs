//! The order in which a plan's instances are executed.
//!
//! A run repeats its rounds. Each repetition has a group for every value of `groups`, each group a
//! round for every burst size, each round an instance for every value of `vary`; each of the three
//! orders is shuffled, so that a drift of the storage falls on no value more than on others.
//! Everything is drawn from the plan's seed and the number of the part that it is drawn for: the
//! schedule is the same on every machine, and can be entered at any instance at no cost.

use std::collections::VecDeque;

use plimsoll_domain::Nanos;
use plimsoll_domain::burst::Setting;
use plimsoll_stats::Random;

use crate::choice::Drawing;
use crate::plan::{Plan, Value};
pub use crate::process_plan::ProcessPlan;
use crate::shape::Shape;

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Measure.
    Instance(InstancePlan),
    /// Rest.
    Pause(Nanos),
    /// All values were measured.
    EndOfRound {
        /// Number of the run, from 0.
        run: u32,
        /// Number of the group in the run.
        group: u32,
        /// Number of the round in the group.
        round: u32,
    },
    /// Every setting of the plan was measured once more: the moment to ask
    /// [`Stopping`](crate::stopping::Stopping), and to call [`Schedule::end_run`] if it says so.
    EndOfRepetition {
        /// Number of the run.
        run: u32,
        /// How often everything was measured in this run by now.
        repetitions: u32,
    },
    /// The run is over.
    EndOfRun {
        /// Number of the run.
        run: u32,
    },
}

/// One instance: a burst of some clients on some targets at the same time.
#[derive(Debug, Clone, PartialEq)]
pub struct InstancePlan {
    /// Number of the run, from 0.
    pub run: u32,
    /// Number of the group in the run, from 0.
    pub group: u32,
    /// Number of the round in the group, from 0.
    pub round: u32,
    /// Number in the experiment. Numbers rise in the order of execution; those of rounds that
    /// were left out because the precision was reached are missing.
    pub instance: u64,
    /// What the processes do.
    pub setting: Setting,
    /// The value of `vary`, as the plan writes it; empty if nothing is varied.
    pub varied: String,
    /// The value of `groups`, as the plan writes it; empty if nothing is varied.
    pub grouped: String,
    /// Seed of this instance alone.
    pub seed: u64,
    /// What is measured, by process.
    pub processes: Vec<ProcessPlan>,
    /// Writes that must be complete before a read is measured, and are not measured themselves:
    /// the files and regions of `processes`, each by another process. Empty for writes.
    pub prepare: Vec<ProcessPlan>,
}

/// The steps of a plan, one after the other, in memory that does not grow with their number.
#[derive(Debug, Clone)]
pub struct Schedule {
    plan: Plan,
    sizes: usize,
    /// Instances of a run that goes on to the end.
    in_a_run: u64,
    /// Number of the next instance.
    next: u64,
    /// What follows the last instance, before the next.
    pending: VecDeque<Step>,
    /// The run of the last instance, until its end was told.
    open: Option<u32>,
}

impl Schedule {
    /// Returns the schedule of a checked plan. One that [`Plan::check`] refuses may have no steps.
    pub fn new(plan: &Plan) -> Schedule {
        let sizes = plan.burst.sizes.len().max(1);
        let settings = plan.vary.len() as u64 * plan.groups.len() as u64 * sizes as u64;
        Schedule {
            plan: plan.clone(),
            sizes,
            in_a_run: settings.saturating_mul(u64::from(plan.repeat.rounds_most())),
            next: 0,
            pending: VecDeque::new(),
            open: None,
        }
    }

    /// Returns the same schedule from the instance of this number on, to resume an experiment. What stood
    /// before that instance (a pause, the end of a round) is not repeated.
    pub fn from_instance(plan: &Plan, instance: u64) -> Schedule {
        Schedule { next: instance, ..Schedule::new(plan) }
    }

    /// Leaves out what is left of the run of the last instance: its end is the next step.
    pub fn end_run(&mut self) {
        if let Some(run) = self.open {
            self.next = self.next.max((u64::from(run) + 1).saturating_mul(self.in_a_run));
            self.pending = VecDeque::from([Step::EndOfRun { run }]);
            self.pause_between(self.plan.pause.runs);
        }
    }

    /// Returns the number of instances in all, if no run ends early.
    pub fn instances(&self) -> u64 {
        self.in_a_run.saturating_mul(u64::from(self.plan.repeat.runs))
    }

    /// Returns the instance of this number, in constant time; `None` beyond the last.
    pub fn instance(&self, number: u64) -> Option<InstancePlan> {
        if number >= self.instances() {
            return None;
        }
        let place = self.place(number);
        let seed = self.plan.seed;
        let groups = self.plan.groups.values.as_slice();
        let group_order = [ORDER_OF_GROUPS, place.run, place.repetition];
        let group = chosen(groups, place.group_in_repetition, seed, &group_order);
        let size_order = [ORDER_OF_SIZES, place.run, place.group];
        let size = chosen(&self.plan.burst.sizes, place.round, seed, &size_order);
        let value_order = [ORDER_OF_VALUES, place.run, place.group, place.round];
        let value = chosen(&self.plan.vary.values, place.in_round, seed, &value_order);
        let shape = Shape::of(&self.plan, group, size.copied(), value).ok()?;
        let seed = derived(seed, &[INSTANCE, number]).bits();
        let in_run = number % self.in_a_run;
        let drawing = Drawing { plan: &self.plan, shape: &shape, instance: number, in_run, seed };
        let (processes, prepare) = drawing.processes();
        Some(InstancePlan {
            run: place.run as u32,
            group: place.group as u32,
            round: place.round as u32,
            instance: number,
            setting: shape.setting,
            varied: value.map_or(String::new(), Value::to_string),
            grouped: group.map_or(String::new(), Value::to_string),
            seed,
            processes,
            prepare,
        })
    }

    fn place(&self, number: u64) -> Position {
        let (values, groups) = (self.plan.vary.len() as u64, self.plan.groups.len() as u64);
        let (rounds, in_round) = (number / values, number % values);
        let (all_groups, round) = (rounds / self.sizes as u64, rounds % self.sizes as u64);
        let groups_in_a_run = (self.in_a_run / values / self.sizes as u64).max(1);
        let (run, group) = (all_groups / groups_in_a_run, all_groups % groups_in_a_run);
        let (repetition, group_in_repetition) = (group / groups, group % groups);
        Position { run, repetition, group, group_in_repetition, round, in_round }
    }

    /// Queues what follows an instance, up to the next.
    fn after(&mut self, number: u64) {
        let (at, next) = (self.place(number), self.place(number + 1));
        let ends_run = at.run != next.run;
        let ends_repetition = ends_run || at.repetition != next.repetition;
        let ends_round = ends_run || at.group != next.group || at.round != next.round;
        let (run, group, round) = (at.run as u32, at.group as u32, at.round as u32);
        if ends_round {
            self.pending.push_back(Step::EndOfRound { run, group, round });
        }
        if ends_repetition {
            let repetitions = at.repetition as u32 + 1;
            self.pending.push_back(Step::EndOfRepetition { run, repetitions });
        }
        if ends_run {
            self.pending.push_back(Step::EndOfRun { run });
        }
        self.pause_between(match (ends_run, ends_round) {
            (true, _) => self.plan.pause.runs,
            (false, true) => self.plan.pause.rounds,
            (false, false) => self.plan.pause.instances,
        });
    }

    fn pause_between(&mut self, pause: Nanos) {
        if pause.get() > 0 && self.next < self.instances() {
            self.pending.push_back(Step::Pause(pause));
        }
    }
}

impl Iterator for Schedule {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if let Some(step) = self.pending.pop_front() {
            if matches!(step, Step::EndOfRun { .. }) {
                self.open = None;
            }
            return Some(step);
        }
        let instance = self.instance(self.next)?;
        self.next += 1;
        self.open = Some(instance.run);
        self.after(instance.instance);
        Some(Step::Instance(instance))
    }
}

/// Where an instance stands in the hierarchy.
struct Position {
    run: u64,
    repetition: u64,
    group: u64,
    group_in_repetition: u64,
    round: u64,
    in_round: u64,
}

/// What is drawn; with the numbers of its part it names a random sequence of its own.
const ORDER_OF_GROUPS: u64 = 1;
const ORDER_OF_SIZES: u64 = 2;
const ORDER_OF_VALUES: u64 = 3;
const INSTANCE: u64 = 4;

fn derived(seed: u64, path: &[u64]) -> Random {
    let step = |seed, part: &u64| Random::for_stream(seed, *part).bits();
    Random::new(path.iter().fold(seed, step))
}

/// Returns the item at a position of the order that `path` names; `None` if there are no items.
fn chosen<'a, T>(items: &'a [T], position: u64, seed: u64, path: &[u64]) -> Option<&'a T> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    derived(seed, path).shuffle(&mut order);
    order.get(position as usize).and_then(|index| items.get(*index))
}
