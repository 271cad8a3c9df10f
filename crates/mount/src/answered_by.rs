//! Who answers a request: what may take long keeps none of the threads that answer all else.

use crate::whose::Whose;

/// Threads that answer a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnsweredBy {
    /// Those that took it.
    Any,
    /// Those for the user's own containers of which opening may take long.
    Large,
    /// Those for other users' containers: who they belong to decides how long they take.
    Others,
}

impl AnsweredBy {
    /// Returns who reads a container that is open.
    pub fn to_read(whose: Whose) -> Self {
        match whose {
            Whose::Own => AnsweredBy::Any,
            Whose::Others => AnsweredBy::Others,
        }
    }

    /// Returns who looks at a container that may have to be opened first.
    pub fn to_look_at(whose: Whose, is_large: bool) -> Self {
        match (whose, is_large) {
            (Whose::Own, true) => AnsweredBy::Large,
            _ => AnsweredBy::to_read(whose),
        }
    }
}
