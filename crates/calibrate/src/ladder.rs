//! Climbing the ladder: fill the file, find how many transfers a measure takes, measure.

use std::path::Path;
use std::time::Instant;

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::{Caching, Engine, Operation, Pattern};
use plimsoll_engine::{Burst, EngineError, Prepared, Source, Stripe};
use plimsoll_guarded::Directory;
use plimsoll_machine::Machine;
use plimsoll_stats::Random;

use crate::CalibrateError;
use crate::plan::{CalibrationPlan, Turn};
use crate::scratch::Scratch;
use crate::transactions::{Counters, Done};

/// How far the work is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// The file is being written in full.
    Filling {
        /// Bytes written.
        done: u64,
        /// Bytes to write.
        total: u64,
    },
    /// Short measures find how many transfers take the requested time.
    Probing {
        /// Rungs probed.
        done: u64,
        /// Rungs to probe.
        total: u64,
    },
    /// Measures that count.
    Measuring {
        /// Milliseconds of the measures made.
        done: u64,
        /// Milliseconds that all of them are expected to take.
        total: u64,
    },
}

/// Transfers of one size, what they took, and what the target did if that was counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Raw {
    pub transfers: u64,
    pub bytes: u64,
    pub seconds: f64,
    pub done: Option<Done>,
}

pub(crate) struct Ladder<'a> {
    pub machine: &'a Machine,
    pub plan: &'a CalibrationPlan,
    pub scratch: Scratch,
    pub counters: &'a Counters,
    pub seeds: Random,
    /// The directory, for messages.
    pub directory: &'a Path,
    /// Bytes written to the target so far.
    pub written: u64,
    /// Whether some burst went through the page cache in spite of O_DIRECT.
    pub through_cache: bool,
    /// Whether somebody asked to end.
    pub interrupted: &'a dyn Fn() -> bool,
}

/// Filled in parts of this size, so that progress can be told.
const FILL_PART: u64 = 64 << 20;

