//! A process that takes part.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::AtomicU64;

use plimsoll_route::lease::{
    self, Ended, Holder, LeaseId, Leases, Need, Place, Reserved, SealedLease, Seen, Word,
};
use plimsoll_route::{Failure, Window};
use rustix::fs::Timespec;
use rustix::thread::futex;

use crate::alive;
use crate::fork::ForkMark;
use crate::kernel::{locked, low_half, now_ns};
use crate::lock::{LockHolder, Stuck};
use crate::shared::SharedNode;

const MS: u64 = 1_000_000;

/// How long the one who looks waits between two looks.
const LOOK_EVERY_NS: u64 = MS;

/// How much longer the others wait before one of them looks instead: the one who looked may have gone on.
const LOOKER_LATE_NS: u64 = MS;

/// How often one looks whether members have died.
const REAP_EVERY_NS: u64 = 20 * MS;

/// A process of the node that has joined. It leaves when it is dropped.
#[derive(Debug)]
pub struct Member {
    node: SharedNode,
    pub(crate) leases: Leases<Window>,
    holder: Holder,
    mark: ForkMark,
    on_their_way: Vec<(SealedLease, Option<Seen>)>,
    ended: Vec<Ended>,
    reaped_ns: u64,
    longest_ns: u64,
}

/// Why a member cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum MemberError {
    /// The node has no place left.
    #[error("all {members} places of the node are taken")]
    Full {
        /// How many there are.
        members: usize,
    },
    /// The system refuses.
    #[error("cannot join the node: {0}")]
    Join(#[source] io::Error),
    /// This process is a child of the one that joined. It must join itself.
    #[error("this process was forked from the one that joined the node")]
    Forked,
    /// It was taken for dead, because its descriptor was closed. It must join again.
    #[error("this process was taken for dead by others of its node")]
    TakenForDead,
    /// No target takes data.
    #[error("no target takes data")]
    NoTarget,
    /// Somebody holds the lock and does not go on.
    #[error(transparent)]
    Stuck(#[from] Stuck),
}

impl SharedNode {
    /// Makes this process a member. A process that wants to be several opens the node as often.
    ///
    /// # Errors
    /// Fails if all places are taken.
    pub fn join(self) -> Result<Member, MemberError> {
        let mark = ForkMark::new().map_err(|error| MemberError::Join(error.into()))?;
        let members = self.shape().holders();
        let mut place = None;
        for at in 0..members {
            if alive::take(self.file().as_fd(), at).map_err(MemberError::Join)? {
                place = Some(at);
                break;
            }
        }
        let place = place.ok_or(MemberError::Full { members })?;
        let mut leases = self.leases();
        let next = self.shape().occupant(self.table(), place).unwrap_or(0).wrapping_add(1);
        let joiner = LockHolder { place, generation: next };
        let now_ns = now_ns();
        let holder = locked(&self, joiner, || leases.join(self.table(), now_ns, place))?;
        let count = self.shape().leases();
        Ok(Member {
            node: self,
            leases,
            holder,
            mark,
            on_their_way: Vec::with_capacity(count),
            ended: Vec::with_capacity(count),
            reaped_ns: now_ns,
            longest_ns: 0,
        })
    }
}

impl Member {
    /// Returns the node.
    pub fn node(&self) -> &SharedNode {
        &self.node
    }

    /// From now on, this process gets leases on these targets only. Others, who share them, may have others.
    pub fn keep_to(&mut self, is_wanted: impl Fn(usize) -> bool) {
        self.leases.keep_to(is_wanted);
    }

    /// Returns the windows of all targets as they were when this process last looked.
    pub fn windows(&self) -> Vec<u64> {
        let windows = 0..self.node.plan().targets;
        windows.map(|lane| self.leases.policy().window_bytes(lane)).collect()
    }

    /// Returns the longest that a lease took, from its seal until this process noticed its end.
    pub fn longest_ns(&self) -> u64 {
        self.longest_ns
    }

    /// Returns whether no other process takes part just now.
    pub fn is_alone(&self) -> bool {
        // This process's own lock is no other's: it is of the same description.
        alive::is_unused(self.node.file().as_fd())
    }

    /// Waits for a lease. `length_bytes` is the most that this process could fill ([`u64::MAX`] if more may come),
    /// `waiting_bytes` what it has at hand. `durable` says of a lease of any member whether its data is on the target; `None` if this process cannot know.
    ///
    /// # Errors
    /// Fails if no target takes data, or this process is no member any more.
    pub fn lease(
        &mut self,
        length_bytes: u64,
        waiting_bytes: u64,
        mut durable: impl FnMut(&SealedLease) -> Option<Seen>,
    ) -> Result<Reserved, MemberError> {
        loop {
            let ends = self.node.ends().get();
            if let Some(reserved) = self.try_lease(length_bytes, waiting_bytes)? {
                return Ok(reserved);
            }
            self.look_or_wait(ends, &mut durable)?;
        }
    }

    /// Returns a lease if there is room now.
    ///
    /// # Errors
    /// As [`Member::lease`].
    pub fn try_lease(
        &mut self,
        length_bytes: u64,
        waiting_bytes: u64,
    ) -> Result<Option<Reserved>, MemberError> {
        let need = Need { holder: self.holder, length_bytes, waiting_bytes };
        let reserved = self.locked(|leases, words, now_ns| leases.reserve(words, now_ns, need))?;
        let has_failed = self.leases.lanes().iter().all(|lane| lane.failure.is_some());
        if reserved.is_none() && has_failed {
            let holder = self.holder;
            self.locked(|leases, words, _| leases.give_up(words, holder))?;
            return Err(MemberError::NoTarget);
        }
        Ok(reserved)
    }

    /// Waits no longer for a lease.
    ///
    /// # Errors
    /// As [`Member::lease`].
    pub fn give_up(&mut self) -> Result<(), MemberError> {
        let holder = self.holder;
        self.locked(|leases, words, _| leases.give_up(words, holder))
    }

    /// Says where the data of a lease will lie, before any is written, so that others can look there. Returns false if the lease is gone.
    pub fn set_place(&self, id: LeaseId, place: Place) -> bool {
        self.leases.set_place(self.node.table(), id, place)
    }

    /// A write into a lease begins. Returns false if others have sealed it: it must go to another one.
    pub fn begin_fill(&self, id: LeaseId) -> bool {
        lease::begin_fill(self.node.shape(), self.node.table(), id)
    }

    /// The lease is filled so far. Returns false if this process was taken for dead meanwhile: the write must be done again elsewhere.
    pub fn publish(&self, id: LeaseId, filled_bytes: u32) -> bool {
        lease::publish(self.node.shape(), self.node.table(), id, filled_bytes)
    }

    /// Seals a lease. Whoever calls this then has its data written to the target. Returns nothing if it is empty or was sealed by others.
    ///
    /// # Errors
    /// Fails if this process is no member any more.
    pub fn seal(&mut self, id: LeaseId) -> Result<Option<SealedLease>, MemberError> {
        self.locked(|leases, words, now_ns| leases.seal(words, now_ns, id))
    }

    /// A target takes no more data, or takes it again.
    ///
    /// # Errors
    /// Fails if this process is no member any more.
    pub fn set_failure(
        &mut self,
        lane: usize,
        failure: Option<Failure>,
    ) -> Result<(), MemberError> {
        self.locked(|leases, words, _| leases.set_failure(words, lane, failure))
    }

    /// Seals what this process has open. Until [`Member::is_flushed`], it counts as one that writes nothing more.
    ///
    /// # Errors
    /// Fails if this process is no member any more.
    pub fn flush(&mut self) -> Result<(), MemberError> {
        let holder = self.holder;
        self.locked(|leases, words, now_ns| leases.flush(words, now_ns, holder))
    }

    /// Returns whether nothing that this process sealed is on its way any more.
    ///
    /// # Errors
    /// Fails if this process is no member any more.
    pub fn is_flushed(&mut self) -> Result<bool, MemberError> {
        let holder = self.holder;
        self.locked(|leases, words, _| leases.is_flushed(words, holder))
    }

    /// Returns whether the data of a lease was durable elsewhere, by its copy, before it is itself.
    pub fn is_superseded(&self, id: LeaseId) -> bool {
        lease::is_superseded(self.node.shape(), self.node.table(), id)
    }

    /// Returns a lease of this process that takes long, and one into which it should copy the data, if that is worth it.
    ///
    /// # Errors
    /// Fails if this process is no member any more.
    pub fn second_attempt(&mut self) -> Result<Option<(SealedLease, Reserved)>, MemberError> {
        let holder = self.holder;
        self.locked(|leases, words, now_ns| leases.second_attempt(words, now_ns, holder))
    }

    /// Looks at what is on its way, if it is this process's turn; else waits until something has ended or it is.
    ///
    /// # Errors
    /// Fails if this process is no member any more.
    pub fn look_or_wait(
        &mut self,
        ends: u64,
        durable: impl FnMut(&SealedLease) -> Option<Seen>,
    ) -> Result<(), MemberError> {
        let now_ns = now_ns();
        let until_ns = self.node.looker().get();
        // A time far ahead is nonsense, or of another boot.
        let is_due = until_ns <= now_ns || until_ns > now_ns + 1000 * MS;
        if is_due && self.node.looker().replace(until_ns, now_ns + LOOK_EVERY_NS) {
            if self.look(durable)?.is_empty() {
                self.wait_for_end(ends, LOOK_EVERY_NS);
            }
            return Ok(());
        }
        let left_ns = until_ns.saturating_sub(now_ns).min(LOOK_EVERY_NS);
        let spread_ns = (self.holder.place() as u64 % 64) * (LOOKER_LATE_NS / 16);
        self.wait_for_end(ends, left_ns + LOOKER_LATE_NS + spread_ns);
        Ok(())
    }

    /// Returns the count of looks that found something, for [`Member::look_or_wait`].
    pub fn ends(&self) -> u64 {
        self.node.ends().get()
    }

    /// Looks at what is on its way, whose ever it is. Returns what has ended.
    ///
    /// # Errors
    /// Fails if this process is no member any more.
    pub fn look(
        &mut self,
        mut durable: impl FnMut(&SealedLease) -> Option<Seen>,
    ) -> Result<&[Ended], MemberError> {
        let mut seen = std::mem::take(&mut self.on_their_way);
        seen.clear();
        let listed = self.locked(|leases, words, now_ns| {
            leases.seal_old(words, now_ns);
            leases.on_their_way(words, now_ns, |lease| seen.push((lease, None)));
        });
        if let Err(error) = listed {
            self.on_their_way = seen;
            return Err(error);
        }
        let looked_ns = now_ns();
        // Not under the lock: the system is asked.
        seen.iter_mut().for_each(|(lease, seen)| *seen = durable(lease));
        let mut ended = std::mem::take(&mut self.ended);
        ended.clear();
        let saw = self.locked(|leases, words, now_ns| {
            let known = seen.iter().filter_map(|(lease, seen)| Some((lease.id, (*seen)?)));
            leases.saw_all(words, looked_ns, now_ns, known, |end| ended.push(end));
        });
        let has_freed = seen.iter().any(|(_, seen)| *seen == Some(Seen::Durable));
        (self.on_their_way, self.ended) = (seen, ended);
        saw?;
        let now_ns = now_ns();
        let took = self.ended.iter().map(|end| now_ns.saturating_sub(end.lease.started_ns));
        self.longest_ns = took.fold(self.longest_ns, u64::max);
        self.reap()?;
        if has_freed {
            self.tell_of_end();
        }
        Ok(&self.ended)
    }

    /// Deals with what members left behind that have died.
    fn reap(&mut self) -> Result<(), MemberError> {
        let now_ns = now_ns();
        if now_ns.saturating_sub(self.reaped_ns) < REAP_EVERY_NS {
            return Ok(());
        }
        self.reaped_ns = now_ns;
        for place in 0..self.node.shape().holders() {
            let is_dead = |node: &SharedNode| {
                node.shape().occupant(node.table(), place).is_some()
                    && alive::is_vacant(node.file().as_fd(), place)
            };
            if place == self.holder.place() || !is_dead(&self.node) {
                continue;
            }
            // It is asked again under the lock: a new process may have taken the place meanwhile. One that takes it now waits for the lock.
            let (node, leases) = (&self.node, &mut self.leases);
            let me = lock_holder(self.holder);
            locked(node, me, || {
                if is_dead(node) {
                    leases.holder_gone(node.table(), now_ns, place);
                }
            })?;
        }
        Ok(())
    }

    fn tell_of_end(&self) {
        let ends = self.node.ends();
        ends.set(ends.get().wrapping_add(1));
        let _ = futex::wake(low_half(ends), futex::Flags::empty(), i32::MAX as u32);
    }

    fn wait_for_end(&self, ends: u64, most_ns: u64) {
        let timeout = Timespec { tv_sec: 0, tv_nsec: most_ns as i64 };
        let word = low_half(self.node.ends());
        let _ = futex::wait(word, futex::Flags::empty(), ends as u32, Some(&timeout));
    }

    fn locked<R>(
        &mut self,
        work: impl FnOnce(&mut Leases<Window>, &[AtomicU64], u64) -> R,
    ) -> Result<R, MemberError> {
        if self.mark.is_forked() {
            return Err(MemberError::Forked);
        }
        let (node, leases, holder) = (&self.node, &mut self.leases, self.holder);
        locked(node, lock_holder(holder), || {
            let is_member = node.shape().is_member(node.table(), holder);
            is_member.then(|| work(leases, node.table(), now_ns())).ok_or(MemberError::TakenForDead)
        })?
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if self.mark.is_forked() {
            return;
        }
        let holder = self.holder;
        let _ = self.locked(|leases, words, now_ns| leases.leave(words, now_ns, holder));
        // Also where a forked child holds the description.
        alive::give_up(self.node.file().as_fd(), holder.place());
    }
}

fn lock_holder(holder: Holder) -> LockHolder {
    LockHolder { place: holder.place(), generation: holder.generation() }
}
