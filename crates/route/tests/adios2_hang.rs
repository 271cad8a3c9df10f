//! A negative test: the paper's protocol as ADIOS2 ships it (2.12,
//! `BP5Writer::ReroutingCommunicationLoop`) can hang, and the checker must find how.
//!
//! There one PENDING state serves a group both as giver and as taker, and REROUTE_REJECT
//! carries no number: an old rejection is taken for the answer to a newer request. Then an
//! idle group is marked as one that rejected, never says again that it is idle, and the
//! coordinator waits for ever. Our coordinator has a state for each role and numbers.

use std::collections::BTreeSet;

use stateright::{Checker, Model, Property};

const GROUPS: usize = 3;

/// `WriterGroupState::Status`, as far as it matters here.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
enum Status {
    Unknown,
    Writing,
    WritingMore,
    RerouteRejected,
    Idle,
    Pending,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
enum Said {
    Idle,
    Inquiry,
    Queue(u8),
    Request { source: usize, taker: usize },
    Reject { source: usize, taker: usize },
    Ack { source: usize, taker: usize },
    More,
}

#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq)]
struct SubCoordinator {
    queue: u8,
    is_writing: bool,
    has_said_idle: bool,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct State {
    subs: [SubCoordinator; GROUPS],
    status: [Status; GROUPS],
    idles_needed: BTreeSet<usize>,
    has_inquired: bool,
    idler_index: usize,
    writer_index: usize,
    is_closed: bool,
    /// Messages keep their order between a pair, as in MPI.
    to_coordinator: [Vec<Said>; GROUPS],
    to_sub: [Vec<Said>; GROUPS],
}

#[derive(Clone, Debug, PartialEq)]
enum Action {
    Completes(usize),
    CoordinatorHears(usize),
    SubHears(usize),
    CoordinatorSearches,
}

enum Search {
    Found { taker: usize, source: usize },
    Finished,
    NotFound,
}

impl State {
    /// The part of the loop after a message: the next writer, or WRITER_IDLE once.
    fn sub_goes_on(&mut self, group: usize) {
        let sub = &mut self.subs[group];
        if sub.is_writing {
            return;
        }
        if sub.queue > 0 {
            sub.queue -= 1;
            sub.is_writing = true;
        } else if !sub.has_said_idle {
            sub.has_said_idle = true;
            self.to_coordinator[group].push(Said::Idle);
        }
    }

    fn sub_hears(&mut self, group: usize) {
        match self.to_sub[group].remove(0) {
            Said::Inquiry => {
                let queue = self.subs[group].queue;
                self.to_coordinator[group].push(Said::Queue(queue));
            }
            Said::Request { source, taker } if self.subs[group].queue == 0 => {
                self.to_coordinator[group].push(Said::Reject { source, taker });
            }
            Said::Request { source, taker } => {
                self.subs[group].queue -= 1;
                self.to_coordinator[group].push(Said::Ack { source, taker });
            }
            Said::More => {
                self.subs[group].queue += 1;
                self.subs[group].has_said_idle = false;
            }
            _ => {}
        }
        self.sub_goes_on(group);
    }

    fn coordinator_hears(&mut self, group: usize) {
        match self.to_coordinator[group].remove(0) {
            Said::Idle => {
                self.status[group] = Status::Idle;
                self.idles_needed.remove(&group);
                if !self.has_inquired {
                    self.has_inquired = true;
                    for other in (0..GROUPS).filter(|other| *other != group) {
                        self.to_sub[other].push(Said::Inquiry);
                    }
                }
            }
            Said::Queue(length) => {
                self.status[group] = if length > 0 { Status::Writing } else { Status::Idle };
            }
            Said::Reject { source, taker } => {
                if self.status[source] == Status::Pending {
                    self.status[source] = Status::RerouteRejected;
                }
                if self.status[taker] == Status::Pending {
                    self.status[taker] = Status::Idle;
                }
            }
            Said::Ack { source, taker } => {
                self.to_sub[taker].push(Said::More);
                self.idles_needed.insert(taker);
                if self.status[source] == Status::Pending {
                    self.status[source] = Status::Writing;
                }
                self.status[taker] = Status::WritingMore;
            }
            _ => {}
        }
    }

