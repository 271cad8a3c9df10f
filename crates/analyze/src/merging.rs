//! Parts that become one analysis again.

use std::sync::mpsc;
use std::thread;

use crate::error::AnalyzeError;
use crate::{Beside, Frame, Options, PartialFile, Whole};

/// Parts that are joined, one after the other.
#[derive(Debug, Default)]
pub struct Merging {
    so_far: Option<PartialFile>,
}

/// What parts become.
#[derive(Debug, Clone)]
pub struct Merged {
    /// What the store is called.
    pub store: String,
    /// What all parts agreed on, with the options of the whole.
    pub frame: Frame,
    /// All days.
    pub whole: Whole,
    /// How busy targets were, and which jobs made the load.
    pub beside: Beside,
}

impl Merging {
    /// Adds parts, each while the next one is read on another thread.
    ///
    /// # Errors
    /// If one cannot be read, or cannot be added: then `refused` makes the error, from its place among them.
    pub fn add_all<E: Send>(
        &mut self,
        parts: impl Iterator<Item = Result<PartialFile, E>> + Send,
        refused: impl Fn(usize, AnalyzeError) -> E,
    ) -> Result<(), E> {
        // Nothing waits in the channel: two parts are in memory beside what they become.
        let (read, to_add) = mpsc::sync_channel(0);
        thread::scope(|scope| {
            scope.spawn(move || {
                for part in parts {
                    if read.send(part).is_err() {
                        // Nobody takes more of them.
                        break;
                    }
                }
            });
            for (place, part) in to_add.into_iter().enumerate() {
                self.add(part?).map_err(|error| refused(place, error))?;
            }
            Ok(())
        })
    }

    /// Adds the next part.
    ///
    /// # Errors
    /// If it is not the next one, or of something else.
    pub fn add(&mut self, next: PartialFile) -> Result<(), AnalyzeError> {
        let Some(mut all) = self.so_far.take() else {
            if next.number > 0 {
                return Err(AnalyzeError::Absent { expected: 0, of: next.parts });
            }
            self.so_far = Some(next);
            return Ok(());
        };
        if (next.number, next.parts) != (all.number + 1, all.parts) {
            return Err(AnalyzeError::OutOfOrder {
                number: next.number,
                parts: next.parts,
                expected: all.number + 1,
                of: all.parts,
            });
        }
        let differing = all.agreed.asked.differing(&next.agreed.asked);
        if !differing.is_empty() {
            let differing = differing.join(", ");
            return Err(AnalyzeError::OtherOptions { first: 0, differing });
        }
        if all.agreed != next.agreed {
            return Err(AnalyzeError::OtherHistory { first: 0 });
        }
        let frame = &all.agreed.frame;
        all.partial = std::mem::take(&mut all.partial).join(next.partial, frame);
        all.beside = std::mem::take(&mut all.beside).join(next.beside, frame)?;
        all.number = next.number;
        self.so_far = Some(all);
        Ok(())
    }

    /// Returns what the parts become. Of the options those count here that parts do not depend on.
    ///
    /// # Errors
    /// If a part is absent.
    pub fn finish(self, options: &Options) -> Result<Merged, AnalyzeError> {
        let Some(all) = self.so_far else {
            return Err(AnalyzeError::Absent { expected: 0, of: 1 });
        };
        if all.number + 1 < all.parts {
            return Err(AnalyzeError::Absent { expected: all.number + 1, of: all.parts });
        }
        let mut frame = all.agreed.frame;
        let Options { high_from, low_to, seed, .. } = *options;
        frame.options = Options { high_from, low_to, seed, ..frame.options };
        let whole = all.partial.whole(&frame);
        let beside = all.beside.whole(&frame);
        Ok(Merged { store: all.store, frame, whole, beside })
    }
}
