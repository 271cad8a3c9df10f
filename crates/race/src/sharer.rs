//! A writer that routes itself: it shares a table of leases with the other writers and knows nothing else of them.
//!
//! It writes as a program does, one block after the other, through the page cache, and computes in between. Whoever waits for room looks
//! whether leases of any writer have become durable.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;

use plimsoll_engine::Memory;
use plimsoll_guarded::working_file::NODE;
use plimsoll_guarded::{Claim, WorkingDirectory};
use plimsoll_node::{Member, NodePlan, SharedNode, written};
use plimsoll_route::lease::{LeaseId, Place, Reserved, SealedLease, Seen};
use plimsoll_route::{Attempt, AttemptId, Failure, TargetId, WriteId};
use plimsoll_wire::send;
use rustix::fs::OFlags;

use crate::course::Course;
use crate::files::{create, make_durable};
use crate::ledger::Committed;
use crate::order::{Answer, Preparation, Written};
use crate::stamp::{PAGE_BYTES, Stamps, padded};

/// Leases at a time: of 256 KiB they would be 256 MiB on their way.
const LEASES: usize = 1024;

/// A writer that has joined the node.
pub(crate) struct Sharer<'a> {
    preparation: &'a Preparation,
    member: Member,
    eyes: Eyes<'a>,
    /// By target: where its next lease begins.
    ends: Vec<u64>,
    lease: Option<Filling>,
    stamps: Stamps,
    memory: Memory,
    /// What each lease holds.
    pieces: Vec<(LeaseId, Committed)>,
    copies: HashMap<LeaseId, Vec<Committed>>,
    leases: u64,
}

/// The lease that is being filled.
struct Filling {
    reserved: Reserved,
    offset: u64,
    filled: u64,
}

/// Files of this writer and of others, to write to and to look at.
struct Eyes<'a> {
    working: &'a [WorkingDirectory],
    own: Vec<File>,
    writer: u32,
    others: HashMap<(u64, usize), File>,
    watch: written::Watch,
}

impl<'a> Sharer<'a> {
    pub fn join(
        preparation: &'a Preparation,
        memory: &Claim,
        working: &'a [WorkingDirectory],
    ) -> io::Result<Self> {
        let own: io::Result<Vec<File>> =
            working.iter().map(|it| create(it, preparation, OFlags::empty())).collect();
        let shared = WorkingDirectory::join(memory)?;
        let plan = NodePlan { leases: LEASES, ..NodePlan::new(working.len(), preparation.race) };
        // The directory that was joined, whatever has its name by now.
        let place = shared.directory().path_by_descriptor();
        let node = SharedNode::open(&place, NODE, plan).map_err(io::Error::other)?;
        let stamps = Stamps::new(preparation.race);
        let length = padded(preparation.block_bytes) as usize;
        let mut memory = Memory::new(length).map_err(io::Error::other)?;
        stamps.fill(memory.bytes_mut());
        let writer = preparation.writer;
        Ok(Sharer {
            preparation,
            member: node.join().map_err(io::Error::other)?,
            eyes: Eyes {
                working,
                own: own?,
                writer,
                others: HashMap::new(),
                watch: written::Watch::default(),
            },
            ends: vec![0; working.len()],
            lease: None,
            stamps,
            memory,
            pieces: Vec::new(),
            copies: HashMap::new(),
            leases: 0,
        })
    }

    /// Writes everything, makes it durable, and says what lies where.
    pub fn take_part(mut self, stream: &mut UnixStream) -> io::Result<()> {
        for sequence in 0..self.preparation.blocks {
            self.write_block(sequence)?;
            if sequence + 1 < self.preparation.blocks {
                std::thread::sleep(self.preparation.thinking(sequence));
            }
        }
        self.seal()?;
        self.flush()?;
        let index = self.index()?;
        let mut targets: Vec<u16> = index.iter().map(|it| it.attempt.target.0).collect();
        targets.sort_unstable();
        targets.dedup();
        let files: Vec<&File> =
            targets.iter().map(|target| &self.eyes.own[usize::from(*target)]).collect();
        let durable_ns = make_durable(&files)?;
        self.tell(stream, &index, &targets, durable_ns)
    }

