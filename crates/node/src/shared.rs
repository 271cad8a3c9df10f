//! The file of shared memory: made once, checked by everybody who opens it.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use plimsoll_guarded::{Directory, Draft, random_hex};
use plimsoll_route::Window;
use plimsoll_route::lease::{Leases, TableShape, TableShapeError, Word};
use rustix::fs::{FallocateFlags, OFlags, fallocate, fstat};

use crate::mapping::Mapping;
use crate::plan::NodePlan;

/// What the first word says.
const MAGIC: u64 = u64::from_le_bytes(*b"plimnode");
const VERSION: u64 = 1;

/// Words before the table: magic, version, words of the whole file, digest of the plan, and who the node is; then what waiters share.
const HEADER_WORDS: usize = 16;
const LOCK: usize = 8;
const ENDS: usize = 9;
const LOOKER: usize = 10;

/// Nobody else has to do with the file.
const MODE: u32 = 0o600;

/// How often one looks again for a file that another process makes or removes at the same time.
const TRIES: usize = 16;

/// The state that the processes of a node share.
#[derive(Debug)]
pub struct SharedNode {
    mapping: Mapping,
    file: File,
    plan: NodePlan,
    shape: TableShape,
}

/// Why processes cannot route together.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The file cannot be opened or made, or is another user's.
    #[error("cannot use the node's shared memory {path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is something else, or of another version, or for other targets.
    #[error("the node's shared memory {path} {what}; hint: remove it when no program uses it")]
    Unlike {
        /// Which.
        path: PathBuf,
        /// What is not as it must be.
        what: &'static str,
    },
    /// The plan is for nothing, or for too much.
    #[error(transparent)]
    Shape(#[from] TableShapeError),
}

impl SharedNode {
    /// Opens the file of that name in a directory, or makes it.
    ///
    /// # Errors
    /// Fails if it is another user's, or can be written by others, or was made for another plan.
    pub fn open(directory: &Path, name: &str, plan: NodePlan) -> Result<Self, NodeError> {
        let shape = plan.shape()?;
        let path = directory.join(name);
        let failed = |error| NodeError::File { path: path.clone(), error };
        let directory = Directory::open(directory).map_err(failed)?;
        for _ in 0..TRIES {
            match directory.open_own_file(name, OFlags::RDWR) {
                Ok(file) => return Self::check(file, plan, shape, &path),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(failed(error)),
            }
            match make(&directory, name, &plan, shape) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(failed(error));
                }
                _ => {}
            }
        }
        Err(failed(io::Error::other("it comes and goes")))
    }

    fn check(
        file: File,
        plan: NodePlan,
        shape: TableShape,
        path: &Path,
    ) -> Result<Self, NodeError> {
        let failed = |error| NodeError::File { path: path.to_owned(), error };
        let unlike = |what| Err(NodeError::Unlike { path: path.to_owned(), what });
        let facts = fstat(&file).map_err(|error| failed(error.into()))?;
        if facts.st_mode & 0o077 != 0 {
            return unlike("can be used by others");
        }
        let count = HEADER_WORDS + shape.words();
        let length = facts.st_size as u64;
        if length < HEADER_WORDS as u64 * 8 {
            return unlike("is too short");
        }
        let mut header = [0; HEADER_WORDS * 8];
        file.read_exact_at(&mut header, 0).map_err(failed)?;
        let word =
            |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| header[at * 8 + byte]));
        if word(0) != MAGIC {
            return unlike("is something else");
        }
        if word(1) != VERSION {
            return unlike("was made by another version");
        }
        if word(2) != count as u64 || length != count as u64 * 8 || word(3) != plan.digest() {
            return unlike("was made for other targets or settings");
        }
        let mapping = Mapping::new(file.as_fd(), count).map_err(|error| failed(error.into()))?;
        Ok(SharedNode { mapping, file, plan, shape })
    }

    /// Returns what tells this node from any other: another machine, user or boot, or a file that was made anew.
    pub fn id(&self) -> u128 {
        let words = self.mapping.words();
        u128::from(words[4].get()) << 64 | u128::from(words[5].get())
    }

    /// Returns the shape of the table.
    pub fn shape(&self) -> &TableShape {
        &self.shape
    }

    pub(crate) fn plan(&self) -> &NodePlan {
        &self.plan
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn table(&self) -> &[AtomicU64] {
        &self.mapping.words()[HEADER_WORDS..]
    }

    pub(crate) fn lock_word(&self) -> &AtomicU64 {
        &self.mapping.words()[LOCK]
    }

    /// Counts looks that found something durable.
    pub(crate) fn ends(&self) -> &AtomicU64 {
        &self.mapping.words()[ENDS]
    }

    /// Until when whoever looked last is the one who looks.
    pub(crate) fn looker(&self) -> &AtomicU64 {
        &self.mapping.words()[LOOKER]
    }

    /// What a process needs to work on the table.
    pub(crate) fn leases(&self) -> Leases<Window> {
        leases(&self.plan, self.shape)
    }
}

fn leases(plan: &NodePlan, shape: TableShape) -> Leases<Window> {
    Leases::new(shape, plan.factor, Window::new(plan.window, plan.targets, 1))
}

/// Makes the file under a name that cannot be guessed, and gives it its own once it is whole.
fn make(directory: &Directory, name: &str, plan: &NodePlan, shape: TableShape) -> io::Result<()> {
    let temporary = format!(".{name}.{}", random_hex(8)?);
    let draft = Draft::create_as(directory, temporary, name, MODE)?;
    let words: Vec<AtomicU64> =
        (0..HEADER_WORDS + shape.words()).map(|_| AtomicU64::new(0)).collect();
    let mut id = [0; 16];
    rustix::rand::getrandom(&mut id, rustix::rand::GetRandomFlags::empty())?;
    let (high, low) = id.split_at(8);
    let number = |bytes: &[u8]| bytes.iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
    let header = [MAGIC, VERSION, words.len() as u64, plan.digest(), number(high), number(low)];
    for (word, value) in words.iter().zip(header) {
        word.set(value);
    }
    leases(plan, shape).begin(&words[HEADER_WORDS..]);
    // Allocated before it is mapped: a full file system is an error here, and not a signal later.
    fallocate(draft.file(), FallocateFlags::empty(), 0, words.len() as u64 * 8)?;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.get().to_le_bytes()).collect();
    draft.file().write_all_at(&bytes, 0)?;
    draft.publish_new()
}
