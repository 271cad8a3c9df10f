//! Bytes of a file that the file system has, before anything is mapped.

use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::open_file::OwnFile;

/// Makes sure that the file system has the room.
pub fn allocate(file: &OwnFile, from: u64, length: u64) -> Result<(), Errno> {
    if getrlimit(Resource::Fsize).current.is_some_and(|limit| limit < from + length) {
        return Err(Errno::FBIG);
    }
    match rustix::fs::fallocate(file, FallocateFlags::empty(), from, length) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => fill(file, from, length),
        Err(Errno::INTR) => allocate(file, from, length),
        done => done,
    }
}

/// Writes zeros, for file systems that cannot allocate.
fn fill(file: &OwnFile, from: u64, length: u64) -> Result<(), Errno> {
    static ZEROS: [u8; 4096] = [0; 4096];
    let mut done = 0;
    while done < length {
        let room = (length - done).min(ZEROS.len() as u64) as usize;
        match rustix::io::pwrite(file, ZEROS.get(..room).unwrap_or(&[]), from + done) {
            Ok(0) => return Err(Errno::NOSPC),
            Ok(count) => done += count as u64,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
