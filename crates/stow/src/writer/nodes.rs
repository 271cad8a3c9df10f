//! What a writer has to do with those of other nodes.

use super::Writer;
use crate::StowError;
use crate::fresh::is_kind_of_one_node;
use crate::seat::sequence_of_others;

impl Writer {
    /// From now on, what is written is later than all that other nodes have made durable until now. Whoever opens, syncs, appends or
    /// truncates has done so; who knows by other means that another node is done calls this.
    ///
    /// # Errors
    /// If what writers share is damaged.
    pub fn catch_up(&mut self) -> Result<(), StowError> {
        let (directory, node) = (self.container.directory(), self.container.node());
        self.state.raise(sequence_of_others(directory, node)?);
        Ok(())
    }

    /// The same where there can be other nodes.
    ///
    /// # Errors
    /// If what writers share is damaged.
    pub fn follow_others(&mut self) -> Result<(), StowError> {
        if self.state.is_of_one_node() { Ok(()) } else { self.catch_up() }
    }

    /// Lets other nodes see all that was written, where there can be any.
    ///
    /// # Errors
    /// If the target refuses.
    pub fn show_others(&mut self) -> Result<(), StowError> {
        let is_here =
            |it: &super::Lane| it.log.as_ref().is_none_or(|it| is_kind_of_one_node(it.log.kind));
        match self.state.is_of_one_node() && self.lanes.iter().all(is_here) {
            true => Ok(()),
            false => self.sync(),
        }
    }
}
