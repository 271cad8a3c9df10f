//! An event on the recording's time line.

use plimsoll_trace::{Class, Event, Layer};

/// What most of the analysis asks of an event.
pub(crate) struct Moment {
    pub class: Class,
    pub layer: Layer,
    /// Start and end, since the beginning of the recording.
    pub span: (u64, u64),
    pub bytes: u64,
    /// For samples: the same for the same event, whoever reads it.
    pub hash: u64,
    /// The program made the call itself, not from within another recorded call.
    pub is_own: bool,
    /// It moves what a call of MPI-IO has begun that has returned: its bytes are that call's.
    pub is_for_request: bool,
}

impl Moment {
    #[inline]
    pub fn new(event: &Event, (start, end): (u64, u64), hash: u64) -> Self {
        Moment {
            class: event.op.class(),
            layer: event.op.layer(),
            span: (start, end.max(start)),
            bytes: event.bytes(),
            hash,
            is_own: event.depth == 0,
            is_for_request: false,
        }
    }

    /// The program itself moves the bytes by this call.
    #[inline]
    pub fn moves_own(&self) -> bool {
        self.is_own && !self.is_for_request
    }

    #[inline]
    pub fn nanos(&self) -> u64 {
        self.span.1 - self.span.0
    }
}
