//! Everything that is decided before the first race: who races, on what, how often, and what the
//! targets allow at best.

use plimsoll_domain::Bytes;
use plimsoll_machine::{Machine, Need, PreflightError, check_apart};
use plimsoll_route::{CoordinatorSettings, Policy, PolicyKind};
use plimsoll_stats::Random;
use plimsoll_theory::MeasuredRates;

use crate::bounds::{ALL_STREAMS_MAX, Counted, check_size};
use crate::course::Course;
use crate::race::{Entry, race};
use crate::{Contender, LimitDrop, RaceError, RaceOutcome, Racer, Targets, Way};

/// Races of several policies on the same targets.
#[derive(Debug)]
pub struct RacePlan {
    /// The targets, and their rates as far as they are known.
    pub targets: Targets,
    /// What all policies are raced on.
    pub course: Course,
    /// Who races.
    pub policies: Vec<Racer>,
    /// Limits that are lowered during each race.
    pub drops: Vec<LimitDrop>,
    /// Races of each policy.
    pub rounds: u64,
    /// Decides the order of the races and their data.
    pub seed: u64,
    /// Read everything back after every race, not only in the first round.
    pub verify: bool,
    /// Is told when a limit could not be restored.
    pub complain: fn(&str),
}

/// One race that was run.
#[derive(Debug)]
pub struct FinishedRace {
    /// From 1.
    pub round: u64,
    /// Which policy of the plan.
    pub policy: usize,
    /// The fluid bound in seconds, with drops when they really happened.
    pub bound: f64,
    /// What came of it.
    pub outcome: RaceOutcome,
}

/// Room that a target is asked for beyond what it takes by its rate.
const ROOM: f64 = 1.1;

impl RacePlan {
    /// Returns the fluid bound in seconds; drops count when they happened, or are planned. `None`
    /// if a rate is not known.
    pub fn bound(&self, changed_ns: &[Option<u64>]) -> Option<f64> {
        Some(self.rates_left(changed_ns)?.fluid_bound())
    }

    /// Returns TF*: the most that a target takes in by the fluid bound, over its own data.
    pub fn optimal_factor(&self) -> Option<f64> {
        Some(self.rates_left(&[])?.throttling_factor())
    }

    /// What noise and drops leave of the rates, with the data divided equally.
    fn rates_left(&self, changed_ns: &[Option<u64>]) -> Option<MeasuredRates> {
        let rates = self.targets.rates()?.into_iter().enumerate();
        let left: Vec<f64> = rates.map(|(target, rate)| rate * self.part_left(target)).collect();
        let own = self.course.total_bytes() as f64 / left.len() as f64;
        let happened = changed_ns.iter().copied().chain(std::iter::repeat(None));
        let changes = self.drops.iter().zip(happened).map(|(drop, at)| {
            let change = drop.rate_change(at);
            let rate = change.rate * self.part_left(change.target);
            plimsoll_theory::RateChange { rate, ..change }
        });
        Some(MeasuredRates::equal_data(own, &left).ok()?.changing(changes.collect()))
    }

    /// The part of a target's rate that is left beside the noise, for one stream of ours.
    fn part_left(&self, target: usize) -> f64 {
        1.0 / (1.0 + f64::from(self.course.noise_streams(target)))
    }

    /// Returns the room that a target must have: its share of the data by its rate, or the data of
    /// its own writers, a tenth more, and what the noise writes.
    pub fn needed(&self, target: usize) -> Bytes {
        let total = self.course.total_bytes() as f64;
        let count = self.targets.list.len() as u32;
        let group = self.course.writers.div_ceil(count);
        let own = total / f64::from(self.course.writers) * f64::from(group);
        let rate = |at: usize| self.targets.list[at].rate.unwrap_or(0.0);
        let dropped = |at: usize| {
            let drop = self.drops.iter().find(|drop| drop.target == at);
            drop.map_or(rate(at), |drop| drop.rate)
        };
        let sum: f64 = (0..count as usize).map(dropped).sum();
        let by_rate = if sum > 0.0 { total * rate(target) / sum } else { 0.0 };
        let data = (own.max(by_rate) * ROOM) as u64;
        Bytes::new(data.saturating_add(self.course.noise_bytes(target)))
    }

