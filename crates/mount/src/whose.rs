//! Whose a container is: strangers have less of the server than the user whose mount it is.

use plimsoll_guarded::acting_user;

/// Whose a container is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// The user's own, or root's.
    Own,
    /// Another user's, who may have made it to hold up others.
    Others,
}

impl Whose {
    /// Returns whose something of this owner is.
    pub fn of(owner: u32) -> Self {
        if owner == acting_user() || owner == 0 { Whose::Own } else { Whose::Others }
    }
}
