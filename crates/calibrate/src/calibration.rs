//! A calibration from beginning to end.

use std::path::{Path, PathBuf};

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::Operation;
use plimsoll_domain::site::{Cost, Costs, CountedBy};
use plimsoll_guarded::Directory;
use plimsoll_machine::{Machine, Space};
use plimsoll_stats::{Random, StatsError};

use crate::CalibrateError;
use crate::fit::{Coefficients, Fit};
use crate::ladder::{Ladder, Raw, Step, make_on_ost};
use crate::plan::{CalibrationPlan, Turn};
use crate::rung::{Measure, Rung};
use crate::scratch::Scratch;
use crate::transactions::Counters;
use crate::verdict::Verdict;

/// A place to calibrate, looked at but not yet written to.
#[derive(Debug)]
pub struct CalibrationTarget {
    /// The directory, without symbolic links.
    pub directory: PathBuf,
    /// The same, open: what is measured is where this leads, whoever exchanges the path.
    opened: Directory,
    /// Its file system.
    pub space: Space,
    /// Who counts its transactions.
    pub counters: Counters,
    /// Index of the Lustre target that the file is put on.
    pub ost: Option<u16>,
}

impl CalibrationTarget {
    /// Looks at a directory.
    ///
    /// # Errors
    /// If it does not exist, is no directory, or lies in memory.
    pub fn at(
        machine: &Machine,
        directory: &Path,
        ost: Option<u16>,
    ) -> Result<Self, CalibrateError> {
        let failed = |cause| CalibrateError::Directory { directory: directory.to_owned(), cause };
        // Not where somebody else's link leads: that may be any directory of this user's.
        let opened = Directory::open_by_own_links(directory).and_then(Directory::with_whole_path);
        let opened = opened.map_err(failed)?;
        let real = opened.path().to_path_buf();
        let space = machine.space_of_open(&opened, &real)?;
        if space.is_memory() {
            return Err(CalibrateError::Memory { directory: real, file_system: space.fs_type });
        }
        let counters = Counters::below(machine, &opened, ost.map(u32::from))?;
        Ok(CalibrationTarget { directory: real, opened, space, counters, ost })
    }

    /// Returns the share of the space that is used, from 0 to 1.
    pub fn fill(&self) -> f64 {
        let (total, available) = (self.space.total.get(), self.space.available.get());
        if total == 0 { 0.0 } else { total.saturating_sub(available) as f64 / total as f64 }
    }

    /// Fails if the plan's file does not fit.
    ///
    /// # Errors
    /// [`CalibrateError::Space`] if not.
    pub fn check_space(&self, plan: &CalibrationPlan) -> Result<(), CalibrateError> {
        let available = self.space.available;
        if plan.span > available {
            Err(CalibrateError::Space {
                directory: self.directory.clone(),
                span: plan.span,
                available,
            })
        } else {
            Ok(())
        }
    }
}

/// What one direction costs, and how well that explains the measures.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectionFit {
    /// Which way the data goes.
    pub operation: Operation,
    /// The measures, by ascending size.
    pub rungs: Vec<Rung>,
    /// Who counted the transactions.
    pub counted_by: CountedBy,
    /// The coefficients.
    pub fit: Fit,
    /// Whether the model explains the measures.
    pub verdict: Verdict,
}

/// The result of a calibration.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// One for each direction of the plan.
    pub directions: Vec<DirectionFit>,
    /// Why the counters were not used, if they were not.
    pub not_counted: Option<String>,
    /// Bytes written to the target altogether.
    pub written: Bytes,
    /// Whether the file system used the page cache in spite of O_DIRECT.
    pub through_cache: bool,
}

impl Calibration {
    /// Returns whether others may compute with the costs: those of each direction explain the measures, or nothing
    /// but chance speaks against it.
    pub fn is_usable(&self) -> bool {
        self.directions.iter().all(|direction| direction.verdict.is_usable())
    }

