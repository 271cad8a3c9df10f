//! Why a scenario cannot be used. Each is one line that says what to do.

use thiserror::Error;

/// Why a scenario cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ScenarioError {
    /// The text is not TOML, or has keys or values that a scenario has not.
    #[error("scenario {name}, line {line}: {message}")]
    Syntax {
        /// Its name or file.
        name: String,
        /// Where, counted from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// The format is of another time.
    #[error(
        "scenario {name} has version {found}, this program reads {known}; hint: version = {known}"
    )]
    Version {
        /// Its name or file.
        name: String,
        /// What it says.
        found: u32,
        /// What is understood.
        known: u32,
    },
    /// There is no scenario of that name.
    #[error(
        "no scenario named {name:?}; hint: plimsoll simulate --list, or the path of a TOML file"
    )]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// A policy makes no sense.
    #[error(transparent)]
    Policy(#[from] plimsoll_route::PolicyError),
    /// A value makes no sense.
    #[error("{key} {problem}; hint: {hint}")]
    Value {
        /// Which.
        key: String,
        /// What is wrong with it.
        problem: String,
        /// What would make sense.
        hint: String,
    },
}

impl ScenarioError {
    /// A value that makes no sense.
    pub(crate) fn value(key: &str, problem: &str, hint: &str) -> Self {
        ScenarioError::Value { key: key.into(), problem: problem.into(), hint: hint.into() }
    }
}
