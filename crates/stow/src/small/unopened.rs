//! What is done with a small container that nobody has open, by its directory.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, Mode, OFlags, RawDir, openat, unlinkat};
use rustix::io::{Errno, pread};

use super::MARKER_BYTES_MAX;
use super::head::Head;
use super::held::{Held, all_of};
use super::scan::{Place, read, size_after};
use crate::container::ANCHOR;
use crate::findings::Findings;
use crate::gone::is_held;
use crate::marker::{self, MARKER};

const QUICKLY: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Returns the size of the small file whose container a directory is; `None` if it is not small, or not all of it can be told. Nobody but its owner must be able to exchange what is in the directory.
pub fn size_in(directory: impl AsFd) -> Option<u64> {
    let marker = openat(directory, MARKER, OFlags::RDONLY | QUICKLY, Mode::empty()).ok()?;
    let mut bytes = [0; 8 << 10];
    let count = pread(&marker, &mut bytes, 0).ok()?;
    if !marker::is_small(&bytes[..count]) {
        return None;
    }
    let long;
    let bytes = if count < bytes.len() {
        &bytes[..count]
    } else {
        long = all_of(marker.as_fd(), MARKER_BYTES_MAX).ok()?;
        &long
    };
    let (mut place, mut findings) = (Place::default(), Findings::default());
    read(bytes, Head::decode(bytes)?.durable, &mut place, &mut findings);
    findings.troubles.is_empty().then(|| size_after(0, &findings))
}

/// Removes the small container that has this name in a directory, after its owner took its name away and marked it as removed. Returns false, and leaves it, if it is not
/// small, if there is more in it, or if somebody has it open.
pub fn discard_small(parent: impl AsFd, name: &str, directory: impl AsFd) -> bool {
    let marker = openat(&directory, MARKER, OFlags::RDWR | QUICKLY, Mode::empty());
    let Ok(held) = marker.map(|it| Held::of(it.into())) else { return false };
    let is_free = || -> Result<bool, Errno> {
        let is_small = held.head()?.is_some() && held.is_alone_at_once()?;
        if !is_small || !has_nothing_else(&directory)? {
            return Ok(false);
        }
        let anchor = openat(&directory, ANCHOR, OFlags::RDONLY | QUICKLY, Mode::empty())?;
        Ok(!is_held(&anchor))
    };
    if !is_free().unwrap_or(false) {
        return false;
    }
    // The marker last, by which it is known.
    [ANCHOR, MARKER].iter().all(|it| unlinkat(&directory, *it, AtFlags::empty()).is_ok())
        && unlinkat(parent, name, AtFlags::REMOVEDIR).is_ok()
}

/// Returns whether there is nothing but a marker and an anchor in a directory. Its names are asked for once: file systems of one node tell as many as there is room for, and a
/// directory in which there is something after all is not removed.
fn has_nothing_else(directory: impl AsFd) -> Result<bool, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = openat(directory, c".", flags, Mode::empty())?;
    let mut room = [core::mem::MaybeUninit::uninit(); 1024];
    let mut names = RawDir::new(opened, &mut room);
    let known = [".", "..", ANCHOR, MARKER];
    let mut count = 0;
    while let Some(entry) = names.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !known.iter().any(|it| it.as_bytes() == name) {
            return Ok(false);
        }
        count += 1;
        if count == known.len() && names.is_buffer_empty() {
            break;
        }
    }
    Ok(true)
}
