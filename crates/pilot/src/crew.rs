//! The pilots of one process.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll_node::NodePlan;
use plimsoll_route::Factor;
use plimsoll_stow::Container;

use crate::Pilot;
use crate::course::{Course, targets_of};
use crate::memory::Joined;

/// Places among the processes of the node that one process takes at most; the segments of its further writers go round the targets.
const PLACES_MAX: usize = 64;

/// Makes the pilots of a process that writes many files: a place among the processes of the node goes on to the next writer, and
/// none is taken for files that stay small.
///
/// A forked child makes a crew of its own.
pub struct Crew {
    buffer_bytes: u64,
    resting: Mutex<Option<(NodePlan, Joined)>>,
    /// That of the last container: most have the same targets.
    course: Mutex<Option<(Vec<PathBuf>, Arc<Course>)>>,
    joined: AtomicUsize,
    made: AtomicUsize,
}

impl Crew {
    /// Makes the crew of a process each of whose writers may write `buffer_bytes` more than the targets take now before it waits.
    pub fn new(buffer_bytes: u64) -> Arc<Self> {
        let (joined, made) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (resting, course) = (Mutex::new(None), Mutex::new(None));
        Arc::new(Crew { buffer_bytes, resting, course, joined, made })
    }

    /// Makes a router for a writer of this container. It waits for nothing, and takes part with the writer's second segment.
    ///
    /// # Errors
    /// Fails if the container's targets cannot be told.
    pub fn pilot(self: &Arc<Self>, container: &Container) -> io::Result<Pilot> {
        let course = self.course(targets_of(container)?);
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        Ok(Pilot::of_crew(container.id(), course, self.buffer_bytes, self.clone(), number))
    }

    /// Gives up the place that no writer uses just now: the process ends.
    pub fn dismiss(&self) {
        if let Some((_, joined)) = self.resting().take() {
            self.leave(joined);
        }
    }

    fn course(&self, named: Vec<PathBuf>) -> Arc<Course> {
        let mut last = locked(&self.course);
        match &*last {
            Some((its, course)) if *its == named => course.clone(),
            _ => {
                let paths = named.iter().map(PathBuf::as_path);
                let course = Arc::new(Course::to(paths, Factor::NONE, None));
                *last = Some((named, course.clone()));
                course
            }
        }
    }

    fn resting(&self) -> MutexGuard<'_, Option<(NodePlan, Joined)>> {
        locked(&self.resting)
    }

    /// Takes a place among the processes that share, if there is one.
    pub(crate) fn join(&self, plan: NodePlan) -> Option<Joined> {
        let mut resting = self.resting();
        if let Some((_, joined)) = resting.take_if(|(its, _)| *its == plan) {
            return Some(joined);
        }
        drop(resting);
        if self.joined.fetch_add(1, Ordering::Relaxed) < PLACES_MAX
            && let Ok(joined) = Joined::join(plan)
        {
            return Some(joined);
        }
        self.joined.fetch_sub(1, Ordering::Relaxed);
        None
    }

    /// Keeps a place for the next writer. One is enough.
    pub(crate) fn rest(&self, plan: NodePlan, joined: Joined) {
        let before = self.resting().replace((plan, joined));
        if let Some((_, joined)) = before {
            self.leave(joined);
        }
    }

    /// Gives a place up.
    pub(crate) fn leave(&self, joined: Joined) {
        joined.leave();
        self.joined.fetch_sub(1, Ordering::Relaxed);
    }

    /// Asks the place that rests, if it is one of these processes.
    pub(crate) fn ask<R>(&self, plan: NodePlan, question: impl FnOnce(&Joined) -> R) -> Option<R> {
        let resting = self.resting();
        let (_, joined) = resting.as_ref().filter(|(its, _)| *its == plan)?;
        Some(question(joined))
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.dismiss();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
