//! From recordings to findings: what a program did with its files, and why it was slow.
//!
//! [`Recording::open`] reads who took part, [`analyze`] reads all events once and adds them up in
//! memory that does not grow with their number, [`findings`](fn@findings) says what to change and
//! [`compare`](fn@compare) what a change brought. Behind `analyze` are a [`Frame`], which is what
//! all parts agree on, and [`Gathered`], which is what was added up of a part: parts can be
//! gathered on other threads and other nodes, kept in files and merged. Results are the same for
//! any division: sums are whole numbers, samples are chosen by hashes, and everything else is
//! computed from those.
//!
//! Deliberately not here: printing and drawing (`report`, `cli`), the bytes of a recording (`trace`).

mod access;
mod activity;
mod add_all;
mod agreed;
mod analysis;
mod analyze;
mod bandwidth;
mod call_kind;
mod circumstances;
mod clock;
mod common_sizes;
mod compare;
mod coverage;
mod coverages;
mod each_rank;
mod error;
mod extents;
mod file_stream;
mod file_table;
mod file_totals;
mod findings;
mod finish;
mod forced;
mod frame;
mod gathered;
mod grid;
mod histogram;
mod io_share;
mod logs;
mod moment;
mod mpi_waiting;
mod named;
mod nesting;
mod number_map;
mod options;
mod placement;
mod process;
mod process_pass;
mod process_totals;
mod reader;
mod recording;
mod requests;
mod room;
mod runtime;
mod runtime_summary;
mod sample;
mod serialisation;
mod sieving;
mod source;
mod stored_op;
mod stragglers;
mod streams;
mod sums;
mod system_error;
#[cfg(test)]
mod testing;
mod thread_state;
mod timing;
mod totals;
mod unseen;

pub use access::{AccessCounts, PAGE_BYTES, PatternShares, SMALL_BYTES};
pub use activity::{ACTIVITIES, Activity, Timeline, TimelineRow};
pub use analysis::*;
pub use analyze::analyze;
pub use bandwidth::{Bandwidth, Headline};
pub use call_kind::CallKind;
pub use circumstances::{Circumstances, Processors};
pub use clock::{Clock, Clocks, align};
pub use common_sizes::{CommonSize, CommonSizes};
pub use compare::{
    BandwidthChange, Change, Comparison, DurationChange, OpChange, SAME_WITHIN, Verdict, compare,
};
pub use coverage::BusyTime;
pub use each_rank::call_on_each_rank;
pub use error::ExplainError;
pub use extents::RepeatedBytes;
pub use file_table::{FILES_MAX, FileId, FileTable};
pub use file_totals::OffsetSample;
pub use findings::{
    COST_SECONDS_MIN, COST_SHARE_OF_IO, COST_SHARE_OF_RUN, FINDINGS, Finding, FindingKind,
    HIGH_SHARE, MEDIUM_SHARE, SMALL_SHARE, conclusion, findings,
};
pub use frame::Frame;
pub use gathered::Gathered;
pub use histogram::{CLASSES, JumpHistogram, SizeHistogram, Volume, class_of, class_start};
pub use io_share::IoShare;
pub use mpi_waiting::MpiWaiting;
pub use nesting::{MpiCall, MpiTime, NESTED_CALLS_MAX, NestedCall, is_collective};
pub use options::Options;
pub use placement::{Held, KnownTarget, Placement};
pub use process::{Process, ProcessState};
pub use process_totals::OwnCalls;
pub use recording::{Recording, is_process_file};
pub use room::SUMMARY_BYTES_MAX;
pub use runtime::RuntimeKind;
pub use serialisation::Serialisation;
pub use sieving::Sieving;
pub use stragglers::{Straggler, Stragglers};
pub use timing::{InFlight, Phase, Rates};
pub use totals::{Direction, OpTable, OpTotals, Totals};
pub use unseen::{Missing, UnseenProgram};
