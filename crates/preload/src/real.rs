//! The functions that we stand in for, and the macro that makes the stand-ins from the table.

use core::ffi::{CStr, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::sys;

/// The next definition of a function after ours: libc's, or another preload library's.
pub struct Real {
    name: &'static CStr,
    /// What to call when there is none.
    missing: *const c_void,
    address: AtomicPtr<c_void>,
}

// SAFETY: the pointers are to functions.
unsafe impl Sync for Real {}

impl Real {
    /// Makes one that is not looked up yet.
    pub const fn new(name: &'static CStr, missing: *const c_void) -> Self {
        Real { name, missing, address: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Returns its address.
    #[inline(always)]
    pub fn address(&self) -> *mut c_void {
        let address = self.address.load(Ordering::Relaxed);
        if address.is_null() { self.resolve() } else { address }
    }

    /// Looks it up. From the constructor, or earlier when a call comes before it.
    #[cold]
    #[inline(never)]
    pub fn resolve(&self) -> *mut c_void {
        let before = sys::errno();
        // SAFETY: a C string; the answer is null or a function.
        let address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        sys::set_errno(before);
        if address.is_null() {
            // Not remembered: its library may be loaded later.
            return self.missing.cast_mut();
        }
        self.address.store(address, Ordering::Relaxed);
        address
    }
}

/// Stands in for a function that this system does not have. Whatever its arguments are, a C
/// caller takes them back itself.
pub extern "C" fn missing() -> isize {
    sys::set_errno(libc::ENOSYS);
    -1
}

/// Stands in for a missing function that gives a pointer.
pub extern "C" fn missing_pointer() -> *mut c_void {
    sys::set_errno(libc::ENOSYS);
    ptr::null_mut()
}

/// Makes from the table: the exported functions, their real ones, and the list of names.
#[macro_export]
macro_rules! intercept {
    ($($layer:ident {
        $($name:ident [$($alias:ident)*] $arguments:tt -> $result:ty => |$real:pat_param| $body:expr;)*
    })*) => {
        /// The real functions.
        #[allow(non_upper_case_globals, missing_docs)]
        pub mod reals {
            $($($crate::real_function!($name); $($crate::real_function!($alias);)*)*)*
        }

        /// All of them, for the constructor.
        pub static REALS: &[&$crate::real::Real] = &[
            $($(&reals::$name, $(&reals::$alias,)*)*)*
        ];

        /// Every intercepted function: layer, canonical name, name.
        pub const COVERAGE: &[(&str, &str, &str)] = &[
            $($((stringify!($layer), stringify!($name), stringify!($name)),
               $((stringify!($layer), stringify!($name), stringify!($alias)),)*)*)*
        ];

        $($($crate::stand_in!($name $arguments, $result, $real, $body);
           $($crate::stand_in!($alias $arguments, $result, $real, $body);)*)*)*
    };
}

/// Calls a real function of the table, for the library itself: its own calls would come back to the stand-in. Unsafe as the
/// function is, whose type must be right.
#[macro_export]
macro_rules! call_real {
    ($real:expr, fn($($type:ty),*) -> $result:ty, $($argument:expr),*) => {
        ::core::mem::transmute::<
            *mut ::core::ffi::c_void,
            unsafe extern "C-unwind" fn($($type),*) -> $result,
        >($real.address())($($argument),*)
    };
}

/// The slot of a real function.
#[macro_export]
macro_rules! real_function {
    ($name:ident) => {
        pub static $name: $crate::real::Real = $crate::real::Real::new(
            match ::core::ffi::CStr::from_bytes_with_nul(
                concat!(stringify!($name), "\0").as_bytes(),
            ) {
                Ok(name) => name,
                Err(_) => c"",
            },
            $crate::real::missing as *const ::core::ffi::c_void,
        );
    };
}

/// An exported function.
#[macro_export]
macro_rules! stand_in {
    ($name:ident ($($argument:ident: $type:ty),* $(,)?), $result:ty, $real:pat_param, $body:expr) => {
        /// Stands in for the function of that name.
        ///
        /// # Safety
        /// As that function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        // The rows are this crate's own; each is an unsafe function's body.
        #[allow(clippy::macro_metavars_in_unsafe)]
        pub unsafe extern "C-unwind" fn $name($($argument: $type),*) -> $result {
            // SAFETY: the address is of the function of that name, which has this type.
            let $real = unsafe {
                ::core::mem::transmute::<
                    *mut ::core::ffi::c_void,
                    unsafe extern "C-unwind" fn($($type),*) -> $result,
                >(reals::$name.address())
            };
            // SAFETY: a row passes the program's own arguments on, unchanged, to the function that
            // the program called, or to a helper that asks for exactly such arguments.
            unsafe { $body }
        }
    };
}
