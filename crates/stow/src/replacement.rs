//! Other names for a container, and its own for the plain file that it holds.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;

use plimsoll_guarded::{ACCESS_LIST, Directory, random_hex};
use rustix::fs::{
    Gid, Mode, OFlags, RenameFlags, Timespec, Timestamps, Uid, XattrFlags, fchmod, fchown,
    fgetxattr, flistxattr, fremovexattr, fsetxattr, fstat, futimens, renameat_with,
};
use rustix::io::Errno;

use crate::container::{ANCHOR, Way};
use crate::error::Attempt;
use crate::standing::is_surely_original;
use crate::{Container, StowError};

/// The plain file that a container holds, until it is whole. In the container nobody else can exchange it.
pub const FLAT: &str = "flat";

impl Container {
    /// Gives a plain file the rights, times and attributes of its own file, which the anchor has. Whoever wrote the anchor of a copy may not be who wrote the logs:
    /// what is made of one is private, and a program if it was one.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn give_rights_to(&self, flat: &File) -> Result<(), StowError> {
        let is_original = is_surely_original(self)?;
        let anchor = self.directory().open_file(ANCHOR, OFlags::RDONLY);
        let given = anchor.and_then(|anchor| match is_original {
            true => Ok(dress(flat, &anchor)?),
            false => {
                let mode = 0o600 | fstat(&anchor)?.st_mode & 0o100;
                Ok(fchmod(flat, Mode::from_raw_mode(mode))?)
            }
        });
        given.attempt("give a plain file the rights of", self.path())
    }

    /// Gives its name to [`FLAT`], which is this open file and lies in it. The container has another name then.
    ///
    /// # Errors
    /// If the system refuses, or if somebody exchanged one of the names: whoever may write beside it can.
    pub fn give_name_to(&mut self, flat: &File) -> Result<(), StowError> {
        let Way::Named { name, .. } = self.way() else {
            return Err(Errno::INVAL).attempt("replace", self.path());
        };
        let aside = aside_of(name).attempt("replace", self.path())?;
        self.exchange_with(flat, &aside, || Ok(()))
    }

    /// Does the same; the container has this name then. What must hold once the names are exchanged is asked last: otherwise both have their old ones again.
    ///
    /// # Errors
    /// As [`Container::give_name_to`], or if that does not hold.
    pub fn exchange_with(
        &mut self,
        flat: &File,
        aside: &OsStr,
        must_hold: impl FnOnce() -> io::Result<()>,
    ) -> Result<(), StowError> {
        let path = self.path().to_path_buf();
        self.require_in_place()?;
        let Way::Named { parent, name } = self.way() else {
            return Err(Errno::INVAL).attempt("replace", path);
        };
        let replaced = move_out(self, parent, aside, flat)
            .and_then(|()| exchange(parent, aside, name))
            .and_then(|()| {
                let is_done = parent.require_same_directory(aside, self.directory());
                // Whatever was exchanged gets its name back, unless somebody has moved the file on or replaced it since.
                is_done.and_then(|()| must_hold()).inspect_err(|_| {
                    if parent.require_same(name, flat).is_ok() {
                        drop(exchange(parent, aside, name));
                    }
                })
            });
        if replaced.is_err() && parent.require_same(aside, flat).is_ok() {
            let _ = parent.remove_file(aside);
        }
        replaced.and_then(|()| parent.sync()).attempt("replace", &path)?;
        self.note_name(aside);
        Ok(())
    }

    /// Gives it another name beside its own, unless there is something of that name.
    ///
    /// # Errors
    /// If there is, or if somebody exchanged it.
    pub fn rename(&mut self, new: &OsStr) -> Result<(), StowError> {
        let Way::Named { parent, name } = self.way() else {
            return Err(Errno::INVAL).attempt("rename", self.path());
        };
        let path = parent.path().join(new);
        parent.rename_directory(name, new, self.directory()).attempt("make", &path)?;
        let synced = parent.sync();
        self.note_name(new);
        synced.attempt("make durable", path)
    }
}

/// Longest list of attributes, and longest attribute (linux/limits.h).
const ATTRIBUTE_BYTES: usize = 64 << 10;

fn dress(file: &File, anchor: &File) -> Result<(), Errno> {
    let facts = fstat(anchor)?;
    if fstat(file)?.st_uid != facts.st_uid {
        fchown(file, Some(Uid::from_raw(facts.st_uid)), None)?;
    }
    let has_group = fstat(file)?.st_gid == facts.st_gid
        || fchown(file, None, Some(Gid::from_raw(facts.st_gid))).is_ok();
    let (owner, group, others) =
        (facts.st_mode & 0o700, facts.st_mode & 0o070, facts.st_mode & 0o007);
    // Members of the group that cannot be given are among the others now.
    let mode = if has_group { facts.st_mode & 0o7777 } else { owner | others & group >> 3 };
    // A list of who may do what counts instead of the bits of the group, and comes with the attributes: until then nobody but the owner may.
    fchmod(file, Mode::from_raw_mode(owner))?;
    give_attributes(file, anchor)?;
    fchmod(file, Mode::from_raw_mode(mode))?;
    let time = |tv_sec, tv_nsec| Timespec { tv_sec, tv_nsec: tv_nsec as _ };
    futimens(
        file,
        &Timestamps {
            last_access: time(facts.st_atime as _, facts.st_atime_nsec),
            last_modification: time(facts.st_mtime as _, facts.st_mtime_nsec),
        },
    )
}

