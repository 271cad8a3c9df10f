//! A process that the kernel answers as an older one would.

use std::io;

use anyhow::Result;

/// System calls of later kernels: `cachestat` (6.5), `io_uring_setup`, `io_uring_enter` and `io_uring_register` (5.1), the same on every machine.
const MASKED: [u32; 4] = [451, 425, 426, 427];

/// Where the number of a system call is in what a filter looks at (struct seccomp_data, linux/seccomp.h).
const NUMBER_AT: u32 = 0;

/// From now on, this process and those that it starts have neither `cachestat` nor io_uring: both fail with ENOSYS.
///
/// # Errors
/// Fails if the kernel has no filters.
pub fn pretend() -> Result<()> {
    let code = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let mut filter = vec![code(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, NUMBER_AT)];
    for (at, number) in MASKED.iter().enumerate() {
        // To the end, where it is refused, past the other comparisons and what lets calls through.
        let jt = (MASKED.len() - at) as u8;
        let compare = code(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, *number);
        filter.push(libc::sock_filter { jt, ..compare });
    }
    filter.push(code(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW));
    filter.push(code(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32));
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the kernel copies the program, which outlives both calls.
    let result = unsafe {
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 {
            -1
        } else {
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
        }
    };
    if result < 0 { Err(io::Error::last_os_error().into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_masked_is_not_there_and_all_else_is() {
        // The filter is that of the thread which set it.
        let masked = std::thread::spawn(|| {
            pretend().unwrap();
            MASKED.map(|number| {
                // SAFETY: the call is refused before it looks at anything; with these arguments it would do nothing either.
                let result = unsafe { libc::syscall(number.into(), -1, 0, 0, 0) };
                (result, io::Error::last_os_error().raw_os_error())
            })
        });
        assert_eq!(masked.join().unwrap(), [(-1, Some(libc::ENOSYS)); 4]);
        assert!(std::fs::metadata("/").is_ok());
    }
}
