//! What would happen if: parallel storage, a program that writes to it and a router between
//! them, simulated.
//!
//! A [`Scenario`] describes targets (processor sharing or first in, first out, with a
//! service curve), servers and a network with limits, what others do, and the program. [`run`]
//! plays it with one [`Policy`] and one seed; [`run_all`] does so for many at once.
//! The routers are the very state machines of the `route` crate: this crate only carries
//! their messages and writes.
//!
//! Deterministic: the same scenario, policy and seed give the same outcome, bit by bit, for any
//! number of threads. Bytes and time integrals are checked at the end of every run.
//!
//! Deliberately not here: closed forms (`theory`), the protocol (`route`), reading of files
//! and printing (`cli`).

mod bursts;
mod clients;
mod conservation;
mod curve;
mod experiment;
mod factor;
mod filling;
mod fluid;
mod fuzz;
mod homes;
mod host;
mod huge_pages;
mod messages;
mod noise;
mod notice;
mod outcome;
mod program;
mod queue;
mod run;
pub mod scenario;
mod seeds;
mod stage;
mod staging;
mod tally;
mod target;
mod think;
mod world;

pub use curve::{CurveError, ServiceCurve};
pub use experiment::{Point, PolicyOutcomes, Repetition, experiment, runs};
pub use factor::optimal_factor;
pub use fluid::fluid_bound_ns;
pub use fuzz::{fuzz_many, fuzz_one, fuzz_scenario};
pub use outcome::{Outcome, Spread, TargetOutcome};
pub use plimsoll_route::Policy;
pub use run::run;
pub use scenario::{Discipline, Scenario, ScenarioError};
pub use seeds::{Order, run_all};

use thiserror::Error;

/// Why a simulation gave no outcome. Each is one line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SimulateError {
    /// The scenario makes no sense.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Equation 1 does not cover the noise of the scenario.
    #[error(
        "no optimal throttling factor: equation 1 is for one set of constant noise streams, on the first \
         targets where these differ; hint: --tf 0.1"
    )]
    NoOptimum,
    /// A coordinator's groups are of neighbours.
    #[error(
        "policy coordinator needs placement = \"grouped\" and stripes = 1; hint: --policy window, or \
         another scenario"
    )]
    CoordinatorPlacement,
    /// Simulated time ran out.
    #[error("seed {seed}: not done within two simulated years; hint: less data, or less noise")]
    TooLong {
        /// Of the run.
        seed: u64,
    },
    /// Nothing more happens, but processes have not ended: a defect of the router.
    #[error("seed {seed}: nothing more happens, but {open} processes have not ended")]
    Stuck {
        /// Of the run.
        seed: u64,
        /// Processes that wait.
        open: u32,
    },
    /// Something does not add up: a defect of the router or of the simulator.
    #[error("seed {seed}: conservation is broken: {problem}")]
    Broken {
        /// Of the run.
        seed: u64,
        /// What does not add up.
        problem: String,
    },
}
