//! Why a burst could not be done.

use std::io;
use std::path::PathBuf;

use plimsoll_domain::Bytes;
use thiserror::Error;

use crate::file_layout::FileLayout;
use crate::{DEPTH_MAX, Mismatch, Stripe, TRANSFER_MAX};

/// Why a burst could not be done. The text names the operation, the file and the cause;
/// [`EngineError::hint`] says what to do.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each variant's message names its fields")]
pub enum EngineError {
    /// There is nothing to move, or nothing to move it with.
    #[error("cannot move a burst whose {what} is zero")]
    Zero { what: &'static str },
    /// There are no files.
    #[error("cannot move a burst without files")]
    NoFiles,
    /// The same file twice would be written twice in the same place.
    #[error("cannot spread a burst over {} twice", path.display())]
    SameFile { path: PathBuf },
    /// A part is larger than the whole.
    #[error("{what} of {part} is more than {whole_name} of {whole}")]
    TooLarge { what: &'static str, part: Bytes, whole_name: &'static str, whole: Bytes },
    /// One is not a whole number of the other.
    #[error("{what} of {value} is not a multiple of {of} of {unit}")]
    NotAMultiple { what: &'static str, value: Bytes, of: &'static str, unit: Bytes },
    /// More than one system call can move.
    #[error("a transfer of {transfer} is more than one call can move ({TRANSFER_MAX})")]
    TransferTooLarge { transfer: Bytes },
    /// A queue of no or of too many entries, or a queue where there is none.
    #[error("a queue depth of {depth} is not possible: {reason}")]
    Depth { depth: u32, reason: &'static str },
    /// Some offset does not fit into what the kernel counts with.
    #[error("a region of {bytes} at offset {offset} ends beyond what a file can hold")]
    Beyond { offset: Bytes, bytes: Bytes },
    /// A sequential burst touches its own bytes and no others.
    #[error("a span of {span} needs the random pattern")]
    SpanOfSequential { span: Bytes },
    /// The buffers would push the machine into swapping, or be refused.
    #[error("buffers of {wanted} ({depth} of {transfer}) do not fit into memory: {reason}")]
    Buffers { wanted: Bytes, depth: u32, transfer: Bytes, reason: String },
    /// The path is a directory, a pipe or a device.
    #[error("{} is not a regular file", path.display())]
    NotAFile { path: PathBuf },
    /// The file system does not do O_DIRECT.
    #[error("{} cannot be opened with O_DIRECT: {reason}", path.display())]
    NoDirectIo { path: PathBuf, reason: String },
    /// O_DIRECT needs whole blocks.
    #[error("O_DIRECT on {} needs multiples of {block}, and {what} is {value}", path.display())]
    Alignment { path: PathBuf, what: &'static str, value: Bytes, block: Bytes },
    /// The process may not write that far.
    #[error("cannot write {} up to byte {end}: files are limited to {limit}", path.display())]
    SizeLimit { path: PathBuf, end: u64, limit: Bytes },
    /// There is less in the file than is to be read.
    #[error("cannot read {} up to byte {wanted}: it ends at byte {end}", path.display())]
    EndOfFile { path: PathBuf, wanted: u64, end: u64 },
    /// io_uring cannot be used here.
    #[error("cannot set up io_uring with {depth} entries: {cause}")]
    NoUring { depth: u32, cause: io::Error },
    /// The queue itself failed, not a transfer in it.
    #[error("cannot {operation} in io_uring: {cause}")]
    Queue { operation: &'static str, cause: io::Error },
    /// A system call on a file failed.
    #[error("cannot {operation} {}: {cause}", path.display())]
    File { operation: &'static str, path: PathBuf, cause: io::Error },
    /// A transfer failed.
    #[error("{call} of {length} bytes at byte {offset} of {} failed: {cause}", path.display())]
    Transfer { call: &'static str, path: PathBuf, offset: u64, length: u64, cause: io::Error },
    /// What was read is not what was written.
    #[error("{} is wrong at byte {offset}: {mismatch}", path.display())]
    Wrong { path: PathBuf, offset: u64, mismatch: Mismatch },
    /// A layout was requested where there are none.
    #[error("cannot set the stripes of {}: it is not on Lustre", path.display())]
    NotLustre { path: PathBuf },
    /// Lustre accepted the request and did something else.
    #[error("{} got {}, not the {wanted} that were asked for", path.display(), FileLayout::shown(got.as_ref()))]
    LayoutNotTaken { path: PathBuf, wanted: Stripe, got: Option<FileLayout> },
}

impl EngineError {
    /// Returns what to do about it, in one line; `None` when the message says it all.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Zero { .. } | Self::NoFiles | Self::SameFile { .. } => return None,
            Self::TooLarge { .. } | Self::Beyond { .. } => "choose smaller parts",
            Self::NotAMultiple { .. } => "choose sizes that divide each other, such as 64KiB",
            Self::TransferTooLarge { .. } => "choose smaller transfers and more of them",
            Self::Depth { .. } => {
                return Some(format!("io_uring takes 1 to {DEPTH_MAX}, the synchronous engine 1"));
            }
            Self::SpanOfSequential { .. } => "leave out the span or choose pattern = \"random\"",
            Self::Buffers { .. } => "choose a smaller queue depth or smaller transfers",
            Self::NotAFile { .. } => "name a file that may be made or overwritten",
            Self::NoDirectIo { .. } => "choose caching = \"synced\", or another file system",
            Self::Alignment { .. } => "choose whole blocks, or caching = \"synced\"",
            Self::SizeLimit { .. } => "raise the limit with: ulimit -f unlimited",
            Self::EndOfFile { .. } => "write the file first, with at least as many bytes",
            Self::NoUring { cause, .. } => return Some(hint_for_uring(cause)),
            Self::Wrong { mismatch, .. } => return mismatch.hint().map(str::to_owned),
            Self::NotLustre { .. } => "leave out the stripes, or choose a directory on Lustre",
            Self::LayoutNotTaken { .. } => {
                "check that the targets exist and take new objects: lfs osts, lfs df"
            }
            Self::Transfer { cause, .. } if cause.raw_os_error() == Some(libc::EINVAL) => {
                "the file system may want other multiples for O_DIRECT: try 4KiB"
            }
            Self::Queue { cause, .. } | Self::File { cause, .. } | Self::Transfer { cause, .. } => {
                return hint_for(cause);
            }
        };
        Some(text.to_owned())
    }
}

/// Containers forbid io_uring by seccomp (EPERM), old kernels and some sandboxes lack it (ENOSYS),
/// and kernels before 5.12 count its memory as locked (ENOMEM).
fn hint_for_uring(cause: &io::Error) -> String {
    match cause.raw_os_error() {
        Some(libc::ENOMEM) => "raise the limit with: ulimit -l, or choose a smaller depth".into(),
        _ => "choose engine = \"synchronous\", or allow io_uring \
              (sysctl kernel.io_uring_disabled=0, the container's seccomp profile)"
            .into(),
    }
}

fn hint_for(cause: &io::Error) -> Option<String> {
    let text = match cause.raw_os_error()? {
        libc::ENOSPC => "free some space, or make the bursts smaller",
        libc::EDQUOT => "your quota is full: free some space, or make the bursts smaller",
        libc::EROFS => "choose a file system that can be written",
        libc::EACCES | libc::EPERM => "choose a directory of your own",
        libc::ENOENT => "make the directory, or write the file, first",
        libc::EIO => "the storage failed: see the kernel's messages (dmesg) and the target's state",
        libc::EFBIG => "the file system or `ulimit -f` does not allow files of that size",
        libc::ESTALE => "the server no longer knows the file: mount again, or repeat",
        _ => return None,
    };
    Some(text.to_owned())
}

/// Turns the error of a system call on `path` into one that names the operation.
pub(crate) fn file_error<E: Into<io::Error>>(
    operation: &'static str,
    path: impl Into<PathBuf>,
) -> impl FnOnce(E) -> EngineError {
    let path = path.into();
    move |cause| EngineError::File { operation, path, cause: cause.into() }
}
