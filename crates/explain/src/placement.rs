//! Where the files of a program lie, as far as it is known.

use crate::file_table::FileId;

/// The targets of a site, and the files that lie on one of them alone. A recording does not say this: whoever knows the site adds it
/// to an analysis.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Placement {
    /// The targets that files could lie on.
    pub targets: Vec<KnownTarget>,
    /// Files that lie on one target alone.
    pub held: Vec<Held>,
}

/// A target that is known at a site.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownTarget {
    /// Its name.
    pub name: String,
    /// What it writes at best, in bytes per second, if that was measured or is told.
    pub write_rate: Option<f64>,
}

/// A file that lies on one target alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// The file.
    pub file: FileId,
    /// The target, by its place in the list.
    pub target: usize,
}
