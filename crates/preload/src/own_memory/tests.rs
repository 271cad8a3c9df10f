//! Blocks, threads, forked children and signal handlers.

use super::*;
use std::collections::BTreeMap;

static SHARED: OwnMemory = OwnMemory::new();

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, 8).unwrap()
}

#[test]
fn blocks_are_large_enough_aligned_and_apart() {
    let memory = OwnMemory::new();
    let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
    for size in (1..200).chain([1000, 4096, 32_768, 32_769, 1 << 20]) {
        for align in [1, 8, 64, 4096] {
            let layout = Layout::from_size_align(size, align).unwrap();
            // SAFETY: the size is not zero, and the block is written within its bounds.
            let address = unsafe {
                let address = memory.alloc(layout);
                assert!(!address.is_null());
                address.write_bytes(0xa5, size);
                address as usize
            };
            assert_eq!(address % align, 0);
            let before = taken.range(..=address).next_back();
            assert!(before.is_none_or(|(start, length)| start + length <= address));
            let after = taken.range(address..).next();
            assert!(after.is_none_or(|(start, _)| address + size <= *start));
            taken.insert(address, size);
        }
    }
}

#[test]
fn what_is_given_back_is_used_again_and_grows_with_what_is_in_it() {
    let memory = OwnMemory::new();
    // SAFETY: blocks are written within their bounds and given back once.
    unsafe {
        let one = memory.alloc(layout(100));
        memory.dealloc(one, layout(100));
        assert_eq!(memory.alloc(layout(128)), one);
        let mut at = memory.alloc(layout(10));
        at.write_bytes(7, 10);
        let mut size = 10;
        for larger in [60, 100, 5000, 40_000, 5 << 20, 3 << 20, 200] {
            at = memory.realloc(at, layout(size), larger);
            assert!((0..10).all(|index| at.add(index).read() == 7), "{larger}");
            size = larger;
        }
    }
    assert_eq!(memory.used.load(Ordering::Relaxed), 4, "of 64, 128, 256 and 8192 bytes");
}

#[test]
fn when_nothing_is_left_it_says_so() {
    let memory = OwnMemory::new();
    // One slab of the last range, and one of that before it.
    for number in [RANGES - 2, RANGES - 1] {
        let range = &memory.ranges[number];
        assert!(memory.has_room(range));
        range.store(base(range).wrapping_add(1), Ordering::Relaxed);
    }
    memory.used.store(((RANGES - 2) * RANGE_SLABS) as u32, Ordering::Relaxed);
    let mut taken = Vec::new();
    // SAFETY: the size is not zero.
    let take = || Some(unsafe { memory.alloc(layout(1 << 15)) }).filter(|it| !it.is_null());
    while let Some(block) = take() {
        taken.push(block);
    }
    assert_eq!(taken.len(), 2 * (SLAB_BYTES / (1 << 15) - 1), "all but those with the links");
    // SAFETY: given back once.
    taken.iter().for_each(|block| unsafe { memory.dealloc(*block, layout(1 << 15)) });
    assert_eq!(std::iter::from_fn(take).count(), taken.len());
}

#[test]
fn little_is_reserved_at_first_and_more_when_it_is_needed() {
    let memory = OwnMemory::new();
    let count = (RANGE_SLABS + 3) * (SLAB_BYTES / (1 << 15) - 1);
    // SAFETY: as above.
    let taken: Vec<*mut u8> =
        (0..count).map(|_| unsafe { memory.alloc(layout(1 << 15)) }).collect();
    assert!(taken.iter().all(|it| !it.is_null()));
    assert_eq!(memory.ranges.iter().filter(|it| room(it) > 0).count(), 2);
    // SAFETY: as above.
    taken.iter().for_each(|block| unsafe { memory.dealloc(*block, layout(1 << 15)) });
    // SAFETY: as above.
    let again = taken.iter().map(|_| unsafe { memory.alloc(layout(1 << 15)) });
    assert!(again.collect::<std::collections::BTreeSet<_>>() == taken.into_iter().collect());
    assert_eq!(memory.used.load(Ordering::Relaxed) as usize, RANGE_SLABS + 3);
}

/// Each block is marked with whose it is, and the mark is looked at before it is given back.
fn churn(mark: u8, rounds: usize) {
    let mut held: Vec<(*mut u8, usize)> = Vec::new();
    for round in 0..rounds {
        let size = 1 + (round * 7919) % 3000;
        // SAFETY: as in `blocks_are_large_enough_aligned_and_apart`.
        unsafe {
            let address = SHARED.alloc(layout(size));
            assert!(!address.is_null());
            address.write_bytes(mark, size);
            held.push((address, size));
            if held.len() > 50 {
                let (address, size) = held.swap_remove((round * 31) % held.len());
                assert!((0..size).all(|at| address.add(at).read() == mark));
                SHARED.dealloc(address, layout(size));
            }
        }
    }
}

#[test]
fn threads_and_forked_children_share_it() {
    std::thread::scope(|scope| {
        for mark in 1..=4 {
            scope.spawn(move || churn(mark, 20_000));
        }
        for _ in 0..20 {
            // SAFETY: the child allocates here only, and ends without anything else.
            unsafe {
                match libc::fork() {
                    0 => {
                        let address = SHARED.alloc(layout(500));
                        address.write_bytes(9, 500);
                        SHARED.dealloc(address, layout(500));
                        libc::_exit(0);
                    }
                    child => {
                        let mut status = 1;
                        assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
                        assert_eq!(status, 0);
                    }
                }
            }
        }
    });
}

#[test]
fn a_signal_handler_may_allocate() {
    extern "C" fn handler(_: core::ffi::c_int) {
        // SAFETY: as elsewhere here.
        unsafe {
            let address = SHARED.alloc(layout(300));
            address.write_bytes(8, 300);
            SHARED.dealloc(address, layout(300));
        }
        HANDLED.fetch_add(1, Ordering::Relaxed);
    }
    static HANDLED: AtomicU32 = AtomicU32::new(0);
    // SAFETY: a handler that only does what is allowed in it, and a timer that is stopped.
    unsafe {
        libc::signal(libc::SIGVTALRM, handler as *const () as usize);
        let each = libc::timeval { tv_sec: 0, tv_usec: 200 };
        let timer = libc::itimerval { it_interval: each, it_value: each };
        libc::setitimer(libc::ITIMER_VIRTUAL, &raw const timer, ptr::null_mut());
    }
    while HANDLED.load(Ordering::Relaxed) < 50 {
        churn(5, 2000);
    }
    // SAFETY: zeros stop it.
    unsafe {
        let none = core::mem::zeroed();
        libc::setitimer(libc::ITIMER_VIRTUAL, &raw const none, ptr::null_mut());
    }
}