    /// Returns what the site file keeps of it.
    pub fn costs(
        &self,
        plan: &CalibrationPlan,
        place: &CalibrationTarget,
        measured: &str,
    ) -> Costs {
        let of = |operation| {
            let found = self.directions.iter().find(|it| it.operation == operation);
            found.map(|it| it.cost(plan, place, measured))
        };
        Costs { read: of(Operation::Read), write: of(Operation::Write) }
    }
}

/// Measures all rungs of a plan and fits their costs.
///
/// # Errors
/// If the target cannot be written or read, the costs cannot be told apart, or `interrupted` says
/// between two bursts to end.
pub fn calibrate(
    machine: &Machine,
    place: &CalibrationTarget,
    plan: &CalibrationPlan,
    tell: &mut dyn FnMut(Step),
    interrupted: &dyn Fn() -> bool,
) -> Result<Calibration, CalibrateError> {
    place.check_space(plan)?;
    let lay_out = place
        .ost
        .map(|ost| move |private: &Directory, path: &Path| make_on_ost(private, path, ost, plan));
    let mut ladder = Ladder {
        machine,
        plan,
        scratch: Scratch::create(&place.opened, lay_out.as_ref().map(|it| it as _))?,
        counters: &place.counters,
        seeds: Random::for_stream(plan.seed, SEEK_STREAM),
        directory: &place.directory,
        written: 0,
        through_cache: false,
        interrupted,
    };
    ladder.fill(tell)?;
    let raws = climb(&mut ladder, plan, tell)?;
    let (written, through_cache) = (Bytes::new(ladder.written), ladder.through_cache);
    let not_counted = why_not_counted(&place.counters, &raws);
    let counted_by = match not_counted {
        None => place.counters.counted_by(),
        Some(_) => CountedBy::Requested,
    };
    let directions = plan.operations.iter().map(|&operation| {
        let of_operation = raws.iter().filter(|(turn, _)| turn.operation == operation);
        direction(plan, operation, counted_by, of_operation)
    });
    Ok(Calibration {
        directions: directions.collect::<Result<_, _>>()?,
        not_counted,
        written,
        through_cache,
    })
}

const SEEK_STREAM: u64 = 2;

/// Returns all measures of all repetitions, in the order in which they were made.
fn climb(
    ladder: &mut Ladder,
    plan: &CalibrationPlan,
    tell: &mut dyn FnMut(Step),
) -> Result<Vec<(Turn, Raw)>, CalibrateError> {
    // In ascending order, which index() gives back below.
    let mut counts = Vec::new();
    let total = (plan.operations.len() * plan.sizes.len()) as u64;
    for &operation in &plan.operations {
        for rung in 0..plan.sizes.len() {
            tell(Step::Probing { done: counts.len() as u64, total });
            counts.push(ladder.probe(Turn { operation, rung })?);
        }
    }
    let index = |turn: Turn| {
        let operation = plan.operations.iter().position(|it| *it == turn.operation);
        operation.unwrap_or(0) * plan.sizes.len() + turn.rung
    };
    let milliseconds = |seconds: f64| (seconds * 1e3) as u64;
    let all = counts.iter().map(|(_, seconds)| seconds).sum::<f64>();
    let total = milliseconds(all * f64::from(plan.repetitions));
    let mut done = 0;
    let mut raws = Vec::new();
    for repetition in 0..plan.repetitions {
        for turn in plan.turns(repetition) {
            tell(Step::Measuring { done, total });
            let (transfers, expected) = counts[index(turn)];
            let raw = ladder.measure_warm(turn, transfers)?;
            // A target that others slow down must not keep us for hours.
            let rate = raw.transfers as f64 / raw.seconds;
            counts[index(turn)].0 = plan.transfers_for(turn.rung, rate);
            raws.push((turn, raw));
            done += milliseconds(expected);
        }
    }
    tell(Step::Measuring { done: total, total });
    Ok(raws)
}

