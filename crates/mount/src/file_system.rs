//! Answers what the kernel asks.

use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use fuser::{
    Errno, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyStatfs, Request,
};

use crate::errno;
use crate::turns::Turns;
use crate::view::View;

/// Nothing that was told is believed later: a container may have grown.
const NO_TIME: Duration = Duration::ZERO;

/// The file system.
#[derive(Debug)]
pub struct FileSystem {
    view: Arc<View>,
    turns: Turns,
    background_max: u16,
}

impl FileSystem {
    /// Answers so many requests of each user at once; the kernel has so many under way for what is read ahead.
    pub fn new(view: View, at_once: usize, background_max: u16) -> Self {
        FileSystem { view: Arc::new(view), turns: Turns::new(at_once), background_max }
    }

    /// Answers when it is the user's turn.
    fn answer(&self, request: &Request, answer: impl FnOnce(&View) + Send + 'static) {
        let view = self.view.clone();
        self.turns.answer(request.uid(), move || answer(&view));
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
        let _ = config.set_max_background(self.background_max);
        Ok(())
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let name = name.to_os_string();
        self.answer(request, move |view| match view.find(parent.0, &name) {
            Ok(attributes) => reply.entry(&NO_TIME, &attributes, Generation(0)),
            Err(errno) => reply.error(errno),
        });
    }

    fn forget(&self, _request: &Request, number: INodeNo, times: u64) {
        self.view.forget(number.0, times);
    }

    fn getattr(
        &self,
        request: &Request,
        number: INodeNo,
        handle: Option<FileHandle>,
        reply: ReplyAttr,
    ) {
        self.answer(request, move |view| match view.attributes(number.0, handle) {
            Ok(attributes) => reply.attr(&NO_TIME, &attributes),
            Err(errno) => reply.error(errno),
        });
    }

    fn readlink(&self, request: &Request, number: INodeNo, reply: ReplyData) {
        self.answer(request, move |view| match view.link(number.0) {
            Ok(target) => reply.data(&target),
            Err(error) => reply.error(errno::of_system(&error)),
        });
    }

    fn open(&self, request: &Request, number: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let user = request.uid();
        self.answer(request, move |view| match view.open(user, number.0) {
            Ok((handle, flags)) => reply.opened(handle, flags),
            Err(errno) => reply.error(errno),
        });
    }

    fn read(
        &self,
        request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.answer(request, move |view| match view.file(handle) {
            Some(file) => file.read(offset, size, reply),
            None => reply.error(Errno::EBADF),
        });
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

    fn opendir(&self, request: &Request, number: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let user = request.uid();
        self.answer(request, move |view| match view.list(user, number.0) {
            Ok(handle) => reply.opened(handle, FopenFlags::empty()),
            Err(errno) => reply.error(errno),
        });
    }

    fn readdir(
        &self,
        request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        offset: u64,
        reply: ReplyDirectory,
    ) {
        self.answer(request, move |view| match view.listing(handle) {
            Some(listing) => listing.tell(offset, reply),
            None => reply.error(Errno::EBADF),
        });
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

    fn statfs(&self, request: &Request, _number: INodeNo, reply: ReplyStatfs) {
        self.answer(request, move |view| match view.fill() {
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
        });
    }
}
