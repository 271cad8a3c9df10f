//! Copies of files that others have made.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use rustix::io::Errno;

/// Copies this many bytes at most, and leaves holes out: more is not written than is stored. Others can make their files
/// any size out of nothing.
///
/// # Errors
/// If one cannot be read or the other cannot be written.
pub fn copy_stored(mut from: &File, mut to: &File, bytes_max: u64) -> io::Result<()> {
    let length = from.metadata()?.len().min(bytes_max);
    let mut at = 0;
    while at < length {
        let (start, end) = match data_from(from, at) {
            Ok((start, end)) => (start.min(length), end.min(length)),
            Err(Errno::NXIO) => break,
            Err(error) => return Err(error.into()),
        };
        from.seek(SeekFrom::Start(start))?;
        to.seek(SeekFrom::Start(start))?;
        io::copy(&mut from.take(end - start), &mut to)?;
        at = end;
    }
    to.set_len(length)
}

/// Returns where the next data begin and end. Where the file system does not tell, all is data.
fn data_from(file: &File, at: u64) -> Result<(u64, u64), Errno> {
    use rustix::fs::SeekFrom::{Data, Hole};
    match rustix::fs::seek(file, Data(at)) {
        Err(Errno::INVAL) => Ok((at, u64::MAX)),
        start => start.and_then(|start| Ok((start, rustix::fs::seek(file, Hole(start))?))),
    }
}
