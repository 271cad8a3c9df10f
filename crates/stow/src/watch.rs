//! Who is told what is done to logs, and for how long a writer waited before: `stow run` beside `record`. Nobody, as a rule, which costs one look.

use std::path::Path;
use std::sync::OnceLock;

use rustix::io::Errno;

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// Bytes of a log are read.
    Read,
    /// Bytes are written to a log: what a program wrote, or what says where it lies.
    Write,
    /// A log is made durable.
    Sync,
    /// A writer waits until a target takes more.
    Wait,
}

/// What was done.
#[derive(Debug, Clone, Copy)]
pub struct Done<'a> {
    /// What it was.
    pub deed: Deed,
    /// The log, or the target that was waited for.
    pub path: &'a Path,
    /// Where in the log.
    pub position: u64,
    /// So many bytes should be moved.
    pub length: u64,
    /// So many were, or why none.
    pub moved: Result<u64, Errno>,
}

/// Is told what is done, by the thread that does it.
pub trait Watcher: Sync {
    /// Returns when something begins; 0 where nobody wants to know.
    fn begin(&self) -> u64;

    /// It has ended.
    fn ended(&self, began: u64, done: &Done<'_>);
}

static WATCHER: OnceLock<&'static dyn Watcher> = OnceLock::new();

/// Has all that is done from now on told; the first one who asks is.
pub fn watch(watcher: &'static dyn Watcher) {
    let _ = WATCHER.set(watcher);
}

/// Something that has begun, and is told when it ends.
pub(crate) struct Begun {
    watcher: &'static dyn Watcher,
    at: u64,
}

impl Begun {
    /// Begins; `None` where nobody wants to know.
    #[inline]
    pub fn now() -> Option<Self> {
        let watcher = *WATCHER.get()?;
        let at = watcher.begin();
        (at != 0).then_some(Begun { watcher, at })
    }

    /// Tells what it was.
    pub fn end(self, done: &Done<'_>) {
        self.watcher.ended(self.at, done);
    }
}
