//! Why a question has no answer, in the words of the models.

use std::fmt;

use thiserror::Error;

/// Why a question has no answer. Each is one line.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum TheoryError {
    /// A value is outside of what the model covers.
    #[error("{quantity} {problem}")]
    Value {
        /// Which value.
        quantity: Quantity,
        /// What is wrong with it.
        problem: Problem,
    },
    /// A job requests more targets than there are.
    #[error("a job requests {requested} targets, but there are only {targets}")]
    TooFewTargets {
        /// Targets that the largest job requests.
        requested: u64,
        /// Targets of the file system.
        targets: u64,
    },
    /// There is noise, but no target that it is on.
    #[error("{streams} noise streams need at least one noisy target")]
    NoiseWithoutTarget {
        /// Noise streams on all targets together.
        streams: u64,
    },
    /// No target has a rate.
    #[error("no rates")]
    NoRates,
    /// A simulation would take too long.
    #[error("{trials} trials of {placements} placements need {draws} draws, more than {draws_max}")]
    TooManyDraws {
        /// Trials of the simulation.
        trials: u64,
        /// Placements of which each trial is the mean.
        placements: u64,
        /// Targets that all placements draw.
        draws: u128,
        /// The most that is supported.
        draws_max: u64,
    },
    /// Bytes were moved, but by nothing.
    #[error("{bytes} bytes moved by no operation")]
    BytesWithoutOperation {
        /// The bytes.
        bytes: u64,
    },
    /// Operations or bytes of a histogram are more than can be counted.
    #[error("the histogram's sum overflows")]
    Overflow,
    /// There is no answer within what is supported.
    #[error("no answer: {0}")]
    NoAnswer(String),
}

/// What is wrong with a single value. As text, it follows the value's name: "is 0, must be from 1 to 9".
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum Problem {
    /// A count is too small or too large.
    #[error("is {value}, must be from {least} to {most}")]
    Count {
        /// What was given.
        value: u64,
        /// The least that makes sense.
        least: u64,
        /// The most that makes sense or is supported.
        most: u64,
    },
    /// A real number makes no sense (NaN included).
    #[error("is {value}, must be {must_be}")]
    Real {
        /// What was given.
        value: f64,
        /// What would make sense.
        must_be: &'static str,
    },
}

macro_rules! quantities {
    ($($(#[$doc:meta])* $name:ident = $words:literal;)*) => {
        /// The values that models are asked about. As text, in the words of the models.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Quantity {
            $($(#[$doc])* $name,)*
        }

        impl Quantity {
            /// All of them.
            pub const ALL: &[Quantity] = &[$(Quantity::$name),*];
        }

        impl fmt::Display for Quantity {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(match self {
                    $(Quantity::$name => $words,)*
                })
            }
        }
    };
}

quantities! {
    /// Targets of a file system.
    Targets = "the number of targets";
    /// Targets, where placements are simulated.
    SimulatedTargets = "the number of targets to simulate";
    /// Targets that one job requests.
    TargetsPerJob = "the number of targets of a job";
    /// Jobs that write at the same time.
    Jobs = "the number of jobs";
    /// Jobs, where placements are simulated.
    SimulatedJobs = "the number of jobs to simulate";
    /// Jobs on a target in use.
    Load = "the load";
    /// Trials of a simulation.
    Trials = "the number of trials";
    /// Placements of which a trial is the mean.
    PlacementsPerTrial = "the number of placements of a trial";
    /// Targets under noise.
    NoisyTargets = "the number of noisy targets";
    /// Noise streams on all targets together.
    NoiseStreams = "the number of noise streams";
    /// Streams of one's own on each target.
    OwnStreams = "the number of own streams on a target";
    /// Data that a target may take in over its own data.
    Allowance = "the allowance";
    /// Data of each target.
    Data = "the data of a target";
    /// Rate of a target.
    Rate = "a rate";
    /// Compute time between bursts.
    Compute = "the compute time";
    /// Data of one burst.
    Burst = "the burst";
    /// Cache that absorbs bursts.
    Cache = "the cache";
    /// Rate at which the storage takes data.
    Drain = "the drain rate";
    /// Bytes per second that a cache takes in.
    Intake = "the rate of taking in";
    /// Share of time spent computing.
    Efficiency = "the efficiency";
    /// Interval in which transactions were seen.
    Interval = "the interval";
    /// Size of a transaction.
    TransactionSize = "a transaction size";
    /// Cost of an operation, whatever its size.
    OperationCost = "the cost of an operation";
    /// Cost of a byte.
    ByteCost = "the cost of a byte";
    /// Cost of a transaction: of its operation and of its bytes.
    TransactionCost = "the cost of a transaction";
}

/// Returns `value` if it is from `least` to `most`.
pub(crate) fn count(
    quantity: Quantity,
    value: u64,
    least: u64,
    most: u64,
) -> Result<u64, TheoryError> {
    if (least..=most).contains(&value) {
        Ok(value)
    } else {
        Err(TheoryError::Value { quantity, problem: Problem::Count { value, least, most } })
    }
}

/// Returns `value` if it is finite and greater than zero.
pub(crate) fn positive(quantity: Quantity, value: f64) -> Result<f64, TheoryError> {
    real(quantity, value, value.is_finite() && value > 0.0, "finite and greater than zero")
}

/// Returns `value` if it is finite and not negative.
pub(crate) fn not_negative(quantity: Quantity, value: f64) -> Result<f64, TheoryError> {
    real(quantity, value, value.is_finite() && value >= 0.0, "finite and not negative")
}

/// Returns `value` if it is `right`.
pub(crate) fn real(
    quantity: Quantity,
    value: f64,
    right: bool,
    must_be: &'static str,
) -> Result<f64, TheoryError> {
    if right {
        Ok(value)
    } else {
        Err(TheoryError::Value { quantity, problem: Problem::Real { value, must_be } })
    }
}
