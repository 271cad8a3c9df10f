//! What a long history of storage says (Patel, Byna, Lockwood, Tiwari: "Revisiting I/O Behavior in Large-Scale Storage Systems", 2019).
//!
//! - [`Frame`]: which days, targets and servers there are. All parts of an analysis agree on it first.
//! - [`summarize()`] reads some days and gives a [`Partial`]; parts are joined exactly, and become a [`Whole`].
//! - [`PartialFile`]: a part that is written to a file; [`Merging`] joins them.
//! - [`BesidePart`]: how busy targets were and which jobs made the load, of the same days, joined as exactly.
//! - [`Analysis`]: what follows from the whole: totals, distributions, hours, phases, correlations, targets.
//!
//! Samples become minutes first. What is compared is added up in whole numbers, so that any division of the days among threads and machines
//! gives equal results. Memory grows with days and targets, and not with samples.
//!
//! Deliberately not here: where samples come from (`history`), and how results look (`figures`).

mod agreed;
mod analysis;
mod beside;
mod by_days;
mod closing;
mod clusters;
mod compared;
mod component_sums;
mod daily;
mod day_shares;
mod day_summary;
mod drift;
mod edges;
mod error;
mod excess;
mod forecast;
mod frame;
mod graded;
mod hot;
mod hot_course;
mod imbalance;
mod job_sums;
mod jobs;
mod lane;
mod lane_key;
mod merging;
mod metadata;
mod minutes;
mod open_day;
mod options;
mod outage;
mod pairs;
mod parallelism;
mod partial;
mod partial_file;
mod phases;
mod prediction;
mod server;
mod space;
mod stretch;
mod summarize;
mod sums;
mod system;
mod timeline;
mod times;
mod whole;
mod zone;

pub use analysis::{Analysis, Cleaning};
pub use beside::{Beside, BesidePart, CostsOf, Wanted};
pub use by_days::{Estimate, Interval, LEAST_DAYS, ratio_of_days};
pub use clusters::{DEGREES, Degrees, MinuteDegrees};
pub use compared::{ComparedFigure, Difference, FigureKind, compared};
pub use component_sums::{HourSums, ServerDay, ServerSums, TargetSums};
pub use daily::{DAYS_TO_RECUR, DailyJob, daily_jobs};
pub use day_summary::{DaySummary, SystemMinute};
pub use drift::Drift;
pub use error::AnalyzeError;
pub use excess::FALSE_CLAIMS;
pub use forecast::{Forecast, NAIVE, forecasts};
pub use frame::{COMPONENTS_MAX, DAYS_MAX, Frame, TARGET_DAYS_MAX};
pub use hot::{HotPeriod, HotTarget, hot_targets};
pub use imbalance::{Imbalance, Span};
pub use jobs::{Job, Jobs};
pub use lane::Taken;
pub use merging::{Merged, Merging};
pub use metadata::{Metadata, Operations};
pub use minutes::WINDOWS;
pub use options::Options;
pub use pairs::{LagSums, TARGET_LAGS};
pub use parallelism::Parallelism;
pub use partial::Partial;
pub use partial_file::{PART_BYTES_MAX, PARTS_MAX, PartialFile};
pub use phases::{Level, Phases};
pub use prediction::{Correlated, Correlations, SYSTEM_LAGS};
pub use server::Server;
pub use space::{Space, TargetTotals};
pub use summarize::summarize;
pub use sums::PairSums;
pub use system::{QUANTILES, Suspicious, System, Transfer};
pub use timeline::{Outage, Timeline};
pub use times::{Outstanding, Recurring, Times};
pub use whole::Whole;
pub use zone::{LocalMinute, Zone};
