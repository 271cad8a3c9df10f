//! One run: a scenario, a policy and a seed give an outcome, always the same.

use plimsoll_route::{
    ActorId, AnyRouter, AttemptId, Failure, Homes, Input, PREFETCH_DEPTHS, Policy, Router,
    RouterSettings, TargetId, prefetch,
};

use crate::factor::factor_for;
use crate::homes::homes;
use crate::host::{Host, Next};
use crate::huge_pages::ask_for_huge_pages;
use crate::noise::Timeline;
use crate::outcome::{Outcome, Placed};
use crate::program::Call;
use crate::queue::{Event, HORIZON_NS};
use crate::scenario::{Breakage, Scenario};
use crate::target::Target;
use crate::world::world;
use crate::{SimulateError, conservation};

/// A target that stopped and is not back by then has failed for good: writes that are under
/// way there are given up. Lustre's client waits for 100 s (obd_timeout).
const GIVE_UP_NS: u64 = 100_000_000_000;

/// Inputs between asking for the memory of one depth and of the next, and events.
const INPUTS_AHEAD: usize = 2;
const EVENTS_AHEAD: usize = 2;

/// From this many machines on, their memory is more than the processor can find at once.
const MANY_ACTORS: usize = 1024;

/// Depths of what belongs to a target: itself, and its jobs.
const TARGET_DEPTHS: usize = 2;

/// How often to look whether anything can still happen.
const STEPS_BETWEEN_LOOKS: u64 = 1 << 14;

/// Simulates a scenario once.
///
/// # Errors
/// Fails if the scenario makes no sense with this policy, takes too long, or does not add up.
pub fn run(scenario: &Scenario, policy: &Policy, seed: u64) -> Result<Outcome, SimulateError> {
    run_around(scenario, policy, seed, &AsItIs)
}

/// Puts something around a router: a fault, to see that it is found.
pub(crate) trait Around {
    /// The router with it.
    fn around(&self, router: impl Router) -> impl Router;
}

struct AsItIs;

impl Around for AsItIs {
    fn around(&self, router: impl Router) -> impl Router {
        router
    }
}

/// As [`run`], with something around the router.
pub(crate) fn run_around(
    scenario: &Scenario,
    policy: &Policy,
    seed: u64,
    around: &impl Around,
) -> Result<Outcome, SimulateError> {
    let behind = scenario.behind_buffers();
    let homes = homes(&behind, seed);
    let application = &behind.application;
    let settings = RouterSettings {
        targets: scenario.storage.targets as u16,
        writers: application.processes,
        writers_per_node: application.processes_per_node,
        factor: factor_for(&behind, policy)?,
        homes: Homes::Given { targets: &homes, each: application.stripes as usize },
        part_bytes_min: 1,
        request_bytes: scenario.storage.mean_request_bytes(),
        retry_ns: scenario.network.retry_ns(),
    };
    let placed = Placed { homes: &homes, seed, policy: *policy };
    // Each kind of router has a loop of its own, so that nothing is asked on every event.
    match AnyRouter::new(policy, &settings) {
        AnyRouter::Static(router) => drive(scenario, around.around(router), placed),
        AnyRouter::Striped(router) => drive(scenario, around.around(router), placed),
        AnyRouter::Window(router) => drive(scenario, around.around(router), placed),
        AnyRouter::Coordinator(router) => drive(scenario, around.around(*router), placed),
    }
}

fn drive<R: Router>(
    scenario: &Scenario,
    router: R,
    placed: Placed<'_>,
) -> Result<Outcome, SimulateError> {
    let mut run = Simulation::new(scenario, router, placed.seed)?;
    let played = run.play(scenario);
    let broken = |problem| SimulateError::Broken { seed: placed.seed, problem };
    // What is wrong with the program may be why nothing more happens.
    if let Some(problem) = run.host.program.broken.take() {
        return Err(broken(problem));
    }
    played?;
    conservation::check(&run.host, scenario).map_err(broken)?;
    Ok(Outcome::new(scenario, &run.host, run.router.coordinator(), &placed))
}

/// A run under way.
struct Simulation<R> {
    host: Host,
    router: R,
    lines: Vec<Timeline>,
    seed: u64,
}

impl<R: Router> Simulation<R> {
    fn new(scenario: &Scenario, router: R, seed: u64) -> Result<Self, SimulateError> {
        let lines = Timeline::of_all(&scenario.noise, scenario.storage.targets as usize, seed);
        let host = world(scenario, &lines, router.actors() as usize, seed)?;
        Ok(Simulation { host, router, lines, seed })
    }

