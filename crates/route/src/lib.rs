//! How writes find the fast targets: routers as state machines, without I/O, clock or
//! randomness of their own.
//!
//! **Use.** A [`Policy`] is what people write, such as `coordinator:tf=0.1`. A host makes its
//! machines with [`AnyRouter::new`] and calls [`Router::step`]`(actor, now_ns, input, &mut out)`
//! with what happens: [`Input::Begin`] once for each, then submissions, closes, messages, timers, attempts that ended, failures. It does
//! what they put into its [`Outputs`]: deliver messages, set timers, start writes, put commits
//! into an index, note who is closed. The same machines run in a simulator, in threads or
//! processes with real files, and in a model checker.
//!
//! | policy | machines | who gets `Submit` and `Close` |
//! |---|---|---|
//! | `static` | [`Nodes`]`<`[`Static`]`>`, one [`Node`] per compute node | the writer's node |
//! | `striped` | [`Nodes`]`<`[`Striped`]`>` | the writer's node |
//! | `window` | [`Nodes`]`<`[`Window`]`>` | the writer's node |
//! | `coordinator` | [`coordinated::Roles`]: [`coordinated::Client`] per writer, [`coordinated::Sub`] per target, one [`coordinated::Coordinator`] | the writer's client |
//!
//! Nodes send no messages. Actors of `coordinator` are numbered by [`coordinated::Layout`].
//! `WriterDied` and `TargetFailed` go to all machines of a router.
//!
//! **Identity before placement.** A write is (writer, sequence, part), see [`WriteId`]. Any
//! number of attempts may be started for it; exactly one is reported as
//! [`committed`](Outputs::committed), the others as [`superseded`](Outputs::superseded) or not at
//! all. Submissions come one by one and nobody need know how many: a writer is closed when it
//! said `Close` and as many parts are committed as were submitted. A started attempt never
//! changes its target.
//!
//! **Mechanism apart from policy.** [`Node`] and the roles of [`coordinated`] own what must not go
//! wrong. A [`Placement`] or [`coordinated::SourceChoice`] only advises; advice that is absent or
//! impossible is replaced by something sound. So the proof (model checking under a policy
//! that chooses anything, tests/) holds for every policy, also for one that is not written yet.
//!
//! **Throttle.** [`Throttle`] bounds what a target takes in from others when it is granted:
//! less than the factor times its own data before, so no more than that plus one write after.
//! For a node the own data of a target is its fair share of what was submitted there.
//!
//! **Time** is `u64` nanoseconds of any clock that does not go back. Quantities are whole bytes,
//! factors are millionths; there is no floating point, so hosts agree bit by bit.
//! Timers carry a generation, attempts too; what is old is ignored.
//!
//! **Failure.** A target that is full or read-only ends what it has; one that stopped may not, so
//! a node tries its writes elsewhere at once and counts whichever ends first. A host of
//! `coordinator` ends attempts on a stopped target itself, with `AttemptFailed`. When no target takes
//! data, what waits is given up and [`Closed::Writer`] says how much was lost. Where
//! messages get lost, set [`coordinated::RoleSettings::retry_ns`].
//!
//! Not here: writing, networks, clocks (the host), containers and their index, simulation.
// Allowed in one place: `prefetch`.
#![deny(unsafe_code)]

mod attempts;
pub mod coordinated;
mod coordinator_settings;
mod encoding;
mod identity;
pub mod lease;
mod machine;
mod message;
mod node;
mod nodes;
pub mod placement;
mod policy;
mod prefetch;
mod router;
mod spread;
mod tf;
mod throttle;
mod window;
mod writer;

pub use coordinator_settings::CoordinatorSettings;
pub use encoding::{DecodeError, ENCODED_BYTES, VERSION};
pub use identity::{ActorId, AttemptId, Failure, TargetId, WriteId};
pub use machine::{Attempt, Closed, Commit, Input, Machine, Outputs, Timer, TimerId};
pub use machine::{Refusal, RefusalReason};
pub use message::Message;
pub use node::{Node, NodeSettings};
pub use nodes::Nodes;
pub use placement::{Placement, Static, Striped};
pub use policy::{Policy, PolicyError, PolicyKind, Rejects};
pub use prefetch::{PREFETCH_DEPTHS, prefetch};
pub use router::{AnyRouter, Homes, Router, RouterSettings};
pub use tf::Tf;
pub use throttle::{Factor, Throttle};
pub use window::{Window, WindowSettings};
