//! Who counts what a writer writes.

/// Is told what a writer has written.
pub trait Tally: Send {
    /// So many bytes went to the target at this place in [`Container::targets`](crate::Container::targets).
    fn wrote(&mut self, lane: usize, bytes: usize);
}