    fn play(&mut self, scenario: &Scenario) -> Result<(), SimulateError> {
        for actor in self.actors() {
            self.give(actor, Input::Begin);
        }
        if self.advance(scenario)? {
            return Ok(());
        }
        // Data was lost with its targets before a process closed: it learns it when it does.
        if !scenario.fault.is_empty() && self.host.program.give_up() {
            self.host.progress_ns = self.host.now_ns;
            self.hand_over();
            if self.advance(scenario)? {
                return Ok(());
            }
        }
        Err(SimulateError::Stuck { seed: self.seed, open: self.host.program.open() })
    }

    /// Goes on until all processes have ended, or until nothing more happens: false.
    fn advance(&mut self, scenario: &Scenario) -> Result<bool, SimulateError> {
        let mut steps: u64 = 0;
        while !self.is_done() {
            let Some(next) = self.host.next() else { return Ok(false) };
            steps += 1;
            if steps.is_multiple_of(STEPS_BETWEEN_LOOKS) && self.is_stuck() {
                return Ok(false);
            }
            // By now targets and queues have grown, too.
            if steps == STEPS_BETWEEN_LOOKS {
                self.settle_memory();
            }
            let (Next::Event { at_ns } | Next::Message { at_ns }) = next;
            if at_ns >= HORIZON_NS - 1 {
                return Err(SimulateError::TooLong { seed: self.seed });
            }
            self.host.now_ns = at_ns;
            match next {
                Next::Event { .. } => self.happen(scenario),
                Next::Message { .. } => {
                    if let Some((actor, input)) = self.host.take_message() {
                        self.give(actor, input);
                    }
                }
            }
            self.next_burst(scenario);
        }
        Ok(true)
    }

    fn is_done(&self) -> bool {
        self.host.program.open() == 0 && self.host.are_messages_delivered()
    }

    /// Timers and noise go on for ever, so an empty queue is not the only sign: nothing was
    /// written for long, no target has anything to do and no process computes.
    fn is_stuck(&self) -> bool {
        let host = &self.host;
        let idle_ns = host.now_ns.saturating_sub(host.progress_ns);
        let moves = |target: &Target| target.own_rate(target.jobs()) > 0.0;
        idle_ns > 10 * GIVE_UP_NS && host.is_waiting() && !host.targets().iter().any(moves)
    }

    fn happen(&mut self, scenario: &Scenario) {
        self.look_ahead();
        let Some(next) = self.host.queue.pop() else { return };
        match next.event {
            Event::Service(target) => {
                self.host.serve(target as usize, next.sequence);
                self.follow_up();
            }
            Event::Noise(target) => self.change_noise(target),
            Event::Burst => {
                self.host.begin_burst();
                self.hand_over();
                // Now all nodes have what they need.
                if self.host.bursts().begun == 1 {
                    self.settle_memory();
                }
            }
            Event::Timer(index) => {
                if let Some((actor, input)) = self.host.take_timer(index) {
                    // Who is awake looks first, so that nothing that has ended counts as late.
                    self.host.look(actor);
                    self.follow_up();
                    self.give(actor, input);
                }
            }
            Event::Delivery(index) => {
                if let Some((actor, input)) = self.host.take_delayed(index) {
                    self.give(actor, input);
                }
            }
            Event::Fault(index) => self.fail(scenario, index),
            Event::GiveUp(target) => {
                self.host.give_up(target as usize);
                self.follow_up();
            }
            Event::Thought(process) => self.host.program.has_thought(process),
            Event::Entered(node) => self.host.entered(node),
            Event::Look(actor) => {
                self.host.look(actor);
                self.follow_up();
            }
        }
    }

    /// Most of the time of a large run would be waiting for memory, because every event is
    /// for another target and every input for another node. So what the next few need is asked
    /// for beforehand: here the targets whose jobs end soon, and the nodes of these.
    #[inline]
    fn look_ahead(&self) {
        for depth in 0..TARGET_DEPTHS + PREFETCH_DEPTHS {
            let ahead = EVENTS_AHEAD * (TARGET_DEPTHS + PREFETCH_DEPTHS - depth);
            let Some(Event::Service(target)) = self.host.queue.upcoming(ahead) else { continue };
            let target = &self.host.targets()[target as usize];
            match depth {
                0 => prefetch(target),
                1 => target.first_job().map_or((), prefetch),
                _ => {
                    if let Some(job) = target.first_job() {
                        self.prefetch(job.actor, job.attempt, depth - TARGET_DEPTHS);
                    }
                }
            }
        }
    }

