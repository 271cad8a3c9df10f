//! The unwinder, looked up when it is needed, which is when a thread is cancelled inside a hook, or a backend makes a mistake.
//!
//! Linking to libgcc_s would make it a library that every program must have: where it is missing,
//! as in small containers, the dynamic linker would end the program before its first instruction.
//! Linking an unwinder into ours would crash: C libraries cancel threads with libgcc_s, and its
//! contexts mean nothing to another one. Whoever unwinds through us has loaded it already.

#![cfg(target_arch = "x86_64")]

use core::ffi::{CStr, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// Defines the functions that the standard library wants to link to. Hidden, so that programs do
/// not find them in ours. Each leaves its number and jumps: a call would put a frame between the
/// unwinder and what it unwinds.
macro_rules! forward {
    ($($number:literal $name:literal;)*) => {
        core::arch::global_asm!(
            $(
                concat!(".globl ", $name),
                concat!(".hidden ", $name),
                concat!(".type ", $name, ",@function"),
                concat!($name, ":"),
                concat!("mov eax, ", $number),
                "jmp 2f",
            )*
            "2:",
            "push rdi",
            "push rsi",
            "push rdx",
            "push rcx",
            "push r8",
            "mov edi, eax",
            "call {find}",
            "pop r8",
            "pop rcx",
            "pop rdx",
            "pop rsi",
            "pop rdi",
            "jmp rax",
            find = sym find,
        );

        static FUNCTIONS: [UnwinderFunction; [$($number),*].len()] = [$(
            UnwinderFunction {
                name: match CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => c"",
                },
                address: AtomicPtr::new(ptr::null_mut()),
            },
        )*];
    };
}

forward! {
    0 "_Unwind_Backtrace";
    1 "_Unwind_GetDataRelBase";
    2 "_Unwind_GetIP";
    3 "_Unwind_GetIPInfo";
    4 "_Unwind_GetLanguageSpecificData";
    5 "_Unwind_GetRegionStart";
    6 "_Unwind_GetTextRelBase";
    7 "_Unwind_RaiseException";
    8 "_Unwind_Resume";
    9 "_Unwind_SetGR";
    10 "_Unwind_SetIP";
    11 "_Unwind_DeleteException";
}

struct UnwinderFunction {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

/// Returns the address of a function of the unwinder. Ends the program where there is none, which can only
/// be after a panic of ours: nobody else unwinds without an unwinder.
extern "C" fn find(number: u32) -> *mut c_void {
    let Some(function) = FUNCTIONS.get(number as usize) else { end() };
    let known = function.address.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    // SAFETY: C strings; the answers are null or a library and a function of it.
    let address = unsafe {
        let library = libc::dlopen(c"libgcc_s.so.1".as_ptr(), libc::RTLD_LAZY);
        if library.is_null() {
            end();
        }
        libc::dlsym(library, function.name.as_ptr())
    };
    if address.is_null() {
        end();
    }
    function.address.store(address, Ordering::Relaxed);
    address
}

fn end() -> ! {
    // SAFETY: always.
    unsafe { libc::abort() }
}
