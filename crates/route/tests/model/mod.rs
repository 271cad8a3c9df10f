//! Machines, a network, targets and their failures as a model for the checker: every order
//! in which things can happen, with a policy that may choose anything.

// Each test program uses its own part of this.
#![allow(dead_code)]

mod bounds;
pub mod roles;
pub mod run;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hash;

pub use bounds::Bounds;
use plimsoll_route::{
    ActorId, Attempt, AttemptId, Closed, Commit, Failure, Input, Message, Outputs, Refusal,
    TargetId, Timer, TimerId, WriteId,
};
use stateright::{Model, Property};

/// All machines of one router.
pub trait Party: Clone + Debug + Hash + Eq + Send + Sync + 'static {
    fn step(&mut self, actor: ActorId, input: Input, out: &mut Effects);
    fn actors(&self) -> u32;
    /// Who takes the submissions of a writer.
    fn home(&self, writer: u32) -> ActorId;
    /// Tells the policy what to choose in the next step.
    fn advise(&mut self, advice: u16);
    fn targets(&self) -> usize;
    /// Roles that must say that they are closed.
    fn roles(&self) -> u32;
    fn is_throttle_kept(&self) -> bool;
}

/// What one step put out.
#[derive(Default)]
pub struct Effects {
    pub messages: Vec<(ActorId, Message)>,
    pub timers: Vec<Timer>,
    pub started: Vec<Attempt>,
    pub committed: Vec<Commit>,
    pub closed: Vec<Closed>,
    pub refused: Vec<Refusal>,
}

