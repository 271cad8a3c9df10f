//! Writing definitions: rare, so under the process's lock.

use plimsoll_trace::definition::{DefinitionKind, definition_bytes, encode_definition};
use plimsoll_trace::layout::ChunkKind;

use crate::lock::Held;
use crate::process::Process;
use crate::spool;

/// Says what a number means.
pub fn write(
    process: &Process,
    held: &Held<'_>,
    kind: DefinitionKind,
    number: u32,
    value: u64,
    text: &[u8],
) {
    // SAFETY: the lock is held.
    let writer = unsafe { &mut *process.definitions.get() };
    let length = definition_bytes(text);
    if !writer.has_room(length)
        && let Err(error) = writer.renew(process, held, ChunkKind::Definitions, 0, length)
    {
        return spool::give_up(process, error);
    }
    // SAFETY: this many bytes are left in the chunk, which the lock makes ours.
    unsafe {
        let room = core::slice::from_raw_parts_mut(writer.cursor, length);
        let length = encode_definition(kind, number, value, text, room);
        writer.advance(length);
    }
}
