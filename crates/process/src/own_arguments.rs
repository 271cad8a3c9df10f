//! The arguments of this process, which every user of the machine can read (proc(5), /proc/PID/cmdline).

use std::os::unix::ffi::OsStrExt;

/// Wipes the last `count` arguments of this process from where others see them. Programs wipe secrets from their own; whoever started
/// them with the same arguments must not go on showing these. Does nothing where it cannot be told where they are.
pub fn hide_last_arguments(count: usize) {
    let all: Vec<_> = std::env::args_os().collect();
    let Some(shown) = all.len().checked_sub(count) else { return };
    let length = |these: &[std::ffi::OsString]| -> usize {
        these.iter().map(|it| it.as_bytes().len() + 1).sum()
    };
    let Some((start, end)) = place() else { return };
    if end.checked_sub(start) != Some(length(&all)) {
        return;
    }
    for address in start + length(&all[..shown])..end {
        // SAFETY: the kernel says that the arguments of this process lie there, on its stack, which is writable, and their length
        // is that of all arguments. Rust has copies of those that it hands out, and nobody else keeps references to them.
        unsafe { std::ptr::with_exposed_provenance_mut::<u8>(address).write_volatile(0) };
    }
}

/// Returns where the arguments begin and end (`arg_start` and `arg_end`, fields 48 and 49 of /proc/self/stat).
fn place() -> Option<(usize, usize)> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name, which is field 2, may have blanks and brackets in it.
    let (_, behind) = text.rsplit_once(')')?;
    let mut fields = behind.split_whitespace().skip(48 - 3).map(str::parse);
    let (start, end) = (fields.next()?.ok()?, fields.next()?.ok()?);
    (start > 0 && start < end).then_some((start, end))
}
