//! The memory that the processes of a user share.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use plimsoll_guarded::{Directory, random_hex};
use plimsoll_node::{Member, MemberError, NodeError, NodePlan, SharedNode, is_unused};
use plimsoll_route::Factor;
use plimsoll_stow::Target;
use rustix::fs::OFlags;

use crate::course::Course;
use crate::place::of_user;
use crate::place::{PLACE, PRIVATE};

/// What the names of memory begin with.
pub(crate) const PREFIX: &str = "stow-";

/// Memory that nobody uses is removed when it is older: who has just made it may not have joined yet.
const LEFT_AFTER: Duration = Duration::from_secs(60);

/// Why a process cannot route at all.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// There is no place for it.
    #[error("cannot keep memory in {PLACE}: {0}")]
    Place(#[from] io::Error),
    /// It cannot be used.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// It has no room.
    #[error(transparent)]
    Member(#[from] MemberError),
}

/// A place among the processes that share, and where the memory is.
pub(crate) struct Joined {
    pub member: Member,
    /// `None` if it has no name any more, so that nobody else finds it.
    named: Option<(Directory, String)>,
}

impl Joined {
    /// Joins those who have the same plan, or nobody where that does not work.
    ///
    /// # Errors
    /// Fails if there is no memory at all.
    pub fn join(plan: NodePlan) -> Result<Self, MemoryError> {
        let name = format!("{PREFIX}{:016x}", plan.digest());
        Self::join_in(of_user, &name, plan).or_else(|_| Self::join_alone(plan))
    }

    fn join_in(
        directory: impl FnOnce() -> io::Result<Directory>,
        name: &str,
        plan: NodePlan,
    ) -> Result<Self, MemoryError> {
        let directory = directory()?;
        let node = SharedNode::open(&directory.path_by_descriptor(), name, plan)?;
        let member = node.join()?;
        remove_left(&directory);
        Ok(Joined { member, named: Some((directory, name.into())) })
    }

    fn join_alone(plan: NodePlan) -> Result<Self, MemoryError> {
        let place = Directory::open(Path::new(PLACE))?;
        let name = format!("plimsoll-{}", random_hex(8)?);
        let make = || place.make(&name, PRIVATE);
        let joined = Self::join_in(make, "node", plan);
        place.remove_tree(&name)?;
        joined.map(|it| Joined { named: None, ..it })
    }

    /// Leaves; the last one removes the memory. Who comes at that very moment has one that nobody else finds, and routes for itself.
    pub fn leave(self) {
        let Joined { member, named } = self;
        let is_alone = member.is_alone();
        drop(member);
        if let Some((directory, name)) = named
            && is_alone
        {
            let _ = directory.remove_file_if_there(name);
        }
    }
}

/// Keeps what processes learn of targets while none of them writes there: the memory of the last one would go with it.
pub struct KeptMemory(Option<Joined>);

impl KeptMemory {
    /// Keeps the memory of these targets.
    ///
    /// # Errors
    /// Fails if there is none.
    pub fn of(targets: &[Target]) -> Result<Self, MemoryError> {
        let paths = targets.iter().map(|it| it.path.as_path());
        Joined::join(Course::to(paths, Factor::NONE, None).plan).map(|it| KeptMemory(Some(it)))
    }

    /// Returns where it is; `None` if others cannot find it.
    pub fn path(&self) -> Option<PathBuf> {
        let (directory, name) = self.0.as_ref()?.named.as_ref()?;
        Some(directory.path().join(name))
    }
}

impl Drop for KeptMemory {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(Joined::leave);
    }
}

/// Removes the memory of those who were all killed before they could. What cannot be removed takes a few pages, until the machine is started again.
fn remove_left(directory: &Directory) {
    let is_left = |name: &OsStr| {
        let file = directory.open_own_file(name, OFlags::RDONLY).ok()?;
        let made = file.metadata().ok()?.modified().ok()?;
        let age = SystemTime::now().duration_since(made).unwrap_or_default();
        (age >= LEFT_AFTER && is_unused(file.as_fd())).then_some(())
    };
    let names = directory.names().unwrap_or_default();
    let is_memory = |name: &&OsString| {
        let bytes = name.as_encoded_bytes();
        // A kill may also leave what was to become memory.
        bytes.strip_prefix(b".").unwrap_or(bytes).starts_with(PREFIX.as_bytes())
    };
    for name in names.iter().filter(is_memory) {
        if is_left(name).is_some() {
            let _ = directory.remove_file_if_there(name);
        }
    }
}