    fn next(&self, wanted: Status, index: &mut usize) -> Search {
        for _ in 0..GROUPS {
            *index = (*index + 1) % GROUPS;
            if self.status[*index] == wanted {
                return Search::Found { taker: *index, source: *index };
            }
        }
        let is_finished = self.status.iter().all(|status| *status == Status::Idle);
        if is_finished { Search::Finished } else { Search::NotFound }
    }

    fn search(&mut self) -> Search {
        let (mut idler, mut writer) = (self.idler_index, self.writer_index);
        let found = self.next(Status::Idle, &mut idler);
        let result = match found {
            Search::Found { taker, .. } => match self.next(Status::Writing, &mut writer) {
                Search::Found { source, .. } => Search::Found { taker, source },
                other => other,
            },
            other => other,
        };
        (self.idler_index, self.writer_index) = (idler, writer);
        result
    }

    fn coordinator_searches(&mut self) -> bool {
        match self.search() {
            Search::Found { taker, source } => {
                self.to_sub[source].push(Said::Request { source, taker });
                self.status[taker] = Status::Pending;
                self.status[source] = Status::Pending;
                true
            }
            Search::Finished if self.idles_needed.is_empty() => {
                self.is_closed = true;
                true
            }
            Search::Finished | Search::NotFound => false,
        }
    }
}

struct Adios2 {
    writers: [u8; GROUPS],
}

impl Model for Adios2 {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let mut state = State {
            subs: self.writers.map(|queue| SubCoordinator { queue, ..SubCoordinator::default() }),
            status: [Status::Unknown; GROUPS],
            idles_needed: (0..GROUPS).collect(),
            has_inquired: false,
            idler_index: 0,
            writer_index: 0,
            is_closed: false,
            to_coordinator: [const { Vec::new() }; GROUPS],
            to_sub: [const { Vec::new() }; GROUPS],
        };
        (0..GROUPS).for_each(|group| state.sub_goes_on(group));
        vec![state]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.is_closed {
            return;
        }
        for group in 0..GROUPS {
            if state.subs[group].is_writing {
                actions.push(Action::Completes(group));
            }
            if !state.to_coordinator[group].is_empty() {
                actions.push(Action::CoordinatorHears(group));
            }
            if !state.to_sub[group].is_empty() {
                actions.push(Action::SubHears(group));
            }
        }
        if state.clone().coordinator_searches() {
            actions.push(Action::CoordinatorSearches);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Completes(group) => {
                state.subs[group].is_writing = false;
                state.sub_goes_on(group);
            }
            Action::CoordinatorHears(group) => state.coordinator_hears(group),
            Action::SubHears(group) => state.sub_hears(group),
            Action::CoordinatorSearches => {
                state.coordinator_searches();
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("no hang", |model: &Adios2, state: &State| {
            let mut actions = Vec::new();
            model.actions(state, &mut actions);
            !actions.is_empty() || state.is_closed
        })]
    }
}

#[test]
fn the_checker_finds_how_adios2_hangs() {
    let checker = Adios2 { writers: [1, 2, 2] }.checker().spawn_bfs().join();
    println!("ADIOS2's protocol: {} states", checker.unique_state_count());
    let Some(path) = checker.discovery("no hang") else {
        panic!("the hang of ADIOS2's protocol was not found");
    };
    let state = path.last_state().clone();
    for (step, action) in path.into_actions().iter().enumerate() {
        println!("{:>3}. {action:?}", step + 1);
    }
    println!("     {:?}, idles needed: {:?}", state.status, state.idles_needed);
    // All is written, every group has said that it is idle, nothing is under way; yet ...
    assert!(state.subs.iter().all(|sub| sub.queue == 0 && !sub.is_writing && sub.has_said_idle));
    // ... an idle group passes for one that rejected.
    assert!(state.status.contains(&Status::RerouteRejected), "{state:?}");
    assert!(!state.is_closed);
}
