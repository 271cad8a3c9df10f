//! Making logs durable: only those in which something was published since, as each is a request to its storage even if there is nothing to write.

use std::io;

use rustix::fs::OFlags;

use super::Writer;
use super::refusals::lost;
use crate::StowError;
use crate::error::Attempt;
use crate::manifest::ListedLog;
use crate::segment::MarkedLog;
use crate::state::LogMark;

/// A log that is to be durable, as it was at one moment.
pub(super) struct LogToSync<'a> {
    listed: &'a ListedLog,
    /// What its writers share.
    pub mark: LogMark,
    /// The last stamp that was published.
    pub stamp: u64,
    /// How often something was published, if that can be told.
    count: Option<u64>,
}

impl Writer {
    /// Makes durable what is published in these logs now; returns those of which that had to be asked. The writer's own come first: those who write the others may make them durable meanwhile.
    pub(super) fn sync_logs<'a>(
        &mut self,
        listed: &'a [ListedLog],
    ) -> Result<Vec<LogToSync<'a>>, StowError> {
        let name =
            |listed: &ListedLog| format!("log {} on target {}", listed.number, listed.target);
        let mut logs = Vec::new();
        for listed in listed {
            let mark = self.state.mark(listed.number).attempt("make durable", name(listed))?;
            // Counted once it is there: what comes meanwhile is counted later.
            let (count, stamp) = (mark.publications(), mark.published());
            logs.push(LogToSync { listed, mark, stamp, count });
        }
        logs.sort_by_key(|it| self.own_log(it.listed).is_none());
        let mut synced = Vec::new();
        for log in logs {
            let is_asked = self.sync_log(&log).attempt("make durable", name(log.listed))?;
            // Of others, somebody may just have published what is neither counted nor durable.
            synced.extend(is_asked.then_some(log));
        }
        Ok(synced)
    }

    fn own_log(&self, listed: &ListedLog) -> Option<&MarkedLog> {
        let mut own = self.lanes.iter().filter_map(|it| it.log.as_deref());
        own.find(|it| it.log.number() == listed.number)
    }

    /// Makes a log durable; returns false if it was.
    fn sync_log(&mut self, to_sync: &LogToSync) -> io::Result<bool> {
        let is_due = !self.is_durable(to_sync);
        match self.own_log(to_sync.listed) {
            Some(own) if is_due => own.log.sync()?,
            Some(_) => {}
            None => {
                // It must be where readers look for it, also if there is nothing to write.
                let log = self.container.open_log(to_sync.listed, OFlags::RDONLY).map_err(lost)?;
                if is_due {
                    log.sync()?;
                }
            }
        }
        if is_due && let Some(count) = to_sync.count {
            to_sync.mark.note_durable_publications(count);
            self.synced.insert(to_sync.listed.number, count);
        }
        Ok(is_due)
    }

    /// Returns whether all that was published in a log is durable, because this writer has made it so, or others have what came since it did.
    fn is_durable(&self, log: &LogToSync) -> bool {
        let own = self.synced.get(&log.listed.number);
        own.zip(log.count)
            .is_some_and(|(own, count)| (*own).max(log.mark.durable_publications()) >= count)
    }
}