fn give_attributes(file: &File, anchor: &File) -> Result<(), Errno> {
    // What the directory that it was made in gives to all, the anchor was given as well, and may have lost since.
    match fremovexattr(file, ACCESS_LIST) {
        Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => {}
        Err(errno) => return Err(errno),
    }
    let (mut names, mut value) = (vec![0; ATTRIBUTE_BYTES], vec![0; ATTRIBUTE_BYTES]);
    let length = match flistxattr(anchor, &mut names[..]) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(()),
        listed => listed?,
    };
    for name in names[..length].split(|byte| *byte == 0).filter(|it| !it.is_empty()) {
        let length = fgetxattr(anchor, name, &mut value[..])?;
        match fsetxattr(file, name, &value[..length], XattrFlags::empty()) {
            // Those of the system are not everybody's to give.
            Err(Errno::PERM) if !name.starts_with(b"user.") => {}
            given => given?,
        }
    }
    Ok(())
}

fn aside_of(name: &OsStr) -> io::Result<OsString> {
    let mut aside = OsString::from(".");
    aside.push(name);
    aside.push(format!(".{}.part", random_hex(8)?));
    Ok(aside)
}

fn move_out(from: &Container, parent: &Directory, to: &OsStr, flat: &File) -> io::Result<()> {
    from.directory().require_same(FLAT, flat)?;
    match renameat_with(from.directory(), FLAT, parent, to, RenameFlags::NOREPLACE) {
        // Nobody can guess the name.
        Err(Errno::INVAL | Errno::NOSYS) => {
            rustix::fs::renameat(from.directory(), FLAT, parent, to)?;
        }
        renamed => renamed?,
    }
    parent.require_same(to, flat)
}

/// Exchanges two names at once, or one after the other where the file system does not know that.
fn exchange(parent: &Directory, one: &OsStr, other: &OsStr) -> io::Result<()> {
    match renameat_with(parent, one, parent, other, RenameFlags::EXCHANGE) {
        Err(Errno::INVAL | Errno::NOSYS) => {
            let between = aside_of(other)?;
            parent.rename(other, &between)?;
            let renamed = parent.rename(one, other);
            if renamed.is_err() {
                // It has its name again.
                let _ = parent.rename(&between, other);
            }
            renamed.and_then(|()| parent.rename(&between, one))
        }
        exchanged => Ok(exchanged?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The attack: a directory gives everything that is made in it a list by which another user may do anything. The owner has taken it from the file.
    #[test]
    fn a_list_that_was_taken_from_the_file_does_not_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let listed = |entries: &[(u16, u16, u32)]| {
            let mut list = 2u32.to_le_bytes().to_vec();
            for (tag, rights, who) in entries {
                list.extend(tag.to_le_bytes().into_iter().chain(rights.to_le_bytes()));
                list.extend(who.to_le_bytes());
            }
            list
        };
        // The owner, user 4321, the group, the mask and others (acl(5), posix_acl_xattr.h).
        let nobody = u32::MAX;
        let all = [(1, 7, nobody), (2, 7, 4321), (4, 0, nobody), (16, 7, nobody), (32, 0, nobody)];
        let (list, flags) = (listed(&all), XattrFlags::empty());
        let given = rustix::fs::setxattr(folder.path(), "system.posix_acl_default", &list, flags);
        if let Err(cause) = given {
            println!("SKIPPED: no access control lists here: {cause}");
            return;
        }
        let made = |name: &str| File::create(folder.path().join(name)).unwrap();
        let (anchor, flat) = (made("anchor"), made("flat"));
        let has_list = |file: &File| fgetxattr(file, ACCESS_LIST, &mut [0; 4096][..]).is_ok();
        assert!(has_list(&anchor) && has_list(&flat));
        dress(&flat, &anchor).unwrap();
        assert!(has_list(&flat), "it is the anchor's");
        fremovexattr(&anchor, ACCESS_LIST).unwrap();
        fchmod(&anchor, Mode::from_raw_mode(0o770)).unwrap();
        dress(&flat, &anchor).unwrap();
        assert!(!has_list(&flat));
        assert_eq!(fstat(&flat).unwrap().st_mode & 0o777, 0o770);
    }
}
