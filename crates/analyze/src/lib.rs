//! What a long history of storage says (Patel, Byna, Lockwood, Tiwari: "Revisiting I/O Behavior in Large-Scale Storage Systems", 2019).
//!
//! - [`Frame`]: which days, targets and servers there are. All parts of an analysis agree on it first.
//! - [`summarize()`] reads some days and gives a [`Partial`]; parts are joined exactly, and become a [`Whole`].
//! - [`Analysis`]: what follows from the whole: totals, distributions, hours, phases, correlations, targets.
//!
//! Samples become minutes first. What is compared is added up in whole numbers, so that any division of the days among threads and machines
//! gives equal results. Memory grows with days and targets, and not with samples.
//!
//! Deliberately not here: where samples come from (`history`), and how results look (`figures`).

mod analysis;
mod by_days;
mod closing;
mod clusters;
mod daily;
mod forecast;
mod frame;
mod hot;
mod lane;
mod metadata;
mod minutes;
mod open_day;
mod options;
mod outage;
mod pairs;
mod partial;
mod phases;
mod prediction;
mod space;
mod stretch;
mod summarize;
mod sums;
mod system;
mod timeline;
mod times;
mod zone;

pub use analysis::{Analysis, Cleaning};
pub use by_days::{Estimate, Interval};
pub use clusters::{DEGREES, Degrees, MinuteDegrees};
pub use daily::{DailyJob, daily_jobs};
pub use forecast::{Forecast, forecasts};
pub use frame::Frame;
pub use hot::{FALSE_CLAIMS, HotTarget, hot_targets};
pub use lane::Taken;
pub use metadata::{Metadata, Operations};
pub use minutes::WINDOWS;
pub use options::Options;
pub use pairs::{LagSums, TARGET_LAGS};
pub use partial::{Partial, Whole};
pub use phases::{Level, Phases};
pub use prediction::{Correlated, Correlations, SYSTEM_LAGS};
pub use space::{Imbalance, Parallelism, Space, Span, TargetTotals};
pub use stretch::{DaySummary, HourSums, ServerSums, Stretch, SystemMinute, TargetSums};
pub use summarize::summarize;
pub use sums::PairSums;
pub use system::{Suspicious, System, Transfer};
pub use timeline::{Outage, Timeline};
pub use times::{Recurring, Times};
pub use zone::{LocalMinute, Zone};
