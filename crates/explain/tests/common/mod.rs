//! Recordings with known answers.
#![allow(dead_code)] // every test file uses a part

use std::path::Path;

use plimsoll_explain::{Analysis, Finding, Options, Recording, analyze, findings};
use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::encode::{Call, Outcome, UNKNOWN_OFFSET};
use plimsoll_trace::layout::Anchor;
use plimsoll_trace::{Op, ProcessWriter, Program};
use tempfile::TempDir;

pub const US: u64 = 1_000;
pub const MS: u64 = 1_000_000;
pub const S: u64 = 1_000_000_000;
pub const KIB: u64 = 1 << 10;
pub const MIB: u64 = 1 << 20;

/// When recordings begin, on the monotonic clock.
pub const START: u64 = 1_000;

/// A directory that becomes a recording.
pub struct Bed {
    directory: TempDir,
}

impl Bed {
    pub fn new() -> Self {
        Bed { directory: TempDir::new().unwrap() }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A rank of one node, with `/shared` as file 1 and `/private.<rank>` as file 2.
    pub fn rank(&self, rank: u32, ranks: u32) -> Rank {
        self.rank_on(rank, ranks, "node1", 1, START)
    }

    pub fn rank_on(&self, rank: u32, ranks: u32, host: &str, boot: u8, start: u64) -> Rank {
        self.program_from(Program::default(), Some(rank), ranks, host, boot, start)
    }

    /// A rank of node1 with more that is known of it.
    pub fn rank_with(&self, rank: u32, ranks: u32, program: Program) -> Rank {
        self.program_from(program, Some(rank), ranks, "node1", 1, START)
    }

    /// The same of any node.
    pub fn rank_on_with(&self, rank: u32, ranks: u32, node: u8, program: Program) -> Rank {
        self.program_from(program, Some(rank), ranks, &format!("node{node}"), node, START)
    }

    /// A process without a rank, such as a launcher's helper: its pid is 500 and its number.
    pub fn helper(&self, number: u32, program: Program) -> Rank {
        let mut helper = self.program_from(program, None, 0, "node1", 1, START + u64::from(number));
        helper.start = START;
        helper
    }

    fn program_from(
        &self,
        program: Program,
        rank: Option<u32>,
        ranks: u32,
        host: &str,
        boot: u8,
        start: u64,
    ) -> Rank {
        let number = rank.map_or((start - START) as u32, |rank| rank);
        let program = Program {
            pid: match program.pid {
                0 => rank.map_or(500 + number, |rank| 100 + rank),
                pid => pid,
            },
            rank,
            ranks,
            host: host.into(),
            boot_id: [boot; 16],
            program: if program.program.is_empty() {
                "app".into()
            } else {
                program.program.clone()
            },
            job: "7".into(),
            ..program
        };
        let anchor = Anchor { ticks: start, monotonic_ns: start, realtime_ns: 5 * S };
        let kind = if rank.is_some() { "" } else { "helper." };
        let path = self.path().join(format!("{host}.{kind}{number}.rec"));
        let mut writer = ProcessWriter::create(&path, &program, anchor).unwrap();
        writer.define(DefinitionKind::File, 1, 0, b"/shared").unwrap();
        let private = format!("/private.{number}");
        writer.define(DefinitionKind::File, 2, 0, private.as_bytes()).unwrap();
        Rank { writer, start, now: 0, thread: 1 }
    }

    pub fn open(&self) -> Recording {
        Recording::open(self.path()).unwrap()
    }

    pub fn analyze(&self) -> Analysis {
        analyze(&self.open(), &Options::default()).unwrap()
    }

    pub fn findings(&self) -> Vec<Finding> {
        findings(&self.analyze())
    }

    /// Ids of findings, worst first.
    pub fn ids(&self) -> Vec<&'static str> {
        self.findings().iter().map(|finding| finding.id).collect()
    }
}

/// A process that makes calls one after the other.
pub struct Rank {
    pub writer: ProcessWriter,
    start: u64,
    /// Nanoseconds since its start.
    pub now: u64,
    pub thread: u32,
}

