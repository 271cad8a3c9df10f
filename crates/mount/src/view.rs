//! What is told of the directory that is mounted, and of all below.
//!
//! The kernel decides who may do what by what it was told last. So each thing that is opened, listed or looked into must be the very
//! one that was told of, with the same rights: by its name alone, it could be another that somebody put there meanwhile.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use fuser::{Errno, FileAttr, FileHandle, FopenFlags, INodeNo};
use plimsoll_guarded::Directory;
use rustix::fs::{Mode, OFlags, StatVfs, fstat, openat, readlinkat, statvfs};

use crate::answered_by::AnsweredBy;
use crate::budget::Budget;
use crate::containers::Containers;
use crate::entry::{Entry, attributes_of, directory_at, identity_of, look, require_same};
use crate::errno;
use crate::habits::Habits;
use crate::handles::Handles;
use crate::listing::Listing;
use crate::nodes::{Nodes, ROOT};
use crate::open_file::OpenFile;
use crate::place::{Identity, Place};
use crate::rights::Rights;
use crate::whose::Whose;

/// Windows of all open files together: 128 MiB.
const WINDOWS_MAX: usize = 32;

/// What is told.
#[derive(Debug)]
pub struct View {
    root: Arc<Directory>,
    nodes: Nodes,
    containers: Arc<Containers>,
    budget: Budget,
    files: Handles<OpenFile>,
    listings: Handles<Listing>,
    habits: Arc<Habits>,
}

/// What was found at a name.
pub struct FoundEntry {
    above: Arc<Place>,
    name: OsString,
    entry: Entry,
    identity: Identity,
    /// The directory above.
    directory: Arc<Directory>,
}

impl FoundEntry {
    /// Returns who looks at it.
    pub fn answered_by(&self, view: &View) -> AnsweredBy {
        let Entry::Container(directory) = &self.entry else { return AnsweredBy::Any };
        // Who cannot be asked is trusted with nothing.
        let whose = directory.facts().map_or(Whose::Others, |it| Whose::of(it.st_uid));
        AnsweredBy::of(whose, view.containers.is_open(self.identity))
    }

    /// Opens it, if it is a container and that takes no longer than usual; returns whether it did.
    pub fn is_opened_quickly(&self, view: &View) -> bool {
        match &self.entry {
            Entry::Container(directory) => {
                directory.again().is_ok_and(|it| view.containers.open_quickly(it))
            }
            Entry::Other(_) => true,
        }
    }
}

impl View {
    /// Shows a directory.
    ///
    /// # Errors
    /// If it cannot be looked at.
    pub fn of(
        root: Directory,
        containers: Arc<Containers>,
        habits: Arc<Habits>,
    ) -> io::Result<Self> {
        let facts = root.facts()?;
        let rights = Rights::of(&attributes_of(ROOT, &facts));
        Ok(View {
            root: Arc::new(root),
            nodes: Nodes::new(identity_of(&facts), rights),
            containers,
            budget: Budget::new(WINDOWS_MAX),
            files: Handles::new(),
            listings: Handles::new(),
            habits,
        })
    }

    /// The kernel maps files that are read past its cache.
    pub fn note_mapping(&self) {
        self.habits.note_mapping();
    }

    /// Looks for a name in a directory.
    ///
    /// # Errors
    /// If there is nothing, or the directory is another by now.
    pub fn seek(&self, above: u64, name: &OsStr) -> Result<FoundEntry, Errno> {
        let place = self.nodes.place(above).ok_or(Errno::ENOENT)?;
        self.found(place, name.to_os_string())
    }

    /// Looks again for what the kernel was told of.
    ///
    /// # Errors
    /// If it is not there any more.
    pub fn seek_again(&self, number: u64) -> Result<FoundEntry, Errno> {
        let place = self.nodes.place(number).ok_or(Errno::ENOENT)?;
        let (above, name) = place.step().ok_or(Errno::EISDIR)?;
        self.found(above.clone(), name.to_os_string())
    }

    fn found(&self, above: Arc<Place>, name: OsString) -> Result<FoundEntry, Errno> {
        let looked = look(&self.root, &above, &name).map_err(|it| errno::of_system(&it))?;
        let (entry, identity, directory) = looked;
        Ok(FoundEntry { above, name, entry, identity, directory })
    }

    /// Tells of what was found at a name in a directory of this number.
    ///
    /// # Errors
    /// If it cannot be looked at.
    pub fn tell(&self, above: u64, found: FoundEntry) -> Result<FileAttr, Errno> {
        let attributes = self.facts(found.entry, 0)?;
        let place = found.above.below(&found.name, found.identity).ok_or(Errno::ENAMETOOLONG)?;
        let number = self.nodes.tell(above, place, Rights::of(&attributes));
        Ok(FileAttr { ino: INodeNo(number), ..attributes })
    }

    /// The kernel forgets what it was told so many times.
    pub fn forget(&self, number: u64, times: u64) {
        self.nodes.forget(number, times);
    }

    /// Tells again of what is open.
    ///
    /// # Errors
    /// If it cannot be looked at.
    pub fn attributes_of(&self, number: u64, file: &OpenFile) -> Result<FileAttr, Errno> {
        let attributes = file.attributes(number)?;
        self.nodes.tell_rights(number, Rights::of(&attributes));
        Ok(attributes)
    }

    /// Tells again of the directory that is mounted.
    ///
    /// # Errors
    /// If it cannot be looked at.
    pub fn attributes_of_root(&self) -> Result<FileAttr, Errno> {
        let facts = self.root.facts().map_err(|it| errno::of_system(&it))?;
        let attributes = attributes_of(ROOT, &facts);
        self.nodes.tell_rights(ROOT, Rights::of(&attributes));
        Ok(attributes)
    }

