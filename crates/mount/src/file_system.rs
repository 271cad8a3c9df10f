//! Answers what the kernel asks.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyStatfs, Request,
};
use plimsoll_guarded::Directory;
use plimsoll_stow::Container;
use rustix::fs::{OFlags, readlinkat, statvfs};

use crate::budget::Budget;
use crate::containers::Containers;
use crate::entry::{Entry, attributes_of, directory_at, identity_of, kind_of, look};
use crate::errno;
use crate::nodes::{Identity, Nodes, Place};
use crate::open_file::OpenFile;

/// Nothing that was told is believed later: a container may have grown.
const NO_TIME: Duration = Duration::ZERO;

/// Names of directories have no numbers before they are looked up (FUSE_UNKNOWN_INO in libfuse).
const UNKNOWN: INodeNo = INodeNo(0xffff_ffff);

/// Windows of all open files together: 128 MiB.
const WINDOWS_MAX: usize = 32;

/// Requests for reading ahead that may be under way at once.
const BACKGROUND_MAX: u16 = 64;

/// The file system.
#[derive(Debug)]
pub struct View {
    root: Arc<Directory>,
    nodes: Nodes,
    containers: Arc<Containers>,
    budget: Budget,
    files: Handles<OpenFile>,
    listings: Handles<Vec<(OsString, FileType)>>,
    /// Whether all that is read of containers goes past the kernel's cache.
    is_direct: bool,
}

/// What programs have open, by number.
#[derive(Debug)]
struct Handles<T> {
    open: RwLock<(u64, HashMap<u64, Arc<T>>)>,
}

impl<T> Handles<T> {
    fn new() -> Self {
        Handles { open: RwLock::new((1, HashMap::new())) }
    }

    fn add(&self, it: T) -> FileHandle {
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        let number = open.0;
        open.0 += 1;
        open.1.insert(number, Arc::new(it));
        FileHandle(number)
    }

    fn get(&self, handle: FileHandle) -> Option<Arc<T>> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.1.get(&handle.0).cloned()
    }

    fn remove(&self, handle: FileHandle) {
        self.open.write().unwrap_or_else(PoisonError::into_inner).1.remove(&handle.0);
    }
}

impl View {
    /// Shows a directory.
    ///
    /// # Errors
    /// If it cannot be looked at.
    pub fn of(root: Directory, containers: Arc<Containers>, is_direct: bool) -> io::Result<Self> {
        let identity = identity_of(&root.facts()?);
        Ok(View {
            root: Arc::new(root),
            nodes: Nodes::new(identity),
            containers,
            budget: Budget::new(WINDOWS_MAX),
            files: Handles::new(),
            listings: Handles::new(),
            is_direct,
        })
    }

    /// Returns what is told of what is at a place, and what it is.
    fn facts_at(&self, place: &Place, number: u64) -> Result<(FileAttr, Identity), Errno> {
        match look(&self.root, place).map_err(|it| errno::of_system(&it))? {
            Entry::Other(facts) => Ok((attributes_of(number, &facts), identity_of(&facts))),
            Entry::Container(directory) => {
                let facts = directory.facts().map_err(|it| errno::of_system(&it))?;
                let container = self.containers.look_at(directory)?;
                Ok((container.attributes(number)?, identity_of(&facts)))
            }
        }
    }

    fn find(&self, above: u64, name: &OsStr) -> Result<FileAttr, Errno> {
        let place = self.nodes.below(above, name).ok_or(Errno::ENOENT)?;
        let (attributes, identity) = self.facts_at(&place, 0)?;
        let number = self.nodes.tell(above, name, place, identity);
        Ok(FileAttr { ino: INodeNo(number), ..attributes })
    }

    fn place(&self, number: INodeNo) -> Result<Arc<Place>, Errno> {
        self.nodes.place(number.0).ok_or(Errno::ENOENT)
    }

    fn open_at(&self, number: INodeNo) -> Result<(OpenFile, FopenFlags), Errno> {
        let place = self.place(number)?;
        match look(&self.root, &place).map_err(|it| errno::of_system(&it))? {
            Entry::Container(directory) => {
                let container = self.containers.look_at(directory)?;
                // Where something is missing, nobody knows that the file ends where it seems to: reading on must fail, and
                // only what does not go through the kernel's cache comes here then.
                let is_cached = container.is_cached(number.0);
                let flags = match container.reader().is_whole() && !self.is_direct {
                    true if is_cached => FopenFlags::FOPEN_KEEP_CACHE,
                    true => FopenFlags::empty(),
                    false => FopenFlags::FOPEN_DIRECT_IO,
                };
                Ok((OpenFile::of(container, &self.budget), flags))
            }
            Entry::Other(_) => {
                let (above, name) = place.step().ok_or(Errno::EISDIR)?;
                let above = directory_at(&self.root, above);
                let file = above.and_then(|it| it.open_file(name, OFlags::RDONLY));
                let file = file.map_err(|it| errno::of_system(&it))?;
                Ok((OpenFile::Plain(file), FopenFlags::empty()))
            }
        }
    }

