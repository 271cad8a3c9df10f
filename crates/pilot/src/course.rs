//! Which targets a container has, in the order that all processes agree on.

use std::io;
use std::path::{Path, PathBuf};

use plimsoll_guarded::Directory;
use plimsoll_node::NodePlan;
use plimsoll_route::Factor;
use plimsoll_stow::Container;

/// The targets, and what processes that write to them share.
pub(crate) struct Course {
    pub plan: NodePlan,
    /// By place in the shared memory.
    pub targets: Vec<PathBuf>,
    /// The place in the shared memory of each of the container's targets.
    pub to_shared: Vec<usize>,
}

impl Course {
    /// Returns the course of a container's writers. A target may hold `throttle` more than its fair share of the container.
    pub fn of(container: &Container, throttle: Factor) -> io::Result<Self> {
        let named = targets_of(container)?;
        let id = container.id().bytes();
        // With a throttle, what is shared is the container's alone: its balance is.
        let own = throttle.bounds().then_some(&id[..]);
        Ok(Self::to(named.iter().map(PathBuf::as_path), throttle, own))
    }

    /// Returns the course to these targets.
    pub fn to<'a>(
        targets: impl Iterator<Item = &'a Path>,
        throttle: Factor,
        own: Option<&[u8]>,
    ) -> Self {
        let paths: Vec<PathBuf> = targets.map(without_links).collect();
        // Those who name the same targets in another order share, too.
        let mut order: Vec<usize> = (0..paths.len()).collect();
        order.sort_by_key(|index| &paths[*index]);
        let mut to_shared = vec![0; paths.len()];
        order.iter().enumerate().for_each(|(shared, index)| to_shared[*index] = shared);
        let targets: Vec<PathBuf> = order.iter().map(|index| paths[*index].clone()).collect();
        let words = targets.iter().map(|it| it.as_os_str().as_encoded_bytes());
        let fingerprint = NodePlan::fingerprint(words.chain(own));
        let plan = NodePlan { factor: throttle, ..NodePlan::new(targets.len(), fingerprint) };
        Course { plan, targets, to_shared }
    }

    /// Returns the container's number of a target in the shared memory.
    pub fn lane(&self, shared: usize) -> Option<usize> {
        self.to_shared.iter().position(|it| *it == shared)
    }
}

/// Returns the targets of a container, as they were named.
pub(crate) fn targets_of(container: &Container) -> io::Result<Vec<PathBuf>> {
    let targets = container.targets().map_err(io::Error::other)?;
    Ok(targets.into_iter().map(|it| it.path).collect())
}

/// Returns where a target is. Not by the C library, whose function allocates in the program's memory.
fn without_links(path: &Path) -> PathBuf {
    let whole = Directory::open(path).and_then(Directory::with_whole_path);
    whole.map_or_else(|_| path.into(), |it| it.path().into())
}