    /// Returns the memory that writers need. Every writer may have a whole block on its way to each
    /// target, and when rates are measured one for each target has.
    pub fn memory(&self) -> Bytes {
        let targets = self.targets.list.len() as u64;
        let blocks = u64::from(self.course.blocks).min(targets);
        let of_writers = u64::from(self.course.writers) * blocks;
        Bytes::new(of_writers.max(targets).saturating_mul(self.course.block_bytes))
    }

    /// Checks the plan before anything is started or written.
    ///
    /// # Errors
    /// Fails if a count or a size is out of bounds, two targets are one, or blocks take too much memory.
    pub fn check(&self) -> Result<(), RaceError> {
        let course = &self.course;
        Counted::Writers.check(course.writers.into())?;
        Counted::Blocks.check(course.blocks.into())?;
        Counted::Rounds.check(self.rounds)?;
        check_size("blocks", Bytes::new(course.block_bytes))?;
        let mut parts = self.policies.iter().filter_map(|racer| racer.policy.split);
        parts.try_for_each(|size| check_size("parts", size))?;
        self.targets.check()?;
        let streams: u32 = course.noise.iter().sum();
        if streams > ALL_STREAMS_MAX {
            return Err(RaceError::TooMuchNoise { streams, most: ALL_STREAMS_MAX });
        }
        self.check_memory()
    }

    /// Checks that the targets have room and take what is written. Writes nothing.
    ///
    /// # Errors
    /// Fails with what does not hold.
    pub fn check_targets(&self, machine: &Machine) -> Result<(), PreflightError> {
        let direct_io = self.course.way == Way::Direct;
        for (at, target) in self.targets.list.iter().enumerate() {
            let need = Need { whose: "a race", bytes: self.needed(at), direct_io };
            machine.check_target(&target.name, &target.path, need)?;
        }
        check_apart(self.targets.directories())
    }

    /// Refuses blocks that would take more than a quarter of the memory.
    fn check_memory(&self) -> Result<(), RaceError> {
        let memory = rustix::system::sysinfo();
        let quarter = memory.totalram as u64 * u64::from(memory.mem_unit) / 4;
        let (needed, most) = (self.memory(), Bytes::new(quarter >> 20 << 20));
        if needed > most { Err(RaceError::Memory { needed, most }) } else { Ok(()) }
    }

    /// Runs all races, the policies of a round in random order. Each is told when it is done.
    ///
    /// # Errors
    /// Fails if a race does, or `interrupted` says to stop.
    pub fn race_all(
        &self,
        interrupted: &dyn Fn() -> bool,
        mut done: impl FnMut(FinishedRace),
    ) -> Result<(), RaceError> {
        let mut random = Random::new(self.seed);
        for round in 1..=self.rounds {
            let mut order: Vec<usize> = (0..self.policies.len()).collect();
            random.shuffle(&mut order);
            for policy in order {
                let entry = Entry {
                    contender: self.contender(policy),
                    changes: self.drops.iter().map(|drop| drop.change(self.complain)).collect(),
                    seed: random.bits(),
                    verify: self.verify || round == 1,
                };
                let outcome = race(&self.course, entry, interrupted)?;
                let bound = self.bound(&outcome.changed_ns).unwrap_or(f64::NAN);
                done(FinishedRace { round, policy, bound, outcome });
            }
        }
        Ok(())
    }

    fn contender(&self, policy: usize) -> Contender {
        Contender::of(self.policies[policy], self.optimal_factor().unwrap_or(0.0))
    }
}

