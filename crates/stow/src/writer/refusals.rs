//! Targets that took no more.

use rustix::io::Errno;

use super::Writer;
use crate::{Placement, StowError};

impl Writer {
    /// Returns the targets that refused, and why.
    pub fn refusals(&self) -> impl Iterator<Item = (&str, &str)> {
        self.lanes.iter().filter_map(|lane| {
            let (_, why) = lane.refusal.as_ref()?;
            Some((lane.target.name.as_str(), why.as_str()))
        })
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
        let is_full = refusals.iter().find(|(errno, _)| *errno == Errno::NOSPC);
        let errno = is_full.or(refusals.first()).map_or(Errno::IO, |(errno, _)| *errno);
        let why: Vec<String> = refusals.into_iter().map(|(_, why)| why).collect();
        StowError::NoTarget { path: self.container.path().into(), why: why.join("; "), errno }
    }
}