/// Counters that see less than this share of what was asked for look at something else.
const SEEN_AT_LEAST: f64 = 0.9;

fn why_not_counted(counters: &Counters, raws: &[(Turn, Raw)]) -> Option<String> {
    let name = match counters {
        Counters::None(why) => return Some(why.clone()),
        Counters::Device(name) | Counters::Lustre(name) => name,
    };
    let unseen = |raw: &Raw| match raw.done {
        None => true,
        Some(done) => (done.bytes as f64) < SEEN_AT_LEAST * raw.bytes as f64,
    };
    let missed = raws.iter().filter(|(_, raw)| unseen(raw)).count();
    (missed > 0).then(|| {
        format!("the counters of {name} missed transfers in {missed} of {} measures", raws.len())
    })
}

fn direction<'a>(
    plan: &CalibrationPlan,
    operation: Operation,
    counted_by: CountedBy,
    raws: impl Iterator<Item = &'a (Turn, Raw)>,
) -> Result<DirectionFit, CalibrateError> {
    let empty = |size: &Bytes| Rung { size: size.get(), measures: Vec::new() };
    let mut rungs: Vec<Rung> = plan.sizes.iter().map(empty).collect();
    for (turn, raw) in raws {
        rungs[turn.rung].measures.push(measure(raw, counted_by));
    }
    let fit = Fit::of(&rungs, plan.seed).map_err(|error| match error {
        StatsError::RankDeficient { .. } => one_size(operation, &rungs),
        other => other.into(),
    })?;
    let verdict = Verdict::of(&rungs, &fit);
    Ok(DirectionFit { operation, rungs, counted_by, fit, verdict })
}

fn measure(raw: &Raw, counted_by: CountedBy) -> Measure {
    let done = raw.done.filter(|_| counted_by != CountedBy::Requested);
    Measure {
        transfers: raw.transfers,
        bytes: raw.bytes,
        seconds: raw.seconds,
        transactions: done.map_or(raw.transfers, |done| done.transactions),
        transaction_bytes: done.map_or(raw.bytes, |done| done.bytes),
        opposite_bytes: done.map_or(0, |done| done.opposite_bytes),
    }
}

fn one_size(operation: Operation, rungs: &[Rung]) -> CalibrateError {
    let row = rungs.first().and_then(|rung| rung.median_row().ok());
    let size = Bytes::new(row.map_or(0, |row| row.transaction_size().round() as u64));
    CalibrateError::OneTransactionSize { kind: operation.plural(), size }
}

impl DirectionFit {
    /// Returns what the site file keeps of it.
    fn cost(&self, plan: &CalibrationPlan, place: &CalibrationTarget, measured: &str) -> Cost {
        let Coefficients { seconds_per_operation, seconds_per_byte } = self.fit.coefficients;
        Cost {
            seconds_per_operation,
            seconds_per_byte,
            relative_error: Some(self.fit.rms_residual()),
            median_relative_error: Some(self.fit.median_residual()),
            max_relative_error: Some(self.fit.max_residual()),
            transactions: Some(self.counted_by),
            queue_depth: Some(plan.depth),
            fill: Some(place.fill()),
            measured: Some(measured.to_owned()),
        }
    }

    /// Returns the number of measures during which the target moved noticeably more than was asked for,
    /// and the largest share of that.
    pub fn disturbed(&self) -> (usize, f64) {
        /// A file system's journal stays below; so does a page or two beside small measures.
        const SHARE: f64 = 0.05;
        const BYTES: f64 = (1 << 20) as f64;
        let measures = self.rungs.iter().flat_map(|rung| &rung.measures);
        let foreign = measures.map(|it| (it.foreign_share(), it.foreign_share() * it.bytes as f64));
        let disturbed = foreign.filter(|(share, bytes)| *share > SHARE && *bytes > BYTES);
        disturbed.fold((0, 0.0), |(n, most): (usize, f64), (share, _)| (n + 1, most.max(share)))
    }
}
