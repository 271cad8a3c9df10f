//! The logs that the writers of a node share, a few on each target.

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::anchor::keep_private_file;
use crate::container::{MANIFEST, Target};
use crate::error::Attempt;
use crate::fresh;
use crate::home;
use crate::lock::{self, Hold, MANIFEST_LOCK};
use crate::log_place::LogPlace;
use crate::manifest::ListedLog;
use crate::segment::MarkedLog;
use crate::state::SharedState;
use crate::{Container, StowError};

/// A container's logs, as writers get them.
pub struct LogPool<'a> {
    /// The container.
    pub container: &'a Container,
    /// What its writers share.
    pub state: &'a SharedState,
    /// How many of them the node has on each target.
    pub per_target: usize,
}

impl LogPool<'_> {
    /// Returns the log of a target that this writer uses, which is made and listed if it is not there.
    ///
    /// # Errors
    /// If it cannot be.
    pub fn obtain(&self, target: &Target, writer: u64) -> Result<MarkedLog, StowError> {
        let directory = self.container.directory();
        let path = || directory.path().join(MANIFEST);
        let held = lock::open(directory, MANIFEST_LOCK)?;
        lock::take(&held, Hold::Alone, directory.path())?;
        let manifest = directory.open_own_file(MANIFEST, OFlags::RDWR).attempt("open", path())?;
        keep_private_file(&manifest, directory);
        fresh::renew(&manifest).attempt("read", path())?;
        let (listed, whole_lines) = self.container.logs_in(&manifest)?;
        let seat = self.state.seat();
        let of_target: Vec<&ListedLog> =
            listed.iter().filter(|it| it.target == target.name && it.seat == seat).collect();
        let wanted = (writer % self.per_target.max(1) as u64) as usize;
        if let Some(listed) = of_target.get(wanted) {
            let name = format!("log {} on target {}", listed.number, listed.target);
            let log = self.container.open_log(listed, OFlags::RDWR).attempt("open", &name)?;
            keep_private_file(&log, directory);
            let mark = self.state.mark(listed.number).attempt("open", name)?;
            // Whoever listed it may have been killed before this; those who look for news look at so many.
            self.state.note_logs(u64::from(listed.number) + 1);
            return Ok(MarkedLog { log, mark });
        }
        let number = listed.len() as u32;
        let (name, path_there) = (target.name.clone(), target.path.clone());
        let listed = ListedLog { number, target: name, path: path_there, seat };
        let line = listed.line().ok_or(Errno::INVAL).attempt("list the target", &target.path)?;
        let mark = self.state.mark(number).attempt("list the target", &target.path)?;
        // What was never synced is not durable, and need not be.
        let is_synced = !self.container.is_unsynced();
        let log = LogPlace::obtain(&target.path, self.container.id())
            .and_then(|place| {
                home::note(&place, self.container, is_synced)?;
                place.make_log(number, &target.name, is_synced)
            })
            .attempt("make a log on", &target.path)?;
        // Half a line of somebody who was killed would spoil the next one.
        rustix::fs::ftruncate(&manifest, whole_lines).attempt("write", path())?;
        let written = rustix::io::pwrite(&manifest, line.as_bytes(), whole_lines);
        match written.attempt("write", path())? {
            count if count == line.len() => {
                if !self.state.is_of_one_node() {
                    // The next one to list a log may be another node.
                    rustix::fs::fdatasync(&manifest).attempt("write", path())?;
                }
                self.state.note_logs(u64::from(number) + 1);
                Ok(MarkedLog { log, mark })
            }
            _ => Err(Errno::NOSPC).attempt("write", path()),
        }
    }
}
