//! Names that the C library chooses (`mkstemp`, `mkdtemp`), where a backend owns them: the C library makes such a file
//! itself, which cannot be seen, so the name is chosen here.

use core::ffi::{CStr, c_char, c_int};

use libc::AT_FDCWD;

use crate::any_number::any_number;
use crate::backend::{self, Answer, Name, NameRequest};

/// How many names are tried.
const TRIES: usize = 1000;

/// What stands where the name is chosen.
const PLACE: &[u8; 6] = b"XXXXXX";

const LETTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// Makes a request of names that are put into the template, before so many last characters, until there is no such name
/// yet. `None` where no backend owns such names.
///
/// # Safety
/// The template is what a program gave to `mkstemps`.
#[inline]
pub unsafe fn served(
    template: *mut c_char,
    suffix: c_int,
    request: impl Fn() -> NameRequest,
) -> Answer {
    if !backend::is_active() || template.is_null() {
        return None;
    }
    // SAFETY: as the caller says.
    unsafe { choose(template, suffix, request) }
}

/// # Safety
/// As `served`.
#[cold]
unsafe fn choose(
    template: *mut c_char,
    suffix: c_int,
    request: impl Fn() -> NameRequest,
) -> Answer {
    // SAFETY: as the caller says.
    let length = unsafe { CStr::from_ptr(template) }.count_bytes();
    let at = length.checked_sub(usize::try_from(suffix).ok()?)?.checked_sub(PLACE.len())?;
    // SAFETY: within the template; nothing else refers to it while a name is put in.
    let place = || unsafe { &mut *template.add(at).cast::<[u8; PLACE.len()]>() };
    if place() != PLACE {
        return None;
    }
    for _ in 0..TRIES {
        let mut number = any_number();
        for byte in place() {
            *byte = LETTERS[(number % LETTERS.len() as u64) as usize];
            number /= LETTERS.len() as u64;
        }
        match backend::answer_name(|| Name::new(AT_FDCWD, template), &request) {
            Some(Err(libc::EEXIST)) => continue,
            Some(Ok(value)) => return Some(Ok(value)),
            other => {
                *place() = *PLACE;
                return other;
            }
        }
    }
    *place() = *PLACE;
    Some(Err(libc::EEXIST))
}
