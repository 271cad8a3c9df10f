//! The environment of programs that this one executes: without our variables in it, they would
//! not be recorded. Programs build environments of their own (`env -i`, `sudo`, launchers).
//! Where our library does not exist any more, because the program has another root directory by
//! now, it is taken out: the dynamic linker would complain on the program's standard error.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_void};
use core::ptr;

use plimsoll_trace::{Unseen, variables};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use crate::folder::Folder;
use crate::text::{PATH_BYTES, Text};
use crate::{config, sys};

const PRELOAD: &[u8] = b"LD_PRELOAD=";

/// Variables that are kept at most.
const VARIABLES: usize = variables::OF_THE_LIBRARY.len();

struct Kept {
    /// Our library's path.
    library: Text<PATH_BYTES>,
    /// All variables of ours, each with a zero at its end: three paths, five lists, and small ones.
    variables: Text<{ 9 * PATH_BYTES }>,
}

struct KeptCell(UnsafeCell<Kept>);

// SAFETY: written once, while it is being decided what is recorded, and not before that read.
unsafe impl Sync for KeptCell {}

static KEPT: KeptCell =
    KeptCell(UnsafeCell::new(Kept { library: Text::new(), variables: Text::new() }));

/// Keeps what programs that this one executes must find in their environment.
pub fn keep() {
    // SAFETY: we are the only one yet.
    let kept = unsafe { &mut *KEPT.0.get() };
    // SAFETY: the environment is such a list.
    for entry in unsafe { sys::strings(sys::environment()) } {
        if variables::OF_THE_LIBRARY.iter().any(|name| is_variable(entry.to_bytes(), name)) {
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

/// Returns why a program that is executed now could not be recorded, whichever it is; what completes the reason is
/// added to `detail`. `None` when it can.
pub fn out_of_reach<const N: usize>(detail: &mut Text<N>) -> Option<Unseen> {
    let spool = config::get().spool.as_c_str();
    let mut reach_ends_at = |path: &CStr| {
        detail.push(path.to_bytes());
        Some(Unseen::OutOfReach)
    };
    if is_library_gone() {
        return reach_ends_at(library().as_c_str());
    }
    if spool.is_empty() {
        return None;
    }
    match Folder::Spool.open() {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => reach_ends_at(spool),
        Ok(directory) if !sys::is_writable(&directory, c".") => {
            detail.push(b"(user ");
            detail.push_number(u64::from(rustix::process::getuid().as_raw()), 10);
            detail.push(b")");
            Some(Unseen::OtherUser)
        }
        _ => None,
    }
}

/// Returns true when the dynamic linker would not find our library. That the recording is out of reach is no reason to
/// leave the library out: a rank without it would not come to the barriers in which the others wait.
pub fn is_library_gone() -> bool {
    let library = library().as_c_str();
    !library.is_empty() && !sys::is_reachable(library)
}

fn library() -> &'static Text<PATH_BYTES> {
    // SAFETY: not written any more.
    &unsafe { &*KEPT.0.get() }.library
}

/// A changed environment; the program's own list when nothing had to be changed.
pub struct Patched {
    given: *const *const c_char,
    /// What we had to make; given back when the call comes back.
    made: Option<List>,
}

impl Patched {
    /// Returns the list for `execve`.
    pub fn list(&self) -> *const *const c_char {
        self.made.as_ref().map_or(self.given, |made| made.memory.cast())
    }

    /// Adds what is missing for the program to be recorded.
    ///
    /// # Safety
    /// `given` is null or a list of C strings that ends with null.
    pub unsafe fn to_be_recorded(given: *const *const c_char) -> Patched {
        // SAFETY: not written any more.
        let kept = unsafe { &*KEPT.0.get() };
        let library = kept.library.as_bytes();
        // SAFETY: the caller's promise.
        let found = unsafe { Present::new(given) };
        let is_loaded = entries(found.preload).any(|path| is_same(path, library));
        if is_loaded && found.has_ours || library.is_empty() {
            return Patched { given, made: None };
        }
        let text = PRELOAD.len() + found.preload.len() + library.len() + 2;
        let Some(mut made) = List::new(found.count + VARIABLES + 2, text) else {
            return Patched { given, made: None };
        };
        if !is_loaded {
            // Ours last: other libraries that want to be first were put there on purpose.
            let separator: &[u8] = if found.preload.is_empty() { b"" } else { b":" };
            made.add_text([PRELOAD, found.preload, separator, library].into_iter());
        }
        // SAFETY: the caller's promise.
        for entry in unsafe { sys::strings(given) } {
            if is_loaded || !entry.to_bytes().starts_with(PRELOAD) {
                made.add(entry.as_ptr());
            }
        }
        if !found.has_ours {
            let variables = kept.variables.as_bytes().split_inclusive(|byte| *byte == 0);
            for variable in variables.filter(|variable| variable.ends_with(b"\0")).take(VARIABLES) {
                made.add(variable.as_ptr().cast());
            }
        }
        Patched { given, made: Some(made) }
    }

    /// Takes our library out, and nothing else.
    ///
    /// # Safety
    /// `given` is null or a list of C strings that ends with null.
    pub unsafe fn not_to_be_recorded(given: *const *const c_char) -> Patched {
        let library = library().as_bytes();
        // SAFETY: the caller's promise.
        let found = unsafe { Present::new(given) };
        let others = || entries(found.preload).filter(|path| !is_same(path, library));
        if others().count() == entries(found.preload).count() {
            return Patched { given, made: None };
        }
        // Every entry gets a separator behind it, of which the dynamic linker takes any number.
        let text = PRELOAD.len() + found.preload.len() + 2;
        let Some(mut made) = List::new(found.count + 1, text) else {
            return Patched { given, made: None };
        };
        if others().next().is_some() {
            let separated = others().flat_map(|path| [path, b":"]);
            made.add_text(core::iter::once(PRELOAD).chain(separated));
        }
        // SAFETY: the caller's promise.
        for entry in unsafe { sys::strings(given) } {
            if !entry.to_bytes().starts_with(PRELOAD) {
                made.add(entry.as_ptr());
            }
        }
        Patched { given, made: Some(made) }
    }
}

/// What an environment has of what we need.
struct Present<'a> {
    /// Its variables.
    count: usize,
    /// The value of its LD_PRELOAD.
    preload: &'a [u8],
    has_ours: bool,
}

impl Present<'_> {
    /// # Safety
    /// Null or a list of C strings that ends with null.
    unsafe fn new(list: *const *const c_char) -> Self {
        let mut found = Present { count: 0, preload: b"", has_ours: false };
        // SAFETY: the caller's promise.
        for entry in unsafe { sys::strings(list) } {
            let entry = entry.to_bytes();
            found.count += 1;
            found.has_ours |= is_variable(entry, variables::RECORD_DIR)
                || is_variable(entry, variables::STOW_MOUNT);
            // Of several, the first is the one that counts.
            if let Some(preload) = entry.strip_prefix(PRELOAD).filter(|_| found.preload.is_empty())
            {
                found.preload = preload;
            }
        }
        found
    }
}

