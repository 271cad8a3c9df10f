//! The logs that the writers of a node share, a few on each target.

use std::fs::File;
use std::ops::RangeInclusive;

use plimsoll_guarded::Directory;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::container::{MANIFEST, Target};
use crate::error::Attempt;
use crate::log::{self, Log};
use crate::manifest::ListedLog;
use crate::rights::PRIVATE_DIRECTORY;
use crate::segment::MarkedLog;
use crate::state::SharedState;
use crate::{Container, StowError};

/// Logs that the writers of a node share: those of one log wait for each other's changes of its inode (four processes wrote 4 KiB to
/// logs of their own twice as fast as to one), and many logs are many files.
const LOGS_PER_NODE: u64 = 16;
const LOGS_PER_TARGET: RangeInclusive<u64> = 2..=8;

/// A container's logs, as writers get them.
pub struct LogPool<'a> {
    /// The container.
    pub container: &'a Container,
    /// What its writers share.
    pub state: &'a SharedState,
    /// How many targets are written to.
    pub targets: u64,
}

impl LogPool<'_> {
    /// Returns the log of a target that this writer uses, which is made and listed if it is not there.
    ///
    /// # Errors
    /// If it cannot be.
    pub fn obtain(&self, target: &Target, writer: u64) -> Result<MarkedLog, StowError> {
        let directory = self.container.directory();
        let path = || directory.path().join(MANIFEST);
        let flags = OFlags::RDWR | OFlags::APPEND;
        let manifest = directory.open_own_file(MANIFEST, flags).attempt("open", path())?;
        flock(&manifest, FlockOperation::LockExclusive).attempt("lock", path())?;
        let listed = self.container.logs()?;
        let of_target: Vec<&ListedLog> =
            listed.iter().filter(|it| it.target == target.name).collect();
        let count = LOGS_PER_NODE / self.targets.max(1);
        let count = count.clamp(*LOGS_PER_TARGET.start(), *LOGS_PER_TARGET.end());
        let wanted = (writer % count) as usize;
        if let Some(listed) = of_target.get(wanted) {
            let name = format!("log {} on target {}", listed.number, listed.target);
            let log = self.container.open_log(listed, OFlags::RDWR).attempt("open", &name)?;
            let mark = self.state.mark(listed.number).attempt("open", name)?;
            return Ok(MarkedLog { log, mark });
        }
        let number = listed.len() as u32;
        let listed = ListedLog { number, target: target.name.clone(), path: target.path.clone() };
        let line = listed.line().ok_or(Errno::INVAL).attempt("list the target", &target.path)?;
        let mark = self.state.mark(number).attempt("list the target", &target.path)?;
        let log = self.make_log(target, number).attempt("make a log on", &target.path)?;
        self.cut_half_line(&manifest).attempt("write", path())?;
        let written = rustix::io::write(&manifest, line.as_bytes());
        match written.attempt("write", path())? {
            count if count == line.len() => {
                self.state.note_logs(u64::from(number) + 1);
                Ok(MarkedLog { log, mark })
            }
            _ => Err(Errno::NOSPC).attempt("write", path()),
        }
    }

    /// Half a line of somebody who was killed would spoil the next one.
    fn cut_half_line(&self, manifest: &File) -> std::io::Result<()> {
        let text = plimsoll_guarded::read_at_most(crate::manifest::MANIFEST_BYTES_MAX, manifest)?;
        let text = text.unwrap_or_default();
        let whole = text.iter().rposition(|it| *it == b'\n').map_or(0, |end| end + 1);
        if whole < text.len() {
            rustix::fs::ftruncate(manifest, whole as u64)?;
        }
        Ok(())
    }

    fn make_log(&self, target: &Target, number: u32) -> std::io::Result<Log> {
        let name = log::directory_name(self.container.id());
        let target = Directory::open(&target.path)?;
        let directory = match target.make(&name, PRIVATE_DIRECTORY) {
            Err(cause) if cause.kind() == std::io::ErrorKind::AlreadyExists => {
                target.child(&name)?
            }
            made => made?,
        };
        directory.require_own()?;
        // One that is not listed was left by somebody who was killed, and never had a record.
        directory.remove_file_if_there(log::file_name(number))?;
        let log = Log::create(&directory, self.container.id(), number)?;
        // Durable before it is listed: a log that is listed and not there has lost something.
        log.sync()?;
        directory.sync()?;
        target.sync()?;
        Ok(log)
    }
}
