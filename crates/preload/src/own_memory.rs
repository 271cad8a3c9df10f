//! Memory of the library's own, for what allocates in it (backends): never the program's allocator, which may be
//! anything, may be in use by the very thread that we interrupted, and may count what a program leaks.
//!
//! Blocks of powers of two come from slabs, slabs from ranges of addresses, of which there are few: what is reserved counts where a program limits its
//! address space, also later. What is larger is a mapping. Free
//! blocks of a size are a list that is changed by compare-and-exchange only, so that neither a signal handler on the
//! same thread nor a child that was forked while another thread allocated can find it locked or half changed. What
//! other threads held at a fork is lost to the child. The links are beside the blocks, not in them: a thread may look
//! at the link of a block that another has just taken.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

use rustix::mm::{
    MapFlags, MprotectFlags, MremapFlags, ProtFlags, mmap_anonymous, mprotect, mremap, munmap,
};
use rustix::process::{Resource, getrlimit};

/// The allocator of everything in this library.
#[global_allocator]
static MEMORY: OwnMemory = OwnMemory::new();

/// Bytes of a slab, whose blocks have one size.
const SLAB_BYTES: usize = 256 << 10;
/// Slabs of a range, of which addresses are reserved and no memory: 64 MiB.
const RANGE_SLABS: usize = 256;
/// Ranges at most: 16 GiB of small blocks.
const RANGES: usize = 256;
const SLABS: usize = RANGES * RANGE_SLABS;
/// The smallest block and the largest, as powers of two.
const SMALLEST: u32 = 6;
const LARGEST: u32 = 15;
const SIZES: usize = (LARGEST - SMALLEST + 1) as usize;
/// Blocks of a slab at most.
const BLOCKS: u32 = (SLAB_BYTES >> SMALLEST) as u32;
/// Mappings are aligned to pages.
const PAGE_BYTES: usize = 4096;

/// An allocator on mapped memory.
struct OwnMemory {
    /// Where the slabs of each range begin, a multiple of their size, plus how many there is room for; null before the first. In
    /// one word, so that nobody sees the one without the other.
    ranges: [AtomicPtr<u8>; RANGES],
    /// The number of the next slab; those before it are in use, or there was no room for them.
    used: AtomicU32,
    /// The size of the blocks of each slab, as a power of two.
    sizes: [AtomicU8; SLABS],
    /// For each size the free blocks: the number of the first plus one in the lower half; in the upper half a count
    /// of changes, so that a list that changed and changed back is noticed.
    free: [AtomicU64; SIZES],
}

impl OwnMemory {
    /// Makes an empty memory: nothing is mapped before the first block is asked for.
    const fn new() -> Self {
        OwnMemory {
            ranges: [const { AtomicPtr::new(ptr::null_mut()) }; RANGES],
            used: AtomicU32::new(0),
            sizes: [const { AtomicU8::new(0) }; SLABS],
            free: [const { AtomicU64::new(0) }; SIZES],
        }
    }