    fn tell(
        &self,
        stream: &mut UnixStream,
        index: &[Committed],
        targets: &[u16],
        durable_ns: Vec<u64>,
    ) -> io::Result<()> {
        for _ in 0..self.preparation.blocks {
            send(stream, &Answer::Submit { length_bytes: self.preparation.block_bytes })?;
        }
        for committed in index {
            let at = targets.iter().position(|it| *it == committed.attempt.target.0);
            let durable_ns = at.map_or(0, |at| durable_ns[at]);
            send(stream, &Answer::Written(Written::of(committed, durable_ns)))?;
        }
        let (leases, copies) = (self.leases, self.copies.len() as u64);
        let (worst_ns, windows) = (self.member.longest_ns(), self.member.windows());
        send(stream, &Answer::Shared { leases, copies, worst_ns, windows })?;
        send(stream, &Answer::Finished { durable_ns })
    }

    fn write_block(&mut self, sequence: u32) -> io::Result<()> {
        let whole = self.preparation.block_bytes;
        let (mut offset_bytes, mut part) = (0, 0);
        while offset_bytes < whole {
            self.need_lease(whole - offset_bytes)?;
            let Some(filling) = &self.lease else { continue };
            let room = u64::from(filling.reserved.length_bytes) / PAGE_BYTES as u64
                * PAGE_BYTES as u64
                - filling.filled;
            let length_bytes = (whole - offset_bytes).min(room);
            if length_bytes == 0 {
                self.seal()?;
                continue;
            }
            let write = WriteId { writer: self.preparation.writer, sequence, part };
            let piece = (write, offset_bytes, length_bytes);
            let (reserved, file_offset) = (filling.reserved, filling.offset + filling.filled);
            let Some(committed) = self.write_piece(reserved, filling.filled, file_offset, piece)?
            else {
                self.lease = None;
                continue;
            };
            self.pieces.push((reserved.id, committed));
            if let Some(filling) = &mut self.lease {
                filling.filled += padded(length_bytes);
                self.ends[reserved.lane] = filling.offset + filling.filled;
                if filling.filled + PAGE_BYTES as u64 > u64::from(reserved.length_bytes) {
                    self.seal()?;
                }
            }
            offset_bytes += length_bytes;
            part += 1;
        }
        Ok(())
    }

    fn need_lease(&mut self, waiting_bytes: u64) -> io::Result<()> {
        if self.lease.is_some() {
            return Ok(());
        }
        let (member, eyes) = (&mut self.member, &mut self.eyes);
        let reserved = member
            .lease(u64::MAX, waiting_bytes, |lease| eyes.look(lease))
            .map_err(io::Error::other)?;
        self.leases += 1;
        self.lease = Some(self.begin(reserved));
        Ok(())
    }

    fn begin(&mut self, reserved: Reserved) -> Filling {
        let offset = self.ends[reserved.lane];
        let place = Place { log: u64::from(self.preparation.writer), offset_bytes: offset };
        self.member.set_place(reserved.id, place);
        Filling { reserved, offset, filled: 0 }
    }

