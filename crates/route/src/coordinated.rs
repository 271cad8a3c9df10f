//! Policy `coordinator`: Huang's coordinator, sub-coordinators and clients (section 3).
//!
//! Every target has a sub-coordinator ([`Sub`]) that lets one write at a time onto it and
//! queues the others of its group of clients ([`Client`]). A target whose group is done says
//! so to the coordinator ([`Coordinator`]), which asks busy groups to give writes away.
//!
//! The paper's appendix with the algorithms is not public. Filled in here:
//! - A group is idle when nothing waits and nothing is written, after its first write.
//! - The idle side says with WRITE_IDLE what its throttle still allows, so that nothing is
//!   given away that would then be refused; one offer stands at a time.
//! - The two roles of a group, giver and taker, have a state each, and every answer echoes
//!   the number of its request. ADIOS2 has one state and no number, and can hang.
//! - Termination is by counting: a group is closed when all its clients have closed and all
//!   its writes are committed, wherever; all is closed when all groups are.
//! - WRITE_BUSY, because submissions may come after a group was idle; acknowledgements and
//!   retries where messages get lost; TARGET_LOST, TARGET_BACK and WRITE_ADOPT for targets
//!   that fail. All is given up when every target has failed as far as the coordinator heard.
//! - Where messages get lost, whoever waits asks again, and is answered also after the end:
//!   the coordinator answers anything with GROUP_CLOSE_ACK, a sub-coordinator a client that
//!   closes with GIVE_UP. A failed target is given again what it may have missed, a client
//!   knows grants that failed, and old notices of a target's health do not count.
//! - What the coordinator makes of REROUTE_REJECT. It may strike the group off until that says
//!   that it is busy again, or know of it only that it is busy, and ask it anew for the next idle
//!   group, as section 3.5 says of the coordinator that does not inquire.
//! - Split blocks: the sub-coordinator grants parts of a fixed size instead of whole blocks.

mod choice;
mod client;
mod coordinator;
mod group;
mod lossy;
mod roles;
mod settings;
mod sub;

pub use choice::{ByInquiry, ByQueue, RoundRobin, SourceChoice};
pub use client::Client;
pub use coordinator::Coordinator;
pub use roles::Roles;
pub use settings::{Layout, RoleSettings};
pub use sub::Sub;
