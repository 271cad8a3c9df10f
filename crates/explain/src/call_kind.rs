//! Kinds of calls.

use plimsoll_trace::Class;

/// Kinds of calls that are counted separately over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallKind {
    /// Moves data from files.
    Read,
    /// Moves data to files.
    Write,
    /// Makes data durable.
    Sync,
    /// Opens, closes, and works on names, attributes and directories.
    Metadata,
}

impl CallKind {
    /// All, in the order of their numbers.
    pub const ALL: [CallKind; 4] =
        [CallKind::Read, CallKind::Write, CallKind::Sync, CallKind::Metadata];

    /// Returns its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            CallKind::Read => "read",
            CallKind::Write => "write",
            CallKind::Sync => "sync",
            CallKind::Metadata => "metadata",
        }
    }

    /// Returns the kind of a class; `None` for seeks, locks and what else there is.
    #[inline]
    pub const fn of(class: Class) -> Option<CallKind> {
        match class {
            Class::Read => Some(CallKind::Read),
            Class::Write => Some(CallKind::Write),
            Class::Sync => Some(CallKind::Sync),
            Class::Open | Class::Close | Class::Metadata => Some(CallKind::Metadata),
            Class::Seek | Class::Lock | Class::Unlock | Class::Other => None,
        }
    }
}
