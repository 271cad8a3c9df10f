//! One race: a policy, its writers, their data, from the first submission to the last fsync.

use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_guarded::working_file::NOISE;
use plimsoll_guarded::{Claim, WorkingDirectory};
use plimsoll_route::AttemptId;
use plimsoll_wire::clock::monotonic;

use crate::change::{Change, Scheduled};
use crate::course::{Course, NOISE_FILE_BYTES};
use crate::host::{Host, Request};
use crate::order::{Answer, Flood, Order, Preparation, Start};
use crate::outcome::{Loss, RaceOutcome};
use crate::shared_ledger::SharedLedger;
use crate::team::{Team, Word};
use crate::{Contender, RaceError, read_back};

/// How often a wait looks whether the user asked to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What one stream of noise writes at a time.
const NOISE_WRITE_BYTES: u64 = 1 << 20;

/// What one race is beside its course.
pub struct Entry {
    /// Who decides.
    pub contender: Contender,
    /// What happens meanwhile.
    pub changes: Vec<Change>,
    /// Tells this race's data from any other's.
    pub seed: u64,
    /// Read everything back afterwards.
    pub verify: bool,
}

/// Runs one race. All files are gone afterwards, all changes undone, and all targets at rest.
///
/// # Errors
/// When a process cannot take part or `interrupted` says to stop. A writer that dies or a target that
/// fails is part of the outcome.
pub fn race(
    course: &Course,
    entry: Entry,
    interrupted: &dyn Fn() -> bool,
) -> Result<RaceOutcome, RaceError> {
    let Entry { contender, changes, seed, verify } = entry;
    let memory = if contender.is_shared() { Some(shared_memory()?) } else { None };
    let claim = memory.as_ref().map(WorkingDirectory::claim);
    let outcome = Running::prepare(course, seed, claim, interrupted).and_then(|mut running| {
        running.begin(contender, changes)?;
        while !running.is_over() {
            running.go_on()?;
        }
        running.end()
    });
    let outcome = outcome.and_then(|mut outcome| {
        if verify {
            outcome.read_back = Some(read_back::check(course, seed, &outcome.index)?);
        }
        Ok(outcome)
    });
    memory.iter().for_each(|memory| drop(memory.remove()));
    let is_followed = !matches!(outcome, Err(RaceError::Interrupted));
    read_back::remove_files(course, is_followed);
    outcome
}

/// Returns where the memory is that writers share: what a killed race left there is looked for there.
pub fn place_of_memory() -> PathBuf {
    let shm = Path::new("/dev/shm");
    if shm.is_dir() { shm.to_owned() } else { std::env::temp_dir() }
}

/// A private directory in memory, for what writers share.
fn shared_memory() -> Result<WorkingDirectory, RaceError> {
    WorkingDirectory::make(&place_of_memory()).map_err(RaceError::SharedMemory)
}

/// A race under way. The members after the writers make noise.
struct Running<'a> {
    course: &'a Course,
    interrupted: &'a dyn Fn() -> bool,
    /// Before the team, so that they are undone first: a stream of noise that is killed is gone only
    /// when its write is done, which takes long on a target that was made slow.
    changes: Vec<Scheduled>,
    team: Team,
    host: Option<Host>,
    /// Instead of a host, where writers route themselves.
    shared: Option<SharedLedger>,
    began_ns: u64,
    /// Writers that have said all that they have, or died.
    closed: Vec<bool>,
    asked_to_finish: Vec<bool>,
    /// When a writer's files were durable, or when it died.
    finished: Vec<Option<u64>>,
    losses: Vec<Loss>,
    noise_bytes: u64,
}

