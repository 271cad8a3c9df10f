//! Why plans are refused.

use plimsoll_domain::Bytes;
use thiserror::Error;

/// Why a plan cannot be used. Each is one line that says what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanError {
    /// The text is larger than any plan.
    #[error("the plan is larger than {limit}; hint: is it a plan?")]
    TooLarge {
        /// What is read at most.
        limit: Bytes,
    },
    /// The bytes are not text.
    #[error("plan line {line}: not UTF-8 text; hint: is it a plan?")]
    NotText {
        /// Where, counted from 1.
        line: usize,
    },
    /// The text is not TOML, or a value is not of its kind.
    #[error("plan line {line}: {message}")]
    Syntax {
        /// Where, counted from 1.
        line: usize,
        /// What is wrong, on one line.
        message: String,
    },
    /// A key that no plan has.
    #[error(
        "plan line {line}: unknown key {key:?}; hint: {}{place} has {allowed}",
        nearest.map_or(String::new(), |nearest| format!("did you mean {nearest:?}? "))
    )]
    UnknownKey {
        /// Where, counted from 1.
        line: usize,
        /// The key as written.
        key: String,
        /// The table that it is in.
        place: &'static str,
        /// The known key that looks most like it.
        nearest: Option<&'static str>,
        /// All known keys of the table.
        allowed: String,
    },
    /// The plan is of a version that this program does not know.
    #[error(
        "the plan has version {found}, this program reads 1 to {known}{}",
        if *found > i64::from(*known) { "; hint: update plimsoll" } else { "" }
    )]
    Version {
        /// Version of the plan.
        found: i64,
        /// Newest version that is understood.
        known: u32,
    },
    /// A value that cannot be, or that contradicts another.
    #[error("plan{}: {key}: {problem}", line.map_or(String::new(), |line| format!(" line {line}")))]
    Value {
        /// Where, counted from 1, when the plan came from a text.
        line: Option<usize>,
        /// The key, with its table: `burst.transfer`.
        key: String,
        /// What is wrong and what is allowed.
        problem: String,
    },
}

impl PlanError {
    /// Returns the error of an impossible value of `key`.
    pub(crate) fn value(key: impl Into<String>, problem: impl Into<String>) -> Self {
        PlanError::Value { line: None, key: key.into(), problem: problem.into() }
    }
}
