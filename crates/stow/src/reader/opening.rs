//! Opens the logs of a container that is read.

use super::{Reader, known_of};
use crate::error::Attempt;
use crate::log_places::{LogPlaces, Use, sort_by_place};
use crate::read_log::ReadLog;
use crate::scan::LogScan;
use crate::{ListedLog, StowError};

impl Reader {
    /// Adds the logs that were listed since.
    pub(super) fn add_listed(&mut self, listed: Vec<ListedLog>) -> Result<(), StowError> {
        for listed in listed.into_iter().skip(self.logs.len()) {
            let kept = self.allowance.keep_listed(&listed);
            kept.attempt("read all of", self.container.path())?;
            let scan = Err("it was not looked for".into());
            self.logs.push(ReadLog { listed, scan, is_short: false });
        }
        Ok(())
    }

    /// Opens those that are not open, place by place.
    pub(super) fn open_logs(&mut self) -> Result<(), StowError> {
        let Reader { container, logs, index, allowance, .. } = self;
        let mut places = LogPlaces::of(container, Use::Read);
        let mut missing: Vec<&mut ReadLog> =
            logs.iter_mut().filter(|it| it.scan.is_err()).collect();
        sort_by_place(&mut missing, |it| &it.listed);
        for log in missing {
            allowance.require_time().attempt("look for all logs of", container.path())?;
            let known = known_of(index, log.listed.number);
            let opened = places.log(&log.listed).map(|(_, log)| log);
            let scan = |log| match known {
                Some(known) => LogScan::behind(log, known.size, known.highest),
                None => LogScan::new(log),
            };
            log.scan = opened.map(scan).map_err(|cause| cause.to_string());
            if log.scan.is_ok() {
                allowance.note_found();
            }
        }
        Ok(())
    }
}
