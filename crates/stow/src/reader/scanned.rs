//! A container as its logs have it, beside a reader that uses its index.

use std::sync::{Arc, PoisonError};

use super::Reader;
use crate::allowance::Allowance;
use crate::{Container, StowError};

impl Reader {
    /// Opens a container for reading without its index; all there is may take so many bytes of memory, whatever the container allows.
    pub(super) fn open_scanned_within(
        container: Arc<Container>,
        memory: u64,
    ) -> Result<Self, StowError> {
        if let Some(reader) = Self::of_small(&container)? {
            return Ok(reader);
        }
        let held = container.hold_for_reading()?;
        let mut reader = Self::new(container, Err("it was not asked for".into()), held);
        reader.allowance = Allowance::of(memory);
        reader.refresh()?;
        Ok(reader)
    }

    /// Returns this container as the logs have it, without the index.
    pub(crate) fn scanned(&self) -> Result<&Reader, StowError> {
        self.scanned_within(self.container.memory_max())
    }

    /// Looks for everything in the logs, which is needed to compare what is read with its checksums. All there is may take so many bytes of memory: with an index, a reader that
    /// was opened within less may need more only now.
    ///
    /// # Errors
    /// As [`Reader::open_scanned`].
    pub fn scan_within(&self, memory: u64) -> Result<(), StowError> {
        self.scanned_within(memory).map(drop)
    }

    fn scanned_within(&self, memory: u64) -> Result<&Reader, StowError> {
        if self.index.is_err() {
            return Ok(self);
        }
        if let Some(reader) = self.scanned.get() {
            return Ok(reader);
        }
        let _alone = self.scanning.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody else may have made it meanwhile.
        if let Some(reader) = self.scanned.get() {
            return Ok(reader);
        }
        let reader = Box::new(Self::open_scanned_within(self.container.clone(), memory)?);
        Ok(self.scanned.get_or_init(|| reader))
    }
}
