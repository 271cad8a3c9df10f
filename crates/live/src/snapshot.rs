//! What is shown at one moment.

use plimsoll_utilization::Latest;

/// What is known of the storage at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// What is looked at: "this machine", or a store.
    pub source: String,
    /// When it was, for people.
    pub moment: String,
    /// Something that the person must not miss: the last sample is old, a store cannot be read.
    pub trouble: Option<String>,
    /// What the reader needs to know of the numbers.
    pub notes: Vec<String>,
    /// What everything does.
    pub latest: Latest,
}