impl<'a> Running<'a> {
    fn prepare(
        course: &'a Course,
        seed: u64,
        memory: Option<Claim>,
        interrupted: &'a dyn Fn() -> bool,
    ) -> Result<Self, RaceError> {
        let noise = course.noise_targets();
        let writers = course.writers as usize;
        let mut team = Team::start(&course.program, writers + noise.len())?;
        for writer in 0..course.writers {
            let preparation = Preparation {
                writer,
                file: Course::file(writer),
                working: course.working.iter().map(|it| it.claim()).collect(),
                blocks: course.blocks,
                block_bytes: course.block_bytes,
                way: course.way,
                race: seed,
                think_ms: course.think_ms,
                memory: memory.clone(),
            };
            team.tell(writer as usize, &Order::Prepare(preparation))?;
        }
        for (stream, target) in noise.into_iter().enumerate() {
            let flood = Flood {
                working: course.working[target].claim(),
                file: format!("{NOISE}{stream}"),
                write_bytes: NOISE_WRITE_BYTES,
                file_bytes: NOISE_FILE_BYTES,
                way: course.way,
            };
            let order = Order::Flood(flood);
            team.tell(writers + stream, &order)?;
        }
        let mut running = Running {
            course,
            interrupted,
            changes: Vec::new(),
            team,
            host: None,
            shared: None,
            began_ns: 0,
            closed: vec![false; writers],
            asked_to_finish: vec![false; writers],
            finished: vec![None; writers],
            losses: Vec::new(),
            noise_bytes: 0,
        };
        running.wait_ready()?;
        Ok(running)
    }

