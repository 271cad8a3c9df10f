//! A day that takes the place of another, in one step: whoever lists it finds the old files or the new ones, never both.

use std::io;

use plimsoll_guarded::Directory;
use rustix::fs::{AtFlags, RenameFlags, linkat, renameat_with};
use rustix::io::Errno;

use crate::names::{NEW, OLD};
use crate::{Day, HistoryError};

/// A day in the making, beside the one that it is to replace.
pub(crate) struct Replacement<'a> {
    store: &'a Directory,
    name: String,
    /// Where its files are made.
    pub folder: Directory,
}

impl<'a> Replacement<'a> {
    /// Begins one, without files.
    pub fn begin(store: &'a Directory, day: Day) -> Result<Self, HistoryError> {
        let name = day.directory();
        let new = format!("{NEW}{name}");
        let made = remove_tree_if_there(store, &new).and_then(|()| store.make_own(&new));
        let folder = made.map_err(|it| HistoryError::io("make", &store.path().join(&new), it))?;
        Ok(Replacement { store, name, folder })
    }

    /// Takes over a file of the old day as it is: under a second name.
    pub fn keep(&self, old: &Directory, file: &str) -> Result<(), HistoryError> {
        linkat(old, file, &self.folder, file, AtFlags::empty()).map_err(|it| self.error(it.into()))
    }

    /// Takes the place of the old day, which goes.
    pub fn publish(self) -> Result<(), HistoryError> {
        self.folder
            .sync()
            .and_then(|()| exchange(self.store, &self.new_name(), &self.name))
            .map_err(|cause| self.error(cause))
    }

    /// Leaves everything as it is.
    pub fn give_up(self) -> Result<(), HistoryError> {
        remove_tree_if_there(self.store, &self.new_name()).map_err(|cause| self.error(cause))
    }

    fn new_name(&self) -> String {
        format!("{NEW}{}", self.name)
    }

    fn error(&self, cause: io::Error) -> HistoryError {
        HistoryError::io("replace", self.folder.path(), cause)
    }
}

/// Puts the new directory in the place of the old one, which goes.
fn exchange(store: &Directory, new: &str, name: &str) -> io::Result<()> {
    let old = format!("{OLD}{name}");
    match renameat_with(store, new, store, name, RenameFlags::EXCHANGE) {
        // Some file systems cannot exchange: for a moment there is no such day, and never two.
        Err(Errno::INVAL | Errno::NOSYS) => {
            store.rename(name, &old)?;
            store.rename(new, name)?;
        }
        exchanged => {
            exchanged?;
            store.rename(new, &old)?;
        }
    }
    store.sync()?;
    store.remove_tree(&old)
}

pub(crate) fn remove_tree_if_there(store: &Directory, name: &str) -> io::Result<()> {
    match store.facts_of(name) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        _ => store.remove_tree(name),
    }
}
