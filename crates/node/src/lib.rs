//! What the processes of a node share to route together: one file of shared memory for each user, and no daemon.
//!
//! **Use.** [`SharedNode::open`] opens the file, or makes it; [`SharedNode::join`] makes this process one of its [`Member`]s. A member
//! gets a lease ([`Member::lease`], which waits until there is room), writes its data wherever it likes on that target, says how far it has got
//! ([`Member::begin_fill`], [`Member::publish`]) and seals it ([`Member::seal`]). While it waits, it looks at the leases of all members, with the
//! caller's help: the caller says whether the data at a [`Place`](plimsoll_route::lease::Place) is durable. [`Member::flush`] waits for all that it wrote.
//!
//! The law and the table are `route`'s ([`plimsoll_route::lease`]); here are the memory, the lock around it, and who is alive.
//!
//! **Who is alive.** A member holds a lock on one byte of the file, through an open file description of its own. The kernel drops it when the
//! process ends, however it ends. Numbers of processes are used again, locks are not. A forked child inherits the description, so its
//! parent counts as alive until the child has closed it: a child must [join anew](MemberError::Forked), and drops what it inherited. Errors
//! are on that side on purpose: who is taken for dead and is not would lose data.
//!
//! **The lock** is a word that says who holds it. Who waits for it asks whether that one is alive, and takes it over otherwise. There is
//! nothing to repair then, because each transition of the table is safe to be killed in.
//!
//! A member is used by one thread at a time, and not by a signal handler that may interrupt another use of it.
//!
//! [`written`] says of files whether data has been written out, for callers whose data is in files.
//!
//! Not here: threads, timers, the data itself.

mod alive;
mod fork;
mod kernel;
mod lock;
mod mapping;
mod member;
mod plan;
mod quickest;
mod shared;
mod syncing;
pub mod written;

pub use alive::{hold, is_unused};
pub use lock::{Lock, LockHolder, Patience, Stuck};
pub use mapping::Mapping;
pub use member::{Member, MemberError};
pub use plan::NodePlan;
pub use shared::{NodeError, SharedNode};