impl FinishedRace {
    /// Returns the makespan in seconds.
    pub fn makespan(&self) -> f64 {
        self.outcome.makespan_ns as f64 * 1e-9
    }

    /// Returns the makespan over the fluid bound.
    pub fn ratio(&self) -> f64 {
        self.makespan() / self.bound
    }
}

/// Parts of the one coordinator among all that cuts blocks.
const SPLIT: Bytes = Bytes::new(256 << 10);

/// Reads "all", or policies with commas between them, none of them twice. Coordinators have these settings where they
/// do not say others; among all there is one that cuts blocks, and others that do not.
///
/// # Errors
/// Fails if one is not a policy.
pub fn policies(text: &str, unsaid: CoordinatorSettings) -> Result<Vec<Policy>, RaceError> {
    if text != "all" {
        return Ok(unsaid.parse_list(text)?);
    }
    let (whole, cut) = match unsaid.tf {
        None => ("coordinator:tf=0.1,coordinator:tf=optimal", "coordinator:tf=optimal"),
        Some(_) => ("coordinator", "coordinator"),
    };
    let [never, always] =
        [None, unsaid.split.or(Some(SPLIT))].map(|split| CoordinatorSettings { split, ..unsaid });
    let mut policies = never.parse_list(&format!("static,striped,{whole}"))?;
    policies.extend(always.parse_list(cut)?);
    policies.push(Policy::new(PolicyKind::Window));
    Ok(policies)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Program, RaceTarget};

    /// Two targets of 30 and 10 bytes per second, four writers of one block of 100 bytes.
    fn plan() -> RacePlan {
        let target = |name: &str, rate| RaceTarget {
            rate: Some(rate),
            ..RaceTarget::directory(name.into(), name.into())
        };
        let list = vec![target("fast", 30.0), target("slow", 10.0)];
        let course = Course {
            working: Vec::new(),
            writers: 4,
            blocks: 1,
            block_bytes: 100,
            way: Way::Direct,
            noise: vec![0, 0],
            think_ms: 0,
            program: Program { path: "/bin/true".into(), arguments: Vec::new() },
        };
        RacePlan {
            targets: Targets { list, bed: None },
            course,
            policies: Racer::hosted(policies("all", CoordinatorSettings::default()).unwrap()),
            drops: Vec::new(),
            rounds: 1,
            seed: 1,
            verify: false,
            complain: |_| {},
        }
    }

    fn names(text: &str, tf: Option<&str>, split: Option<&str>) -> Vec<String> {
        let tf = tf.map(|tf| tf.parse().unwrap());
        let split = split.map(|size| size.parse().unwrap());
        let unsaid = CoordinatorSettings { tf, split };
        policies(text, unsaid).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_fluid_bound_and_the_best_factor_are_those_of_theory() {
        let mut plan = plan();
        assert_eq!(plan.bound(&[]), Some(10.0), "400 bytes at 40 a second");
        assert_eq!(plan.optimal_factor(), Some(0.5), "the fast one takes 300 of its own 200");
        plan.course.noise = vec![2, 0];
        assert_eq!(plan.bound(&[]), Some(20.0), "noise leaves 10 of the 30");
        assert_eq!(plan.optimal_factor(), Some(0.0));
        plan.targets.list[0].rate = None;
        assert_eq!((plan.bound(&[]), plan.optimal_factor()), (None, None));
    }

    #[test]
    fn a_target_needs_room_for_its_share_or_its_own_writers_and_for_noise() {
        let mut plan = plan();
        assert_eq!(plan.needed(0), Bytes::new(330), "three quarters of 400");
        assert_eq!(plan.needed(1), Bytes::new(220), "two writers of 100");
        plan.course.noise = vec![0, 2];
        assert_eq!(plan.needed(1), Bytes::new(220 + (32 << 20)));
        plan.targets.list.iter_mut().for_each(|target| target.rate = None);
        assert_eq!(plan.needed(0), Bytes::new(220), "as long as no rate is known");
    }

    #[test]
    fn memory_is_for_a_block_of_each_writer_on_each_target() {
        let mut plan = plan();
        assert_eq!(plan.memory(), Bytes::new(400), "one block each");
        plan.course.blocks = 9;
        assert_eq!(plan.memory(), Bytes::new(800), "two targets");
        plan.course.writers = 1;
        plan.course.blocks = 1;
        assert_eq!(plan.memory(), Bytes::new(200), "measuring takes a writer for each target");
        plan.course.block_bytes = u64::MAX;
        assert!(matches!(plan.check_memory(), Err(RaceError::Memory { .. })));
    }

    #[test]
    fn what_is_out_of_bounds_is_refused_before_anything_starts() {
        let folder = tempfile::tempdir().unwrap();
        let usual = || {
            let mut plan = plan();
            plan.course.block_bytes = 4096;
            for target in &mut plan.targets.list {
                target.path = folder.path().join(&target.name);
                std::fs::create_dir_all(&target.path).unwrap();
            }
            plan
        };
        usual().check().unwrap();
        let refused = |change: &dyn Fn(&mut RacePlan)| {
            let mut plan = usual();
            change(&mut plan);
            plan.check().unwrap_err().to_string()
        };
        assert_eq!(refused(&|it| it.course.writers = 257), "257 writers; hint: 1 to 256");
        assert_eq!(refused(&|it| it.course.blocks = 0), "0 blocks; hint: 1 to 1000000");
        assert_eq!(refused(&|it| it.rounds = 0), "0 rounds; hint: 1 to 100000");
        let small = refused(&|it| it.course.block_bytes = 1);
        assert_eq!(small, "blocks of 1B; hint: 4KiB to 1GiB");
        let parts = refused(&|it| {
            let policies = policies("coordinator:split=2GiB", CoordinatorSettings::default());
            it.policies = Racer::hosted(policies.unwrap());
        });
        assert_eq!(parts, "parts of 2GiB; hint: 4KiB to 1GiB");
        assert_eq!(
            refused(&|it| it.course.noise = vec![200, 57]),
            "257 streams of noise; hint: at most 256"
        );
        let none = refused(&|it| it.targets.list.clear());
        assert_eq!(none, "there are no targets; hint: plimsoll testbed list");
        assert!(refused(&|it| it.targets.list[1].name = "fast".into()).contains("named twice"));
        let one = |it: &mut RacePlan| it.targets.list[1].path = it.targets.list[0].path.clone();
        assert!(refused(&one).contains("targets fast and slow are one directory"));
    }

    #[test]
    fn policies_are_read_in_the_one_grammar_and_raced_once() {
        let all = [
            "static",
            "striped",
            "coordinator:tf=0.1",
            "coordinator:tf=optimal",
            "coordinator:tf=optimal:split=256KiB",
            "window",
        ];
        assert_eq!(names("all", None, None), all);
        let with =
            ["static", "striped", "coordinator:tf=0.2", "coordinator:tf=0.2:split=1MiB", "window"];
        assert_eq!(names("all", Some("20%"), Some("1MiB")), with);
        assert_eq!(
            names("window, paper:none,window", None, None),
            ["window", "coordinator:tf=none"]
        );
        assert_eq!(names("paper-split", None, None), ["coordinator:tf=0.1:split=256KiB"]);
        assert_eq!(
            names("coordinator,coordinator:tf=0.3:split=2MiB", Some("none"), Some("1MiB")),
            ["coordinator:tf=none:split=1MiB", "coordinator:tf=0.3:split=2MiB"]
        );
        for bad in ["", "windows", "coordinator:fast", "static:0.1", "coordinator:-1", "window,"] {
            assert!(policies(bad, CoordinatorSettings::default()).is_err(), "{bad}");
        }
    }
}
