//! Staging out: from the spool to the directory of the recording. With our own system calls
//! only, and so that a kill at any moment leaves a whole file in one of the two.

use core::ptr;

use plimsoll_trace::layout::{FileHeader, HEADER_BYTES, State};
use rustix::fs::{AtFlags, OFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use rustix::process::{Resource, getrlimit};

use crate::folder::Folder;
use crate::open_file::OwnFile;
use crate::process::Process;
use crate::spool::{NAME_BYTES, Spool};
use crate::text::Text;
use crate::thread::Busy;
use crate::{folder, private_file, spool};

/// Bytes that are copied at once.
const PIECE_BYTES: usize = 64 << 10;

/// Copies the file to the recording's directory and removes it from the spool, if these differ.
/// When that fails, the file stays in the spool, for `plimsoll record --collect`.
pub fn out(process: &'static Process, busy: &Busy, state: State) {
    if folder::is_one() {
        return;
    }
    let held = process.lock.hold(busy);
    // SAFETY: the lock is held.
    let spool = unsafe { &mut *process.spool.get() };
    if spool.folder == Folder::Home {
        return; // staged already, and gone on after a program could not be executed
    }
    let Ok(home) = Folder::Home.open_to_create() else { return };
    let mut part = Text::<NAME_BYTES>::new();
    part.push(spool.name.as_bytes());
    part.push(b".part");
    // Nothing of that name can be there that is ours: it has our number and the time in it.
    let Ok(target) = private_file::create_file(&home, part.as_c_str(), OFlags::WRONLY) else {
        return;
    };
    private_file::share(&target);
    let moved = copy(spool, &target)
        .and_then(|()| rustix::fs::renameat(&home, part.as_c_str(), &home, spool.name.as_c_str()));
    if moved.is_err() {
        let _ = rustix::fs::unlinkat(&home, part.as_c_str(), AtFlags::empty());
        return;
    }
    if let Ok(directory) = spool.folder.open() {
        let _ = rustix::fs::unlinkat(&directory, spool.name.as_c_str(), AtFlags::empty());
    }
    let _ = spool.remember(&target);
    spool.folder = Folder::Home;
    drop(held);
    if state == State::Finished {
        // What is still recorded would go into a file that has no name any more.
        process.stop();
    }
}

fn copy(spool: &Spool, target: &OwnFile) -> Result<(), Errno> {
    let source = spool.open(OFlags::RDONLY)?;
    let length = rustix::fs::fstat(&source)?.st_size as u64;
    // Beyond the limit, a write would be SIGXFSZ.
    if getrlimit(Resource::Fsize).current.is_some_and(|limit| limit < length) {
        return Err(Errno::FBIG);
    }
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let memory =
        unsafe { mmap_anonymous(ptr::null_mut(), PIECE_BYTES, protection, MapFlags::PRIVATE)? };
    // SAFETY: this many bytes were mapped, for us alone.
    let buffer = unsafe { core::slice::from_raw_parts_mut(memory.cast::<u8>(), PIECE_BYTES) };
    let result = copy_pieces(&source, target, length, buffer);
    // SAFETY: our own mapping, not used any more.
    let _ = unsafe { munmap(memory, PIECE_BYTES) };
    result
}

fn copy_pieces(
    source: &OwnFile,
    target: &OwnFile,
    length: u64,
    buffer: &mut [u8],
) -> Result<(), Errno> {
    let mut at = 0;
    while at < length {
        let count = match rustix::io::pread(source, &mut *buffer, at) {
            Ok(0) => break,
            Ok(count) => count,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error),
        };
        let mut piece = buffer.get(..count).unwrap_or(&[]);
        while !piece.is_empty() {
            match rustix::io::pwrite(target, piece, at) {
                Ok(0) => return Err(Errno::NOSPC),
                Ok(written) => {
                    piece = piece.get(written..).unwrap_or(&[]);
                    at += written as u64;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Goes on in the copy when a program could not be executed and the file was staged already. The
/// chunks of this thread and of definitions are sealed, so that their next ones are new blocks
/// of the copy. What other threads still write into their old blocks is lost; programs that
/// execute others have one thread, nearly always.
pub fn undo(process: &'static Process, busy: &Busy) {
    if folder::is_one() {
        return;
    }
    let _held = process.lock.hold(busy);
    // SAFETY: the lock is held.
    let spool = unsafe { &*process.spool.get() };
    if spool.folder == Folder::Home
        && let Ok(file) = spool.open(OFlags::RDWR)
        && let Ok(header) = spool::map(&file, 0, HEADER_BYTES, MapFlags::empty())
    {
        // The old page stays mapped: another thread may be counting a loss in it.
        process.set_header(header.cast::<FileHeader>());
    }
}
