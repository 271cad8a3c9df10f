//! Disks that remember what was written to them and when they were flushed, so that a power failure at any moment can be played.
//!
//! They are files of a FUSE file system, which lives in this process; the kernel puts loop devices on them. What a loop device writes
//! comes here at once, and its flushes as fsync.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, Generation,
    INodeNo, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyWrite,
    Request, Session, WriteFlags,
};
use plimsoll_stats::Random;

/// What a disk writes whole or not at all.
const BLOCK: usize = 4096;
/// What the kernel may believe of what it was told.
const LONG: Duration = Duration::from_secs(3600);

/// Something that a disk was told.
enum Order {
    Write { disk: usize, offset: usize, bytes: Vec<u8> },
    Flush { disk: usize },
}

/// What the disks hold, and all that they were told.
struct Log {
    disks: Vec<Vec<u8>>,
    orders: Vec<Order>,
}

/// The disks. They go with this.
pub struct Disks {
    log: Arc<Mutex<Log>>,
    _session: BackgroundSession,
}

impl Disks {
    /// Makes so many empty disks of a size, as files `0`, `1`... in a directory.
    pub fn serve(count: usize, bytes: usize, directory: &Path) -> io::Result<Self> {
        let log = Log { disks: vec![vec![0; bytes]; count], orders: Vec::new() };
        let log = Arc::new(Mutex::new(log));
        let session = Session::new(Files(log.clone()), directory, &Config::default())?;
        Ok(Self { log, _session: session.spawn()? })
    }

    /// Returns the moment, as a number of orders.
    pub fn now(&self) -> usize {
        lock(&self.log).orders.len()
    }

    /// Returns how many flushes there were.
    pub fn flushes(&self) -> usize {
        let is_flush = |it: &&Order| matches!(it, Order::Flush { .. });
        lock(&self.log).orders.iter().filter(is_flush).count()
    }

    /// Writes a disk as it is after the power failed at a moment to a file: with all that came before its last flush, and any of the blocks that came later.
    pub fn after_failure(
        &self,
        disk: usize,
        moment: usize,
        random: &mut Random,
        image: &Path,
    ) -> io::Result<()> {
        let log = lock(&self.log);
        let orders = &log.orders[..moment];
        let is_flush =
            |it: &Order| matches!(it, Order::Flush { disk: flushed } if *flushed == disk);
        let flushed = orders.iter().rposition(is_flush).unwrap_or(0);
        let kept = random.below(101);
        let file = File::create(image)?;
        file.set_len(log.disks[disk].len() as u64)?;
        for (at, order) in orders.iter().enumerate() {
            let Order::Write { disk: written, offset, bytes } = order else { continue };
            if *written != disk {
                continue;
            }
            for (block, bytes) in bytes.chunks(BLOCK).enumerate() {
                if at < flushed || random.below(100) < kept {
                    file.write_all_at(bytes, (offset + block * BLOCK) as u64)?;
                }
            }
        }
        Ok(())
    }
}

fn lock(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file system of the disks: the file of disk 0 is number 2.
struct Files(Arc<Mutex<Log>>);

impl Files {
    fn attributes(&self, number: u64) -> Option<FileAttr> {
        let size = match number {
            1 => 0,
            _ => lock(&self.0).disks.get(disk_of(number)?)?.len() as u64,
        };
        let kind = if number == 1 { FileType::Directory } else { FileType::RegularFile };
        let time = SystemTime::UNIX_EPOCH;
        Some(FileAttr {
            ino: INodeNo(number),
            size,
            blocks: size / 512,
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind,
            perm: 0o700,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: BLOCK as u32,
            flags: 0,
        })
    }
}

fn disk_of(number: u64) -> Option<usize> {
    usize::try_from(number.checked_sub(2)?).ok()
}

impl Filesystem for Files {
    fn lookup(&self, _: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let disk = name.to_str().and_then(|it| it.parse::<u64>().ok());
        match disk.and_then(|it| self.attributes(it + 2)) {
            Some(attributes) => reply.entry(&LONG, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(number.0) {
            Some(attributes) => reply.attr(&LONG, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let log = lock(&self.0);
        let Some(disk) = disk_of(number.0).and_then(|it| log.disks.get(it)) else {
            return reply.error(Errno::EIO);
        };
        let begin = (offset as usize).min(disk.len());
        let end = (begin + size as usize).min(disk.len());
        reply.data(&disk[begin..end]);
    }

    fn write(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        bytes: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let (mut log, offset) = (lock(&self.0), offset as usize);
        let disk = disk_of(number.0).unwrap_or(usize::MAX);
        let Some(content) = log.disks.get_mut(disk).and_then(|it| it.get_mut(offset..)) else {
            return reply.error(Errno::EIO);
        };
        let Some(content) = content.get_mut(..bytes.len()) else {
            return reply.error(Errno::ENOSPC);
        };
        content.copy_from_slice(bytes);
        log.orders.push(Order::Write { disk, offset, bytes: bytes.to_vec() });
        reply.written(bytes.len() as u32);
    }

    fn fsync(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let disk = disk_of(number.0).unwrap_or(usize::MAX);
        lock(&self.0).orders.push(Order::Flush { disk });
        reply.ok();
    }
}
