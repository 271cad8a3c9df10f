//! Whether the merged index says what the logs say.

use std::iter::Peekable;
use std::ops::Range;
use std::sync::Arc;
use std::vec::IntoIter;

use crate::error::Attempt;
use crate::index::INDEX;
use crate::index_entry::Extent;
use crate::{Container, Reader, StowError};

/// How often others may write while it is looked at.
const TRIES: usize = 8;

/// Bytes that are compared at a time.
const BLOCK_BYTES: u64 = 1 << 20;

/// Returns whether whoever uses the index reads other bytes than whoever does not. Nothing is told of one that nobody uses, while something is missing, or
/// while the container is written all the time.
///
/// # Errors
/// If the container cannot be read.
pub fn index_differs(container: &Arc<Container>) -> Result<bool, StowError> {
    for _ in 0..TRIES {
        let mut indexed = Reader::open(container.clone())?;
        if indexed.index().is_err() {
            return Ok(false);
        }
        let scanned = Reader::open_scanned(container.clone())?;
        if scanned.has_doubts() || !scanned.troubles().is_empty() {
            return Ok(false);
        }
        let before = indexed.changes();
        indexed.refresh()?;
        // Otherwise one of them may have seen more than the other.
        if indexed.changes() == before {
            return differ(&indexed, &scanned);
        }
    }
    Ok(false)
}

/// Removes the merged index, whatever it says: it is made again from the logs.
///
/// # Errors
/// If the container is another user's, or the system refuses.
pub fn remove_index(container: &Container) -> Result<(), StowError> {
    let directory = container.directory();
    let removed = directory.require_own().and_then(|()| directory.remove_file_if_there(INDEX));
    removed.attempt("remove", directory.path().join(INDEX))
}

fn differ(indexed: &Reader, scanned: &Reader) -> Result<bool, StowError> {
    let (Ok(one), Ok(other)) = (indexed.extents(), scanned.extents()) else { return Ok(true) };
    if indexed.size() != scanned.size() {
        return Ok(true);
    }
    let mut both = [one, other].map(|it| joined(it).into_iter().peekable());
    while let Some(range) = next_apart(&mut both) {
        // The same bytes may lie in two places, as where room was to be given back.
        if !are_same(indexed, scanned, range)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns what one has and the other has not, or elsewhere.
fn next_apart([one, other]: &mut [Peekable<IntoIter<Extent>>; 2]) -> Option<Range<u64>> {
    while one.peek().is_some() && one.peek() == other.peek() {
        one.next();
        other.next();
    }
    let is_first = match (one.peek(), other.peek()) {
        (Some(one), Some(other)) => one.start <= other.start,
        (one, _) => one.is_some(),
    };
    let first = if is_first { one.next() } else { other.next() };
    first.map(|it| it.range())
}

fn are_same(one: &Reader, other: &Reader, range: Range<u64>) -> Result<bool, StowError> {
    let mut bytes =
        [0, 1].map(|fill| vec![fill; BLOCK_BYTES.min(range.end - range.start) as usize]);
    for start in range.clone().step_by(BLOCK_BYTES as usize) {
        let length = BLOCK_BYTES.min(range.end - start) as usize;
        let [first, second] = &mut bytes;
        let (first, second) = (&mut first[..length], &mut second[..length]);
        if one.read_at(first, start)? != other.read_at(second, start)? || first != second {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the same with as few extents as can be.
fn joined(mut extents: Vec<Extent>) -> Vec<Extent> {
    extents.dedup_by(|next, last| {
        let goes_on = last.log == next.log
            && last.end() == next.start
            && last.position + last.length == next.position;
        if goes_on {
            last.length += next.length;
        }
        goes_on
    });
    extents
}
