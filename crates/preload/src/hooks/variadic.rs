//! Functions with variable arguments. Stable Rust cannot define them, so each is a few
//! instructions that do what a C compiler does at the beginning of such a function: save the
//! argument registers, make a `va_list` of them, and call the form that takes one.
//!
//! `open` and `fcntl` are not here: their one optional argument is in a register whether it was
//! given or not.

#![cfg(target_arch = "x86_64")]
#![allow(clippy::missing_safety_doc)]

use core::arch::naked_asm;
use core::ffi::{c_char, c_int};
use core::ptr;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use crate::{sys, table};

/// Defines functions with this many named arguments, of which `$list` is the register after.
macro_rules! variadic {
    ($($name:ident $named:literal $list:literal => $target:path;)*) => {$(
        /// Stands in for the function of that name.
        ///
        /// # Safety
        /// As that function.
        #[unsafe(naked)]
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C" fn $name() {
            // The frame: 176 bytes of saved registers, then the va_list of 24 bytes.
            naked_asm!(
                ".cfi_startproc",
                "push rbp",
                ".cfi_def_cfa_offset 16",
                ".cfi_offset rbp, -16",
                "mov rbp, rsp",
                ".cfi_def_cfa_register rbp",
                "sub rsp, 208",
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov [rsp + 32], r8",
                "mov [rsp + 40], r9",
                // The caller says in al whether it passes floating point numbers.
                "test al, al",
                "je 2f",
                "movaps [rsp + 48], xmm0",
                "movaps [rsp + 64], xmm1",
                "movaps [rsp + 80], xmm2",
                "movaps [rsp + 96], xmm3",
                "movaps [rsp + 112], xmm4",
                "movaps [rsp + 128], xmm5",
                "movaps [rsp + 144], xmm6",
                "movaps [rsp + 160], xmm7",
                "2:",
                "mov dword ptr [rsp + 176], {named}",
                "mov dword ptr [rsp + 180], 48",
                "lea rax, [rbp + 16]",
                "mov [rsp + 184], rax",
                "mov [rsp + 192], rsp",
                concat!("lea ", $list, ", [rsp + 176]"),
                "call {target}",
                "leave",
                ".cfi_def_cfa rsp, 8",
                "ret",
                ".cfi_endproc",
                named = const 8 * $named,
                target = sym $target,
            )
        }
    )*};
}

variadic! {
    printf 1 "rsi" => table::vprintf;
    fprintf 2 "rdx" => table::vfprintf;
    fscanf 2 "rdx" => table::vfscanf;
    __isoc99_fscanf 2 "rdx" => table::__isoc99_vfscanf;
    __isoc23_fscanf 2 "rdx" => table::__isoc23_vfscanf;
    scanf 1 "rsi" => table::vscanf;
    __isoc99_scanf 1 "rsi" => table::__isoc99_vscanf;
    __isoc23_scanf 1 "rsi" => table::__isoc23_vscanf;
    __printf_chk 2 "rdx" => table::__vprintf_chk;
    __fprintf_chk 3 "rcx" => table::__vfprintf_chk;
    dprintf 2 "rdx" => table::vdprintf;
    __dprintf_chk 3 "rcx" => table::__vdprintf_chk;
    execl 1 "rsi" => execute_path;
    execlp 1 "rsi" => execute_name;
    execle 1 "rsi" => execute_with_environment;
}

/// The System V `va_list`. A pointer to it is what functions that take one get.
#[repr(C)]
pub struct VaList {
    general: u32,
    floating: u32,
    overflow: *const usize,
    saved: *const u8,
}

impl VaList {
    /// Returns the next argument, which must be a pointer.
    ///
    /// # Safety
    /// There is one.
    unsafe fn next(&mut self) -> *const c_char {
        // SAFETY: as the caller says; six general registers are saved, the rest is on the stack.
        unsafe {
            if self.general < 48 {
                let at = self.saved.add(self.general as usize).cast::<*const c_char>();
                self.general += 8;
                return *at;
            }
            let at = self.overflow.cast::<*const c_char>();
            self.overflow = self.overflow.add(1);
            *at
        }
    }

    /// Returns the pointers up to null as a list, and what comes after it when `more`.
    ///
    /// # Safety
    /// Arguments as those of `execl` and, with `more`, of `execle`.
    unsafe fn list(&mut self, more: bool) -> Option<(*const *const c_char, *const *const c_char)> {
        let mut counter = VaList { ..*self };
        let mut count = 1;
        // SAFETY: there is a null.
        while !unsafe { counter.next() }.is_null() {
            count += 1;
        }
        let bytes = count * size_of::<*const c_char>();
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping. It is left behind when the program cannot be executed, which
        // costs a page and happens to nobody often.
        let memory =
            unsafe { mmap_anonymous(ptr::null_mut(), bytes, protection, MapFlags::PRIVATE) }
                .ok()?;
        let list = memory.cast::<*const c_char>();
        for index in 0..count {
            // SAFETY: as many as were counted.
            unsafe { list.add(index).write(self.next()) };
        }
        // SAFETY: as the caller says.
        let after = if more { unsafe { self.next() } } else { ptr::null() };
        Some((list.cast_const(), after.cast()))
    }
}

unsafe extern "C-unwind" fn execute_path(path: *const c_char, rest: *mut VaList) -> c_int {
    // SAFETY: from the trampoline.
    match unsafe { (*rest).list(false) } {
        // SAFETY: a list of C strings.
        Some((arguments, _)) => unsafe { table::execve(path, arguments, sys::environment()) },
        None => no_memory(),
    }
}

unsafe extern "C-unwind" fn execute_name(name: *const c_char, rest: *mut VaList) -> c_int {
    // SAFETY: from the trampoline.
    match unsafe { (*rest).list(false) } {
        // SAFETY: a list of C strings.
        Some((arguments, _)) => unsafe { table::execvpe(name, arguments, sys::environment()) },
        None => no_memory(),
    }
}

unsafe extern "C-unwind" fn execute_with_environment(
    path: *const c_char,
    rest: *mut VaList,
) -> c_int {
    // SAFETY: from the trampoline.
    match unsafe { (*rest).list(true) } {
        // SAFETY: lists of C strings.
        Some((arguments, environment)) => unsafe { table::execve(path, arguments, environment) },
        None => no_memory(),
    }
}

fn no_memory() -> c_int {
    sys::set_errno(libc::ENOMEM);
    -1
}
