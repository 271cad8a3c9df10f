//! What a burst has moved.

/// What was moved so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moved {
    pub bytes: u64,
    pub calls: u64,
}