    /// Tells again of what was found where the kernel was told of something.
    ///
    /// # Errors
    /// If another is in its place.
    pub fn tell_again(&self, number: u64, found: FoundEntry) -> Result<FileAttr, Errno> {
        let identity = found.identity;
        let attributes = self.facts(found.entry, number)?;
        if self.identity(number)? != identity {
            return Err(Errno::ESTALE);
        }
        self.nodes.tell_rights(number, Rights::of(&attributes));
        Ok(attributes)
    }

    fn identity(&self, number: u64) -> Result<Identity, Errno> {
        Ok(self.nodes.place(number).ok_or(Errno::ENOENT)?.identity())
    }

    /// Returns what is told of what was found.
    fn facts(&self, entry: Entry, number: u64) -> Result<FileAttr, Errno> {
        match entry {
            Entry::Other(facts) => Ok(attributes_of(number, &facts)),
            Entry::Container(directory) => self.containers.look_at(directory)?.attributes(number),
        }
    }

    /// Opens a file that was found where the kernel was told of it.
    ///
    /// # Errors
    /// If it is not there any more, another or has other rights.
    pub fn open(&self, number: u64, found: FoundEntry) -> Result<(FileHandle, FopenFlags), Errno> {
        let place = self.nodes.place(number).ok_or(Errno::ENOENT)?;
        let FoundEntry { entry, identity, directory: above, name, .. } = found;
        if identity != place.identity() {
            return Err(Errno::ESTALE);
        }
        match entry {
            Entry::Container(directory) => {
                let container = self.containers.look_at(directory)?;
                self.require_rights(number, &container.attributes(number)?)?;
                let (is_whole, size) = (container.reader().is_whole(), container.reader().size());
                // Where something is missing, nobody knows that the file ends where it seems to: reading on must fail, and
                // only what does not go through the kernel's cache comes here then.
                let (file, flags) = match is_whole && self.habits.is_for_cache(identity, size) {
                    true => OpenFile::through_cache(container, &self.budget, number),
                    false => {
                        let reading = self.habits.watch(identity, size);
                        let file = OpenFile::past_cache(container, &self.budget, reading);
                        (file, FopenFlags::FOPEN_DIRECT_IO)
                    }
                };
                Ok((self.files.add(file), flags))
            }
            Entry::Other(_) => {
                let file = above.open_file(&name, OFlags::RDONLY);
                let file = file.map_err(|it| errno::of_system(&it))?;
                // Another may have this name since it was looked at.
                let facts = fstat(&file).map_err(|it| errno::of_system(&it.into()))?;
                require_same(&place, &facts).map_err(|it| errno::of_system(&it))?;
                self.require_rights(number, &attributes_of(number, &facts))?;
                Ok((self.files.add(OpenFile::Plain(file)), FopenFlags::empty()))
            }
        }
    }

    /// Makes sure that the kernel knew who may read something when it let somebody in.
    fn require_rights(&self, number: u64, found: &FileAttr) -> Result<(), Errno> {
        match self.nodes.rights(number) == Some(Rights::of(found)) {
            true => Ok(()),
            false => Err(Errno::ESTALE),
        }
    }

    /// Returns a file that is open.
    pub fn file(&self, handle: FileHandle) -> Option<Arc<OpenFile>> {
        self.files.get(handle)
    }

    /// Returns the containers.
    pub fn containers(&self) -> &Containers {
        &self.containers
    }

    /// Closes a file.
    pub fn close(&self, handle: FileHandle) {
        self.files.remove(handle);
    }

    /// Begins to list a directory.
    ///
    /// # Errors
    /// If it is not there any more, another or has other rights.
    pub fn list(&self, number: u64) -> Result<FileHandle, Errno> {
        let place = self.nodes.place(number).ok_or(Errno::ENOENT)?;
        let directory = directory_at(&self.root, &place).map_err(|it| errno::of_system(&it))?;
        let facts = directory.facts().map_err(|it| errno::of_system(&it))?;
        self.require_rights(number, &attributes_of(number, &facts))?;
        let listing = Listing::of(directory).map_err(|it| errno::of_system(&it))?;
        Ok(self.listings.add(listing))
    }

    /// Returns a directory that is being listed.
    pub fn listing(&self, handle: FileHandle) -> Option<Arc<Listing>> {
        self.listings.get(handle)
    }

    /// A directory was listed.
    pub fn close_listing(&self, handle: FileHandle) {
        self.listings.remove(handle);
    }

    /// Returns where a link leads.
    ///
    /// # Errors
    /// If it is not there any more, or another.
    pub fn link(&self, number: u64) -> io::Result<Vec<u8>> {
        let place = self.nodes.place(number).ok_or(rustix::io::Errno::NOENT)?;
        let (above, name) = place.step().ok_or(rustix::io::Errno::INVAL)?;
        let above = directory_at(&self.root, above)?;
        // What another user serves is not asked.
        require_same(&place, &above.facts_of(name)?)?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = openat(&*above, name.as_bytes(), flags, Mode::empty())?;
        require_same(&place, &fstat(&held)?)?;
        Ok(readlinkat(&held, "", Vec::new())?.into_bytes())
    }

    /// Returns how full its file system is.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn fill(&self) -> io::Result<StatVfs> {
        Ok(statvfs(self.root.path_by_descriptor())?)
    }
}
