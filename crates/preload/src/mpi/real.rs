//! The functions of the MPI library behind the hooks, found by name at run time.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

/// What a hook returns when there is no MPI library behind it: MPI_ERR_OTHER of MPICH. Only a
/// program that has no MPI and calls MPI all the same can see it.
pub const NO_LIBRARY: c_int = 15;

/// MPI_ERR_COUNT of every library.
pub const TOO_MANY: c_int = 2;

/// Handles, pointers, counts and offsets are machine words, in the order of the C declaration.
/// No MPI-IO function has more than six, so all of them travel in registers.
pub type Words = [usize; 6];

/// A function of the MPI library.
pub struct RealMpi {
    /// The name to look for first, and the other one of the same function.
    names: [&'static CStr; 2],
    /// For functions with an MPI_Count: the names of the same function with an int. For others
    /// the same names.
    small_names: [&'static CStr; 2],
    /// Which word is the count.
    count_at: usize,
    /// How many words it takes.
    arity: usize,
    /// Zero until it is known.
    address: AtomicUsize,
    /// The same for the function with an int, where there is no other.
    small_address: AtomicUsize,
}

/// Marks a helper that the library does not have. Functions never lie there.
const MISSING: usize = 1;

impl RealMpi {
    /// Returns the function behind a hook. The hook of an `MPI_` name calls the next `MPI_` name, so that
    /// other tools further down keep working. If the library has no function for large counts,
    /// the one for small counts has to do: programs that refer to names weakly (mpi4py) find our
    /// hook and take it that the library has the function.
    pub const fn new(
        names: [&'static CStr; 2],
        small_names: [&'static CStr; 2],
        arity: usize,
        count_at: usize,
    ) -> Self {
        let [address, small_address] = [const { AtomicUsize::new(0) }; 2];
        RealMpi { names, small_names, count_at, arity, address, small_address }
    }

    /// Returns a function that hooks call for themselves: past other tools.
    pub const fn helper(name: &'static CStr, arity: usize) -> Self {
        RealMpi::new([name, name], [name, name], arity, 0)
    }

    /// Calls the function behind a hook.
    pub fn call(&self, words: &Words) -> c_int {
        let mut address = self.address.load(Ordering::Relaxed);
        if address == 0 {
            address = self.small_address.load(Ordering::Relaxed);
            if address == 0 {
                return self.find_and_call(words);
            }
            if words.get(self.count_at).is_some_and(|count| *count > c_int::MAX as usize) {
                return TOO_MANY;
            }
        }
        // SAFETY: a function of that name with that many arguments is at the address.
        unsafe { call_at(address, self.arity, words) }
    }

    #[cold]
    fn find_and_call(&self, words: &Words) -> c_int {
        if self.find() { self.call(words) } else { NO_LIBRARY }
    }

    /// Looks for the function; returns whether there is one. If not, nothing is remembered: the library may be loaded later.
    #[cold]
    fn find(&self) -> bool {
        let first = |names: &[&CStr; 2]| names.iter().map(|name| find(name)).find(|at| *at != 0);
        if let Some(address) = first(&self.names) {
            self.address.store(address, Ordering::Relaxed);
        } else if let Some(address) = first(&self.small_names) {
            self.small_address.store(address, Ordering::Relaxed);
        } else {
            return false;
        }
        true
    }

    /// Returns where the function behind a hook is, and whether it takes any count; `None` if no library has it yet.
    pub fn found(&self) -> Option<(usize, bool)> {
        let address = self.address.load(Ordering::Relaxed);
        let small_address = self.small_address.load(Ordering::Relaxed);
        match (address, small_address) {
            (0, 0) => self.find().then(|| self.found()).flatten(),
            (0, small) => Some((small, false)),
            (address, _) => Some((address, true)),
        }
    }

    /// Calls a helper, if the library has it.
    pub fn try_call(&self, words: &Words) -> Option<c_int> {
        let address = self.known_address()?;
        // SAFETY: a function of that name with that many arguments is at the address.
        Some(unsafe { call_at(address, self.arity, words) })
    }

    /// Returns where a helper is; what is missing stays missing.
    pub fn known_address(&self) -> Option<usize> {
        let mut address = self.address.load(Ordering::Relaxed);
        if address == 0 {
            address = find(self.names[0]).max(MISSING);
            self.address.store(address, Ordering::Relaxed);
        }
        (address != MISSING).then_some(address)
    }
}

/// Calls a function of the MPI library.
///
/// # Safety
/// At `address` is a function that takes `arity` words and returns an int. Arguments of 32 bits
/// may have anything in their upper halves: the calling conventions of x86-64 and aarch64
/// let the callee ignore them.
unsafe fn call_at(address: usize, arity: usize, w: &Words) -> c_int {
    type One = extern "C-unwind" fn(usize) -> c_int;
    type Two = extern "C-unwind" fn(usize, usize) -> c_int;
    type Three = extern "C-unwind" fn(usize, usize, usize) -> c_int;
    type Four = extern "C-unwind" fn(usize, usize, usize, usize) -> c_int;
    type Five = extern "C-unwind" fn(usize, usize, usize, usize, usize) -> c_int;
    type Six = extern "C-unwind" fn(usize, usize, usize, usize, usize, usize) -> c_int;
    type Zero = extern "C-unwind" fn() -> c_int;
    let address = address as *const c_void;
    // SAFETY: as promised by the caller.
    unsafe {
        match arity {
            0 => core::mem::transmute::<*const c_void, Zero>(address)(),
            1 => core::mem::transmute::<*const c_void, One>(address)(w[0]),
            2 => core::mem::transmute::<*const c_void, Two>(address)(w[0], w[1]),
            3 => core::mem::transmute::<*const c_void, Three>(address)(w[0], w[1], w[2]),
            4 => core::mem::transmute::<*const c_void, Four>(address)(w[0], w[1], w[2], w[3]),
            5 => {
                let function = core::mem::transmute::<*const c_void, Five>(address);
                function(w[0], w[1], w[2], w[3], w[4])
            }
            _ => {
                let function = core::mem::transmute::<*const c_void, Six>(address);
                function(w[0], w[1], w[2], w[3], w[4], w[5])
            }
        }
    }
}

/// Returns the address of a variable that the program and the MPI library share; zero if there is none.
/// Not the next one after this library: a program that uses it may have it itself (a copy
/// relocation), and the library uses the program's.
pub fn find_variable(name: &CStr) -> usize {
    // SAFETY: the name ends with a zero; RTLD_DEFAULT needs no handle.
    let first = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
    if first != 0 { first } else { find_in_plugins(name) }
}

/// Returns the address of a function in a library behind this one; zero if there is none.
pub fn find(name: &CStr) -> usize {
    // SAFETY: the name ends with a zero; RTLD_NEXT needs no handle.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
    if next != 0 { next } else { find_in_plugins(name) }
}

/// Returns true if the function at the address lies in a library whose file name contains the text.
pub fn lies_in(address: usize, text: &[u8]) -> bool {
    let mut found = libc::Dl_info {
        dli_fname: core::ptr::null(),
        dli_fbase: core::ptr::null_mut(),
        dli_sname: core::ptr::null(),
        dli_saddr: core::ptr::null_mut(),
    };
    // SAFETY: any address may be asked for; the answer goes to a variable of its type.
    let known = unsafe { libc::dladdr(address as *const c_void, &raw mut found) } != 0;
    if !known || found.dli_fname.is_null() {
        return false;
    }
    // SAFETY: the loader keeps the name, which ends with a zero, as long as the library.
    let path = unsafe { CStr::from_ptr(found.dli_fname) }.to_bytes();
    contains(base_name(path), text)
}

/// Paths of loaded libraries that may be, or lead to, the MPI library.
struct Candidates {
    paths: [[u8; PATH_BYTES]; CANDIDATES],
    count: usize,
}

const CANDIDATES: usize = 8;
const PATH_BYTES: usize = 512;

/// Looks where RTLD_NEXT does not: an MPI library that came with a plugin, such as mpi4py in
/// Python, is not in the global scope, while our hooks are.
fn find_in_plugins(name: &CStr) -> usize {
    let mut candidates = Candidates { paths: [[0; PATH_BYTES]; CANDIDATES], count: 0 };
    // Only names are collected in the callback: dlopen in there could lock in the wrong order.
    // SAFETY: the callback matches its declaration and gets the pointer that it expects.
    unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut candidates).cast()) };
    for path in candidates.paths.iter().take(candidates.count) {
        let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
        // SAFETY: the path ends with a zero, since one byte of it is never written.
        let library = unsafe { libc::dlopen(path.as_ptr().cast(), flags) };
        if library.is_null() {
            continue;
        }
        // SAFETY: the handle is good, the name ends with a zero.
        let address = unsafe { libc::dlsym(library, name.as_ptr()) } as usize;
        // The library stays: only the count that dlopen raised goes down again.
        // SAFETY: the handle comes from dlopen and is not used any more.
        unsafe { libc::dlclose(library) };
        if address != 0 {
            return address;
        }
    }
    0
}

/// Keeps the path of a library with "mpi" in its name, in any case of letters.
extern "C" fn collect(info: *mut libc::dl_phdr_info, _: usize, into: *mut c_void) -> c_int {
    // SAFETY: `find_in_plugins` passes its own variable, and nothing else uses it meanwhile.
    let candidates = unsafe { &mut *into.cast::<Candidates>() };
    // SAFETY: the loader hands out a valid description.
    let name: *const c_char = unsafe { (*info).dlpi_name };
    if name.is_null() {
        return 0;
    }
    // SAFETY: the loader's names end with a zero.
    let path = unsafe { CStr::from_ptr(name) }.to_bytes();
    let is_one = base_name(path).windows(3).any(|part| part.eq_ignore_ascii_case(b"mpi"));
    if is_one && path.len() < PATH_BYTES {
        let Some(slot) = candidates.paths.get_mut(candidates.count) else { return 1 };
        slot[..path.len()].copy_from_slice(path);
        candidates.count += 1;
    }
    0
}

fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Returns the text of a name that was written with its zero; checked when it is compiled.
pub(super) const fn text(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a name in the table has a zero in it"),
    }
}
