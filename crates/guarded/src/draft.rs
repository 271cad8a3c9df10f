//! Files that are either complete or absent.

use std::borrow::Borrow;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use rustix::fs::{Gid, Mode, OFlags, RenameFlags, fchmod, fchown, fstat, renameat_with};
use rustix::io::Errno;

use crate::Directory;
use crate::access_list::has_list;
use crate::nameless::can_be_named;

/// Of a file that only its owner can open.
const PRIVATE: u32 = 0o600;

/// A file that is written under another name and gets its own once it is complete, so that readers find
/// the old one or the new one. It is removed if it is dropped before that.
///
/// It holds the directory that it is in, or borrows it.
#[derive(Debug)]
pub struct Draft<D: Borrow<Directory>> {
    directory: D,
    temporary: OsString,
    name: OsString,
    file: File,
    /// It has the other name.
    is_named: bool,
    has_its_name: bool,
}

impl<D: Borrow<Directory>> Draft<D> {
    /// Begins the file of that name, which only one process writes at a time.
    ///
    /// # Errors
    /// As [`Draft::create_as`].
    pub fn create(directory: D, name: impl AsRef<OsStr>, mode: u32) -> io::Result<Self> {
        let mut temporary = OsString::from(".");
        temporary.push(name.as_ref());
        temporary.push(".tmp");
        Self::create_as(directory, temporary, name, mode)
    }

    /// Begins the file of that name under this other one. What a killed process left there, or somebody
    /// planted, goes first, and is not followed if it is a link.
    ///
    /// # Errors
    /// If the system refuses to remove or to create.
    pub fn create_as(
        directory: D,
        temporary: impl AsRef<OsStr>,
        name: impl AsRef<OsStr>,
        mode: u32,
    ) -> io::Result<Self> {
        let (temporary, name) = (temporary.as_ref().to_owned(), name.as_ref().to_owned());
        directory.borrow().remove_file_if_there(&temporary)?;
        let file = directory.borrow().create(&temporary, OFlags::WRONLY, mode)?;
        Ok(Draft { directory, temporary, name, file, is_named: true, has_its_name: false })
    }

    /// Begins the file of that name, which only this user can open until it is complete. It has no name either where the file system knows that, so that
    /// nothing of it is left if the program ends before it is published; elsewhere it has this other one.
    ///
    /// # Errors
    /// As [`Draft::create_as`].
    pub fn create_unseen(
        directory: D,
        temporary: impl AsRef<OsStr>,
        name: impl AsRef<OsStr>,
    ) -> io::Result<Self> {
        // Without /proc it could never get a name.
        let nameless = directory.borrow().create_nameless(OFlags::WRONLY);
        let Some(file) = nameless.ok().filter(can_be_named) else {
            return Self::create_as(directory, temporary, name, PRIVATE);
        };
        let (temporary, name) = (temporary.as_ref().to_owned(), name.as_ref().to_owned());
        Ok(Draft { directory, temporary, name, file, is_named: false, has_its_name: false })
    }

    /// Returns where it is until it is complete.
    pub fn path(&self) -> PathBuf {
        self.directory.borrow().path().join(&self.temporary)
    }

    /// Returns the file itself.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Lets those read and write it who may read and write the file of this user's that it will replace. Where that file's
    /// group cannot be given to it, or an access control list decides, bits of the group would be another's, and nobody
    /// gets them.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn take_rights_of(&self, old: &File) -> io::Result<()> {
        take_rights(&self.file, old)
    }

    /// Makes what was written durable, still under the other name.
    ///
    /// # Errors
    /// If the system refuses: the disk is full, for example.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Gives the file its name, in place of what has it. The name is durable after
    /// [`Directory::sync`].
    ///
    /// # Errors
    /// If the system refuses, or if somebody put another file in its place: whoever may write to the
    /// directory can do so at any moment.
    pub fn publish(mut self) -> io::Result<()> {
        if !self.is_named {
            self.directory.borrow().give_name(&self.file, &self.temporary)?;
            self.is_named = true;
        }
        self.rename(|directory, from, to| directory.rename(from, to))
    }

    /// Gives the file its name, if nothing has it.
    ///
    /// # Errors
    /// As [`Draft::publish`], or if there is anything of that name.
    pub fn publish_new(self) -> io::Result<()> {
        if !self.is_named {
            return self.directory.borrow().give_name(&self.file, &self.name);
        }
        self.rename(|directory, from, to| {
            match renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE) {
                // Some file systems only know how to replace. A further name is not given over another file.
                Err(Errno::INVAL | Errno::NOSYS) => {
                    directory.link(from, to)?;
                    directory.remove_file(from)
                }
                renamed => Ok(renamed?),
            }
        })
    }

    fn rename(
        mut self,
        rename: impl FnOnce(&Directory, &OsStr, &OsStr) -> io::Result<()>,
    ) -> io::Result<()> {
        let directory = self.directory.borrow();
        directory.require_same(&self.temporary, &self.file)?;
        rename(directory, &self.temporary, &self.name)?;
        directory.require_same(&self.name, &self.file)?;
        self.has_its_name = true;
        Ok(())
    }
}

/// Lets those read and write a file of this user's who may do so with another one. Where that one's group cannot be given to it, or an
/// access control list decides, bits of the group would be another's, and nobody gets them.
fn take_rights(file: &File, old: &File) -> io::Result<()> {
    let facts = fstat(old)?;
    let (owner, group, others) =
        (facts.st_mode & 0o600, facts.st_mode & 0o060, facts.st_mode & 0o006);
    let has_group = fstat(file)?.st_gid == facts.st_gid
        || fchown(file, None, Some(Gid::from_raw(facts.st_gid))).is_ok();
    let mode = if has_group && !has_list(old) && !has_list(file) {
        owner | group | others
    } else {
        // Members of the old group are among the others now.
        owner | others & group >> 3
    };
    Ok(fchmod(file, Mode::from_raw_mode(mode))?)
}

