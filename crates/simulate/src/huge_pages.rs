//! Memory of a large run in huge pages.
//!
//! Every event touches another node, and each of its pages is one that the processor has
//! forgotten where to find: a fifth of the time of a large run goes into looking that up. One
//! huge page stands for 512 ordinary ones.

use std::fs;

/// Asks the kernel to put what this thread allocated in small pieces into huge pages (Linux
/// 6.1 and later). A wish: where it is not granted, the run is slower and nothing else.
pub fn ask_for_huge_pages() {
    let Ok(maps) = fs::read_to_string("/proc/self/maps") else { return };
    let piece = Box::new(0u8);
    let address = std::ptr::from_ref(&*piece).addr();
    if let Some((begin, end)) = maps.lines().find_map(|line| range_around(line, address)) {
        collapse(begin, end);
    }
}

/// Begin and end of the memory that a line of the kernel's list tells of, if `address` is there.
fn range_around(line: &str, address: usize) -> Option<(usize, usize)> {
    let (begin, end) = line.split_whitespace().next()?.split_once('-')?;
    let number = |text: &str| usize::from_str_radix(text, 16).ok();
    let (begin, end) = (number(begin)?, number(end)?);
    (begin..end).contains(&address).then_some((begin, end))
}

#[cfg(target_os = "linux")]
fn collapse(begin: usize, end: usize) {
    /// `MADV_COLLAPSE` in the kernel's mman-common.h.
    const COLLAPSE: libc::c_int = 25;
    const HUGE_PAGE: usize = 2 << 20;
    let first = begin.next_multiple_of(HUGE_PAGE);
    for page in (first..end.saturating_sub(HUGE_PAGE)).step_by(HUGE_PAGE) {
        // SAFETY: the advice changes how the kernel keeps this memory of ours, not what is in it;
        // for memory that is no longer mapped it is refused.
        unsafe { libc::madvise(page as *mut libc::c_void, HUGE_PAGE, COLLAPSE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn collapse(_begin: usize, _end: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_around_an_address_is_found() {
        let heap = "5d1c00000000-5d1c00200000 rw-p 00000000 00:00 0    [heap]";
        let range = (0x5d1c_0000_0000, 0x5d1c_0020_0000);
        assert_eq!(range_around(heap, range.0), Some(range));
        assert_eq!(range_around(heap, range.1), None, "the end is not in it");
        assert_eq!(range_around("zz-7fff rw-p", 0), None);
        assert_eq!(range_around("", 0), None);
    }

    #[test]
    fn memory_keeps_what_is_in_it() {
        let before: Vec<Vec<u64>> = (0..4096).map(|i| vec![i; 200]).collect();
        ask_for_huge_pages();
        assert!(before.iter().enumerate().all(|(i, row)| row.iter().all(|v| *v == i as u64)));
    }
}
