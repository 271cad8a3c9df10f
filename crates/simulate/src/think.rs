//! Processes that compute before each block.

use plimsoll_stats::Random;

use crate::scenario::{Application, Durations};

/// Random streams of a seed: each process has its own, so that what it computes does not depend on the router.
const THINK_STREAMS: u64 = 1 << 41;

/// What processes compute between blocks, and which of them do so now.
#[derive(Debug)]
pub struct Thinkers {
    durations: Durations,
    processes: Vec<Thinker>,
    thinking: u32,
}

#[derive(Debug)]
struct Thinker {
    random: Random,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It has its next computation before it.
    Begins,
    Thinks,
    /// It has computed and has a block to hand over.
    Thought,
}

/// What a process does that could hand over a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thought {
    /// It computes for so long from now on.
    Takes(u64),
    /// It is still computing.
    GoesOn,
    /// It has computed, and hands the block over.
    Done,
}

impl Thinkers {
    /// The processes of a program, with the random numbers of a seed; `None` if they do not compute between blocks.
    pub fn new(application: &Application, seed: u64) -> Option<Self> {
        let durations = application.think.clone()?;
        let thinker = |process: u32| Thinker {
            random: Random::for_stream(seed, THINK_STREAMS + u64::from(process)),
            state: State::Begins,
        };
        let processes = (0..application.processes).map(thinker).collect();
        Some(Thinkers { durations, processes, thinking: 0 })
    }

    /// True while any process computes.
    pub fn are_thinking(&self) -> bool {
        self.thinking > 0
    }

    /// A process could hand over a block.
    pub fn before_block(&mut self, process: u32) -> Thought {
        let thinker = &mut self.processes[process as usize];
        match thinker.state {
            State::Begins => {
                thinker.state = State::Thinks;
                self.thinking += 1;
                Thought::Takes(self.durations.draw_ns(&mut thinker.random))
            }
            State::Thinks => Thought::GoesOn,
            State::Thought => {
                thinker.state = State::Begins;
                Thought::Done
            }
        }
    }

    /// A process has computed.
    pub fn done(&mut self, process: u32) {
        self.processes[process as usize].state = State::Thought;
        self.thinking -= 1;
    }

    /// The earliest moments at which the blocks of the next burst can be handed over, counted from its begin and in order, if a
    /// process waits at least `between_ns` from one block to its next computation.
    pub fn earliest_ns(&mut self, blocks: u32, between_ns: u64) -> Vec<u64> {
        let mut all = Vec::with_capacity(self.processes.len() * blocks as usize);
        for thinker in &mut self.processes {
            let mut at_ns: u64 = 0;
            for nth in 0..blocks {
                let waits_ns = if nth > 0 { between_ns } else { 0 };
                let thinks_ns = self.durations.draw_ns(&mut thinker.random);
                at_ns = at_ns.saturating_add(waits_ns).saturating_add(thinks_ns);
                all.push(at_ns);
            }
        }
        all.sort_unstable();
        all
    }
}
