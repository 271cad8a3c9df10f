//! A file that a program has open.

use std::cell::RefCell;
use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};

use fuser::{Errno, FileAttr, FopenFlags, ReplyData};
use rustix::fs::fstat;
use rustix::io::pread;

use crate::answered_by::AnsweredBy;
use crate::budget::Budget;
use crate::containers::Containers;
use crate::entry::attributes_of;
use crate::errno;
use crate::habits::Reading;
use crate::open_container::{Cached, OpenContainer};
use crate::windows::{Served, Windows};

/// More than the kernel asks for at once (FUSE_MAX_MAX_PAGES in fs/fuse/fuse_i.h: 1 MiB, more where root allows it).
const REQUEST_BYTES_MAX: usize = 16 << 20;

thread_local! {
    /// Each thread answers one request at a time.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A file that a program has open.
#[derive(Debug)]
pub enum OpenFile {
    /// An ordinary one.
    Plain(File),
    /// A container.
    Container(Arc<OpenContainer>, Windows, Manner),
}

/// How a container is read.
#[derive(Debug)]
pub enum Manner {
    /// Past the kernel's cache.
    PastCache(Reading),
    /// Through it. What it held, until the kernel has dropped what was in the cache before.
    ThroughCache(Mutex<Option<Cached>>),
}

impl OpenFile {
    /// Opens what a container holds, to be read past the kernel's cache.
    pub fn past_cache(container: Arc<OpenContainer>, budget: &Budget, reading: Reading) -> Self {
        let windows = Windows::new(budget.clone());
        OpenFile::Container(container, windows, Manner::PastCache(reading))
    }

    /// Opens what a container holds, to be read through the kernel's cache under this number; returns also what the kernel is told.
    pub fn through_cache(
        container: Arc<OpenContainer>,
        budget: &Budget,
        number: u64,
    ) -> (Self, FopenFlags) {
        let (held, is_cached) = container.open_for_cache(number);
        let flags = if is_cached { FopenFlags::FOPEN_KEEP_CACHE } else { FopenFlags::empty() };
        let manner = Manner::ThroughCache(Mutex::new((!is_cached).then_some(held)));
        (OpenFile::Container(container, Windows::new(budget.clone()), manner), flags)
    }

    /// Returns who answers what is asked of it.
    pub fn answered_by(&self) -> AnsweredBy {
        match self {
            OpenFile::Container(container, ..) => AnsweredBy::of(container.whose(), true),
            OpenFile::Plain(_) => AnsweredBy::Any,
        }
    }

    /// Answers a request for bytes.
    pub fn read(&self, containers: &Containers, offset: u64, length: u32, reply: ReplyData) {
        let length = (length as usize).min(REQUEST_BYTES_MAX);
        let mut reply = Some(reply);
        let mut is_compared = false;
        if let OpenFile::Container(container, windows, manner) = self {
            manner.note(container, length);
            let answer = |bytes: &[u8]| {
                if let Some(reply) = reply.take() {
                    reply.data(bytes);
                }
            };
            // Who reads in order finds in the cache what was read here and there.
            is_compared = windows.serve(container, offset, length, answer) != Served::OutOfOrder
                || container.is_for_cache();
        }
        let Some(reply) = reply else { return };
        BUFFER.with_borrow_mut(|buffer| {
            if buffer.len() < length {
                buffer.resize(length, 0);
            }
            let bytes = &mut buffer[..length];
            match self.read_into(containers, bytes, offset, is_compared) {
                Ok(count) => reply.data(&bytes[..count]),
                Err(errno) => reply.error(errno),
            }
        });
    }

    fn read_into(
        &self,
        containers: &Containers,
        bytes: &mut [u8],
        offset: u64,
        is_compared: bool,
    ) -> Result<usize, Errno> {
        match self {
            OpenFile::Plain(file) => read_plain(file, bytes, offset),
            OpenFile::Container(container, ..) => {
                let read = match container.read(bytes, offset, is_compared) {
                    // What its index did not need, comparing with checksums does.
                    Err(error) if error.errno() == rustix::io::Errno::FBIG => {
                        let scanned = containers.scan(container);
                        scanned.and_then(|()| container.read(bytes, offset, is_compared))
                    }
                    read => read,
                };
                read.map_err(|it| errno::of_container(&it))
            }
        }
    }

    /// Returns what is told of it by now.
    ///
    /// # Errors
    /// If it cannot be looked at.
    pub fn attributes(&self, number: u64) -> Result<FileAttr, Errno> {
        match self {
            OpenFile::Plain(file) => match fstat(file) {
                Ok(facts) => Ok(attributes_of(number, &facts)),
                Err(errno) => Err(Errno::from_i32(errno.raw_os_error())),
            },
            OpenFile::Container(container, ..) => {
                container.refresh()?;
                container.attributes(number)
            }
        }
    }
}

impl Manner {
    /// Notes that so many bytes are asked for.
    fn note(&self, container: &OpenContainer, length: usize) {
        match self {
            Manner::PastCache(reading) => reading.note(length),
            Manner::ThroughCache(opened) => {
                let opened = opened.lock().unwrap_or_else(PoisonError::into_inner).take();
                opened.into_iter().for_each(|it| container.note_dropped(it));
            }
        }
    }
}

/// A short answer would be taken for the end of the file.
fn read_plain(file: &File, bytes: &mut [u8], offset: u64) -> Result<usize, Errno> {
    let mut got = 0;
    while got < bytes.len() {
        match pread(file, &mut bytes[got..], offset + got as u64) {
            Ok(0) => break,
            Ok(count) => got += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(Errno::from_i32(errno.raw_os_error())),
        }
    }
    Ok(got)
}
