//! Which colour a kind of call has: the same in every chart of every page.

use plimsoll_explain::{Activity, CallKind, Direction};
use plimsoll_report::html::Hue;
use plimsoll_trace::{Class, Op};

/// Returns the colour of what a process does.
pub fn of_activity(activity: Activity) -> Hue {
    match activity {
        Activity::Read => Hue::Read,
        Activity::Write => Hue::Write,
        Activity::Metadata => Hue::Metadata,
        Activity::Sync => Hue::Sync,
        Activity::Lock => Hue::Lock,
        Activity::MpiWaiting => Hue::Waiting,
        Activity::Other => Hue::Other,
    }
}

/// Returns the colour of calls of a kind.
pub fn of_kind(kind: CallKind) -> Hue {
    match kind {
        CallKind::Read => Hue::Read,
        CallKind::Write => Hue::Write,
        CallKind::Sync => Hue::Sync,
        CallKind::Metadata => Hue::Metadata,
    }
}

/// Returns the colour of reads or writes.
pub fn of_direction(direction: Direction) -> Hue {
    of_kind(direction.kind())
}

/// Returns the colour of an operation.
pub fn of_operation(op: Op) -> Hue {
    match op.class() {
        Class::Read => Hue::Read,
        Class::Write => Hue::Write,
        Class::Sync => Hue::Sync,
        Class::Lock | Class::Unlock => Hue::Lock,
        Class::Open | Class::Close | Class::Metadata => Hue::Metadata,
        Class::Seek | Class::Other => Hue::Other,
    }
}

/// Returns what a process does, in words for legends.
pub fn said(activity: Activity) -> &'static str {
    match activity {
        Activity::MpiWaiting => "waiting in MPI-IO",
        other => other.name(),
    }
}