impl Outputs for Effects {
    fn send(&mut self, to: ActorId, message: Message) {
        self.messages.push((to, message));
    }
    fn timer(&mut self, timer: Timer) {
        self.timers.push(timer);
    }
    fn start(&mut self, attempt: Attempt) {
        self.started.push(attempt);
    }
    fn committed(&mut self, commit: Commit) {
        self.committed.push(commit);
    }
    fn superseded(&mut self, _attempt: AttemptId) {}
    fn refused(&mut self, refusal: Refusal) {
        self.refused.push(refusal);
    }
    fn closed(&mut self, closed: Closed) {
        self.closed.push(closed);
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub struct State<P> {
    pub party: P,
    pub network: Vec<(ActorId, ActorId, Message)>,
    pub attempts: Vec<(ActorId, Attempt)>,
    pub timers: BTreeMap<(ActorId, TimerId), u32>,
    /// How many steps of its script each writer did.
    script: Vec<u8>,
    pub commits: BTreeMap<WriteId, u8>,
    pub committed_bytes: u64,
    pub lost_bytes: u64,
    pub closed_writers: Vec<u32>,
    pub closed_roles: u32,
    dead: Vec<u32>,
    failed: Vec<(TargetId, Failure)>,
    /// There was a moment when no target took data.
    had_none: bool,
    used: Used,
}

#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
struct Used {
    losses: u8,
    repeats: u8,
    attempt_failures: u8,
    target_returns: u8,
    writer_deaths: u8,
    retries: u8,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Script(u32, u16),
    Deliver(usize, u16),
    Lose(usize),
    Repeat(usize),
    End(usize, u16),
    Fail(usize, Failure, u16),
    Ring(ActorId, TimerId, u16),
    RetryAll,
    FailTarget(TargetId, Failure, u16),
    TargetBack(TargetId, u16),
    Die(u32, u16),
}

pub struct Checked<P> {
    pub party: P,
    pub bounds: Bounds,
}

impl<P: Party> Checked<P> {
    fn step(&self, state: &mut State<P>, actor: ActorId, input: Input) {
        let mut effects = Effects::default();
        state.party.step(actor, input, &mut effects);
        state.party.advise(0);
        for (to, message) in effects.messages {
            state.network.push((actor, to, message));
        }
        if !self.bounds.is_fifo {
            // What cannot be told apart should not be counted apart.
            state.network.sort_by_key(|(from, to, message)| (*from, *to, message.encode()));
        }
        for timer in effects.timers {
            state.timers.insert((actor, timer.id), timer.generation);
        }
        state.attempts.extend(effects.started.into_iter().map(|attempt| (actor, attempt)));
        assert_eq!(effects.refused, [], "writers submit before they close");
        for commit in effects.committed {
            *state.commits.entry(commit.write).or_default() += 1;
            state.committed_bytes += commit.length_bytes;
        }
        for closed in effects.closed {
            match closed {
                Closed::Role => state.closed_roles += 1,
                Closed::Writer { writer, lost_bytes, .. } => {
                    state.closed_writers.push(writer);
                    state.lost_bytes += lost_bytes;
                }
            }
        }
    }

    fn has_failed(state: &State<P>, target: TargetId) -> bool {
        state.failed.iter().any(|(failed, _)| *failed == target)
    }

    fn note_failure(&self, state: &mut State<P>, target: TargetId, failure: Failure) {
        if !Self::has_failed(state, target) {
            state.failed.push((target, failure));
        }
        state.had_none |= state.failed.len() == state.party.targets();
    }

    fn everyone(&self, state: &mut State<P>, input: Input) {
        for actor in 0..state.party.actors() {
            self.step(state, ActorId(actor), input);
        }
    }

    /// Places of messages that can be next.
    fn next_messages(&self, state: &State<P>) -> Vec<usize> {
        let all = 0..state.network.len();
        let pair = |place: usize| (state.network[place].0, state.network[place].1);
        let is_first = |place: &usize| {
            if self.bounds.is_fifo {
                (0..*place).all(|before| pair(before) != pair(*place))
            } else {
                *place == 0 || state.network[*place - 1] != state.network[*place]
            }
        };
        all.filter(is_first).collect()
    }

    fn is_quiet(&self, state: &State<P>) -> bool {
        let done = self.bounds.submissions.len() as u8 + 1;
        let scripts = (0..self.bounds.writers)
            .all(|writer| state.script[writer as usize] == done || state.dead.contains(&writer));
        state.network.is_empty() && state.attempts.is_empty() && scripts
    }

    /// Something that will happen by itself, as opposed to trouble, which may or may not.
    fn is_certain(&self, state: &State<P>, action: &Action) -> bool {
        match action {
            Action::Script(..) | Action::Deliver(..) | Action::Ring(..) | Action::RetryAll => true,
            Action::End(place, _) => {
                let target = state.attempts[*place].1.target;
                let has_stopped = state.failed.contains(&(target, Failure::Stopped));
                !(self.bounds.stopped_is_for_ever && has_stopped)
            }
            _ => false,
        }
    }

    pub fn is_finished(&self, state: &State<P>) -> bool {
        let total = u64::from(self.bounds.writers) * self.bounds.submissions.iter().sum::<u64>();
        let is_closed =
            |writer: u32| state.closed_writers.contains(&writer) || state.dead.contains(&writer);
        let is_whole = !state.dead.is_empty()
            || state.had_none
            || (state.committed_bytes, state.lost_bytes) == (total, 0);
        (0..self.bounds.writers).all(is_closed)
            && state.closed_roles == state.party.roles()
            && is_whole
    }
}

impl<P: Party> Model for Checked<P> {
    type State = State<P>;
    type Action = Action;

    fn init_states(&self) -> Vec<Self::State> {
        let mut state = State {
            party: self.party.clone(),
            network: Vec::new(),
            attempts: Vec::new(),
            timers: BTreeMap::new(),
            script: vec![0; self.bounds.writers as usize],
            commits: BTreeMap::new(),
            committed_bytes: 0,
            lost_bytes: 0,
            closed_writers: Vec::new(),
            closed_roles: 0,
            dead: Vec::new(),
            failed: Vec::new(),
            had_none: false,
            used: Used::default(),
        };
        self.everyone(&mut state, Input::Begin);
        vec![state]
    }

    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>) {
        let bounds = &self.bounds;
        let done = bounds.submissions.len() as u8 + 1;
        for advice in 0..bounds.advice {
            for writer in 0..bounds.writers {
                if state.script[writer as usize] < done && !state.dead.contains(&writer) {
                    actions.push(Action::Script(writer, advice));
                }
            }
            for place in self.next_messages(state) {
                actions.push(Action::Deliver(place, advice));
            }
            for place in 0..state.attempts.len() {
                actions.push(Action::End(place, advice));
                if state.used.attempt_failures < bounds.attempt_failures {
                    actions.push(Action::Fail(place, Failure::Full, advice));
                }
            }
            for (target, failure) in &bounds.target_failures {
                if !Self::has_failed(state, *target) {
                    actions.push(Action::FailTarget(*target, *failure, advice));
                }
            }
            if state.used.target_returns < bounds.target_returns {
                for (target, _) in &state.failed {
                    actions.push(Action::TargetBack(*target, advice));
                }
            }
            if state.used.writer_deaths < bounds.writer_deaths {
                for writer in 0..bounds.writers {
                    if !state.dead.contains(&writer) {
                        actions.push(Action::Die(writer, advice));
                    }
                }
            }
            for (actor, id) in state.timers.keys().filter(|(_, id)| *id != TimerId::Retry) {
                actions.push(Action::Ring(*actor, *id, advice));
            }
        }
        // A retry that is early is a repeated message, which is its own action.
        let is_retried = state.timers.keys().any(|(_, id)| *id == TimerId::Retry);
        if is_retried && self.is_quiet(state) && !self.is_finished(state) {
            actions.push(Action::RetryAll);
        }
        for place in self.next_messages(state) {
            if state.used.losses < bounds.losses {
                actions.push(Action::Lose(place));
            }
            if state.used.repeats < bounds.repeats {
                actions.push(Action::Repeat(place));
            }
        }
    }

    fn next_state(&self, last: &Self::State, action: Self::Action) -> Option<Self::State> {
        let mut state = last.clone();
        self.apply(&mut state, action);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("one commit per identity", |_, state: &State<P>| {
                state.commits.values().all(|count| *count == 1)
            }),
            Property::always("the throttle is kept", |_, state: &State<P>| {
                state.party.is_throttle_kept()
            }),
            Property::always("no hang, none lost", |model: &Checked<P>, state: &State<P>| {
                let mut actions = Vec::new();
                model.actions(state, &mut actions);
                let goes_on = actions.iter().any(|action| model.is_certain(state, action));
                goes_on || model.is_finished(state)
            }),
            Property::always("no endless retry", |_, state: &State<P>| {
                // Every loss costs a round or two, and nothing is lost after the last.
                state.used.retries < 8
            }),
            Property::sometimes("it ends", |model: &Checked<P>, state: &State<P>| {
                model.is_finished(state)
            }),
        ]
    }
}