/// Returns the libraries that a value of LD_PRELOAD names.
fn entries(preload: &[u8]) -> impl Iterator<Item = &[u8]> {
    preload.split(|byte| matches!(byte, b':' | b' ')).filter(|path| !path.is_empty())
}

/// Returns whether two paths are those of the same library.
fn is_same(path: &[u8], library: &[u8]) -> bool {
    let name = |path: &'_ [u8]| path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    path.get(name(path)..) == library.get(name(library)..)
}

/// A list of C strings that ends with null, and room for text behind it.
struct List {
    memory: *mut c_void,
    length: usize,
    words: usize,
    used: usize,
    text_used: usize,
}

impl List {
    fn new(words: usize, text: usize) -> Option<List> {
        let length = words * size_of::<*const c_char>() + text;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice; it is all zeros.
        let memory =
            unsafe { mmap_anonymous(ptr::null_mut(), length, protection, MapFlags::PRIVATE) };
        Some(List { memory: memory.ok()?, length, words, used: 0, text_used: 0 })
    }

    fn add(&mut self, entry: *const c_char) {
        if self.used + 1 < self.words {
            // SAFETY: within the list, and its last word stays null.
            unsafe { self.memory.cast::<*const c_char>().add(self.used).write(entry) };
            self.used += 1;
        }
    }

    /// Adds the parts as one string.
    fn add_text<'a>(&mut self, parts: impl Iterator<Item = &'a [u8]>) {
        // SAFETY: the text is behind the list, in the same mapping.
        let text = unsafe { self.memory.cast::<*const c_char>().add(self.words) }.cast::<u8>();
        let room = self.length - self.words * size_of::<*const c_char>();
        let entry = text.wrapping_add(self.text_used);
        for part in parts {
            // The last byte stays zero.
            if self.text_used + part.len() < room {
                let at = text.wrapping_add(self.text_used);
                // SAFETY: there is room for it, and nobody else has this mapping.
                unsafe { ptr::copy_nonoverlapping(part.as_ptr(), at, part.len()) };
                self.text_used += part.len();
            }
        }
        self.text_used += 1;
        self.add(entry.cast());
    }
}

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: our own mapping, and the call that used it is over.
        let _ = unsafe { munmap(self.memory, self.length) };
    }
}

/// Returns true when an entry of an environment is that variable.
fn is_variable(entry: &[u8], name: &str) -> bool {
    entry.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_its_whole_name() {
        assert!(is_variable(b"PLIMSOLL_RECORD_DIR=/x", variables::RECORD_DIR));
        assert!(is_variable(b"PLIMSOLL_RECORD_DIR=", variables::RECORD_DIR));
        assert!(!is_variable(b"PLIMSOLL_RECORD_DIRECTORY=/x", variables::RECORD_DIR));
        assert!(!is_variable(b"PLIMSOLL_RECORD_DIR", variables::RECORD_DIR));
    }
}