impl Ladder<'_> {
    /// Writes the whole file, so that no later transfer allocates space or reads a hole.
    pub fn fill(&mut self, tell: &mut dyn FnMut(Step)) -> Result<(), CalibrateError> {
        let total = self.plan.span.get();
        let largest = self.plan.sizes.last().map_or(1, |size| size.get());
        let part = (FILL_PART / largest).max(1) * largest;
        let mut done = 0;
        while done < total {
            tell(Step::Filling { done, total });
            let bytes = part.min(total - done);
            let burst = Burst {
                offset: Bytes::new(done),
                bytes: Bytes::new(bytes),
                span: None,
                pattern: Pattern::Sequential,
                ..self.burst(Operation::Write, largest, bytes)
            };
            self.run(&burst)?;
            done += bytes;
        }
        self.written += total;
        tell(Step::Filling { done, total });
        Ok(())
    }

    /// Returns the transfers that a measure of this rung takes, and the seconds they are expected to take.
    pub fn probe(&mut self, turn: Turn) -> Result<(u64, f64), CalibrateError> {
        /// A shorter probe may be over before a throttle or a cache takes effect.
        const SHARE: f64 = 0.25;
        let least = self.plan.transfers_min();
        let mut transfers = least;
        loop {
            let seconds = self.measure(turn, transfers)?.seconds;
            let rate = transfers as f64 / seconds;
            let most = self.plan.transfers_max(turn.rung);
            if seconds >= SHARE * self.plan.seconds || transfers >= most {
                let wanted = self.plan.transfers_for(turn.rung, rate);
                return Ok((wanted, wanted as f64 / rate));
            }
            // Not at once to the whole length: the first transfers may be served by a cache.
            let wanted = (rate * SHARE * 1.2 * self.plan.seconds).ceil() as u64;
            transfers = wanted.clamp(2 * transfers, 16 * transfers).min(most);
        }
    }

    /// As [`measure`](Self::measure), after transfers that do not count: a target that idled has
    /// saved something up (a throttle about 0.1 s, a drive its cache), which is used up first.
    pub fn measure_warm(&mut self, turn: Turn, transfers: u64) -> Result<Raw, CalibrateError> {
        const SHARE: u64 = 6;
        let size = self.plan.sizes[turn.rung].get();
        let places = self.plan.span.get() / size;
        let bytes = (transfers / SHARE).clamp(1, places) * size;
        let burst = self.burst(turn.operation, size, bytes);
        self.run(&burst)?;
        if turn.operation == Operation::Write {
            self.written += bytes;
        }
        self.measure(turn, transfers)
    }

    /// Makes this many transfers of a rung, each after a random seek, by as many bursts as it
    /// takes when the file has fewer places.
    pub fn measure(&mut self, turn: Turn, transfers: u64) -> Result<Raw, CalibrateError> {
        let size = self.plan.sizes[turn.rung].get();
        let places = self.plan.span.get() / size;
        let mut left = transfers;
        let mut seconds = 0.0;
        let before = self.counters.read(self.machine);
        while left > 0 {
            let now = left.min(places);
            let burst = self.burst(turn.operation, size, now * size);
            seconds += self.run(&burst)?;
            left -= now;
        }
        let after = self.counters.read(self.machine);
        let bytes = transfers * size;
        if turn.operation == Operation::Write {
            self.written += bytes;
        }
        let done = before.until(&after, turn.operation);
        Ok(Raw { transfers, bytes, seconds, done })
    }

    fn run(&mut self, burst: &Burst) -> Result<f64, CalibrateError> {
        if (self.interrupted)() {
            return Err(CalibrateError::Interrupted);
        }
        let ran = run(burst, self.scratch.source()).map_err(|error| self.failed(error))?;
        self.through_cache |= ran.through_cache;
        Ok(ran.seconds)
    }

    fn failed(&self, error: EngineError) -> CalibrateError {
        CalibrateError::Engine { directory: self.directory.to_owned(), error }
    }

    fn burst(&mut self, operation: Operation, size: u64, bytes: u64) -> Burst {
        let synchronous = self.plan.depth == 1;
        Burst {
            operation,
            paths: vec![self.scratch.path().to_owned()],
            chunk: Bytes::new(size),
            offset: Bytes::new(0),
            bytes: Bytes::new(bytes),
            span: Some(self.plan.span),
            transfer: Bytes::new(size),
            pattern: Pattern::Random,
            caching: Caching::Direct,
            engine: if synchronous { Engine::Synchronous } else { Engine::Uring },
            depth: self.plan.depth,
            seed: self.seeds.bits(),
            verify: false,
            stripe: None,
        }
    }
}

struct Ran {
    seconds: f64,
    through_cache: bool,
}

/// Moves a burst and takes the time of its transfers.
fn run(burst: &Burst, source: Source<'_>) -> Result<Ran, EngineError> {
    let mut prepared = Prepared::open(burst, source)?;
    let start = Instant::now();
    prepared.transfer()?;
    let seconds = start.elapsed().as_secs_f64();
    let finished = prepared.finish()?;
    Ok(Ran { seconds, through_cache: finished.page_cache.was_used() == Some(true) })
}

/// Makes a file in a private directory on one Lustre target, by the smallest burst there is.
pub(crate) fn make_on_ost(
    private: &Directory,
    path: &Path,
    ost: u16,
    plan: &CalibrationPlan,
) -> Result<(), CalibrateError> {
    let size = plan.sizes[0];
    let burst = Burst {
        operation: Operation::Write,
        paths: vec![path.to_owned()],
        chunk: size,
        offset: Bytes::new(0),
        bytes: size,
        span: None,
        transfer: size,
        pattern: Pattern::Sequential,
        caching: Caching::Direct,
        engine: Engine::Synchronous,
        depth: 1,
        seed: plan.seed,
        verify: false,
        stripe: Some(Stripe { first: ost, count: 1, size: STRIPE }),
    };
    let directory = private.path().to_owned();
    run(&burst, Source::Directories(&[private]))
        .map(drop)
        .map_err(|error| CalibrateError::Engine { directory, error })
}

/// With one target its size does not matter; it must be a multiple of 64 KiB.
const STRIPE: Bytes = Bytes::new(1 << 20);
