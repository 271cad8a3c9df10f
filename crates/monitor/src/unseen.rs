//! Places that could not be looked into.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A place that could not be looked into, so that nobody knows what is there: what was found there before still counts as there.
#[derive(Debug)]
pub struct Unseen {
    place: PathBuf,
    cause: io::Error,
}

impl Unseen {
    /// Says why a place could not be looked into.
    pub(crate) fn new(place: &Path, cause: io::Error) -> Self {
        Self { place: place.to_owned(), cause }
    }
}

impl fmt::Display for Unseen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (place, cause) = (self.place.display(), &self.cause);
        write!(
            formatter,
            "{place} cannot be looked into: {cause}; what was found there before counts as there"
        )
    }
}

/// Returns whether an error says that nothing is there. Any other one, such as too few descriptors, says nothing of what is there.
pub(crate) fn says_nothing_is_there(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
