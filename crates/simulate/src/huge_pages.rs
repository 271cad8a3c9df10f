//! Memory of a large run in huge pages.
//!
//! Every event touches another node, and each of its pages is one that the processor has
//! forgotten where to find: a fifth of the time of a large run goes into looking that up. One
//! huge page stands for 512 ordinary ones.

use std::fs;

/// Asks the kernel to put what the program has allocated into huge pages (Linux 6.1 and
/// later). A wish: where it is not granted, the run is slower and nothing else.
pub fn ask_for_huge_pages() {
    let Ok(maps) = fs::read_to_string("/proc/self/maps") else { return };
    maps.lines().filter_map(allocated).for_each(|(begin, end)| collapse(begin, end));
}

/// Begin and end of the memory that a line of the kernel's list tells of, if a program has
/// allocated it: not a file, not a stack of the first thread.
fn allocated(line: &str) -> Option<(usize, usize)> {
    let mut fields = line.split_whitespace();
    let (range, rights) = (fields.next()?, fields.next()?);
    let (inode, name) = (fields.nth(2)?, fields.next());
    let (begin, end) = range.split_once('-')?;
    let number = |text: &str| usize::from_str_radix(text, 16).ok();
    let range = (number(begin)?, number(end)?);
    let is_allocated = rights == "rw-p" && inode == "0" && name.is_none_or(|name| name == "[heap]");
    is_allocated.then_some(range)
}

#[cfg(target_os = "linux")]
fn collapse(begin: usize, end: usize) {
    /// `MADV_COLLAPSE` in the kernel's mman-common.h.
    const COLLAPSE: libc::c_int = 25;
    const HUGE_PAGE: usize = 2 << 20;
    let first = begin.next_multiple_of(HUGE_PAGE);
    let is_whole = |page: &usize| page.saturating_add(HUGE_PAGE) <= end;
    for page in (first..end).step_by(HUGE_PAGE).take_while(is_whole) {
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
    fn only_what_was_allocated_is_moved() {
        let range = Some((0x5d1c_0000_0000, 0x5d1c_0020_0000));
        let with = |rest: &str| allocated(&format!("5d1c00000000-5d1c00200000 {rest}"));
        assert_eq!(with("rw-p 00000000 00:00 0    [heap]"), range);
        assert_eq!(with("rw-p 00000000 00:00 0 "), range);
        assert_eq!(with("rw-p 00000000 00:00 0    [stack]"), None);
        assert_eq!(with("r--p 00000000 00:00 0 "), None);
        assert_eq!(with("rw-s 00000000 00:01 8 /memfd:shared"), None);
        assert_eq!(with("rw-p 00001000 fe:00 326279 /usr/lib/libc.so.6"), None);
        assert_eq!(allocated("zz-7fff rw-p 0 00:00 0"), None);
        assert_eq!(allocated(""), None);
    }

    #[test]
    fn memory_keeps_what_is_in_it() {
        let before: Vec<Vec<u64>> = (0..4096).map(|i| vec![i; 200]).collect();
        ask_for_huge_pages();
        assert!(before.iter().enumerate().all(|(i, row)| row.iter().all(|v| *v == i as u64)));
    }
}
