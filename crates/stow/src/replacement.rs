//! Other names for a container, and its own for the plain file that it holds.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;

use plimsoll_guarded::{Directory, random_hex};
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::container::Way;
use crate::error::Attempt;
use crate::{Container, StowError};

/// The plain file that a container holds, until it is whole. In the container nobody else can exchange it.
pub const FLAT: &str = "flat";

impl Container {
    /// Gives its name to [`FLAT`], which is this open file and lies in it. The container has another name then.
    ///
    /// # Errors
    /// If the system refuses, or if somebody exchanged one of the names: whoever may write beside it can.
    pub fn give_name_to(&mut self, flat: &File) -> Result<(), StowError> {
        let path = self.path().to_path_buf();
        self.require_in_place()?;
        let Way::Named { parent, name } = self.way() else {
            return Err(Errno::INVAL).attempt("replace", path);
        };
        let aside = aside_of(name).attempt("replace", &path)?;
        let replaced = move_out(self, parent, &aside, flat)
            .and_then(|()| exchange(parent, &aside, name))
            .and_then(|()| {
                let is_done = parent.require_same(name, flat);
                let is_done =
                    is_done.and_then(|()| parent.require_same_directory(&aside, self.directory()));
                // Whatever was exchanged gets its name back.
                is_done.inspect_err(|_| drop(exchange(parent, &aside, name)))
            });
        if replaced.is_err() && parent.require_same(&aside, flat).is_ok() {
            let _ = parent.remove_file(&aside);
        }
        replaced.and_then(|()| parent.sync()).attempt("replace", &path)?;
        self.note_name(&aside);
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
