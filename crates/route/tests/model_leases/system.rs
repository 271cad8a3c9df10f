//! Processes, their table, and targets, as a model for the checker.

use plimsoll_route::Failure;
use plimsoll_route::lease::{
    LeaseId, Leases, Need, SealedLease, Seen, TableShape, begin_fill, publish,
};
use stateright::{Model, Property};

use super::policy::Anything;
use super::state::{Action, Bounds, Doing, Held, Process, State, Step};
use super::words::{Shared, killed_after};

/// No transition has more stores that change something than this.
const STORES_MAX: u32 = 12;

pub struct System {
    pub bounds: Bounds,
}

impl System {
    fn shape(&self) -> TableShape {
        let Bounds { writes, lanes, leases, .. } = self.bounds;
        TableShape::new(lanes, writes.len(), leases).unwrap()
    }

    fn leases(&self, advice: usize) -> Leases<Anything> {
        Leases::new(self.shape(), self.bounds.factor, Anything { advice })
    }

    fn on_their_way(&self, state: &State) -> Vec<SealedLease> {
        let mut all = Vec::new();
        self.leases(0).on_their_way(&state.words, 0, |lease| all.push(lease));
        all
    }

    /// Steps that a process could do now.
    fn steps(&self, state: &State, at: usize) -> Vec<Step> {
        let process = &state.processes[at];
        let mut steps = Vec::new();
        match (process.doing, process.lease) {
            (Doing::Write, None) if process.left > 0 => {
                steps.extend((0..self.bounds.lanes + 2).map(Step::Reserve));
            }
            (Doing::Write, None) => steps.push(Step::Flush),
            (Doing::Write, Some(held)) => {
                let is_full = held.filled == held.reserved.length_bytes || process.left == 0;
                steps.push(match (held.is_filling, is_full) {
                    (true, _) => Step::Publish,
                    (false, true) => Step::Seal,
                    (false, false) => Step::BeginFill,
                });
            }
            (Doing::Flush, _) => {
                steps.push(match process.copy {
                    Some(Held { is_filling: true, .. }) => Step::EndCopy,
                    Some(Held { filled: 0, .. }) => Step::BeginCopy,
                    Some(_) => Step::SealCopy,
                    None => Step::Settle,
                });
                if self.bounds.copies && process.copy.is_none() {
                    steps.extend((0..self.bounds.lanes).map(Step::Copy));
                }
            }
            _ => return steps,
        }
        let is_alive = |it: &Process| matches!(it.doing, Doing::Write | Doing::Flush);
        let is_first = state.processes.iter().position(is_alive) == Some(at);
        // Whoever looks sees the same, so it is enough if one does; but anybody may die meanwhile.
        if !is_first && state.deaths >= self.bounds.deaths {
            return steps;
        }
        steps.extend(self.on_their_way(state).into_iter().map(Step::Durable));
        if self.bounds.deaths == 0 {
            steps.extend(self.on_their_way(state).into_iter().map(Step::Pending));
        }
        steps.push(Step::SealOld);
        let is_dead = |other: &usize| state.processes[*other].doing == Doing::Dead;
        steps.extend((0..state.processes.len()).filter(is_dead).map(Step::Reap));
        steps
    }