    /// Returns what is in a directory, containers as the files that they are.
    fn list(&self, number: INodeNo) -> io::Result<Vec<(OsString, FileType)>> {
        let place = self.nodes.place(number.0).ok_or(rustix::io::Errno::NOENT)?;
        let directory = directory_at(&self.root, &place)?;
        let mut entries = vec![
            (OsString::from("."), FileType::Directory),
            (OsString::from(".."), FileType::Directory),
        ];
        for name in directory.names()? {
            // What was removed meanwhile is not there.
            let Ok(facts) = directory.facts_of(&name) else { continue };
            let kind = match kind_of(&facts) {
                FileType::Directory => {
                    let is_one = directory.child(&name).is_ok_and(|it| Container::is_in(&it));
                    if is_one { FileType::RegularFile } else { FileType::Directory }
                }
                kind => kind,
            };
            entries.push((name, kind));
        }
        Ok(entries)
    }

    fn link_at(&self, number: INodeNo) -> io::Result<Vec<u8>> {
        let place = self.nodes.place(number.0).ok_or(rustix::io::Errno::NOENT)?;
        let (above, name) = place.step().ok_or(rustix::io::Errno::INVAL)?;
        let above = directory_at(&self.root, above)?;
        Ok(readlinkat(&*above, name.as_bytes(), Vec::new())?.into_bytes())
    }
}

impl Filesystem for View {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // What an older kernel does not know makes nothing wrong.
        for wish in [
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_ASYNC_DIO,
            InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP,
        ] {
            let _ = config.add_capabilities(wish);
        }
        let _ = config.set_max_background(BACKGROUND_MAX);
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.find(parent.0, name) {
            Ok(attributes) => reply.entry(&NO_TIME, &attributes, Generation(0)),
            Err(errno) => reply.error(errno),
        }
    }

    fn forget(&self, _request: &Request, number: INodeNo, times: u64) {
        self.nodes.forget(number.0, times);
    }

    fn getattr(
        &self,
        _request: &Request,
        number: INodeNo,
        handle: Option<FileHandle>,
        reply: ReplyAttr,
    ) {
        let open = handle.and_then(|it| self.files.get(it));
        let attributes = match open {
            Some(file) => file.attributes(number.0),
            None => self.place(number).and_then(|place| Ok(self.facts_at(&place, number.0)?.0)),
        };
        match attributes {
            Ok(attributes) => reply.attr(&NO_TIME, &attributes),
            Err(errno) => reply.error(errno),
        }
    }

    fn readlink(&self, _request: &Request, number: INodeNo, reply: ReplyData) {
        match self.link_at(number) {
            Ok(target) => reply.data(&target),
            Err(error) => reply.error(errno::of_system(&error)),
        }
    }

    fn open(&self, _request: &Request, number: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        match self.open_at(number) {
            Ok((file, flags)) => reply.opened(self.files.add(file), flags),
            Err(errno) => reply.error(errno),
        }
    }

    fn read(
        &self,
        _request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.files.get(handle) {
            Some(file) => file.read(offset, size, reply),
            None => reply.error(Errno::EBADF),
        }
    }

    fn release(
        &self,
        _request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.files.remove(handle);
        reply.ok();
    }

    fn opendir(&self, _request: &Request, number: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        match self.list(number) {
            Ok(entries) => reply.opened(self.listings.add(entries), FopenFlags::empty()),
            Err(error) => reply.error(errno::of_system(&error)),
        }
    }

    fn readdir(
        &self,
        _request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let Some(entries) = self.listings.get(handle) else { return reply.error(Errno::EBADF) };
        let begin = usize::try_from(offset).unwrap_or(usize::MAX);
        for (index, (name, kind)) in entries.iter().enumerate().skip(begin) {
            if reply.add(UNKNOWN, index as u64 + 1, *kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(
        &self,
        _request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.listings.remove(handle);
        reply.ok();
    }

    fn statfs(&self, _request: &Request, _number: INodeNo, reply: ReplyStatfs) {
        match statvfs(self.root.path_by_descriptor()) {
            Ok(it) => reply.statfs(
                it.f_blocks,
                it.f_bfree,
                it.f_bavail,
                it.f_files,
                it.f_ffree,
                it.f_bsize as u32,
                it.f_namemax as u32,
                it.f_frsize as u32,
            ),
            Err(errno) => reply.error(Errno::from_i32(errno.raw_os_error())),
        }
    }
}
