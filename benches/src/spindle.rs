//! A disk of one spindle: it does one transaction at a time, in the order of their arrival, and an arm has to move and a platter to turn for each.
//!
//! It is a file of a FUSE file system that lives in this process, for the kernel to put a loop device on. What it holds is in memory; what it takes
//! is time. Times follow each other exactly as long as something waits, however late this process is woken.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, Generation,
    INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty,
    ReplyEntry, ReplyWrite, Request, Session, WriteFlags,
};

/// The name of its file.
pub const FILE: &str = "spindle";

/// Seconds of a turn: 7,200 a minute.
const TURN: f64 = 60.0 / 7200.0;
/// Bytes that pass the head in a second.
const PASSING: f64 = 150e6;
/// Seconds that the arm takes for the least way, and for as much of the square root of the share of the whole way.
const ARM: (f64, f64) = (0.8e-3, 5e-3);
/// A head must be steadier to write.
const STEADY: f64 = 0.5e-3;

/// Where the head is, and until when it is at work.
#[derive(Debug, Clone, PartialEq)]
struct Head {
    disk_bytes: f64,
    /// The byte after the last one.
    place: u64,
    /// In seconds since the disk began to turn.
    busy_until: f64,
}

impl Head {
    /// Goes on with a transaction that arrived at a moment. Returns when it is done.
    fn transact(&mut self, arrived: f64, offset: u64, bytes: u64, is_write: bool) -> f64 {
        let begun = self.busy_until.max(arrived);
        let way = offset.abs_diff(self.place) as f64 / self.disk_bytes;
        // What follows the last byte is in the disk's own memory already, or goes there.
        let there = match offset == self.place {
            true => begun,
            false => turned(
                begun + ARM.0 + ARM.1 * way.sqrt() + if is_write { STEADY } else { 0.0 },
                offset,
            ),
        };
        self.place = offset + bytes;
        self.busy_until = there + bytes as f64 / PASSING;
        self.busy_until
    }
}

/// Returns the first moment, not before this one, at which a byte passes the head.
fn turned(moment: f64, offset: u64) -> f64 {
    let angle = (offset as f64 / (PASSING * TURN)).fract();
    let of_head = (moment / TURN).fract();
    moment + TURN * (angle - of_head).rem_euclid(1.0)
}

/// What it is told to do.
enum Task {
    Read { size: usize, reply: ReplyData },
    Write { bytes: Vec<u8>, reply: ReplyWrite },
}

struct Waiting {
    arrived: Instant,
    offset: u64,
    task: Task,
}

/// The disk. It goes with this.
pub struct Spindle {
    _session: BackgroundSession,
}

impl Spindle {
    /// Makes an empty disk of a size as the file [`FILE`] in a directory.
    ///
    /// # Errors
    /// If the kernel does not mount it: only root may, where FUSE is.
    pub fn serve(bytes: usize, directory: &Path) -> io::Result<Self> {
        let (sender, waiting) = channel();
        thread::Builder::new().name("spindle".into()).spawn(move || turn(bytes, &waiting))?;
        let files = Files { bytes: bytes as u64, waiting: sender };
        let session = Session::new(files, directory, &Config::default())?;
        Ok(Spindle { _session: session.spawn()? })
    }
}

/// Does one after the other until nobody is there to ask.
fn turn(bytes: usize, waiting: &Receiver<Waiting>) {
    let begun = Instant::now();
    let mut content = vec![0; bytes];
    let mut head = Head { disk_bytes: bytes as f64, place: 0, busy_until: 0.0 };
    while let Ok(next) = waiting.recv() {
        let (size, is_write) = match &next.task {
            Task::Read { size, .. } => (*size, false),
            Task::Write { bytes, .. } => (bytes.len(), true),
        };
        let start = usize::try_from(next.offset).unwrap_or(bytes).min(bytes);
        let place = start..(start + size).min(bytes);
        let arrived = next.arrived.duration_since(begun).as_secs_f64();
        let done = head.transact(arrived, next.offset, place.len() as u64, is_write);
        let done = begun + Duration::from_secs_f64(done);
        thread::sleep(done.saturating_duration_since(Instant::now()));
        match next.task {
            Task::Read { reply, .. } => reply.data(&content[place]),
            Task::Write { bytes, reply } if bytes.len() == place.len() => {
                content[place].copy_from_slice(&bytes);
                reply.written(bytes.len() as u32);
            }
            Task::Write { reply, .. } => reply.error(Errno::ENOSPC),
        }
    }
}

/// The file system of the one file.
struct Files {
    bytes: u64,
    waiting: Sender<Waiting>,
}

const ROOT: INodeNo = INodeNo(1);
const DISK: INodeNo = INodeNo(2);
/// What the kernel may believe of what it was told.
const LONG: Duration = Duration::from_secs(3600);

impl Files {
    fn attributes(&self, number: INodeNo) -> Option<FileAttr> {
        let (kind, size) = match number {
            ROOT => (FileType::Directory, 0),
            DISK => (FileType::RegularFile, self.bytes),
            _ => return None,
        };
        let time = SystemTime::UNIX_EPOCH;
        Some(FileAttr {
            ino: number,
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
            blksize: 4096,
            flags: 0,
        })
    }

    fn take(&self, offset: u64, task: Task) {
        // A disk that is gone answers nobody: whoever waits gets an error when the reply is dropped.
        let _ = self.waiting.send(Waiting { arrived: Instant::now(), offset, task });
    }
}

impl Filesystem for Files {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // So that several transactions wait here, as they wait in a disk's own queue.
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        let _ = config.set_max_background(64);
        Ok(())
    }

    fn lookup(&self, _: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.attributes(DISK).filter(|_| name == FILE) {
            Some(attributes) => reply.entry(&LONG, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(number) {
            Some(attributes) => reply.attr(&LONG, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.take(offset, Task::Read { size: size as usize, reply });
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        bytes: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        self.take(offset, Task::Write { bytes: bytes.to_vec(), reply });
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK_BYTES: f64 = 1e9;

    #[test]
    fn transactions_wait_for_each_other_and_for_the_platter() {
        let mut head = Head { disk_bytes: DISK_BYTES, place: 0, busy_until: 0.0 };
        // It stands at the beginning, and the first byte comes by at once.
        assert!((head.transact(0.0, 0, 150_000, false) - 1e-3).abs() < 1e-12);
        // What follows needs its bytes only, and waits until the head is free.
        assert!((head.transact(0.0, 150_000, 150_000, true) - 2e-3).abs() < 1e-12);
        // A whole turn of bytes further on is the same angle: the next time that it comes by is at 5 turns.
        let far = 500_000_000 / 1_250_000 * 1_250_000;
        let arm = ARM.0 + ARM.1 * ((far - 300_000) as f64 / DISK_BYTES).sqrt();
        let done = head.transact(4.0 * TURN, far, 0, false);
        assert!(4.0 * TURN + arm < 5.0 * TURN && (done - 5.0 * TURN).abs() < 1e-9, "{done}");
    }
}
