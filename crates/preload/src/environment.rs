//! The environment of programs that this one executes: without our variables in it, they would
//! not be recorded. Programs build environments of their own (`env -i`, `sudo`, launchers).

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_void};
use core::ptr;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use crate::sys;
use crate::text::Text;

const PRELOAD: &[u8] = b"LD_PRELOAD=";
const OURS: &[u8] = b"PLIMSOLL_";
const DIRECTORY: &[u8] = b"PLIMSOLL_RECORD_DIR=";

/// Variables that are kept at most.
const VARIABLES: usize = 16;

struct Kept {
    /// Our library's path.
    library: Text<1024>,
    /// All variables of ours, each with a zero at its end.
    variables: Text<12288>,
}

struct Global(UnsafeCell<Kept>);

// SAFETY: written once, while it is being decided what is recorded, and not before that read.
unsafe impl Sync for Global {}

static KEPT: Global =
    Global(UnsafeCell::new(Kept { library: Text::new(), variables: Text::new() }));

/// Keeps what programs that this one executes must find in their environment.
pub fn keep() {
    // SAFETY: we are the only one yet.
    let kept = unsafe { &mut *KEPT.0.get() };
    // SAFETY: the environment is such a list.
    for entry in unsafe { sys::strings(sys::environment()) } {
        if entry.to_bytes().starts_with(OURS) {
            kept.variables.push(entry.to_bytes_with_nul());
        }
    }
    // SAFETY: all zeros is a valid answer, and the address is one of ours.
    unsafe {
        let mut found: libc::Dl_info = core::mem::zeroed();
        let address = ptr::from_ref(&KEPT).cast::<c_void>();
        if libc::dladdr(address, &raw mut found) != 0 && !found.dli_fname.is_null() {
            kept.library.set_absolute(CStr::from_ptr(found.dli_fname).to_bytes());
        }
    }
}

/// An environment with our variables; the program's own list when it has them already.
pub struct Patched {
    given: *const *const c_char,
    /// Our list and text, when we had to make one; given back when the call comes back.
    memory: *mut c_void,
    length: usize,
}

impl Patched {
    /// The list for `execve`.
    pub fn list(&self) -> *const *const c_char {
        if self.memory.is_null() { self.given } else { self.memory.cast() }
    }

    /// Adds what is missing.
    ///
    /// # Safety
    /// `given` is null or a list of C strings that ends with null.
    pub unsafe fn new(given: *const *const c_char) -> Patched {
        // SAFETY: not written any more.
        let kept = unsafe { &*KEPT.0.get() };
        let nothing = Patched { given, memory: ptr::null_mut(), length: 0 };
        let library = kept.library.as_bytes();
        let (mut count, mut preload, mut has_ours) = (0usize, None, false);
        // SAFETY: the caller's promise.
        for entry in unsafe { sys::strings(given) } {
            count += 1;
            let entry = entry.to_bytes();
            has_ours |= entry.starts_with(DIRECTORY);
            preload = preload.or(entry.strip_prefix(PRELOAD));
        }
        let is_loaded = preload.is_some_and(|list| {
            list.split(|byte| matches!(byte, b':' | b' ')).any(|path| is_same(path, library))
        });
        if is_loaded && has_ours || library.is_empty() {
            return nothing;
        }
        let words = count + VARIABLES + 2;
        let text = PRELOAD.len() + preload.map_or(0, <[u8]>::len) + library.len() + 2;
        let length = words * size_of::<*const c_char>() + text;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let memory =
            unsafe { mmap_anonymous(ptr::null_mut(), length, protection, MapFlags::PRIVATE) };
        let Ok(memory) = memory else { return nothing };
        let list = memory.cast::<*const c_char>();
        let mut used = 0;
        let mut add = |entry: *const c_char| {
            if used + 1 < words {
                // SAFETY: within the list, and its last word stays null.
                unsafe { list.add(used).write(entry) };
                used += 1;
            }
        };
        // SAFETY: behind the list there is room for the text.
        let text = unsafe { list.add(words) }.cast::<u8>();
        match is_loaded {
            true => {}
            false => {
                let mut at = text;
                let separator: &[u8] =
                    if preload.is_some_and(|list| !list.is_empty()) { b":" } else { b"" };
                // Ours last: other libraries that want to be first were put there on purpose.
                for part in [PRELOAD, preload.unwrap_or(b""), separator, library] {
                    // SAFETY: the sum of the parts was allocated, and the zero is there already.
                    unsafe {
                        ptr::copy_nonoverlapping(part.as_ptr(), at, part.len());
                        at = at.add(part.len());
                    }
                }
                add(text.cast());
            }
        }
        // SAFETY: the caller's promise.
        for entry in unsafe { sys::strings(given) } {
            if is_loaded || !entry.to_bytes().starts_with(PRELOAD) {
                add(entry.as_ptr());
            }
        }
        if !has_ours {
            let variables = kept.variables.as_bytes().split_inclusive(|byte| *byte == 0);
            for variable in variables.filter(|variable| variable.ends_with(b"\0")).take(VARIABLES) {
                add(variable.as_ptr().cast());
            }
        }
        Patched { given, memory, length }
    }
}

/// The same library, by whatever path.
fn is_same(path: &[u8], library: &[u8]) -> bool {
    let name = |path: &'_ [u8]| path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    path.get(name(path)..) == library.get(name(library)..)
}

impl Drop for Patched {
    fn drop(&mut self) {
        if !self.memory.is_null() {
            // SAFETY: our own mapping, and the call that used it is over.
            let _ = unsafe { munmap(self.memory, self.length) };
        }
    }
}
