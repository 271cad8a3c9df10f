//! What follows from a whole.

use crate::by_days::{ByDays, Estimate};
use crate::closing::CLUSTERINGS;
use crate::daily::{DailyJob, daily_jobs};
use crate::drift::{Drift, drifts};
use crate::forecast::{Forecast, forecasts};
use crate::hot::{HotPeriod, HotTarget, hot_targets};
use crate::imbalance::persistence_without;
use crate::metadata::Metadata;
use crate::open_day::BOTH;
use crate::phases::{Course, Level, Phases};
use crate::prediction::{Correlations, correlate};
use crate::server::{Server, servers};
use crate::space::Space;
use crate::system::{System, Transfer};
use crate::timeline::Timeline;
use crate::times::Times;
use crate::{Frame, Whole};

/// What a history says.
#[derive(Debug, Clone)]
pub struct Analysis {
    /// What became of the samples.
    pub cleaning: Cleaning,
    /// All targets together.
    pub system: System,
    /// Hours and days.
    pub times: Times,
    /// Phases of high and of low activity, of reads and of writes.
    pub phases: [[Phases; BOTH]; 2],
    /// Reads with reads, writes with writes, reads with writes that follow.
    pub correlations: [Correlations; 3],
    /// How the load lies over the targets.
    pub space: Space,
    /// Files opened and closed, where that is known.
    pub metadata: Option<Metadata>,
    /// Machines by name, where their processors are known.
    pub servers: Vec<Server>,
    /// Targets that get more than others day after day.
    pub hot: Vec<HotTarget>,
    /// Rank correlation of targets between a day and the next without those, of reads and of writes; nothing where there are none.
    pub persistence_without_hot: [Option<Estimate>; BOTH],
    /// Targets that got more than others for some time.
    pub hot_periods: Vec<HotPeriod>,
    /// Jobs that run at the same time every day.
    pub daily_jobs: Vec<DailyJob>,
    /// Forecasts of the next hour, of reads and of writes, where there are enough days.
    pub forecasts: [Option<Forecast>; BOTH],
    /// Whether reads and writes stay as they are, where there are enough days.
    pub drifts: [Option<Drift>; BOTH],
    /// All targets together, minute by minute.
    pub timeline: Timeline,
}

/// What became of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cleaning {
    /// Samples of bytes.
    pub samples: u64,
    /// Those over more than a minute, which are in no minute,
    pub gaps: u64,
    /// and their bytes.
    pub unplaced: u128,
    /// Minutes from the first to the last that anything is known of.
    pub observed: u64,
    /// Those of which too little is known.
    pub missing: u64,
    /// Those of outages,
    pub outage: u64,
    /// and among them those in which counters are known and did not move.
    pub flat: u64,
    /// Minutes of the whole that are used although some targets are missing.
    pub incomplete: u64,
    /// Minutes of single targets, reads and writes apart, of which something but too little is known,
    pub partial: u64,
    /// and those over the limit, or impossible,
    pub over_limit: u64,
    /// with their bytes, which are in no total.
    pub dropped: u128,
}

impl Analysis {
    /// Works everything out.
    pub fn of(frame: &Frame, whole: &Whole) -> Self {
        let line = Timeline::of(&whole.days);
        let drawn = ByDays::new(whole.days.len(), frame.options.seed);
        let system = System::of(frame, whole, &line, &drawn);
        let quantiles = (frame.options.low_to, frame.options.high_from);
        let days: Vec<_> = line.days().map(|it| it.0).collect();
        let phases = [Level::High, Level::Low].map(|level| {
            [0, 1].map(|direction: usize| {
                let Transfer { minutes: Some(sample), days: sorted, .. } =
                    &system.directions[direction]
                else {
                    return Phases::default();
                };
                let series = &line.bytes[direction];
                let course = Course { series, sample, days: &days, sorted };
                Phases::of(course, quantiles, level, &drawn)
            })
        });
        let [reads, writes] = &line.bytes;
        let pairs = [(reads, reads), (writes, writes), (reads, writes)];
        let (hot, hot_periods) = hot_targets(frame, whole, &drawn);
        Analysis {
            cleaning: cleaning(whole, &line),
            times: Times::of(frame.zone(), &line, &drawn),
            correlations: pairs.map(|(first, second)| correlate(&line, first, second, &drawn)),
            space: Space::of(frame, whole, &line, phases[0].each_ref(), &drawn),
            metadata: Metadata::of(&line, &drawn),
            persistence_without_hot: without_hot(frame, whole, &hot, &drawn),
            hot,
            hot_periods,
            daily_jobs: daily_jobs(frame.zone(), &line, &drawn),
            drifts: drifts(&line, &drawn),
            forecasts: forecasts(frame.zone(), &line, &drawn),
            servers: servers(frame, whole, &drawn),
            system,
            phases,
            timeline: line,
        }
    }

    /// Returns the percentages and windows in minutes by which clusters are formed.
    pub fn clusterings() -> [(u64, usize); 3] {
        CLUSTERINGS
    }
}

fn cleaning(whole: &Whole, line: &Timeline) -> Cleaning {
    let counted = || whole.counted.iter().flatten();
    let days = &whole.days;
    Cleaning {
        samples: counted().map(|it| it.samples).sum(),
        gaps: counted().map(|it| it.gaps).sum(),
        unplaced: counted().map(|it| it.unplaced).sum(),
        observed: line.observed,
        missing: line.missing,
        outage: line.outages.iter().map(|it| it.minutes).sum(),
        flat: line.outages.iter().map(|it| it.flat).sum(),
        incomplete: line.incomplete,
        partial: days.iter().map(|it| it.partial).sum(),
        dropped: whole.targets.iter().flat_map(|it| it.dropped).sum(),
        over_limit: days.iter().map(|it| it.over_limit).sum(),
    }
}

fn without_hot(
    frame: &Frame,
    whole: &Whole,
    hot: &[HotTarget],
    drawn: &ByDays,
) -> [Option<Estimate>; BOTH] {
    if hot.is_empty() {
        return [None; BOTH];
    }
    let is_hot = |name: &str| hot.iter().any(|it| it.name == name);
    let targets = frame.targets.iter().enumerate();
    let places: Vec<usize> = targets.filter(|it| is_hot(&it.1.name)).map(|it| it.0).collect();
    persistence_without(frame, whole, &places, drawn)
}
