//! Writes the merged index of a container.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use plimsoll_guarded::Draft;

use crate::error::Attempt;
use crate::home::Made;
use crate::index::{INDEX, INDEX_BYTES_MAX, IndexHead, IndexedLog};
use crate::index_build::index_of;
use crate::read_log::ReadLog;
use crate::rights::PRIVATE_FILE;
use crate::state::SharedState;
use crate::{Container, Reader, StowError};
/// Writes since the last index that are found in the logs as quickly as in an index, so that the last writer to close makes
/// none for them.
const WRITES_WORTH_AN_INDEX: u64 = 1000;

/// So many slot pages to read are worth one, too: whoever opens a file again and again to append a little leaves one each time.
const PAGES_WORTH_AN_INDEX: u64 = 64;

/// Writes the index of a container to which nobody writes. Returns its bytes; `None` if something cannot be read or told, so that an
/// index would hide it.
///
/// # Errors
/// If somebody writes, or the index cannot be written.
pub fn write_index(container: &Arc<Container>) -> Result<Option<u64>, StowError> {
    if container.is_small()? {
        return Ok(None);
    }
    let state = container.join()?;
    if !state.is_alone().attempt("lock", container.path())? {
        return Err(StowError::Busy { path: container.path().into() });
    }
    state.note_indexed();
    write_alone(container, &state)
}

/// Writes the index if this is the last writer and an index is worth it.
pub(crate) fn write_when_last(
    container: &Arc<Container>,
    state: &SharedState,
) -> Result<(), StowError> {
    let is_worth_it = state.writes_since_index() >= WRITES_WORTH_AN_INDEX
        || container.pages_read.load(Ordering::Relaxed) >= PAGES_WORTH_AN_INDEX;
    if !is_worth_it || !state.is_alone().attempt("lock", container.path())? {
        return Ok(());
    }
    state.note_indexed();
    write_alone(container, state).map(drop)
}

/// Writes the index; the caller keeps all writers out.
fn write_alone(container: &Arc<Container>, state: &SharedState) -> Result<Option<u64>, StowError> {
    let reader = Reader::open(container.clone())?;
    // What comes is laid over the index, so that it must be later: also where a node that is gone took stamps that it told nobody of.
    state.raise(reader.latest().sequence.saturating_add(1));
    if !state.is_of_one_node() {
        state.sync().attempt("make durable", container.path())?;
    }
    let Some(bytes) = bytes_of(&reader) else { return Ok(None) };
    let directory = container.directory();
    let path = || directory.path().join(INDEX);
    let draft = Draft::create(directory, INDEX, PRIVATE_FILE).attempt("make", path())?;
    draft.file().write_all(&bytes).attempt("write", path())?;
    // Not made durable: whoever finds it torn reads the slot pages.
    draft.publish().attempt("make", path())?;
    Ok(Some(bytes.len() as u64))
}

/// Returns by what an index knows the container that it was written for.
pub(crate) fn marker_of(container: &Container) -> io::Result<(u64, Option<u64>)> {
    Made::of(container.directory()).map(|it| (it.inode, it.born))
}

fn bytes_of(reader: &Reader) -> Option<Vec<u8>> {
    if reader.has_doubts() || !reader.troubles().is_empty() {
        return None;
    }
    let container = reader.container();
    let listed = reader.read_logs().iter().map(|it| &it.listed);
    let states = container.states_of(container.states(), listed);
    let known = |log: &ReadLog| {
        let scan = log.scan.as_ref().ok()?;
        let intended = states.last(log.listed.seat, log.listed.number)?.intended;
        Some(IndexedLog { size: scan.log().size().ok()?, intended, highest: scan.highest() })
    };
    let logs = reader.read_logs().iter().map(known).collect::<Option<Vec<_>>>()?;
    let head = IndexHead {
        container: container.id(),
        node: container.node(),
        marker: marker_of(container).ok()?,
        size: reader.size(),
        stamp: reader.latest(),
        logs,
        runs: Vec::new(),
        singles: Vec::new(),
    };
    let extents = reader.extents().ok()?;
    index_of(head, extents).filter(|it| it.len() as u64 <= INDEX_BYTES_MAX)
}
