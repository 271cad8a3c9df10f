//! Operations in summaries.

use plimsoll_stored::{Malformed, Reader, Stored};
use plimsoll_trace::Op;

/// An operation as summaries have it: by its number in recordings.
pub(crate) struct StoredOp(Op);

impl From<Op> for StoredOp {
    fn from(op: Op) -> Self {
        StoredOp(op)
    }
}

impl From<StoredOp> for Op {
    fn from(stored: StoredOp) -> Self {
        stored.0
    }
}

impl Stored for StoredOp {
    fn put(&self, out: &mut Vec<u8>) {
        (self.0 as u8).put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Op::from_number(u8::get(from)?).map(StoredOp).ok_or(Malformed)
    }
}