    /// The same for inputs that follow at once.
    #[inline]
    fn look_ahead_at_inputs(&self) {
        for depth in 0..PREFETCH_DEPTHS {
            let ahead = INPUTS_AHEAD * (PREFETCH_DEPTHS - depth);
            let input = self.host.next_inputs.get(ahead);
            if let Some((actor, Input::AttemptDone { attempt, .. })) = input {
                self.prefetch(*actor, *attempt, depth);
            }
        }
    }

    #[inline]
    fn prefetch(&self, actor: u32, attempt: AttemptId, depth: usize) {
        if let Some(writer) = self.router.prefetch(ActorId(actor), attempt, depth) {
            self.host.program.prefetch(writer);
        }
    }

    fn settle_memory(&self) {
        if self.router.actors() as usize >= MANY_ACTORS {
            ask_for_huge_pages();
        }
    }

    fn actors(&self) -> std::ops::Range<u32> {
        0..self.router.actors()
    }

    /// Gives an input to a machine, and those that follow from what it does.
    fn give(&mut self, actor: u32, input: Input) {
        self.step(actor, input);
        self.follow_up();
    }

    #[inline]
    fn step(&mut self, actor: u32, input: Input) {
        let (host, id) = (&mut self.host, ActorId(actor));
        host.tally.inputs += 1;
        host.actor = actor;
        // What belongs to a process that died hears nothing.
        if self.router.writer_of(id).is_none_or(|writer| host.program.is_alive(writer)) {
            self.router.step(id, host.now_ns, input, host);
        }
    }

    fn follow_up(&mut self) {
        while let Some((actor, input)) = self.host.next_inputs.pop_front() {
            self.look_ahead_at_inputs();
            self.step(actor, input);
        }
    }

    fn change_noise(&mut self, target: u32) {
        let line = &mut self.lines[target as usize];
        line.advance(self.host.now_ns);
        if let Some(change_ns) = line.next_change_ns() {
            self.host.queue.push(change_ns, Event::Noise(target));
        }
        let now = line.now();
        self.host.set_interference(target as usize, now);
    }

    /// Every process that is ready hands over what it may; after the last burst it closes.
    fn hand_over(&mut self) {
        while let Some(writer) = self.host.program.take_ready() {
            let actor = self.router.actor_of(writer).0;
            while let Some(call) = self.host.program.next_call(writer) {
                let now_ns = self.host.now_ns;
                match call {
                    Call::Submit(length_bytes) => {
                        self.host.tally.submitted(now_ns, length_bytes);
                        self.give(actor, Input::Submit { writer, length_bytes });
                    }
                    Call::Close => self.give(actor, Input::Close { writer }),
                    Call::Think(takes_ns) => {
                        self.host.queue.push(now_ns + takes_ns.max(1), Event::Thought(writer));
                    }
                }
            }
        }
    }

    /// Lets processes go on that waited for what just became durable, and schedules the next
    /// burst when all can.
    fn next_burst(&mut self, scenario: &Scenario) {
        self.hand_over();
        if !self.host.take_release() {
            return;
        }
        if self.host.bursts().begun < scenario.application.bursts {
            let at_ns = self.host.now_ns + scenario.application.compute.get();
            self.host.queue.push(at_ns, Event::Burst);
        } else if self.host.staging.is_some() {
            self.host.program.end_feeding();
            self.hand_over();
        }
    }

    fn fail(&mut self, scenario: &Scenario, index: u32) {
        let fault = scenario.fault[index as usize];
        if fault.what == Breakage::ProcessDies {
            if self.host.program.die(self.host.now_ns, fault.which) {
                for actor in self.actors() {
                    self.give(actor, Input::WriterDied { writer: fault.which });
                }
            }
            return;
        }
        let target = TargetId(fault.which as u16);
        let failure = match fault.what {
            Breakage::TargetStops => Some(Failure::Stopped),
            Breakage::TargetFills => Some(Failure::Full),
            Breakage::TargetReadOnly => Some(Failure::ReadOnly),
            _ => None,
        };
        self.host.progress_ns = self.host.now_ns;
        self.host.set_failure(target.index(), failure);
        if failure == Some(Failure::Stopped) {
            self.host.queue.push(self.host.now_ns + GIVE_UP_NS, Event::GiveUp(fault.which));
        }
        for actor in self.actors() {
            let input = match failure {
                Some(failure) => Input::TargetFailed { target, failure },
                None => Input::TargetBack { target },
            };
            self.give(actor, input);
        }
        self.follow_up();
    }
}
