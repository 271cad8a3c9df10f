//! Reads a small container, whose bytes are in its marker.

use std::sync::{Arc, OnceLock};

use rustix::io::Errno;

use super::Reader;
use crate::error::Attempt;
use crate::findings::Findings;
use crate::marker::MARKER;
use crate::read_log::ReadLog;
use crate::scan::LogScan;
use crate::{Container, ListedLog, States, StowError};

/// What the marker is called among the targets.
const ITSELF: &str = "itself";

impl Reader {
    /// Opens a container that is small; `None` if it is not.
    pub(super) fn of_small(container: &Arc<Container>) -> Result<Option<Self>, StowError> {
        let Some(log) = container.small_log()? else { return Ok(None) };
        // Nobody gives room back in a marker.
        let mut reader = Self::new(container.clone(), Err("small files have none".into()), None);
        reader.is_small = true;
        let path = container.path().to_path_buf();
        let listed = ListedLog { number: 0, target: ITSELF.into(), path, seat: 1 };
        let scan = Ok(LogScan::of_marker(log));
        reader.logs.push(ReadLog { listed, scan, is_short: false });
        reader.refresh_small()?;
        Ok(Some(reader))
    }

    /// Adds what was written since. Once it is small no more, all is looked for in its logs.
    pub(super) fn refresh_small(&mut self) -> Result<(), StowError> {
        let changes = self.changes;
        let path = || self.container.path().join(MARKER);
        let marker = self.logs.first().and_then(|it| it.scan.as_ref().ok());
        let marker = marker.ok_or(Errno::IO).attempt("read", path())?.log().file();
        if !self.container.is_small_still(marker)? || !self.troubles.is_empty() {
            let is_small = self.container.may_be_small();
            let anew = Self::open(self.container.clone())?;
            // What was found wrong is found again.
            let changes = if is_small { changes.max(anew.changes) } else { changes + 1 };
            *self = Reader { changes, ..anew };
            return Ok(());
        }
        let mut findings = Findings::default();
        for log in &mut self.logs {
            if let Ok(scan) = &mut log.scan {
                let looked = scan.look(self.container.node(), &mut self.allowance, &mut findings);
                looked.attempt("read", self.container.path().join(MARKER))?;
            }
        }
        let is_news = !findings.is_empty();
        self.add(findings);
        let doubt = self.doubt(&States::none(self.container.node()));
        if is_news || doubt != self.doubt {
            self.changes += 1;
            self.scanned = OnceLock::new();
        }
        self.doubt = doubt;
        Ok(())
    }

    /// Returns whether all is in the container's marker.
    pub fn is_small(&self) -> bool {
        self.is_small
    }
}
