//! Answers what the kernel asks.

use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use fuser::{
    Errno, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyStatfs, Request,
};

use crate::answered_by::AnsweredBy;
use crate::errno;
use crate::helpers::AllHelpers;
use crate::nodes::ROOT;
use crate::view::{FoundEntry, View};

/// Nothing that was told is believed later: a container may have grown.
const NO_TIME: Duration = Duration::ZERO;

/// Requests for reading ahead that the kernel may have under way.
const BACKGROUND_MAX: u16 = 64;

/// The file system.
#[derive(Debug)]
pub struct FileSystem {
    view: Arc<View>,
    helpers: Arc<AllHelpers>,
}

impl FileSystem {
    /// Shows what the view tells, with the help of some threads.
    pub fn new(view: View, helpers: AllHelpers) -> Self {
        FileSystem { view: Arc::new(view), helpers: Arc::new(helpers) }
    }

    /// Answers what is asked of what was found: here, or by a helper where that may take long.
    fn look(&self, found: FoundEntry, answer: impl FnOnce(&View, FoundEntry) + Send + 'static) {
        let by = found.answered_by(&self.view);
        let helpers = self.helpers.clone();
        self.answer(by, move |view| {
            // Those that take long wait for each other alone.
            if by == AnsweredBy::Opening && !found.is_opened_quickly(view) {
                let view = view.clone();
                return helpers.patient.run(move || answer(&view, found));
            }
            answer(view, found);
        });
    }

    /// Answers here, or by a helper.
    fn answer(&self, by: AnsweredBy, answer: impl FnOnce(&Arc<View>) + Send + 'static) {
        let helpers = match by {
            AnsweredBy::Any => return answer(&self.view),
            AnsweredBy::Opening => &self.helpers.opening,
            AnsweredBy::Others => &self.helpers.others,
        };
        let view = self.view.clone();
        helpers.run(move || answer(&view));
    }
}

impl Filesystem for FileSystem {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // What an older kernel does not know makes nothing wrong.
        for wish in [InitFlags::FUSE_PARALLEL_DIROPS, InitFlags::FUSE_ASYNC_DIO] {
            let _ = config.add_capabilities(wish);
        }
        if config.add_capabilities(InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP).is_ok() {
            self.view.note_mapping();
        }
        let _ = config.set_max_background(BACKGROUND_MAX);
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = match self.view.seek(parent.0, name) {
            Ok(found) => found,
            Err(errno) => return reply.error(errno),
        };
        self.look(found, move |view, found| match view.tell(parent.0, found) {
            Ok(attributes) => reply.entry(&NO_TIME, &attributes, Generation(0)),
            Err(errno) => reply.error(errno),
        });
    }

    fn forget(&self, _request: &Request, number: INodeNo, times: u64) {
        self.view.forget(number.0, times);
    }

    fn getattr(
        &self,
        _request: &Request,
        number: INodeNo,
        handle: Option<FileHandle>,
        reply: ReplyAttr,
    ) {
        let answer = |told: Result<FileAttr, Errno>, reply: ReplyAttr| match told {
            Ok(attributes) => reply.attr(&NO_TIME, &attributes),
            Err(errno) => reply.error(errno),
        };
        if let Some(file) = handle.and_then(|it| self.view.file(it)) {
            return self.answer(file.answered_by(), move |view| {
                answer(view.attributes_of(number.0, &file), reply);
            });
        }
        if number.0 == ROOT {
            return answer(self.view.attributes_of_root(), reply);
        }
        match self.view.seek_again(number.0) {
            Ok(found) => self.look(found, move |view, found| {
                answer(view.tell_again(number.0, found), reply);
            }),
            Err(errno) => reply.error(errno),
        }
    }

    fn readlink(&self, _request: &Request, number: INodeNo, reply: ReplyData) {
        match self.view.link(number.0) {
            Ok(target) => reply.data(&target),
            Err(error) => reply.error(errno::of_system(&error)),
        }
    }

    fn open(&self, _request: &Request, number: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let found = match self.view.seek_again(number.0) {
            Ok(found) => found,
            Err(errno) => return reply.error(errno),
        };
        self.look(found, move |view, found| match view.open(number.0, found) {
            Ok((handle, flags)) => reply.opened(handle, flags),
            Err(errno) => reply.error(errno),
        });
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
        match self.view.file(handle) {
            Some(file) => self.answer(file.answered_by(), move |view| {
                file.read(view.containers(), offset, size, reply);
            }),
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
        self.view.close(handle);
        reply.ok();
    }

    fn opendir(&self, _request: &Request, number: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        match self.view.list(number.0) {
            Ok(handle) => reply.opened(handle, FopenFlags::empty()),
            Err(errno) => reply.error(errno),
        }
    }

    fn readdir(
        &self,
        _request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        offset: u64,
        reply: ReplyDirectory,
    ) {
        match self.view.listing(handle) {
            Some(listing) => listing.tell(offset, reply),
            None => reply.error(Errno::EBADF),
        }
    }

    fn releasedir(
        &self,
        _request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.view.close_listing(handle);
        reply.ok();
    }

    fn statfs(&self, _request: &Request, _number: INodeNo, reply: ReplyStatfs) {
        match self.view.fill() {
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
            Err(error) => reply.error(errno::of_system(&error)),
        }
    }
}
