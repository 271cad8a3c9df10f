//! What a long history says: the figures and tables of Patel and others (2019) for anybody's storage.

mod answers;
mod beside;
mod compared;
mod figure;
mod found;
mod numbers;
mod page;
mod parts;
mod space;

use plimsoll_analyze::{Analysis, Beside, Frame};
use plimsoll_report::Record;

use answers::Answers;

pub use compared::{Named, comparison, comparison_page};
pub use numbers::NUMBERS;
pub use page::page;

/// A part of an analysis, which can be asked for alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// What became of the samples.
    Cleaning,
    /// All targets together.
    System,
    /// Each target.
    Targets,
    /// Hours and days.
    Time,
    /// High and low activity.
    Phases,
    /// Correlations by window and lag.
    Prediction,
    /// Imbalance and parallelism.
    Space,
    /// Files opened and closed.
    Metadata,
    /// Processors of servers.
    Servers,
    /// How busy file systems were, where operations are counted.
    Utilization,
    /// Which jobs made the load, where targets count by job.
    Jobs,
    /// What recurs, who is hot, what can be told.
    Findings,
    /// The questions of the paper, answered in words.
    Summary,
}

impl Part {
    /// All of them, in the order of the paper.
    pub const ALL: [Part; 13] = [
        Part::Cleaning,
        Part::System,
        Part::Time,
        Part::Phases,
        Part::Prediction,
        Part::Targets,
        Part::Space,
        Part::Metadata,
        Part::Servers,
        Part::Utilization,
        Part::Jobs,
        Part::Findings,
        Part::Summary,
    ];
}

/// Returns what an analysis says, of these parts; at most so many rows of a table that has one for each target, hour or lag.
pub fn record(
    frame: &Frame,
    analysis: &Analysis,
    beside: &Beside,
    wanted: &[Part],
    rows: usize,
) -> Record {
    let mut record = Record::new();
    for part in Part::ALL.into_iter().filter(|it| wanted.contains(it)) {
        record = match part {
            Part::Cleaning => record.section(
                "cleaning",
                "samples and minutes",
                parts::cleaning(frame, analysis, rows),
            ),
            Part::System => {
                record.section("system", "all targets together", parts::system(analysis))
            }
            Part::Time => {
                let title = format!("hours and days, in {}", frame.zone().name());
                record.section("time", title, parts::time(analysis, rows))
            }
            Part::Phases => {
                record.section("phases", "high and low activity", parts::phases(analysis))
            }
            Part::Prediction => {
                let lags = parts::correlation_rows(&analysis.correlations, parts::DATA_PAIRS, rows);
                record.section("prediction", "does activity tell what comes", lags)
            }
            Part::Targets => space::targets(record, analysis, rows),
            Part::Space => {
                record.section("space", "load over targets", space::space(analysis, rows))
            }
            Part::Metadata => record.section(
                "metadata",
                "files opened and closed",
                parts::metadata(analysis, rows),
            ),
            Part::Servers => {
                record.section("servers", "processors of servers", parts::servers(analysis, rows))
            }
            Part::Utilization => record.section(
                "utilization",
                "file system utilization",
                beside::utilization(frame, beside),
            ),
            Part::Jobs => {
                record.section("jobs", "which jobs", beside::jobs(analysis, beside, rows))
            }
            Part::Findings => record.section("findings", "what recurs", found::found(analysis)),
            Part::Summary => {
                let parts = Answers::of(frame, analysis, beside).parts();
                let told = parts.into_iter().fold(Record::new(), |record, part| {
                    record.texts(part.key, part.heading, part.sentences)
                });
                record.section("summary", "in words", told)
            }
        };
    }
    notes(frame).into_iter().fold(record, Record::note)
}

/// Returns what the reader needs to know in order not to be misled.
fn notes(frame: &Frame) -> Vec<String> {
    let mut notes = Vec::new();
    if frame.left_out_devices > 0 {
        notes.push(format!(
            "{} block devices are left out: there are Lustre targets, which lie on them",
            frame.left_out_devices
        ));
    }
    if frame.file_systems.len() > 1 {
        notes.push(format!(
            "targets of {} are taken together; hint: --file-system",
            frame.file_systems.join(", ")
        ));
    }
    notes
}
