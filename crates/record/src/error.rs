//! Why a program cannot be recorded.

use std::io;
use std::path::{Path, PathBuf};

use plimsoll_guarded::Refusal;
use plimsoll_machine::PreloadMissing;
use thiserror::Error;

/// Why a program cannot be recorded, or a recording cannot be collected: one line, with a hint where something can be
/// done.
///
/// The line contains what the system said, so there is no `source`: printing the chain of sources would say it twice.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The system refused.
    #[error("cannot {action} {}: {cause}{}", path.display(), hint(action, cause))]
    Io {
        /// What was attempted.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// Others could put something into the recording, or made the link that leads to it.
    #[error("cannot record into {}: {cause}; hint: {hint}", path.display())]
    Refused {
        /// The recording.
        path: PathBuf,
        /// Why not.
        cause: io::Error,
        /// What to do.
        hint: String,
    },
    /// The directory belongs to another run.
    #[error("{} holds another recording; hint: choose another -o DIR, or remove it", path.display())]
    Another {
        /// The directory.
        path: PathBuf,
    },
    /// The directory was another one when its recording began.
    #[error("{} is a recording that was begun as {called}, and takes no more processes; hint: choose another -o DIR", path.display())]
    Moved {
        /// The directory.
        path: PathBuf,
        /// Its path when it began.
        called: String,
    },
    /// Others could have put recordings there.
    #[error("cannot take recordings from {}, where others could have put them: {cause}", spool.display())]
    ForeignSpool {
        /// The spool.
        spool: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// Its files are at home: they would be taken out of it.
    #[error("{} is a recording, not a spool; hint: give --spool another directory", spool.display())]
    SpoolIsRecording {
        /// What was named as spool.
        spool: PathBuf,
    },
    /// The library takes targets as a list.
    #[error("target {name} ({}) has a comma in its path, or a sign in its name; hint: name it NAME=DIR, over a link without commas", path.display())]
    Target {
        /// Its name.
        name: String,
        /// Where it is.
        path: PathBuf,
    },
    /// A file could not be copied.
    #[error("cannot bring {} home from {} to {}: {cause}", name.display(), spool.display(), home.display())]
    BringHome {
        /// The file.
        name: PathBuf,
        /// Where it is.
        spool: PathBuf,
        /// Where it should be.
        home: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The preload library was not found.
    #[error("{missing}; hint: {}", missing.hint())]
    NoLibrary {
        /// What is missing.
        missing: PreloadMissing,
    },
    /// The dynamic linker separates the entries of LD_PRELOAD by blanks and colons.
    #[error(
        "{} cannot be preloaded: its path has a blank or a colon; hint: set PLIMSOLL_LIBRARY to a copy elsewhere",
        library.display()
    )]
    Unloadable {
        /// The preload library.
        library: PathBuf,
    },
    /// The library takes a list of globs apart at colons.
    #[error("the glob {glob:?} has a colon, which divides globs; hint: write ? in its place")]
    Colon {
        /// Which one.
        glob: String,
    },
    /// The library cannot hold so many.
    #[error("globs of {bytes} bytes; hint: use * to have fewer of them")]
    Globs {
        /// How long they are together.
        bytes: usize,
    },
}

impl RecordError {
    /// Returns what makes an error of the system one of this kind.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |cause| RecordError::Io { action, path, cause }
    }

    /// Returns why a directory that is there cannot be recorded into.
    pub(crate) fn cannot_open(path: &Path, cause: io::Error) -> Self {
        let hint = match Refusal::of(&cause) {
            Some(Refusal::Writable { .. }) => {
                format!("chmod go-w {}, or choose another DIR", path.display())
            }
            Some(Refusal::LinkOf { .. }) => "choose another DIR".to_string(),
            Some(Refusal::Owner { .. }) => {
                "choose another DIR: it is made for you alone".to_string()
            }
            _ => return RecordError::io("open the recording", path)(cause),
        };
        RecordError::Refused { path: path.to_path_buf(), cause, hint }
    }
}

/// What the place of a recording is chosen by, where the one that was chosen is no good.
pub(crate) const CREATE: &str = "create the recording";

fn hint(action: &str, cause: &io::Error) -> &'static str {
    let is_refused =
        matches!(cause.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem);
    if action == CREATE && is_refused { "; hint: -o DIR names another place" } else { "" }
}
