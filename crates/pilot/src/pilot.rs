//! The router of one writer.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use plimsoll_node::{MemberError, written};
use plimsoll_route::lease::{Place, Reserved};
use plimsoll_route::{Factor, Failure};
use plimsoll_stats::random::mix;
use plimsoll_stow::word::PAGE_BYTES;
use plimsoll_stow::{Berth, Container, Id, Router};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::Crew;
use crate::buffer::Buffer;
use crate::course::Course;
use crate::eyes::Eyes;
use crate::held::{Held, HeldPart};
use crate::memory::{Joined, MemoryError};

/// How often others are told how far a segment is filled. It costs as much as a tenth of a write of 256 bytes.
const PUBLISH_EVERY_BYTES: u32 = 64 << 10;

/// The first segment of a crew's writer, which is no lease: a small file is not worth a place among the processes of the node, nor a
/// request of its own to the storage.
const FIRST_BYTES: u32 = 256 << 10;

/// The largest segment beyond the window.
const BEYOND_BYTES: u64 = 1 << 20;

/// A router that takes part in the law of `window`.
pub struct Pilot {
    course: Arc<Course>,
    joined: Option<Joined>,
    eyes: Eyes,
    lease: Option<Filling>,
    /// The segment, if it is no lease.
    beyond: Option<HeldPart>,
    held: Held,
    buffer: Buffer,
    crew: Option<Arc<Crew>>,
    /// Tells the pilots of all processes from each other, until the first segment has its place.
    first: Option<u64>,
    /// The targets that the container's node writes to, by place in the shared memory.
    wanted: Vec<bool>,
}

/// The lease that the writer's segment is.
struct Filling {
    reserved: Reserved,
    position: u64,
    published: u32,
}

/// What the law says of a segment.
enum Said {
    Lease(Reserved),
    /// No target has room, but the writer's buffer: on this one, so many bytes.
    Beyond(usize, u64),
}

impl Pilot {
    /// Makes a router for a writer of this container. A target may hold `throttle` more than its fair share of the container.
    ///
    /// # Errors
    /// Fails if there are no targets, or too many, or no memory can be had.
    pub fn new(container: &Container, throttle: Factor) -> Result<Self, MemoryError> {
        let course = Arc::new(Course::of(container, throttle)?);
        let joined = Some(Joined::join(course.plan)?);
        let mut pilot = Self::over(container.id(), course);
        pilot.joined = joined;
        pilot.retry();
        Ok(pilot)
    }

    fn over(container: Id, course: Arc<Course>) -> Self {
        let eyes = Eyes::new(course.targets.clone(), container);
        let wanted = vec![true; course.targets.len()];
        Pilot {
            wanted,
            course,
            joined: None,
            eyes,
            lease: None,
            beyond: None,
            held: Held::default(),
            buffer: Buffer::new(0),
            crew: None,
            first: None,
        }
    }

    pub(crate) fn of_crew(
        container: Id,
        course: Arc<Course>,
        buffer_bytes: u64,
        crew: Arc<Crew>,
        number: usize,
    ) -> Self {
        let process = rustix::process::getpid().as_raw_nonzero().get() as u64;
        let file = container.bytes().iter().fold(0, |all: u64, byte| all << 8 ^ u64::from(*byte));
        let first = (file ^ process << 16).wrapping_add(number as u64);
        let mut pilot = Self::over(container, course);
        (pilot.crew, pilot.first) = (Some(crew), Some(first));
        pilot.buffer = Buffer::new(buffer_bytes);
        pilot
    }

    /// Takes part, or takes the place of one that others took for dead, or that a parent process had.
    fn join(&mut self) {
        self.lease = None;
        let before = self.joined.take();
        self.joined = match &self.crew {
            Some(crew) => {
                before.into_iter().for_each(|it| crew.leave(it));
                crew.join(self.course.plan)
            }
            None => Joined::join(self.course.plan).ok(),
        };
        self.say_what_is_wanted();
        self.retry();
    }

    /// Whoever had the place before wanted others.
    fn say_what_is_wanted(&mut self) {
        let wanted = &self.wanted;
        if let Some(joined) = &mut self.joined {
            joined.member.keep_to(|lane| wanted.get(lane) == Some(&true));
        }
    }

    /// Returns where the first segment of a crew's writer goes: round the targets from one writer to the next, more often where more
    /// is taken, as far as the process knows that.
    fn first_berth(&mut self) -> Option<Berth> {
        let random = mix(self.first.take()?);
        let windows = self.crew.as_ref()?.ask(self.course.plan, |it| it.member.windows());
        let mut windows = windows.unwrap_or_else(|| vec![1; self.course.targets.len()]);
        let unwanted = windows.iter_mut().zip(&self.wanted).filter(|(_, wanted)| !**wanted);
        unwanted.for_each(|(window, _)| *window = 0);
        let mut left = random % windows.iter().sum::<u64>().max(1);
        let shared = windows.iter().position(|window| {
            let is_here = left < *window;
            left = left.saturating_sub(*window);
            is_here
        });
        self.berth_beyond(shared?, FIRST_BYTES)
    }

    fn berth_beyond(&mut self, shared: usize, length: u32) -> Option<Berth> {
        self.beyond = Some(HeldPart { lane: shared, log: 0, position: 0, bytes: 0 });
        Some(Berth { lane: self.course.lane(shared)?, length })
    }