impl<P: Party> Checked<P> {
    fn apply(&self, state: &mut State<P>, action: Action) {
        match action {
            Action::Script(writer, advice) => {
                let step = usize::from(state.script[writer as usize]);
                state.script[writer as usize] += 1;
                state.party.advise(advice);
                let input = match self.bounds.submissions.get(step) {
                    Some(length_bytes) => Input::Submit { writer, length_bytes: *length_bytes },
                    None => Input::Close { writer },
                };
                let home = state.party.home(writer);
                self.step(state, home, input);
            }
            Action::Deliver(place, advice) => {
                let (from, to, message) = state.network.remove(place);
                state.party.advise(advice);
                self.step(state, to, Input::Message { from, message });
            }
            Action::Lose(place) => {
                state.network.remove(place);
                state.used.losses += 1;
            }
            Action::Repeat(place) => {
                let copy = state.network[place];
                state.network.insert(place, copy);
                state.used.repeats += 1;
            }
            Action::End(place, advice) => {
                let (actor, attempt) = state.attempts.remove(place);
                state.party.advise(advice);
                let attempt = attempt.attempt;
                self.step(state, actor, Input::AttemptDone { attempt, pending_until_ns: 0 });
            }
            Action::Fail(place, failure, advice) => {
                let (actor, attempt) = state.attempts.remove(place);
                state.used.attempt_failures += 1;
                self.note_failure(state, attempt.target, failure);
                state.party.advise(advice);
                let attempt = attempt.attempt;
                self.step(state, actor, Input::AttemptFailed { attempt, failure });
            }
            Action::Ring(actor, id, advice) => {
                let Some(generation) = state.timers.remove(&(actor, id)) else { return };
                state.party.advise(advice);
                self.step(state, actor, Input::Timer { id, generation });
            }
            Action::RetryAll => {
                state.used.retries += 1;
                for ((actor, id), generation) in std::mem::take(&mut state.timers) {
                    self.step(state, actor, Input::Timer { id, generation });
                }
            }
            Action::FailTarget(target, failure, advice) => {
                self.note_failure(state, target, failure);
                state.party.advise(advice);
                self.everyone(state, Input::TargetFailed { target, failure });
            }
            Action::TargetBack(target, advice) => {
                state.failed.retain(|(failed, _)| *failed != target);
                state.used.target_returns += 1;
                state.party.advise(advice);
                self.everyone(state, Input::TargetBack { target });
            }
            Action::Die(writer, advice) => {
                state.dead.push(writer);
                state.used.writer_deaths += 1;
                let gone = |attempt: &Attempt| attempt.write.writer == writer;
                state.attempts.retain(|(_, attempt)| !gone(attempt));
                state.party.advise(advice);
                self.everyone(state, Input::WriterDied { writer });
            }
        }
    }
}
