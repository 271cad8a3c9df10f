//! A whole recording at once.

use crate::ExplainError;
use crate::analysis::Analysis;
use crate::frame::Frame;
use crate::options::Options;
use crate::recording::Recording;

/// Reads all events of a recording and adds them up.
///
/// # Errors
/// None at present: what cannot be read is in [`Analysis::warnings`].
pub fn analyze(recording: &Recording, options: &Options) -> Result<Analysis, ExplainError> {
    Frame::new(recording.clone(), options).gather_all().finish()
}
