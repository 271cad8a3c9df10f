//! Containers that are open, by what they are, and those that were looked at last.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::open_container::OpenContainer;
use crate::place::Identity;
use crate::whose::Whose;

/// Containers that stay open after they were looked at: listing a directory looks at each of them twice.
const RECENT_MAX: usize = 16;

/// How long they stay open.
const UNUSED: Duration = Duration::from_secs(2);

/// The containers that are open.
#[derive(Debug, Default)]
pub struct Known {
    /// All that are open: whoever reads one sees what others found in it, and all fill the kernel's cache with the same.
    open: HashMap<Identity, Weak<OpenContainer>>,
    recent: VecDeque<Recent>,
    descriptors_max: usize,
}

/// A container that was looked at, and when.
#[derive(Debug)]
struct Recent {
    identity: Identity,
    container: Arc<OpenContainer>,
    looked: Instant,
}

impl Known {
    /// None is open. Those that were looked at last take at most so many descriptors.
    pub fn new(descriptors_max: usize) -> Self {
        Known { descriptors_max, ..Known::default() }
    }

    /// Returns what those that are open take, about: all of them, or others' alone.
    pub fn memory(&self, of: Option<Whose>) -> u64 {
        let open = self.open.values().filter_map(Weak::upgrade);
        let counted = open.filter(|it| of.is_none_or(|whose| whose == it.whose()));
        counted.map(|it| it.memory()).sum()
    }

    /// Closes those that nobody has looked at for a while.
    pub fn close_unused(&mut self) {
        self.recent.retain(|it| it.looked.elapsed() < UNUSED);
        self.open.retain(|_, it| it.strong_count() > 0);
    }

    /// Closes those that nobody uses; of those who look at others' containers, only such.
    pub fn close_for(&mut self, whose: Whose) {
        self.recent.retain(|it| whose == Whose::Others && it.container.whose() == Whose::Own);
    }

    /// Returns a container that is open.
    pub fn of(&mut self, identity: Identity) -> Option<Arc<OpenContainer>> {
        let open = self.open.get(&identity)?.upgrade()?;
        if let Some(recent) = self.recent.iter_mut().find(|it| it.identity == identity) {
            recent.looked = Instant::now();
        }
        Some(open)
    }

    /// Adds one that was opened; returns another of the same if one was opened meanwhile.
    pub fn add(
        &mut self,
        identity: Identity,
        opened: &Arc<OpenContainer>,
    ) -> Option<Arc<OpenContainer>> {
        if let Some(other) = self.of(identity) {
            return Some(other);
        }
        self.open.insert(identity, Arc::downgrade(opened));
        let looked = Instant::now();
        self.recent.push_front(Recent { identity, container: opened.clone(), looked });
        let mut descriptors = 0;
        let kept = self.recent.iter().take(RECENT_MAX).take_while(|it| {
            descriptors += it.container.descriptors();
            descriptors <= self.descriptors_max
        });
        let kept = kept.count();
        self.recent.truncate(kept);
        None
    }
}
