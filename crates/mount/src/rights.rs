//! Who may read a file.

use fuser::{FileAttr, FileType};

/// What the kernel is told of a file that decides who may read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    /// Who may list a directory may not for that read a file.
    pub kind: FileType,
    /// For owner, group and all.
    pub bits: u16,
    /// Whose it is.
    pub owner: u32,
    /// And the group's.
    pub group: u32,
}

impl Rights {
    /// Returns those in what is told of a file.
    pub fn of(told: &FileAttr) -> Self {
        Rights { kind: told.kind, bits: told.perm, owner: told.uid, group: told.gid }
    }
}
