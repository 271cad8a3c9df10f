//! Small files: containers that keep their bytes in their marker, until they grow.
//!
//! Behind the words of such a marker (version 2) are a head, and then entries: each has a header with a checksum of its own, and the bytes of a write with
//! theirs. An entry is appended by one system call. One that is not whole counts as never written, and the next one takes its place. Once the file grows, or is changed in a
//! way that has no entry, a container of version 1 is made around the marker, whose first line says so last (module `promotion`). It never becomes small again, and
//! what was in the marker stays there, for those who still read it.

mod entry;
mod head;
mod held;
mod scan;
mod told_size;
mod unopened;
mod writer;

pub use entry::{EntryKind, HEADER_BYTES, SmallEntry};
pub use head::{Head, RECORDS_FROM};
pub use told_size::told_by;
pub use unopened::{discard_small, size_in};
pub use writer::{SmallWriter, Stored};

pub(crate) use held::{Held, hold_alone, void};
pub(crate) use scan::{Place, look};

/// Bytes that a marker has at most: it is read at once in many places.
pub const MARKER_BYTES_MAX: u64 = 48 << 10;
