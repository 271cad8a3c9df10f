//! Who answers a request: what may take long keeps none of the threads that answer all else.

use crate::whose::Whose;

/// Threads that answer a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnsweredBy {
    /// Those that took it.
    Any,
    /// Those that open the user's own containers: whoever wrote what is in one may have made it so that this takes long.
    Opening,
    /// Those for other users' containers: who they belong to decides how long they take.
    Others,
}

impl AnsweredBy {
    /// Returns who answers what is asked of a container that is open, or of one that is not.
    pub fn of(whose: Whose, is_open: bool) -> Self {
        match (whose, is_open) {
            (Whose::Others, _) => AnsweredBy::Others,
            (Whose::Own, true) => AnsweredBy::Any,
            (Whose::Own, false) => AnsweredBy::Opening,
        }
    }
}