    /// Does a step, dying after `stores`. Says whether it did not come to its end.
    fn step(&self, state: &mut State, at: usize, step: Step, stores: u32) -> bool {
        let before = self.on_their_way(state);
        let mut process = state.processes[at].clone();
        let words = &state.words;
        let (shape, holder) = (self.shape(), process.holder);
        let advice = match step {
            Step::Reserve(advice) | Step::Copy(advice) => advice,
            _ => 0,
        };
        let mut leases = self.leases(advice);
        let hold = |reserved| Held { reserved, filled: 0, is_filling: false };
        let mut published = None;
        let mut copied = None;
        let ((), is_killed) = killed_after(stores, || match step {
            Step::Reserve(_) => {
                let (length_bytes, waiting_bytes) = (u64::MAX, u64::from(process.left));
                let need = Need { holder, length_bytes, waiting_bytes };
                process.lease = leases.reserve(words, 0, need).map(hold);
            }
            Step::BeginFill => {
                let held = process.lease.as_mut().unwrap();
                held.is_filling = begin_fill(&shape, words, held.reserved.id);
                if !held.is_filling {
                    process.lease = None;
                }
            }
            Step::Publish => {
                let held = process.lease.as_mut().unwrap();
                (held.is_filling, held.filled) = (false, held.filled + 1);
                let id = held.reserved.id;
                published = Some((id, held.filled));
                if publish(&shape, words, id, held.filled) {
                    process.left -= 1;
                } else {
                    (process.lease, published) = (None, None);
                }
            }
            Step::Seal => {
                leases.seal(words, 0, process.lease.take().unwrap().reserved.id);
            }
            Step::Flush => {
                process.doing = Doing::Flush;
                leases.flush(words, 0, holder);
            }
            Step::Settle => {
                if leases.is_flushed(words, holder) {
                    process.doing = Doing::Left;
                    leases.leave(words, 0, holder);
                }
            }
            Step::Copy(_) => {
                if let Some((of, reserved)) = leases.second_attempt(words, 0, holder) {
                    process.copy = Some(hold(reserved));
                    copied = Some((reserved.id, of.id));
                }
            }
            Step::BeginCopy => {
                let held = process.copy.as_mut().unwrap();
                held.is_filling = begin_fill(&shape, words, held.reserved.id);
                if !held.is_filling {
                    process.copy = None;
                }
            }
            Step::EndCopy => {
                let held = process.copy.as_mut().unwrap();
                (held.is_filling, held.filled) = (false, held.reserved.length_bytes);
                if !publish(&shape, words, held.reserved.id, held.filled) {
                    process.copy = None;
                }
            }
            Step::SealCopy => {
                leases.seal(words, 0, process.copy.take().unwrap().reserved.id);
            }
            Step::Durable(lease) => {
                leases.durable(words, 0, lease.id);
            }
            Step::Pending(lease) => {
                leases.saw(words, 0, lease.id, Seen::Pending);
            }
            Step::SealOld => leases.seal_old(words, 0),
            Step::Reap(place) => leases.holder_gone(words, 0, place),
        });
        let is_new = matches!(step, Step::Reserve(_)) && process.lease.is_some();
        state.reservations += u8::from(is_new || copied.is_some());
        state.copies.extend(copied);
        if let Some((id, filled)) = published.filter(|_| !is_killed || stores > 0) {
            state.published.insert(id, filled);
        }
        state.processes[at] = process;
        self.note_ended(state, &before);
        is_killed
    }

    /// What was on its way and is no longer in the table has ended.
    fn note_ended(&self, state: &mut State, before: &[SealedLease]) {
        let after = self.on_their_way(state);
        for lease in before.iter().filter(|lease| !lease.is_superseded) {
            if after.iter().all(|it| it.id != lease.id) {
                let of = state.copies.get(&lease.id).copied().unwrap_or(lease.id);
                *state.ended.entry(of).or_default() += 1;
            }
        }
    }

    fn is_finished(&self, state: &State) -> bool {
        let is_excused =
            |it: &Process| matches!(it.doing, Doing::Left | Doing::Stopped | Doing::Dead);
        state.processes.iter().all(is_excused)
    }

    fn next(&self, state: &State, action: Action) -> State {
        let mut state = state.clone();
        match action {
            Action::Do(at, step) => {
                self.step(&mut state, at, step, u32::MAX);
            }
            Action::DieDoing(at, step, stores) => {
                self.step(&mut state, at, step, stores);
                state.deaths += 1;
                state.processes[at].doing = Doing::Dead;
                (state.processes[at].lease, state.processes[at].copy) = (None, None);
            }
            Action::Stop(at) => {
                state.stops += 1;
                state.processes[at].doing = Doing::Stopped;
            }
            Action::Replace(at) => {
                let before = self.on_their_way(&state);
                let holder = self.leases(0).join(&state.words, 0, at);
                let (lease, copy, doing) = (None, None, Doing::Write);
                state.processes[at] = Process { holder, left: 1, lease, copy, doing };
                self.note_ended(&mut state, &before);
            }
            Action::FailLane => {
                state.lane_failures += 1;
                self.leases(0).set_failure(&state.words, 0, Some(Failure::Full));
            }
        }
        state
    }
}

