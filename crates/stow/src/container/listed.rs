//! The logs that a container lists, and what its writers share about them.

use std::fs::File;
use std::io;

use plimsoll_guarded::{Refusal, read_at_most};
use rustix::io::Errno;

use super::{Container, MANIFEST, Target};
use crate::StowError;
use crate::error::Attempt;
use crate::manifest::{self, LOGS_MAX, ListedLog, MANIFEST_BYTES_MAX};
use crate::states::States;

impl Container {
    /// Returns the targets that new segments may go to: those that were named, or else all that have logs.
    ///
    /// # Errors
    /// If the manifest is damaged.
    pub fn targets(&self) -> Result<Vec<Target>, StowError> {
        if !self.targets.is_empty() {
            return Ok(self.targets.clone());
        }
        let mut targets: Vec<Target> = Vec::new();
        for ListedLog { target: name, path, .. } in self.logs()? {
            if !targets.iter().any(|it| it.name == name) {
                targets.push(Target { name, path });
            }
        }
        Ok(targets)
    }

    /// Returns the logs that the manifest lists.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn logs(&self) -> Result<Vec<ListedLog>, StowError> {
        if self.may_be_small() && self.small_log()?.is_some() {
            return Ok(Vec::new());
        }
        let manifest = self.open_part(MANIFEST);
        let manifest = manifest.attempt("read", self.path().join(MANIFEST))?;
        Ok(self.logs_in(&manifest)?.0)
    }

    /// Returns the same for a reader, if they are no more than it may open: that is known before they are told apart, which takes longer.
    ///
    /// # Errors
    /// As [`Container::logs`], or if they are too many.
    pub fn logs_to_read(&self) -> Result<Vec<ListedLog>, StowError> {
        if !self.may_be_small() {
            let manifest = self.open_part(MANIFEST);
            let text = manifest.and_then(|it| self.text_of(&it));
            let text = text.attempt("read", self.path().join(MANIFEST))?;
            let lines = text.iter().filter(|it| **it == b'\n').count();
            // More than there can be are a damaged list.
            self.require_within_logs(lines.min(LOGS_MAX))?;
        }
        self.logs()
    }

    /// Returns the logs that an open manifest lists, and the bytes of their lines.
    ///
    /// # Errors
    /// If it is damaged, or takes more memory than a reader may.
    pub(crate) fn logs_in(&self, manifest: &File) -> Result<(Vec<ListedLog>, u64), StowError> {
        let damaged = |why| StowError::Damaged { path: self.path().join(MANIFEST), why };
        let text = self.text_of(manifest);
        let text = text.attempt("read", self.path().join(MANIFEST))?;
        let whole = text.iter().rposition(|it| *it == b'\n').map_or(0, |end| end + 1);
        Ok((manifest::parse(&text).map_err(damaged)?, whole as u64))
    }

    fn text_of(&self, manifest: &File) -> io::Result<Vec<u8>> {
        let most = self.manifest_max();
        match read_at_most(most, manifest)? {
            None if most < MANIFEST_BYTES_MAX => Err(Errno::FBIG.into()),
            text => text.ok_or_else(|| Refusal::TooLarge.into()),
        }
    }

    /// Returns what the writers of all nodes share, as far as it can be seen now, but nothing of single logs.
    pub fn states(&self) -> States {
        States::read(self.node, |name| self.open_part(name))
    }

    /// Does the same for these logs, which were listed afterwards.
    pub(crate) fn states_of<'a>(
        &self,
        states: States,
        listed: impl Iterator<Item = &'a ListedLog>,
    ) -> States {
        states.with_logs(listed, |name| self.open_part(name))
    }
}
