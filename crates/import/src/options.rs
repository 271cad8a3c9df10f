//! What the user says of a file.

use crate::{Mapping, Zone};

/// What the user says of a file, because nothing in it does.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The cluster that its components belong to; empty if none is named.
    pub cluster: String,
    /// Where its clock was, for times without a zone.
    pub zone: Option<Zone>,
    /// What columns of tables mean.
    pub mapping: Mapping,
    /// Samples that end later, in milliseconds since 1970, are left out.
    pub until: Option<u64>,
}
