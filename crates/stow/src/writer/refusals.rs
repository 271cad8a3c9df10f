//! Targets that took no more, or are gone.

use std::io::{self, ErrorKind};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::{Lane, Writer};
use crate::log::Log;
use crate::manifest::ListedLog;
use crate::segment::OpenSegment;
use crate::{Container, Placement, StowError};

/// Makes sure that readers will find a log that is written to: a target may be unmounted or emptied while its files are open, and
/// what is written then goes nowhere.
///
/// # Errors
/// If the log is not where it is looked for.
pub fn require_there(container: &Container, log: &Log) -> io::Result<()> {
    if log.keeps_name() {
        return Ok(());
    }
    let listed = container.logs().map_err(|_| io::Error::from(Errno::IO))?;
    let listed: Option<&ListedLog> = listed.iter().find(|it| it.number == log.number());
    let found = container.open_log(listed.ok_or(Errno::IO)?, OFlags::RDONLY);
    match found.map_err(lost)?.is_same(log) {
        true => Ok(()),
        false => Err(lost(ErrorKind::NotFound.into())),
    }
}

/// Says of a log that is not there what a program can make sense of, which has not asked for any name.
pub fn lost(cause: io::Error) -> io::Error {
    match cause.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => io::Error::other("it is gone"),
        _ => cause,
    }
}

impl Writer {
    /// Returns the targets that refused, and why.
    pub fn refusals(&self) -> impl Iterator<Item = (&str, &str)> {
        self.lanes.iter().filter_map(|lane| {
            let (_, why) = lane.refusal.as_ref()?;
            Some((lane.target.name.as_str(), why.as_str()))
        })
    }

    /// Writes no more to the target of the segment.
    pub(super) fn give_up_target(&mut self, errno: Errno) {
        let Some(number) = self.segment.as_ref().map(OpenSegment::log) else { return };
        let is_its = |lane: &Lane| lane.log.as_ref().is_some_and(|it| it.log.number() == number);
        match self.lanes.iter().position(is_its) {
            Some(index) => self.give_up(index, errno, errno.to_string()),
            None => self.end_segment(),
        }
    }

    /// Writes no more to logs that readers would not find.
    pub(super) fn leave_lost_logs(&mut self) {
        for index in 0..self.lanes.len() {
            let Some(to) = &self.lanes[index].log else { continue };
            if let Err(cause) = require_there(&self.container, &to.log) {
                let errno = Errno::from_io_error(&cause).unwrap_or(Errno::IO);
                self.give_up(index, errno, cause.to_string());
            }
        }
    }

    /// Ends the segment if it is on this target, and writes no more there.
    fn give_up(&mut self, index: usize, errno: Errno, why: String) {
        let number = self.lanes[index].log.take().map(|it| it.log.number());
        if self.segment.as_ref().map(OpenSegment::log) == number {
            self.end_segment();
        }
        self.lanes[index].refusal = Some((errno, why));
        if let Placement::Routed(router) = &mut self.placement {
            router.refuse(index, errno);
        }
        self.set_used();
    }

    /// The next write tries all of them again: there may be room by then.
    pub(super) fn no_target(&mut self) -> StowError {
        if let Placement::Routed(router) = &mut self.placement {
            router.retry();
        }
        let refusals = self.lanes.iter_mut().filter_map(|lane| {
            let (errno, why) = lane.refusal.take()?;
            Some((errno, format!("{}: {why}", lane.target.name)))
        });
        let refusals: Vec<(Errno, String)> = refusals.collect();
        self.set_used();
        let is_full = refusals.iter().find(|(errno, _)| *errno == Errno::NOSPC);
        let errno = is_full.or(refusals.first()).map_or(Errno::IO, |(errno, _)| *errno);
        // Whoever writes has not asked for any name.
        let errno = if matches!(errno, Errno::NOENT | Errno::NOTDIR) { Errno::IO } else { errno };
        let why: Vec<String> = refusals.into_iter().map(|(_, why)| why).collect();
        StowError::NoTarget { path: self.container.path().into(), why: why.join("; "), errno }
    }
}