    fn wait_ready(&mut self) -> Result<(), RaceError> {
        let mut ready = 0;
        while ready < self.team.size() {
            if (self.interrupted)() {
                return Err(RaceError::Interrupted);
            }
            for (writer, word) in self.team.listen(LOOK_EVERY)? {
                match word {
                    Word::Said(Answer::Ready) => ready += 1,
                    Word::Said(Answer::Failed(why)) | Word::Gone(why) => {
                        return Err(RaceError::Unfit { writer, why });
                    }
                    Word::Said(_) => {}
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, contender: Contender, changes: Vec<Change>) -> Result<(), RaceError> {
        let (targets, writers) = (self.course.working.len() as u16, self.course.writers);
        self.began_ns = monotonic();
        if contender.is_shared() {
            self.shared = Some(SharedLedger::new(writers as usize));
        } else {
            self.host = Some(Host::new(contender.router(targets, writers), writers as usize));
        }
        self.changes = changes.into_iter().map(Scheduled::new).collect();
        for writer in 0..self.course.writers as usize {
            self.team.tell(writer, &Order::Begin)?;
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.finished.iter().all(Option::is_some)
    }

    fn go_on(&mut self) -> Result<(), RaceError> {
        if (self.interrupted)() {
            return Err(RaceError::Interrupted);
        }
        let Some(host) = &mut self.host else {
            let words = self.team.listen(LOOK_EVERY)?;
            return words.into_iter().try_for_each(|(member, word)| self.hear(member, word));
        };
        let next_ns = host.ring_timers();
        self.fulfil()?;
        let until_timer = next_ns.map(|at| Duration::from_nanos(at.saturating_sub(monotonic())));
        let words = self.team.listen(until_timer.map_or(LOOK_EVERY, |it| it.min(LOOK_EVERY)))?;
        let is_quiet = words.is_empty();
        for (member, word) in words {
            self.hear(member, word)?;
        }
        self.fulfil()?;
        if is_quiet { self.check_moving() } else { Ok(()) }
    }

    /// A router that waits for nothing and is not done would wait for ever.
    fn check_moving(&self) -> Result<(), RaceError> {
        let Some(host) = &self.host else { return Ok(()) };
        let waits = |(finished, asked): (&Option<u64>, &bool)| finished.is_none() && !asked;
        let is_open = self.finished.iter().zip(&self.asked_to_finish).any(waits);
        if is_open && self.closed.iter().all(|it| *it) && host.is_at_rest() {
            let ledger = host.ledger();
            let submitted_bytes = ledger.submitted_bytes();
            let open_bytes = submitted_bytes - ledger.committed_bytes();
            return Err(RaceError::Stuck { open_bytes, submitted_bytes });
        }
        Ok(())
    }

    fn hear(&mut self, member: usize, word: Word) -> Result<(), RaceError> {
        let writer = member as u32;
        let is_noise = member >= self.finished.len();
        let word = match (&mut self.shared, word) {
            (Some(shared), Word::Said(said)) => match shared.hear(writer, said) {
                Some(said) => Word::Said(said),
                None => return Ok(()),
            },
            (_, word) => word,
        };
        match word {
            Word::Said(Answer::Submit { length_bytes }) => {
                let host = self.host.as_mut();
                host.map_or(Ok(()), |host| host.submit(writer, length_bytes))?;
            }
            Word::Said(Answer::Close) => {
                self.closed[member] = true;
                self.host.iter_mut().for_each(|host| host.close(writer));
            }
            Word::Said(Answer::Ended { slot, generation, file_offset, error }) => {
                let attempt = AttemptId { slot, generation };
                let host = self.host.iter_mut();
                host.for_each(|host| host.ended(writer, attempt, file_offset, error));
            }
            Word::Said(Answer::Finished { durable_ns }) => {
                let last = durable_ns.into_iter().max().unwrap_or_else(monotonic);
                self.finished[member] = Some(last);
            }
            Word::Said(Answer::Flooded { bytes }) => self.noise_bytes += bytes,
            Word::Said(Answer::Ready | Answer::Written(_) | Answer::Shared { .. }) => {}
            Word::Said(Answer::Failed(why)) | Word::Gone(why) if is_noise => {
                return Err(RaceError::Unfit { writer: member, why });
            }
            Word::Said(Answer::Failed(why)) | Word::Gone(why) => self.lose(member, why),
        }
        Ok(())
    }

    /// Of this writer nothing more will come.
    fn lose(&mut self, member: usize, why: String) {
        if self.finished[member].is_some() {
            return;
        }
        self.finished[member] = Some(monotonic());
        self.closed[member] = true;
        let writer = member as u32;
        if let Some(host) = &mut self.host {
            host.writer_died(writer);
            let lost_bytes = host.ledger().lost_bytes(writer);
            self.losses.push(Loss { writer, why, lost_bytes });
        } else if let Some(shared) = &self.shared {
            let whole = u64::from(self.course.blocks) * self.course.block_bytes;
            let lost_bytes = whole.saturating_sub(shared.committed_bytes(writer));
            self.losses.push(Loss { writer, why, lost_bytes });
        }
    }

    /// Does what the router wants.
    fn fulfil(&mut self) -> Result<(), RaceError> {
        let Some(host) = &mut self.host else { return Ok(()) };
        for request in host.take_requests() {
            match request {
                Request::Start(attempt) => {
                    let writer = attempt.write.writer as usize;
                    self.team.tell(writer, &Order::Start(Start::of(&attempt)))?;
                }
                Request::Finish(writer) if self.finished[writer as usize].is_none() => {
                    let targets = host.ledger().targets_of(writer);
                    self.asked_to_finish[writer as usize] = true;
                    self.team.tell(writer as usize, &Order::Finish { targets })?;
                }
                Request::Finish(_) => {}
            }
        }
        Ok(())
    }

    fn end(mut self) -> Result<RaceOutcome, RaceError> {
        let mut changed_ns = Vec::new();
        for change in self.changes.drain(..) {
            let done = change.end().map_err(RaceError::Change)?;
            changed_ns.push(done.map(|at| at.saturating_sub(self.began_ns)));
        }
        let last = self.finished.iter().flatten().max().copied().unwrap_or(self.began_ns);
        let windows = self
            .host
            .as_ref()
            .and_then(|host| host.router().windows(self.course.working.len() as u16));
        let (windows, ledger) = match (self.shared.take(), self.host.take()) {
            (Some(shared), _) => shared.into_parts(),
            (None, host) => (windows, host.map(Host::into_ledger).unwrap_or_default()),
        };
        let mut outcome = RaceOutcome::of(self.course, ledger, self.began_ns, &self.losses);
        outcome.makespan_ns = last.saturating_sub(self.began_ns);
        outcome.noise_bytes = self.noise_bytes;
        outcome.changed_ns = changed_ns;
        outcome.windows = windows;
        Ok(outcome)
    }
}