impl Model for System {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let mut leases = self.leases(0);
        let words = vec![Shared::default(); self.shape().words()];
        leases.begin(&words);
        let processes = self.bounds.writes.iter().enumerate().map(|(at, left)| {
            let holder = leases.join(&words, 0, at);
            Process { holder, left: *left, lease: None, copy: None, doing: Doing::Write }
        });
        let processes = processes.collect();
        let (published, ended, copies) = Default::default();
        vec![State {
            words,
            processes,
            published,
            ended,
            copies,
            deaths: 0,
            stops: 0,
            lane_failures: 0,
            reservations: 0,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for at in 0..state.processes.len() {
            let steps = self.steps(state, at);
            actions.extend(steps.iter().map(|step| Action::Do(at, *step)));
            if state.deaths < self.bounds.deaths {
                let stores = 0..STORES_MAX;
                let dying = |step: Step| {
                    stores.clone().map(move |stores| Action::DieDoing(at, step, stores))
                };
                actions.extend(steps.iter().flat_map(|step| dying(*step)));
            }
            let doing = state.processes[at].doing;
            if state.stops < self.bounds.stops && matches!(doing, Doing::Write | Doing::Flush) {
                actions.push(Action::Stop(at));
            }
            if doing == Doing::Dead {
                actions.push(Action::Replace(at));
            }
        }
        if state.lane_failures < self.bounds.lane_failures {
            actions.push(Action::FailLane);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        Some(self.next(last, action))
    }

    fn within_boundary(&self, state: &State) -> bool {
        state.reservations <= self.bounds.reservations
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("one end per lease", |_, state: &State| {
                state.ended.values().all(|count| *count == 1)
            }),
            Property::always("sealed where published data ends", |model: &System, state| {
                model.on_their_way(state).iter().all(|lease| {
                    let of = state.copies.get(&lease.id).copied().unwrap_or(lease.id);
                    state.published.get(&of) == Some(&lease.length_bytes)
                })
            }),
            Property::always("none lost", |model: &System, state: &State| {
                let is_there = |id: &LeaseId| state.ended.contains_key(id);
                !model.is_finished(state)
                    || !model.on_their_way(state).is_empty()
                    || model.has_unreaped(state)
                    || state.published.keys().all(is_there)
            }),
            Property::always("the throttle is kept", |model: &System, state: &State| {
                model.leases(0).is_throttle_kept(&state.words, 2)
            }),
            Property::always("no hang", |model: &System, state: &State| {
                // A policy that always says "nowhere" must not stop anything.
                let is_certain = |action: &Action| match action {
                    Action::Do(_, Step::Reserve(lane)) => *lane == model.bounds.lanes,
                    Action::Do(_, Step::Pending(_) | Step::Copy(_)) => false,
                    Action::Do(..) => true,
                    _ => false,
                };
                let mut actions = Vec::new();
                model.actions(state, &mut actions);
                let goes_on = |action: &Action| model.next(state, *action) != *state;
                model.is_finished(state) || actions.iter().filter(|it| is_certain(it)).any(goes_on)
            }),
            Property::sometimes("it ends", |model: &System, state: &State| {
                model.is_finished(state) && !state.published.is_empty()
            }),
        ]
    }
}

impl System {
    /// Somebody is dead or stopped, and what it left behind is not dealt with: nobody is there any more.
    fn has_unreaped(&self, state: &State) -> bool {
        let is_gone = |it: &Process| matches!(it.doing, Doing::Dead | Doing::Stopped);
        state.processes.iter().any(is_gone)
    }
}
