//! How busy storage was: File System Utilization (Uselton and Wright) from a history.
//!
//! [`survey()`] reads a store and gives a [`Summary`] for each target, server or file system: utilization in windows of 5 s, its
//! distribution, shares of time, operations by size, and what bandwidth alone would have said. Everything that is
//! compared is added up in whole numbers, so that samples which were made coarser with age give the same answer. [`survey_days()`] does
//! the same for some days, and gives a [`SurveyPart`]: parts are joined exactly, however the days were divided.
//!
//! [`sharing()`] says how many jobs share targets, beside what Wright's equations expect.
//!
//! [`Recent`] follows targets while they work, by readings or by a store that grows, and gives what each does lately ([`Latest`]).
//!
//! Deliberately not here: what targets cost (`calibrate` measures it, the site file has it), and how this is shown.

mod costs;
mod day_windows;
mod exact_sum;
mod followed;
mod group;
mod lately;
mod options;
mod recent;
mod sharing;
mod span;
mod summary;
mod survey;
mod survey_part;
mod window;

pub use costs::{FixedCost, TargetCosts};
pub use exact_sum::ExactSum;
pub use lately::{Lately, Latest};
pub use options::{Bucket, By, CLASSES, Options};
pub use recent::{Recent, Scope};
pub use sharing::{OfTarget, Sharing, sharing};
pub use summary::{FSU_BIN_PERCENT, FSU_BINS, OfClass, Summary};
pub use survey::{Asked, Survey, survey, survey_days};
pub use survey_part::{OtherCosts, SurveyPart};
