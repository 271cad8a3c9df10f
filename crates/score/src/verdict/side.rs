//! The two sides of a pair.

/// Which component of a pair is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Clients.
    Client,
    /// Targets.
    Target,
}

impl Side {
    /// The other one.
    pub fn other(self) -> Side {
        match self {
            Side::Client => Side::Target,
            Side::Target => Side::Client,
        }
    }
}
