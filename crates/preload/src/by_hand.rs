//! Recordings that somebody asked for by variables alone, without `plimsoll record`: what it would have done before the
//! program started is done here, when the program is loaded.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char};

use plimsoll_trace::variables;
use rustix::fs::Mode;
use rustix::io::Errno;

use crate::message::Message;
use crate::text::{PATH_BYTES, Text};
use crate::{sys, walk};

/// The variable with the whole path of the recording.
struct Absolute(UnsafeCell<Text<{ PATH_BYTES + 64 }>>);

// SAFETY: written once, while it is being decided what is recorded, and not before that read.
unsafe impl Sync for Absolute {}

static ABSOLUTE: Absolute = Absolute(UnsafeCell::new(Text::new()));

/// Makes the directory of the recording if it is not there, and lets programs that this one executes know its whole
/// path, whatever their working directory is. If nothing can be recorded there, says so once, and not again in
/// programs that this one executes. Returns whether something can be recorded.
///
/// # Safety
/// Only the one that decides what is recorded calls it, once.
pub unsafe fn prepare(directory: &Text<PATH_BYTES>, is_shared: bool) -> bool {
    let outcome = make(directory, is_shared);
    // SAFETY: as the caller says.
    let variable = unsafe { &mut *ABSOLUTE.0.get() };
    variable.push(variables::RECORD_DIR.as_bytes());
    variable.push(b"=");
    match outcome {
        Ok(()) => variable.push(directory.as_bytes()),
        // Empty: without a directory the library does nothing.
        Err(error) => tell(directory, error),
    }
    // SAFETY: the text is not written any more, and the program is only being loaded.
    unsafe { sys::replace_variable(variables::RECORD_DIR, variable.as_c_str()) };
    outcome.is_ok()
}

/// Makes the directory and those above it, as far as they are missing. Only this user can read them unless others may.
fn make(directory: &Text<PATH_BYTES>, is_shared: bool) -> Result<(), Errno> {
    let mode = Mode::from_raw_mode(if is_shared { 0o755 } else { 0o700 });
    let made = walk::make(directory.as_bytes(), mode).map_err(|error| match error {
        // Somebody else's link or file system is on the way.
        Errno::STALE => Errno::ACCESS,
        other => other,
    })?;
    if sys::is_writable(&made, c".") { Ok(()) } else { Err(Errno::ACCESS) }
}

/// Says on standard error that nothing is recorded, and why.
#[cold]
fn tell(directory: &Text<PATH_BYTES>, error: Errno) {
    let mut message = Message::new(b"nothing is recorded: cannot write to ");
    message.quote(directory.as_bytes());
    let mut words = [0 as c_char; 128];
    // SAFETY: the buffer has that many bytes, of which the last stays zero.
    if unsafe { libc::strerror_r(error.raw_os_error(), words.as_mut_ptr(), words.len() - 1) } == 0 {
        message.push(b": ");
        // SAFETY: it ends with a zero.
        message.push(unsafe { CStr::from_ptr(words.as_ptr()) }.to_bytes());
    }
    message.say();
}