    /// Nothing if it must be written again elsewhere.
    fn write_piece(
        &mut self,
        reserved: Reserved,
        filled: u64,
        file_offset: u64,
        (write, offset_bytes, length_bytes): (WriteId, u64, u64),
    ) -> io::Result<Option<Committed>> {
        let LeaseId { slot, generation } = reserved.id;
        let (attempt, target) = (AttemptId { slot, generation }, TargetId(reserved.lane as u16));
        let attempt = Attempt { attempt, write, target, offset_bytes, length_bytes };
        if !self.member.begin_fill(reserved.id) {
            return Ok(None);
        }
        let bytes = &mut self.memory.bytes_mut()[..padded(length_bytes) as usize];
        self.stamps.put(&attempt, bytes);
        let written = self.eyes.own[reserved.lane].write_all_at(bytes, file_offset);
        let end = filled + if written.is_ok() { padded(length_bytes) } else { 0 };
        let is_published = self.member.publish(reserved.id, end as u32);
        if let Err(error) = written {
            if !matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT)) {
                return Err(error);
            }
            let full = Some(Failure::Full);
            self.member.set_failure(reserved.lane, full).map_err(io::Error::other)?;
            return Ok(None);
        }
        Ok(is_published.then_some(Committed { attempt, file_offset }))
    }

    fn seal(&mut self) -> io::Result<()> {
        let Some(filling) = self.lease.take() else { return Ok(()) };
        self.seal_and_push(filling.reserved)
    }

    fn seal_and_push(&mut self, reserved: Reserved) -> io::Result<()> {
        match self.member.seal(reserved.id).map_err(io::Error::other)? {
            Some(SealedLease { place, length_bytes, .. }) => {
                let file = self.eyes.own[reserved.lane].as_fd();
                written::push(file, place.offset_bytes, u64::from(length_bytes))
            }
            None => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.member.flush().map_err(io::Error::other)?;
        loop {
            let ends = self.member.ends();
            if self.member.is_flushed().map_err(io::Error::other)? {
                return Ok(());
            }
            if let Some((late, copy)) = self.member.second_attempt().map_err(io::Error::other)? {
                self.copy(&late, copy)?;
                continue;
            }
            let (member, eyes) = (&mut self.member, &mut self.eyes);
            member.look_or_wait(ends, |lease| eyes.look(lease)).map_err(io::Error::other)?;
        }
    }

    /// Writes what a lease holds a second time.
    fn copy(&mut self, late: &SealedLease, reserved: Reserved) -> io::Result<()> {
        let of_it = |piece: &&(LeaseId, Committed)| piece.0 == late.id;
        let pieces: Vec<Committed> = self.pieces.iter().filter(of_it).map(|it| it.1).collect();
        let mut filling = self.begin(reserved);
        let mut copied = Vec::new();
        for Committed { attempt, .. } in pieces {
            let piece = (attempt.write, attempt.offset_bytes, attempt.length_bytes);
            let at = filling.offset + filling.filled;
            let Some(committed) = self.write_piece(reserved, filling.filled, at, piece)? else {
                return Ok(());
            };
            filling.filled += padded(attempt.length_bytes);
            copied.push(committed);
        }
        self.ends[reserved.lane] = filling.offset + filling.filled;
        self.copies.insert(late.id, copied);
        self.seal_and_push(reserved)
    }

    /// What lies where, each piece once.
    fn index(&mut self) -> io::Result<Vec<Committed>> {
        let mut index = Vec::new();
        for (id, committed) in &self.pieces {
            if !self.member.is_superseded(*id) {
                index.push(*committed);
            }
        }
        for (id, copied) in &self.copies {
            if self.member.is_superseded(*id) {
                index.extend(copied);
            }
        }
        Ok(index)
    }
}

impl Eyes<'_> {
    /// Whether a lease of anybody is on its target.
    fn look(&mut self, lease: &SealedLease) -> Option<Seen> {
        let mut watch = std::mem::take(&mut self.watch);
        let seen = self.file(lease).map(|file| watch.look(file.as_fd(), lease));
        self.watch = watch;
        seen.flatten()
    }

    fn file(&mut self, lease: &SealedLease) -> Option<&File> {
        let (log, lane) = (lease.place.log, lease.lane);
        if log == u64::from(self.writer) {
            return self.own.get(lane);
        }
        if !self.others.contains_key(&(log, lane)) {
            let name = Course::file(u32::try_from(log).ok()?);
            let directory = self.working.get(lane)?.directory();
            let file = directory.open_own_file(name, OFlags::RDONLY).ok()?;
            self.others.insert((log, lane), file);
        }
        self.others.get(&(log, lane))
    }
}
