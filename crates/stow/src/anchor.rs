//! The anchor: an empty file that has the rights and the times of the file that a container holds.
//!
//! To whom it is readable holds for all parts of the container, also where these came with other rights, as from an archive: whoever
//! writes to it, or changes the rights of its file, takes them from all others.

use std::os::fd::AsFd;

use plimsoll_guarded::Directory;
use rustix::fs::{AtFlags, Mode, chmodat, fchmod, fstat};
use rustix::io::Errno;

use crate::rights::{OTHERS_WRITE, PRIVATE_FILE};

/// The file whose rights and times are those of the container. It is always empty.
pub const ANCHOR: &str = "anchor";

/// The rights to read of the group and of all others, and all rights of theirs.
const CLASSES: [(u32, u32); 2] = [(0o040, 0o070), (0o004, 0o007)];

/// Keeps those out of the directory of a container to whom a file of this mode is not readable.
///
/// # Errors
/// If the system refuses.
pub fn keep_out(directory: impl AsFd, mode: u32) -> Result<(), Errno> {
    let own = mode_of(&directory)?;
    match kept(own, mode) {
        same if same == own => Ok(()),
        kept => chmodat(directory, c".", Mode::from_raw_mode(kept), AtFlags::empty()),
    }
}

/// Keeps those out of a container to whom its file is not readable. Some file systems have no permissions.
pub(crate) fn keep_private(directory: &Directory) {
    let _ = keep_out(directory, anchor_mode(directory));
}

/// Keeps the same out of an open file of it.
pub(crate) fn keep_private_file(file: impl AsFd, directory: &Directory) {
    let Ok(own) = mode_of(&file) else { return };
    let kept = kept(own, anchor_mode(directory));
    if kept != own {
        let _ = fchmod(file, Mode::from_raw_mode(kept));
    }
}

pub(crate) fn anchor_mode(directory: &Directory) -> u32 {
    directory.facts_of(ANCHOR).map_or(PRIVATE_FILE, |it| it.st_mode)
}

fn mode_of(part: impl AsFd) -> Result<u32, Errno> {
    Ok(fstat(part)?.st_mode & 0o7777)
}

/// Returns which of the rights to a part others keep: none to write, and none at all who may not read the file.
fn kept(part: u32, file: u32) -> u32 {
    let barred = CLASSES.iter().filter(|(read, _)| file & read == 0);
    part & !barred.fold(OTHERS_WRITE, |barred, (_, all)| barred | all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_not_read_the_file_has_no_rights_to_its_parts_and_nobody_else_writes() {
        assert_eq!(kept(0o755, 0o600), 0o700);
        assert_eq!(kept(0o666, 0o644), 0o644);
        assert_eq!(kept(0o4777, 0o640), 0o4750);
        assert_eq!(kept(0o700, 0o666), 0o700);
    }
}
