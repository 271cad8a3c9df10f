//! Whether a merged index may be used.

use crate::index::{INDEX, IndexedContainer};
use crate::index_file::IndexFile;
use crate::index_write::marker_of;
use crate::{Container, LastStamps, ListedLog};

/// Returns the index of a container, if there is one that may be used.
pub fn usable_index(container: &Container) -> Result<IndexFile, String> {
    let file = container.open_part(INDEX);
    let file = file.map_err(|cause| match cause.kind() {
        std::io::ErrorKind::NotFound => "there is none".to_string(),
        _ => cause.to_string(),
    })?;
    let most = container.memory_max();
    let index = IndexFile::open(file, most, container.index_memory_max())?;
    let states = container.states();
    let listed = container.logs().map_err(|error| error.to_string())?;
    let states = container.states_of(states, listed.iter());
    let seat = |log: u32| listed.get(log as usize).map(|it: &ListedLog| it.seat);
    let last = |log: u32| -> Option<LastStamps> { states.last(seat(log)?, log) };
    let known = IndexedContainer {
        id: container.id(),
        marker: marker_of(container).map_err(|error| error.to_string())?,
        node: container.node(),
        next: states.next(),
    };
    match index.head().refusal(&known, last) {
        Some(why) => Err(why),
        None => Ok(index),
    }
}
