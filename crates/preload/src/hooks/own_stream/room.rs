//! How much a stream of ours reads at a time. The C library reads files by as much as a program asks for, and such streams only by their buffer.

use libc::FILE;

use super::{StreamHead, is_one};

/// What the C library gives to such a stream (BUFSIZ).
const USUAL: usize = 8192;
/// More is not quicker, and is read in vain by those who go elsewhere afterwards.
const MOST: usize = 256 << 10;

/// Bits of a stream's flags (libio.h): the buffer is not the C library's to give back; another one is in its place; something is to be written.
const NOT_ITS_OWN: i32 = 1;
const IN_BACKUP: i32 = 0x100;
const IS_WRITTEN: i32 = 0x800;

// SAFETY: the C library defines them so.
unsafe extern "C" {
    fn flockfile(stream: *mut FILE);
    fn funlockfile(stream: *mut FILE);
}

/// Gives a stream of ours whose buffer is empty one that fits what is read next.
///
/// # Safety
/// An open stream of glibc, which the program is about to read.
pub unsafe fn fit(stream: *mut FILE, wanted: usize) {
    // SAFETY: as the caller says.
    if !unsafe { is_one(stream) } {
        return;
    }
    // SAFETY: an open stream; its lock is given back below.
    let head = unsafe {
        flockfile(stream);
        &mut *stream.cast::<StreamHead>()
    };
    if let Some(bytes) = fitting(head, wanted) {
        // SAFETY: the C library gives it back as its own.
        let buffer = unsafe { libc::malloc(bytes) };
        if !buffer.is_null() {
            head.take_buffer(buffer.cast(), bytes);
        }
    }
    // SAFETY: as above.
    unsafe { funlockfile(stream) };
}

/// Returns how large the buffer should be, if it can be exchanged and should be another one.
fn fitting(head: &StreamHead, wanted: usize) -> Option<usize> {
    let is_empty = head.read_base == head.read_end && head.write_base == head.write_end;
    if !is_empty || head.flags & (NOT_ITS_OWN | IN_BACKUP | IS_WRITTEN) != 0 || wanted == 0 {
        return None;
    }
    let has = head.buffer_end.addr().wrapping_sub(head.buffer.addr());
    // The C library takes it for a power of two when it goes elsewhere.
    let fits = wanted.clamp(USUAL, MOST).next_power_of_two();
    // What is a little smaller stays, and so does what small reads come out of.
    let is_other = if head.buffer.is_null() { fits > USUAL } else { fits > has || fits < has / 4 };
    is_other.then_some(fits)
}

impl StreamHead {
    /// Exchanges the buffer, which is empty.
    fn take_buffer(&mut self, buffer: *mut libc::c_char, bytes: usize) {
        // SAFETY: the C library's own, which nothing is in.
        unsafe { libc::free(self.buffer.cast()) };
        (self.buffer, self.buffer_end) = (buffer, buffer.wrapping_add(bytes));
        (self.read_base, self.read_end, self.read_start) = (buffer, buffer, buffer);
        (self.write_base, self.write_end, self.write_limit) = (buffer, buffer, buffer);
    }
}