impl<D: Borrow<Directory>> Write for Draft<D> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl<D: Borrow<Directory>> Drop for Draft<D> {
    fn drop(&mut self) {
        let directory = self.directory.borrow();
        if self.is_named
            && !self.has_its_name
            && directory.require_same(&self.temporary, &self.file).is_ok()
        {
            // Half a file is worse than none; that it stays is no worse than why.
            let _ = directory.remove_file_if_there(&self.temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Refusal;
    use crate::refusal::refused;
    use std::fs;

    /// Group and bits of the file that replaces one of this group and these bits.
    fn rights_after(folder: &std::path::Path, group: u32, mode: u32) -> (u32, u32) {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let path = folder.join("it");
        fs::write(&path, "").unwrap();
        std::os::unix::fs::chown(&path, None, Some(group)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        rights_of_replacement(folder).map(|it| (it.gid(), it.mode() & 0o7777)).unwrap()
    }

    fn rights_of_replacement(folder: &std::path::Path) -> io::Result<fs::Metadata> {
        let directory = Directory::open(folder)?;
        let draft = Draft::create(&directory, "it", 0o600)?;
        draft.take_rights_of(&File::open(folder.join("it"))?)?;
        draft.publish()?;
        fs::metadata(folder.join("it"))
    }

    #[test]
    fn what_replaces_a_file_is_open_to_nobody_else() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED: groups need root");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(rights_after(folder.path(), 4321, 0o664), (4321, 0o664));
        assert_eq!(rights_after(folder.path(), 4321, 0o6640), (4321, 0o640), "no other bits");
        // A list of this user, user 4321, the group, its mask and others (acl(5), posix_acl_xattr.h).
        let entries = [(1u16, 6u16, u32::MAX), (2, 6, 4321), (4, 0, u32::MAX), (16, 6, u32::MAX)];
        let mut list = 2u32.to_le_bytes().to_vec();
        for (tag, rights, who) in entries.into_iter().chain([(32, 0, u32::MAX)]) {
            list.extend(tag.to_le_bytes().into_iter().chain(rights.to_le_bytes()));
            list.extend(who.to_le_bytes());
        }
        let path = folder.path().join("it");
        let flags = rustix::fs::XattrFlags::empty();
        match rustix::fs::setxattr(&path, crate::ACCESS_LIST, &list, flags) {
            Ok(()) => {
                assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o660, "the mask");
                let mode = rights_of_replacement(folder.path()).unwrap().mode();
                assert_eq!(mode & 0o777, 0o600, "the mask was not the group's");
            }
            Err(cause) => println!("SKIPPED: no access control lists here: {cause}"),
        }
        // Whoever is not in the group cannot give it.
        fs::write(&path, "").unwrap();
        std::os::unix::fs::chown(&path, Some(1234), Some(4321)).unwrap();
        std::os::unix::fs::chown(folder.path(), Some(1234), Some(1234)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).unwrap();
        let folder = folder.path().to_path_buf();
        let facts = std::thread::spawn(move || {
            crate::act_as(1234, 1234).unwrap();
            rights_of_replacement(&folder).unwrap()
        });
        let facts = facts.join().unwrap();
        assert_eq!((facts.gid(), facts.mode() & 0o777), (1234, 0o604), "others could read it");
    }

    #[test]
    fn readers_find_the_old_file_or_the_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let (directory, path) = (Directory::open(folder.path()).unwrap(), folder.path().join("it"));
        fs::write(&path, "old").unwrap();
        fs::write(folder.path().join("precious"), "thesis").unwrap();
        std::os::unix::fs::symlink("precious", folder.path().join(".it.tmp")).unwrap();
        let mut draft = Draft::create(&directory, "it", 0o600).unwrap();
        draft.write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_to_string(draft.path()).unwrap(), "new");
        draft.sync().unwrap();
        draft.publish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        drop(Draft::create(&directory, "half", 0o600).unwrap());
        assert_eq!(fs::read_to_string(folder.path().join("precious")).unwrap(), "thesis");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "half a file is none");
    }
    #[test]
    fn a_new_file_takes_the_name_of_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it");
        let begin = || {
            let directory = Directory::open(folder.path()).unwrap();
            let mut draft = Draft::create_as(directory, "other", "it", 0o600).unwrap();
            draft.write_all(b"new").unwrap();
            draft
        };
        let draft = begin();
        fs::write(&path, "somebody was quicker").unwrap();
        assert_eq!(draft.publish_new().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "somebody was quicker");
        assert!(!folder.path().join("other").exists());
        fs::remove_file(&path).unwrap();
        begin().publish_new().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn a_file_that_somebody_put_in_its_place_gets_no_name_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        for publish in [Draft::publish, Draft::publish_new] {
            let draft = Draft::create(&directory, "it", 0o600).unwrap();
            fs::write(folder.path().join("thesis"), "thesis").unwrap();
            fs::rename(folder.path().join("thesis"), draft.path()).unwrap();
            let path = draft.path();
            assert_eq!(refused(publish(draft)), Refusal::ExchangedFile);
            assert_eq!(fs::read_to_string(path).unwrap(), "thesis");
            assert!(!folder.path().join("it").exists());
        }
    }
}
