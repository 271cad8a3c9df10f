//! Backing files whose every block is allocated and written before use.
//!
//! A write into a hole, or into an extent that is allocated but never was written,
//! makes the file system below change its metadata and commit its journal, which all
//! targets share. Then a slow target would slow the others down, and the bed would
//! measure its own host.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use plimsoll_domain::Bytes;
use plimsoll_guarded::Directory;
use rustix::fs::{IFlags, OFlags, SeekFrom};
use rustix::io::Errno;

use crate::TestbedError;
use crate::error::file_error;

/// What is on a target, others may look at as its file system lets them.
const MODE: u32 = 0o600;

const CHUNK: usize = 1 << 20;

/// The file is synced whenever this much is written, so that progress is honest.
const SYNC_EVERY: u64 = 64 << 20;

/// Creates the file and writes all of it to the disk. Fails if it exists.
pub(crate) fn write_in_full(
    bed: &Directory,
    name: &str,
    size: Bytes,
    mut told: impl FnMut(Bytes),
) -> Result<(), TestbedError> {
    let path = bed.path().join(name);
    let file = bed.create(name, OFlags::WRONLY, MODE).map_err(file_error("create", &path))?;
    avoid_copy_on_write(&file);
    fill(&file, size.get(), &mut told).map_err(file_error("write", &path))?;
    file.sync_all().map_err(file_error("sync", &path))
}

fn fill(mut file: &File, size: u64, told: &mut dyn FnMut(Bytes)) -> io::Result<()> {
    let chunk = incompressible();
    let mut written: u64 = 0;
    while written < size {
        told(Bytes::new(written));
        let length = usize::try_from(size - written).map_or(CHUNK, |left| left.min(CHUNK));
        file.write_all(&chunk[..length])?;
        written += length as u64;
        if written.is_multiple_of(SYNC_EVERY) {
            file.sync_data()?;
        }
    }
    told(Bytes::new(size));
    Ok(())
}

/// On btrfs every overwrite would allocate anew (chattr(1), attribute C). Only works
/// while the file is empty; other file systems refuse it, and need it not.
fn avoid_copy_on_write(file: &File) {
    if let Ok(flags) = rustix::fs::ioctl_getflags(file) {
        let _ = rustix::fs::ioctl_setflags(file, flags | IFlags::NOCOW);
    }
}

/// Returns the bytes that a compressing file system cannot turn into a hole: the xorshift64
/// sequence (Marsaglia, "Xorshift RNGs", 2003).
fn incompressible() -> Vec<u8> {
    let mut state: u64 = 0x2545_f491_4f6c_dd1d;
    let mut bytes = Vec::with_capacity(CHUNK);
    while bytes.len() < CHUNK {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes
}

/// Writes zeros wherever the backing file has a hole or an unwritten extent; gives
/// how much that was.
///
/// mkfs zeroes tables and journal with BLKZEROOUT, which the loop driver turns into
/// FALLOC_FL_ZERO_RANGE (do_req_filebacked in drivers/block/loop.c): the blocks stay
/// allocated but count as never written. They read as zero before and after. The
/// zeros go through the device, whose cache would not know of them otherwise.
pub(crate) fn rewrite_unwritten(
    bed: &Directory,
    name: &str,
    device: &Path,
) -> Result<Bytes, TestbedError> {
    let image = &bed.path().join(name);
    let file = bed.open_file(name, OFlags::RDONLY).map_err(file_error("open", image))?;
    let disk = OpenOptions::new().write(true).open(device).map_err(file_error("open", device))?;
    let mut rewritten = 0;
    let mut position = 0;
    while let Some((from, to)) = next_hole(&file, position).map_err(file_error("map", image))? {
        write_zeros(&disk, from, to).map_err(file_error("write", device))?;
        rewritten += to - from;
        position = to;
    }
    disk.sync_all().map_err(file_error("sync", device))?;
    Ok(Bytes::new(rewritten))
}

/// Returns the next stretch without written data at or after `position`.
fn next_hole(file: &File, position: u64) -> io::Result<Option<(u64, u64)>> {
    let size = file.metadata()?.len();
    if position >= size {
        return Ok(None);
    }
    let from = rustix::fs::seek(file, SeekFrom::Hole(position))?;
    if from >= size {
        return Ok(None);
    }
    match rustix::fs::seek(file, SeekFrom::Data(from)) {
        Ok(to) => Ok(Some((from, to))),
        // No data after the hole (lseek(2)).
        Err(Errno::NXIO) => Ok(Some((from, size))),
        Err(errno) => Err(errno.into()),
    }
}

fn write_zeros(disk: &File, from: u64, to: u64) -> io::Result<()> {
    let zeros = vec![0; CHUNK];
    let mut position = from;
    while position < to {
        let length = usize::try_from(to - position).map_or(CHUNK, |left| left.min(CHUNK));
        disk.write_all_at(&zeros[..length], position)?;
        position += length as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn every_block_is_allocated() {
        let directory = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = directory.path().join("t0.img");
        let size = Bytes::new((3 << 20) + 4096);
        let mut told = Vec::new();
        let bed = Directory::open(directory.path()).unwrap();
        write_in_full(&bed, "t0.img", size, |written| told.push(written.get())).unwrap();
        let metadata = path.metadata().unwrap();
        assert_eq!(metadata.len(), size.get());
        assert!(metadata.blocks() * 512 >= size.get());
        assert_eq!(told, [0, 1 << 20, 2 << 20, 3 << 20, size.get()]);
        assert!(
            write_in_full(&bed, "t0.img", size, |_| ()).is_err(),
            "never over an existing file"
        );
    }

    #[test]
    fn holes_are_filled_with_zeros() {
        let directory = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = directory.path().join("sparse");
        let file = File::create(&path).unwrap();
        file.write_all_at(b"data", 1 << 20).unwrap();
        file.set_len(4 << 20).unwrap();
        // The file stands for the device on it as well.
        let bed = Directory::open(directory.path()).unwrap();
        assert!(rewrite_unwritten(&bed, "sparse", &path).unwrap().get() > 0);
        assert!(path.metadata().unwrap().blocks() * 512 >= 4 << 20);
        assert_eq!(rewrite_unwritten(&bed, "sparse", &path).unwrap(), Bytes::new(0));
        assert_eq!(&std::fs::read(&path).unwrap()[1 << 20..][..4], b"data");
    }
}
