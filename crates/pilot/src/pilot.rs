//! The router of one writer.

use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use plimsoll_node::{MemberError, NodePlan, written};
use plimsoll_route::lease::{Place, Reserved};
use plimsoll_route::{Factor, Failure};
use plimsoll_stow::word::PAGE_BYTES;
use plimsoll_stow::{Berth, Container, Router};
use rustix::io::Errno;

use crate::eyes::Eyes;
use crate::memory::{Joined, MemoryError};

/// How often others are told how far a segment is filled. It costs as much as a tenth of a write of 256 bytes.
const PUBLISH_EVERY_BYTES: u32 = 64 << 10;

/// A router that takes part in the law of `window`.
pub struct Pilot {
    plan: NodePlan,
    joined: Option<Joined>,
    eyes: Eyes,
    /// The place in the shared memory of each of the writer's targets.
    to_shared: Vec<usize>,
    lease: Option<Filling>,
}

/// The lease that the writer's segment is.
struct Filling {
    reserved: Reserved,
    position: u64,
    published: u32,
}

impl Pilot {
    /// Makes a router for a writer of this container. A target may hold `throttle` more than its fair share of the container.
    ///
    /// # Errors
    /// Fails if there are no targets, or too many, or no memory can be had.
    pub fn new(container: &Container, throttle: Factor) -> Result<Self, MemoryError> {
        let targets = container.targets().map_err(std::io::Error::other)?;
        let paths: Vec<PathBuf> = targets.into_iter().map(|it| it.path).collect();
        let paths: Vec<PathBuf> =
            paths.into_iter().map(|it| std::fs::canonicalize(&it).unwrap_or(it)).collect();
        // Those who name the same targets in another order share, too.
        let mut order: Vec<usize> = (0..paths.len()).collect();
        order.sort_by_key(|index| &paths[*index]);
        let mut to_shared = vec![0; paths.len()];
        order.iter().enumerate().for_each(|(shared, index)| to_shared[*index] = shared);
        let sorted: Vec<PathBuf> = order.iter().map(|index| paths[*index].clone()).collect();
        let id = container.id().bytes();
        let words = sorted.iter().map(|it| it.as_os_str().as_encoded_bytes());
        let fingerprint = NodePlan::fingerprint(words.chain(throttle.bounds().then_some(&id[..])));
        let plan = NodePlan { factor: throttle, ..NodePlan::new(sorted.len(), fingerprint) };
        let eyes = Eyes { targets: sorted, container: container.id(), open: HashMap::new() };
        let joined = Some(Joined::join(plan)?);
        let mut pilot = Pilot { plan, joined, eyes, to_shared, lease: None };
        pilot.retry();
        Ok(pilot)
    }

    /// Takes the place of one that others took for dead, or that a parent process had.
    fn join_again(&mut self) {
        self.lease = None;
        self.joined = Joined::join(self.plan).ok();
    }

    fn reserve(&mut self, waiting: u64) -> Result<Reserved, MemberError> {
        let joined = self.joined.as_mut().ok_or(MemberError::NoTarget)?;
        let eyes = &mut self.eyes;
        joined.member.lease(u64::MAX, waiting.max(1), |lease| eyes.look(lease))
    }

    /// Says how far the segment is filled; returns false if the lease has ended.
    fn publish(&mut self, bytes: u32) -> bool {
        let (Some(joined), Some(filling)) = (&self.joined, &mut self.lease) else { return true };
        filling.published = bytes;
        let filled = bytes.min(filling.reserved.length_bytes);
        let (member, id) = (&joined.member, filling.reserved.id);
        member.begin_fill(id) && member.publish(id, filled) && bytes <= filled
    }

    /// Ends the lease; what was published is under way.
    fn seal(&mut self) -> Option<Filling> {
        let filling = self.lease.take()?;
        let member = &mut self.joined.as_mut()?.member;
        let _ = member.seal(filling.reserved.id);
        Some(filling)
    }

    fn set_failure(&mut self, lane: usize, failure: Option<Failure>) {
        if let (Some(joined), Some(lane)) = (&mut self.joined, self.to_shared.get(lane)) {
            let _ = joined.member.set_failure(*lane, failure);
        }
    }
}

impl Router for Pilot {
    fn place(&mut self, waiting: u64) -> Option<Berth> {
        self.seal();
        let reserved = match self.reserve(waiting) {
            Err(MemberError::Forked | MemberError::TakenForDead) => {
                self.join_again();
                self.reserve(waiting)
            }
            reserved => reserved,
        };
        let reserved = reserved.ok()?;
        let lane = self.to_shared.iter().position(|it| *it == reserved.lane)?;
        self.lease = Some(Filling { reserved, position: 0, published: 0 });
        Some(Berth { lane, length: reserved.length_bytes })
    }

    fn begin(&mut self, log: u32, position: u64) {
        let place = Place { log: self.eyes.number(log), offset_bytes: position };
        if let (Some(joined), Some(filling)) = (&self.joined, &mut self.lease) {
            filling.position = position;
            joined.member.set_place(filling.reserved.id, place);
        }
    }

    fn fill(&mut self, bytes: u32) -> bool {
        match &self.lease {
            Some(it) if bytes - it.published.min(bytes) >= PUBLISH_EVERY_BYTES => {
                self.publish(bytes)
            }
            _ => true,
        }
    }

    fn end(&mut self, log: BorrowedFd<'_>, bytes: u32) {
        self.publish(bytes);
        if let Some(filling) = self.seal()
            && bytes > 0
        {
            // With its first slot page.
            let begin = filling.position.saturating_sub(PAGE_BYTES);
            let _ = written::push(log, begin, u64::from(bytes) + PAGE_BYTES);
        }
    }

    fn look(&mut self) {
        let eyes = &mut self.eyes;
        if let Some(joined) = &mut self.joined {
            let _ = joined.member.look(|lease| eyes.look(lease));
        }
    }

    fn refuse(&mut self, lane: usize, errno: Errno) {
        self.seal();
        let failure = match errno {
            Errno::NOSPC | Errno::DQUOT => Failure::Full,
            Errno::ROFS => Failure::ReadOnly,
            _ => Failure::Stopped,
        };
        self.set_failure(lane, Some(failure));
    }

    fn retry(&mut self) {
        (0..self.to_shared.len()).for_each(|lane| self.set_failure(lane, None));
    }
}

impl Drop for Pilot {
    fn drop(&mut self) {
        self.seal();
        // What is written out already counts for nobody any more.
        self.look();
        if let Some(joined) = self.joined.take() {
            joined.leave();
        }
    }
}
