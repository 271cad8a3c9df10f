//! What is wrong with a file that is there, but not what it should be.

use std::io;

use thiserror::Error;

/// What is wrong with a file that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refusal {
    /// It leads somewhere else.
    #[error("it is a symlink")]
    Symlink,
    /// The same, and somebody else says where.
    #[error("it is a symlink of user {owner}")]
    LinkOf {
        /// Whose it is.
        owner: u32,
    },
    /// It is a directory, a pipe, a device, a socket.
    #[error("it is not a regular file")]
    NotAFile,
    /// A link that somebody may have planted.
    #[error("it is a symlink to something that is not a regular file")]
    LinkToNoFile,
    /// Who may never write to it.
    #[error("it is a pipe of user {owner}")]
    PipeOf {
        /// Whose it is.
        owner: u32,
    },
    /// It would be waited for.
    #[error("it is a pipe that nobody writes to (start its writer first)")]
    NobodyWrites,
    /// It is something else than a directory.
    #[error("it is not a directory")]
    NotADirectory,
    /// Somebody else made it.
    #[error("it belongs to user {owner}, not to user {expected}")]
    Owner {
        /// Whose it is.
        owner: u32,
        /// Whose it should be.
        expected: u32,
    },
    /// Others may have the same number.
    #[error(
        "whose it is cannot be told: this user namespace does not know you (map your user, as `unshare --map-current-user` does)"
    )]
    UnknownUser,
    /// Others could change what is in it.
    #[error("others can write to it (mode {mode:o})")]
    Writable {
        /// Its permissions.
        mode: u32,
    },
    /// What is written to it would change a file elsewhere.
    #[error("it has {names} names (hard links)")]
    SeveralNames {
        /// How many.
        names: u64,
    },
    /// Whoever removes it would never come to an end.
    #[error("it grows while it is removed (end what writes to it)")]
    Grows,
    /// It is nearly all hole.
    #[error("it claims {bytes} bytes and stores {stored}")]
    Sparse {
        /// Its size.
        bytes: u64,
        /// What its file system keeps of it.
        stored: u64,
    },
    /// Small files have a few lines.
    #[error("it is too large to be what it should be")]
    TooLarge,
    /// It is in a container, and no container has such a file.
    #[error("it is no file of the container (move it elsewhere first)")]
    NotOfContainer,
    /// It has the name of a lock, and is not empty.
    #[error("it holds something else than a lock does")]
    NotALock,
    /// It has the name of a working directory, and another secret or none.
    #[error(
        "it is not the directory that was made here: somebody who may write beside it replaced it \
         (choose a directory of your own)"
    )]
    Exchanged,
    /// It has the name of a file that is being written, and is another one.
    #[error(
        "it is not the file that was written: somebody who may write to the directory replaced it \
         (choose a directory of your own)"
    )]
    ExchangedFile,
    /// The tree goes on in another file system.
    #[error("another file system is mounted there")]
    Mounted,
    /// It says of its files what its user likes, and may never answer.
    #[error("it is a file system of user {user} (FUSE; use one that root or you mounted)")]
    ServedBy {
        /// Who mounted it.
        user: u32,
    },
    /// Its server would wait for itself.
    #[error("it is in a view that `plimsoll stow mount` serves, which leads into no other one")]
    View,
    /// Nobody can tell who serves it.
    #[error("its file system was unmounted just now")]
    Unmounted,
    /// It would name something elsewhere.
    #[error("it is not the name of a file in a directory")]
    NotAName,
}

impl Refusal {
    /// Returns what was refused, if that is why a call failed.
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        io::Error::other(refusal)
    }
}

/// Returns why a call failed, where it should have been refused.
#[cfg(test)]
pub(crate) fn refused<T: std::fmt::Debug>(outcome: io::Result<T>) -> Refusal {
    let error = outcome.unwrap_err();
    Refusal::of(&error).unwrap_or_else(|| panic!("{error}"))
}