    fn take(&self, size: u32) -> *mut u8 {
        let Some(list) = self.free.get((size - SMALLEST) as usize) else { return ptr::null_mut() };
        loop {
            let head = list.load(Ordering::Acquire);
            let Some(block) = (head as u32).checked_sub(1) else {
                if !self.add_slab(size) {
                    return ptr::null_mut();
                }
                continue;
            };
            let next = self.link(block).load(Ordering::Relaxed);
            if list
                .compare_exchange(head, changed(head, next), Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
            {
                return self.address(block, size);
            }
        }
    }

    fn give_back(&self, block: u32, size: u32) {
        self.push(block, block, size);
    }

    /// Puts blocks that are linked from the first to the last on the list of their size.
    fn push(&self, first: u32, last: u32, size: u32) {
        let Some(list) = self.free.get((size - SMALLEST) as usize) else { return };
        loop {
            let head = list.load(Ordering::Relaxed);
            self.link(last).store(head as u32, Ordering::Relaxed);
            if list
                .compare_exchange(
                    head,
                    changed(head, first + 1),
                    Ordering::AcqRel,
                    Ordering::Relaxed,
                )
                .is_ok()
            {
                return;
            }
        }
    }

    /// Makes free blocks of this size; false when there is no more memory.
    #[cold]
    fn add_slab(&self, size: u32) -> bool {
        let Some(slab) = self.next_slab() else { return false };
        let start = self.slab(slab);
        let access = MprotectFlags::READ | MprotectFlags::WRITE;
        // SAFETY: the slab is within the range that was reserved, and nobody else has its number.
        if unsafe { mprotect(start.cast(), SLAB_BYTES, access) }.is_err() {
            return false;
        }
        if let Some(entry) = self.sizes.get(slab as usize) {
            entry.store(size as u8, Ordering::Release);
        }
        // The links take the place of the first blocks.
        let count = (SLAB_BYTES >> size) as u32;
        let first = (count * size_of::<u32>() as u32).div_ceil(1 << size);
        let number = |index: u32| slab * BLOCKS + index;
        for index in first..count - 1 {
            self.link(number(index)).store(number(index + 1) + 1, Ordering::Relaxed);
        }
        self.push(number(first), number(count - 1), size);
        true
    }

    /// Returns the number of a slab that nobody else has; `None` when there is no more room.
    fn next_slab(&self) -> Option<u32> {
        loop {
            let slab = self.used.load(Ordering::Relaxed);
            let (number, place) = (slab as usize / RANGE_SLABS, slab as usize % RANGE_SLABS);
            let range = self.ranges.get(number)?;
            if !self.has_room(range) {
                return None;
            }
            let is_in = place < room(range);
            let next = if is_in { slab + 1 } else { ((number + 1) * RANGE_SLABS) as u32 };
            let order = Ordering::Relaxed;
            if self.used.compare_exchange(slab, next, order, order).is_ok() && is_in {
                return Some(slab);
            }
        }
    }

    /// Reserves a range of addresses, once; as much as this program's limits allow.
    fn has_room(&self, range: &AtomicPtr<u8>) -> bool {
        if room(range) > 0 {
            return true;
        }
        let limit = getrlimit(Resource::As).current.unwrap_or(u64::MAX);
        // The program needs the rest.
        let most = ((limit / 8) as usize / SLAB_BYTES).max(4);
        let reserved: usize = self.ranges.iter().map(room).sum();
        let mut slabs = RANGE_SLABS.min(most.saturating_sub(reserved));
        while slabs >= 4 {
            // One more, so that they can begin at a multiple of their size.
            let length = (slabs + 1) * SLAB_BYTES;
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
            // SAFETY: a new mapping at an address of the kernel's choice, of which nothing can be used yet.
            let mapped =
                unsafe { mmap_anonymous(ptr::null_mut(), length, ProtFlags::empty(), flags) };
            if let Ok(mapped) = mapped {
                begin_at(range, mapped.cast(), length, slabs);
                return true;
            }
            slabs /= 4;
        }
        false
    }

    fn slab(&self, slab: u32) -> *mut u8 {
        let Some(range) = self.ranges.get(slab as usize / RANGE_SLABS) else {
            return ptr::null_mut();
        };
        base(range).wrapping_add(slab as usize % RANGE_SLABS * SLAB_BYTES)
    }

    /// Returns where a block's link is: at the beginning of its slab.
    fn link(&self, block: u32) -> &AtomicU32 {
        let place = self.slab(block / BLOCKS).cast::<u32>().wrapping_add((block % BLOCKS) as usize);
        // SAFETY: the beginning of each slab is for the links alone, which are used atomically.
        unsafe { AtomicU32::from_ptr(place) }
    }

    fn address(&self, block: u32, size: u32) -> *mut u8 {
        self.slab(block / BLOCKS).wrapping_add(((block % BLOCKS) as usize) << size)
    }

    /// Returns the number and size of the block at an address; `None` for a mapping of its own.
    fn block_at(&self, address: *mut u8) -> Option<(u32, u32)> {
        let (slab, place) = self.ranges.iter().enumerate().find_map(|(number, range)| {
            let distance = address.addr().checked_sub(base(range).addr())?;
            let (slab, place) = (distance / SLAB_BYTES, distance % SLAB_BYTES);
            (slab < room(range)).then_some((number * RANGE_SLABS + slab, place))
        })?;
        let size = u32::from(self.sizes.get(slab)?.load(Ordering::Acquire));
        (size != 0).then(|| (slab as u32 * BLOCKS + (place >> size) as u32, size))
    }
}

/// Has a range begin there, unless it has begun.
fn begin_at(range: &AtomicPtr<u8>, mapped: *mut u8, length: usize, slabs: usize) {
    let base = mapped.wrapping_add(mapped.align_offset(SLAB_BYTES));
    let (new, order) = (base.wrapping_add(slabs), Ordering::AcqRel);
    if range.compare_exchange(ptr::null_mut(), new, order, Ordering::Acquire).is_err() {
        // Another thread, or a signal handler, was faster.
        // SAFETY: nobody knows of this range.
        let _ = unsafe { munmap(mapped.cast(), length) };
    }
}

/// Returns how many slabs a range has room for.
fn room(range: &AtomicPtr<u8>) -> usize {
    range.load(Ordering::Acquire).addr() % SLAB_BYTES
}

/// Returns where the first slab of a range begins.
fn base(range: &AtomicPtr<u8>) -> *mut u8 {
    range.load(Ordering::Acquire).map_addr(|range| range - range % SLAB_BYTES)
}

/// Returns the head of a list with another first block.
fn changed(head: u64, first: u32) -> u64 {
    ((head >> 32).wrapping_add(1) << 32) | u64::from(first)
}

/// Returns the size of the block that this takes, as a power of two; `None` when it takes a mapping of its own.
fn size_of_block(layout: Layout) -> Option<u32> {
    let bytes = layout.size().max(layout.align()).max(1 << SMALLEST);
    (bytes <= 1 << LARGEST).then(|| bytes.next_power_of_two().trailing_zeros())
}

// SAFETY: blocks and mappings do not overlap, are as large as asked for and aligned to their size or to pages.
unsafe impl GlobalAlloc for OwnMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if let Some(size) = size_of_block(layout) {
            return self.take(size);
        }
        if layout.align() > PAGE_BYTES {
            return ptr::null_mut();
        }
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let mapped = unsafe { mmap_anonymous(ptr::null_mut(), layout.size(), protection, flags) };
        mapped.map_or(ptr::null_mut(), <*mut _>::cast)
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        match size_of_block(layout) {
            Some(_) => {
                if let Some((block, size)) = self.block_at(address) {
                    self.give_back(block, size);
                }
            }
            // SAFETY: such a layout was given a mapping of its own.
            None => drop(unsafe { munmap(address.cast(), layout.size()) }),
        }
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let Ok(new) = Layout::from_size_align(new_size, layout.align()) else {
            return ptr::null_mut();
        };
        match (size_of_block(layout), size_of_block(new)) {
            (Some(one), Some(other)) if one == other => address,
            (None, None) => {
                // SAFETY: both are mappings, and the caller gives up the old one.
                let moved = unsafe {
                    mremap(address.cast(), layout.size(), new_size, MremapFlags::MAYMOVE)
                };
                moved.map_or(ptr::null_mut(), <*mut _>::cast)
            }
            _ => {
                // SAFETY: as the caller says; the two do not overlap.
                unsafe {
                    let to = self.alloc(new);
                    if !to.is_null() {
                        ptr::copy_nonoverlapping(address, to, layout.size().min(new_size));
                        self.dealloc(address, layout);
                    }
                    to
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
