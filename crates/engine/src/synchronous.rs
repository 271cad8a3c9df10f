//! One transfer after the other: pread and pwrite.

use std::io;

use plimsoll_domain::burst::Operation;
use rustix::io::Errno;

use crate::EngineError;
use crate::files::BurstFile;
use crate::moved::Moved;
use crate::supply::Supply;
use crate::transfers::{Transfer, Transfers};

/// Moves all transfers.
pub(crate) fn run(
    operation: Operation,
    files: &[BurstFile],
    transfers: &Transfers,
    supply: &mut Supply,
    moved: &mut Moved,
) -> Result<(), EngineError> {
    for index in 0..transfers.count() {
        let transfer = transfers.nth(index);
        let memory = supply.memory_for(0, &transfer);
        let file = &files[transfer.file as usize];
        move_one(operation, file, &transfer, memory, moved)?;
        supply.check(0, &transfer).map_err(|(offset, mismatch)| EngineError::Wrong {
            path: file.path.clone(),
            offset,
            mismatch,
        })?;
    }
    Ok(())
}

/// Repeats what was interrupted and continues what was short.
fn move_one(
    operation: Operation,
    file: &BurstFile,
    transfer: &Transfer,
    memory: *mut u8,
    moved: &mut Moved,
) -> Result<(), EngineError> {
    let mut done = 0;
    while done < transfer.length {
        let result = call(operation, file, transfer, memory, done);
        moved.calls += 1;
        match result {
            Ok(0) => return Err(stopped(operation, file, transfer, done)),
            Ok(count) => {
                done += count as u32;
                moved.bytes += count as u64;
            }
            Err(Errno::INTR) => {}
            Err(cause) => return Err(failed(operation, file, transfer, done, cause.into())),
        }
    }
    Ok(())
}

fn call(
    operation: Operation,
    file: &BurstFile,
    transfer: &Transfer,
    memory: *mut u8,
    done: u32,
) -> Result<usize, Errno> {
    let (rest, at) = ((transfer.length - done) as usize, transfer.offset + u64::from(done));
    // SAFETY: the supply's memory for a transfer is as long as the transfer, lives as long as the
    // supply, and is used by nobody else while the only transfer in flight is this one.
    let memory = unsafe { std::slice::from_raw_parts_mut(memory.add(done as usize), rest) };
    match operation {
        Operation::Write => rustix::io::pwrite(&file.file, memory, at),
        Operation::Read => rustix::io::pread(&file.file, memory, at),
    }
}

/// Returns the error of a transfer that failed after `done` bytes. O_DIRECT refuses to go on from where a file ends when
/// that is no whole block: such a read has come to the end.
pub(crate) fn failed(
    operation: Operation,
    file: &BurstFile,
    transfer: &Transfer,
    done: u32,
    cause: io::Error,
) -> EngineError {
    let is_unaligned = cause.raw_os_error() == Some(libc::EINVAL);
    if operation == Operation::Read && done > 0 && is_unaligned {
        return stopped(operation, file, transfer, done);
    }
    EngineError::Transfer {
        call: operation.name(),
        path: file.path.clone(),
        offset: transfer.offset + u64::from(done),
        length: u64::from(transfer.length - done),
        cause,
    }
}

/// Returns the error of a transfer that moved nothing: the end of the file, or a write that the kernel neither does
/// nor refuses.
pub(crate) fn stopped(
    operation: Operation,
    file: &BurstFile,
    transfer: &Transfer,
    done: u32,
) -> EngineError {
    let end = transfer.offset + u64::from(done);
    match operation {
        Operation::Read => EngineError::EndOfFile {
            path: file.path.clone(),
            wanted: transfer.offset + u64::from(transfer.length),
            end,
        },
        Operation::Write => {
            let cause = io::Error::new(io::ErrorKind::WriteZero, "nothing was written");
            failed(operation, file, transfer, done, cause)
        }
    }
}