impl Rank {
    /// Does nothing until a moment.
    pub fn until(&mut self, now: u64) -> &mut Self {
        self.now = self.now.max(now);
        self
    }

    /// Does nothing for a while.
    pub fn pause(&mut self, nanos: u64) -> &mut Self {
        self.now += nanos;
        self
    }

    /// A data call that takes `nanos`.
    pub fn data(&mut self, op: Op, file: u32, offset: u64, length: u64, nanos: u64) -> &mut Self {
        let end = self.now + nanos;
        self.put(op, file, offset, length, Outcome::Value(length), self.now, end);
        self.pause(nanos)
    }

    /// A data call that moves less than it was asked for.
    pub fn short(
        &mut self,
        op: Op,
        file: u32,
        offset: u64,
        length: u64,
        moved: u64,
        nanos: u64,
    ) -> &mut Self {
        let end = self.now + nanos;
        self.put(op, file, offset, length, Outcome::Value(moved), self.now, end);
        self.pause(nanos)
    }

    /// A call without data.
    pub fn call(&mut self, op: Op, file: u32, nanos: u64) -> &mut Self {
        let end = self.now + nanos;
        self.put(op, file, UNKNOWN_OFFSET, 0, Outcome::Value(0), self.now, end);
        self.pause(nanos)
    }

    /// Opens a file in no time.
    pub fn open(&mut self, file: u32, flags: u64) -> &mut Self {
        let now = self.start + self.now;
        let call = Call {
            op: Op::Open,
            file,
            offset: UNKNOWN_OFFSET,
            length: 0,
            outcome: Outcome::Value(3),
            argument: flags,
            start: now,
            end: now,
        };
        self.writer.call(self.thread, &call).unwrap();
        self
    }

    /// A call that fails.
    pub fn fail(&mut self, op: Op, file: u32, nanos: u64) -> &mut Self {
        let end = self.now + nanos;
        self.put(op, file, UNKNOWN_OFFSET, 0, Outcome::Error(2), self.now, end);
        self.pause(nanos)
    }

    /// A call that contains what `inside` does.
    pub fn around(
        &mut self,
        op: Op,
        file: u32,
        offset: u64,
        length: u64,
        inside: impl FnOnce(&mut Self),
    ) -> &mut Self {
        let begin = self.now;
        self.put(Op::Enter, file, UNKNOWN_OFFSET, 0, Outcome::Value(0), begin, begin);
        inside(self);
        let (offset, length) =
            if op.class().is_data() { (offset, length) } else { (UNKNOWN_OFFSET, 0) };
        self.put(op, file, offset, length, Outcome::Value(length), begin, self.now);
        self
    }

    #[allow(clippy::too_many_arguments)]
    fn put(
        &mut self,
        op: Op,
        file: u32,
        offset: u64,
        length: u64,
        outcome: Outcome,
        begin: u64,
        end: u64,
    ) {
        let (start, end) = (self.start + begin, self.start + end);
        let call = Call { op, file, offset, length, outcome, argument: 0, start, end };
        self.writer.call(self.thread, &call).unwrap();
    }

    pub fn define(&mut self, kind: DefinitionKind, number: u32, value: u64, text: &str) {
        self.writer.define(kind, number, value, text.as_bytes()).unwrap();
    }

    /// Ends the process at a moment, by a last call that is nothing.
    pub fn finish_at(mut self, now: u64) {
        self.until(now).call(Op::Dup, 0, 0);
        self.writer.finish().unwrap();
    }

    pub fn finish(self) {
        self.writer.finish().unwrap();
    }
}

/// Near enough for sums of bins.
pub fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 + 1e-6 * b.abs()
}

/// `ranks` processes that each do the same for 10 s.
pub fn program(ranks: u32, work: impl Fn(u32, &mut Rank)) -> Bed {
    let bed = Bed::new();
    for rank in 0..ranks {
        let mut process = bed.rank(rank, ranks);
        work(rank, &mut process);
        process.finish_at(10 * S);
    }
    bed
}
