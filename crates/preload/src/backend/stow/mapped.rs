//! Mappings of a container's file: a copy that is made when it is mapped. Later changes of the file do not show in it, and it can neither be shared and written
//! nor become larger.

use core::ffi::{CStr, c_int};

use plimsoll_stow::Reader;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{CWD, MemfdFlags, Mode, OFlags, fcntl_getfl, ftruncate, memfd_create, openat};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::process::{Resource, getrlimit};

use super::entry::{Used, told};
use super::{Outcome, number};
use crate::backend::MapRequest;
use crate::sys;
use crate::text::Text;

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
    let copy = copied(entry.reader()?, offset, request.length, is_private)?;
    let kept = libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE | libc::MAP_NORESERVE | libc::MAP_32BIT;
    let way = if is_private { MapFlags::PRIVATE } else { MapFlags::SHARED };
    let flags = way | MapFlags::from_bits_retain((request.flags & kept) as u32);
    // SAFETY: where the program wants it, as it would be without us, or at an address of the kernel's choice.
    let memory = unsafe { mmap(request.address, request.length, protection, flags, &copy, 0) };
    Ok(memory.map_err(number)?.expose_provenance())
}

/// By this name the kernel knows copies of what files hold, which programs have mapped.
const COPY: &CStr = c"plimsoll-mapped-copy";

/// Returns a file in memory that holds a part of the container's file: not anonymous memory, of which pages that a program gives back (MADV_DONTNEED) would be zeros. Unless the
/// mapping is private, it can only be read, so that nobody makes it writable later (mprotect).
fn copied(reader: &Reader, offset: u64, length: usize, is_private: bool) -> Result<OwnedFd, c_int> {
    let there = reader.known_size().map_err(told)?.saturating_sub(offset).min(length as u64);
    // The kernel would end the program: the copy is a file, too.
    if getrlimit(Resource::Fsize).current.is_some_and(|most| most < there) {
        return Err(libc::ENOMEM);
    }
    let copy = memfd_create(COPY, MemfdFlags::CLOEXEC).map_err(number)?;
    if there > 0 {
        ftruncate(&copy, there).map_err(number)?;
        fill(&copy, reader, offset, there as usize)?;
    }
    if is_private {
        return Ok(copy);
    }
    let mut path = Text::<64>::new();
    path.push(b"/proc/self/fd/");
    path.push_number(copy.as_raw_fd() as u64, 10);
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    openat(CWD, path.as_c_str(), flags, Mode::empty()).map_err(number)
}

/// Puts what the file holds into its copy.
fn fill(copy: &OwnedFd, reader: &Reader, offset: u64, length: usize) -> Result<(), c_int> {
    let way = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
    // SAFETY: at an address of the kernel's choice.
    let memory = unsafe { mmap(core::ptr::null_mut(), length, way.0, way.1, copy, 0) };
    let memory = memory.map_err(number)?;
    // SAFETY: as many bytes were mapped just now.
    let bytes = unsafe { core::slice::from_raw_parts_mut(memory.cast::<u8>(), length) };
    let done = put_data(reader, bytes, offset);
    // SAFETY: mapped just now, and nobody else knows of it.
    let _ = unsafe { munmap(memory, length) };
    done
}

/// Bytes that are read before they are put into the copy.
const BLOCK_BYTES: usize = 256 << 10;

/// Fills zeros with what the file holds. Pages that are nothing but zeros are left alone: they take no memory, however many of them a small container claims. Where there is a whole block
/// of them, the rest of a hole is passed over.
fn put_data(reader: &Reader, bytes: &mut [u8], offset: u64) -> Result<(), c_int> {
    let (mut block, end) = (vec![0; BLOCK_BYTES], offset + bytes.len() as u64);
    let mut place = offset;
    while place < end {
        let most = (end - place).min(BLOCK_BYTES as u64) as usize;
        let count = reader.read_at(&mut block[..most], place).map_err(told)?;
        let into = bytes[(place - offset) as usize..].chunks_mut(PAGE_BYTES);
        let mut has_data = false;
        for (page, into) in block[..count].chunks(PAGE_BYTES).zip(into) {
            if page.iter().fold(0, |all, byte| all | byte) != 0 {
                into[..page.len()].copy_from_slice(page);
                has_data = true;
            }
        }
        if count == 0 {
            break;
        }
        place += count as u64;
        if !has_data
            && let Some(stretch) = reader.stretch_from(place).map_err(told)?
            && stretch.is_hole
        {
            place = stretch.end;
        }
    }
    Ok(())
}

/// Returns whether memory that a program wants to have larger is such a copy: what follows in the file is not in it. Looked up among all mappings (proc_pid_maps(5)), as
/// programs rarely ask for it.
pub fn is_copy(address: usize) -> bool {
    let mut list = vec![0; LIST_BYTES];
    let list = sys::read_file(c"/proc/self/maps", &mut list);
    list.split(|byte| *byte == b'\n').any(|line| is_line_of_copy(line, address))
}

/// What is read of that list.
const LIST_BYTES: usize = 8 << 20;

/// `FIRST-LAST r--p 00000000 00:01 42 /memfd:NAME (deleted)`
fn is_line_of_copy(line: &[u8], address: usize) -> bool {
    let name = COPY.to_bytes();
    let Some(line) = str::from_utf8(line).ok() else { return false };
    let range = line.split(' ').next().and_then(|it| it.split_once('-'));
    let bound = |text: &str| usize::from_str_radix(text, 16).ok();
    let is_there = range.is_some_and(|(first, last)| {
        bound(first).is_some_and(|it| it <= address) && bound(last).is_some_and(|it| address < it)
    });
    is_there && line.as_bytes().windows(name.len()).any(|it| it == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_known_by_the_name_of_its_mapping() {
        let line =
            b"7f00a000-7f00c000 r--s 00000000 00:01 42   /memfd:plimsoll-mapped-copy (deleted)";
        assert!(is_line_of_copy(line, 0x7f00_a000) && is_line_of_copy(line, 0x7f00_bfff));
        assert!(!is_line_of_copy(line, 0x7f00_c000));
        assert!(!is_line_of_copy(b"7f00a000-7f00c000 rw-p 00000000 00:00 0", 0x7f00_a000));
        assert!(!is_line_of_copy(b"", 0) && !is_line_of_copy(b"x-y plimsoll-mapped-copy", 0));
    }
}
