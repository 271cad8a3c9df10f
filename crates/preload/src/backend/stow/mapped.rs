//! Mappings of a container's file: memory that is filled when it is mapped. Later changes of the file do not show in it, and it cannot
//! be shared and written.

use core::ffi::{c_int, c_void};

use rustix::fs::{OFlags, fcntl_getfl};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

use super::entry::{Used, told};
use super::{Outcome, number};
use crate::backend::MapRequest;
use crate::sys;

const PAGE_BYTES: usize = 4096;

/// Maps a part of the file.
pub fn map(entry: &mut Used, fd: c_int, request: &MapRequest) -> Outcome {
    let file = sys::borrow(fd).ok_or(libc::EBADF)?;
    if fcntl_getfl(file).map_err(number)? & OFlags::ACCMODE == OFlags::WRONLY {
        return Err(libc::EACCES);
    }
    let offset = u64::try_from(request.offset).map_err(|_| libc::EINVAL)?;
    if request.length == 0 || !offset.is_multiple_of(PAGE_BYTES as u64) {
        return Err(libc::EINVAL);
    }
    let is_private = request.flags & libc::MAP_TYPE == libc::MAP_PRIVATE;
    let protection = ProtFlags::from_bits_retain(request.protection as u32);
    if !is_private && protection.contains(ProtFlags::WRITE) {
        return Err(libc::ENODEV);
    }
    let reader = entry.reader()?;
    let kept = libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE | libc::MAP_NORESERVE | libc::MAP_32BIT;
    let flags = MapFlags::PRIVATE | MapFlags::from_bits_retain((request.flags & kept) as u32);
    let (address, length) = (request.address, request.length);
    // SAFETY: where the program wants it, as it would be without us, or at an address of the kernel's choice.
    let memory =
        unsafe { mmap_anonymous(address, length, ProtFlags::READ | ProtFlags::WRITE, flags) };
    let memory = memory.map_err(number)?;
    let there = reader.size().saturating_sub(offset);
    let filled = there.min(length as u64) as usize;
    // SAFETY: as many bytes were mapped just now.
    let bytes = unsafe { core::slice::from_raw_parts_mut(memory.cast::<u8>(), filled) };
    let done = match reader.read_at(bytes, offset) {
        Ok(_) => protect(memory, length, request.protection),
        Err(error) => Err(told(error)),
    };
    if let Err(error) = done {
        // SAFETY: mapped just now, and nobody knows of it.
        let _ = unsafe { munmap(memory, length) };
        return Err(error);
    }
    Ok(memory.expose_provenance())
}

fn protect(memory: *mut c_void, length: usize, protection: c_int) -> Result<(), c_int> {
    let protection = MprotectFlags::from_bits_retain(protection as u32);
    // SAFETY: our own new mapping.
    unsafe { mprotect(memory, length, protection) }.map_err(number)
}
