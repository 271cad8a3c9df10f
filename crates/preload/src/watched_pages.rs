//! Pages that are only looked at, of files that somebody may cut: zeros there would look like what was never written, so all bits are set.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// As many mappings are looked at; whoever has no place asks the kernel.
const MAPPINGS: usize = 256;

struct Mapping {
    /// Where it begins; 0 while there is none.
    start: AtomicUsize,
    end: AtomicUsize,
}

static ALL: [Mapping; MAPPINGS] =
    [const { Mapping { start: AtomicUsize::new(0), end: AtomicUsize::new(0) } }; MAPPINGS];

static STANDS: AtomicBool = AtomicBool::new(false);

/// From now on somebody (`guard`) replaces pages that are gone.
pub fn begin() {
    STANDS.store(true, Ordering::Release);
}

/// From now on, a page of this mapping may go away. Returns false where it must not.
pub fn add(start: usize, length: usize) -> bool {
    if !STANDS.load(Ordering::Acquire) {
        return false;
    }
    for mapping in &ALL {
        let (none, taken) = (0, usize::MAX);
        let (order, failed) = (Ordering::AcqRel, Ordering::Relaxed);
        if mapping.start.load(Ordering::Relaxed) == none
            && mapping.start.compare_exchange(none, taken, order, failed).is_ok()
        {
            mapping.end.store(start + length, Ordering::Release);
            mapping.start.store(start, Ordering::Release);
            return true;
        }
    }
    false
}

/// The mapping that begins there goes away as a whole.
pub fn remove(start: usize) {
    let mapping = ALL.iter().find(|it| it.start.load(Ordering::Relaxed) == start);
    if let Some(mapping) = mapping {
        mapping.start.store(0, Ordering::Release);
    }
}

/// Returns whether an address is in one of these.
pub fn has(address: usize) -> bool {
    ALL.iter().any(|it| {
        let start = it.start.load(Ordering::Acquire);
        start != 0 && (start..it.end.load(Ordering::Acquire)).contains(&address)
    })
}