    /// Waits until a target has room, or the buffer. What was written before goes first.
    fn ask_law(&mut self, waiting: u64) -> Result<Said, MemberError> {
        loop {
            let joined = self.joined.as_mut().ok_or(MemberError::NoTarget)?;
            let ends = joined.member.ends();
            match joined.member.try_lease(u64::MAX, waiting.max(1))? {
                Some(reserved) if self.settle(&reserved)? => continue,
                Some(reserved) => return Ok(Said::Lease(reserved)),
                None => {}
            }
            let room = self.buffer.room(self.held.bytes()).min(BEYOND_BYTES);
            let lane = if room > 0 { self.quickest(room) } else { None };
            let joined = self.joined.as_mut().ok_or(MemberError::NoTarget)?;
            if let Some(lane) = lane {
                joined.member.give_up()?;
                return Ok(Said::Beyond(lane, room));
            }
            let eyes = &mut self.eyes;
            joined.member.look_or_wait(ends, |lease| eyes.look(lease))?;
        }
    }

    /// Has a part that was written beyond the window take a lease, if there is any on its target.
    fn settle(&mut self, reserved: &Reserved) -> Result<bool, MemberError> {
        let Some(joined) = &mut self.joined else { return Ok(false) };
        while let Some(part) = self.held.take(reserved.lane, reserved.length_bytes) {
            let place = Place { log: self.eyes.number(part.log), offset_bytes: part.position };
            let (log, length) = (self.eyes.log(part.lane, part.log), u64::from(part.bytes));
            // The kernel may have written it out by itself: then nobody knows how long that took.
            let is_due = |log: &BorrowedFd<'_>| !written::is_written(*log, part.position, length);
            let Some(log) = log.filter(is_due) else { continue };
            let (member, id) = (&mut joined.member, reserved.id);
            member.set_place(id, place);
            let _ = member.begin_fill(id) && member.publish(id, part.bytes);
            member.seal(id)?;
            let _ = written::push(log, part.position, length);
            return Ok(true);
        }
        Ok(false)
    }

    /// Returns the target that would be through first with what was written there and so much more.
    fn quickest(&self, more_bytes: u64) -> Option<usize> {
        let member = &self.joined.as_ref()?.member;
        if !member.knows_all() && !self.buffer.has_waited(clock_gettime(ClockId::Monotonic)) {
            return None;
        }
        let most_bytes = self.buffer.of_each(self.course.targets.len());
        member.quickest(|lane, ended_bytes| {
            let held_bytes = self.held.on(lane);
            // No more than it has shown that it takes: first impressions mislead.
            (held_bytes < most_bytes.min(ended_bytes)).then_some(held_bytes + more_bytes)
        })
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
        if let (Some(joined), Some(lane)) = (&mut self.joined, self.course.to_shared.get(lane)) {
            let _ = joined.member.set_failure(*lane, failure);
        }
    }
}

impl Router for Pilot {
    fn keep_to(&mut self, lanes: &[usize]) {
        self.wanted.fill(false);
        for shared in lanes.iter().filter_map(|lane| self.course.to_shared.get(*lane)) {
            self.wanted[*shared] = true;
        }
        self.say_what_is_wanted();
    }

    fn place(&mut self, waiting: u64) -> Option<Berth> {
        self.seal();
        self.beyond = None;
        if self.first.is_some() {
            return self.first_berth();
        }
        if self.joined.is_none() {
            self.join();
        }
        self.buffer.begin_to_ask(clock_gettime(ClockId::Monotonic));
        let said = match self.ask_law(waiting) {
            Err(MemberError::Forked | MemberError::TakenForDead) => {
                self.join();
                self.ask_law(waiting)
            }
            said => said,
        };
        self.buffer.end_to_ask(clock_gettime(ClockId::Monotonic));
        match said.ok()? {
            Said::Lease(reserved) => {
                let lane = self.course.lane(reserved.lane)?;
                self.lease = Some(Filling { reserved, position: 0, published: 0 });
                Some(Berth { lane, length: reserved.length_bytes })
            }
            Said::Beyond(shared, room) => {
                self.buffer.spend(room);
                self.berth_beyond(shared, room.max(u64::from(PUBLISH_EVERY_BYTES)) as u32)
            }
        }
    }

    fn begin(&mut self, log: u32, position: u64) {
        if let Some(part) = &mut self.beyond {
            (part.log, part.position) = (log, position);
        }
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
        if let Some(part) = self.beyond.take() {
            self.held.add(HeldPart { bytes, ..part });
        }
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
        self.held.clear();
        let eyes = &mut self.eyes;
        if let Some(joined) = &mut self.joined {
            let _ = joined.member.look(|lease| eyes.look(lease));
        }
    }

    fn refuse(&mut self, lane: usize, errno: Errno) {
        self.seal();
        self.beyond = None;
        let failure = match errno {
            Errno::NOSPC | Errno::DQUOT => Failure::Full,
            Errno::ROFS => Failure::ReadOnly,
            _ => Failure::Stopped,
        };
        if self.joined.is_none() {
            self.join();
        }
        self.set_failure(lane, Some(failure));
    }

    fn retry(&mut self) {
        (0..self.course.to_shared.len()).for_each(|lane| self.set_failure(lane, None));
    }
}

impl Drop for Pilot {
    fn drop(&mut self) {
        self.seal();
        match (&self.crew, self.joined.take()) {
            (_, None) => {}
            (Some(crew), Some(joined)) => crew.rest(self.course.plan, joined),
            (None, Some(mut joined)) => {
                // What is written out already counts for nobody any more.
                let eyes = &mut self.eyes;
                let _ = joined.member.look(|lease| eyes.look(lease));
                joined.leave();
            }
        }
    }
}
