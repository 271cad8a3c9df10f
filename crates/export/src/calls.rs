//! Streaming every call of a recording, on the recording's time line.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll_explain::{Clock, Clocks, FileId, Process, Recording};
use plimsoll_trace::encode::Outcome;
use plimsoll_trace::{Event, Op, ThreadDecoder, TraceError};

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exported {
    /// Calls.
    pub calls: u64,
    /// What is missing or doubtful, one sentence each.
    pub warnings: Vec<String>,
}

/// Chunks of events of a recording, for a progress bar.
pub fn chunks(recording: &Recording) -> u64 {
    recording.processes().iter().map(|process| process.chunks().len() as u64).sum()
}

/// One call on the recording's time line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call {
    pub op: Op,
    pub file: FileId,
    pub offset: Option<u64>,
    pub length: u64,
    pub bytes: u64,
    pub errno: Option<i32>,
    pub argument: u64,
    /// Since the beginning of the recording.
    pub start_ns: u64,
    pub end_ns: u64,
    pub depth: u32,
}

/// Takes all calls: process by process, thread by thread, in the order of their ends.
pub(crate) trait Sink {
    /// Calls of another process follow.
    fn process(&mut self, index: usize, process: &Process) -> io::Result<()>;
    /// Calls of another thread follow.
    fn thread(&mut self, thread: u32) -> io::Result<()>;
    /// A call; kept until [`Sink::write`].
    fn call(&mut self, call: &Call);
    /// A chunk, which has some thousand calls at most, is over: the time to write.
    fn write(&mut self) -> io::Result<()>;
}

/// Hands every call to a sink and counts chunks in `chunks_done`.
pub(crate) fn visit_calls(
    recording: &Recording,
    clocks: &Clocks,
    chunks_done: &AtomicU64,
    sink: &mut impl Sink,
) -> io::Result<Exported> {
    let mut exported = Exported { calls: 0, warnings: recording.warnings().to_vec() };
    let mut outside_span = 0;
    for (index, process) in recording.processes().iter().enumerate() {
        sink.process(index, process)?;
        let mut pass = Pass {
            process,
            clock: clocks.clocks[index],
            recent: (0, process.file(0)),
            calls: 0,
            outside_span: 0,
            undecodable_bytes: 0,
        };
        let end = pass.run(chunks_done, sink)?;
        exported.calls += pass.calls;
        outside_span += pass.outside_span;
        exported.warnings.extend(end.err().map(|error| error.to_string()));
        exported.warnings.extend(damage(process, pass.undecodable_bytes));
    }
    exported.warnings.extend(doubts(recording, outside_span));
    Ok(exported)
}

struct Pass<'a> {
    process: &'a Process,
    clock: Clock,
    /// The last file number that was looked up, and what it means.
    recent: (u32, FileId),
    calls: u64,
    outside_span: u64,
    undecodable_bytes: u64,
}

impl Pass<'_> {
    /// The outer error is the sink's, the inner one is about the process's file.
    fn run(
        &mut self,
        chunks_done: &AtomicU64,
        sink: &mut impl Sink,
    ) -> io::Result<Result<(), TraceError>> {
        let file = match self.process.open() {
            Ok(file) => file,
            Err(error) => return Ok(Err(error)),
        };
        let (mut decoder, mut thread, mut buffer) = (ThreadDecoder::new(), None, Vec::new());
        for chunk in self.process.chunks() {
            if thread.replace(chunk.thread) != Some(chunk.thread) {
                decoder = ThreadDecoder::new();
                sink.thread(chunk.thread)?;
            }
            let payload = match file.payload(chunk, &mut buffer) {
                Ok(payload) => payload,
                Err(error) => return Ok(Err(error)),
            };
            let undecodable = decoder.decode(chunk.base_ticks, payload, |event| {
                let call = self.call(&event);
                sink.call(&call);
            });
            self.undecodable_bytes += undecodable as u64;
            sink.write()?;
            chunks_done.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Ok(()))
    }

    #[inline]
    fn call(&mut self, event: &Event) -> Call {
        if self.recent.0 != event.file {
            self.recent = (event.file, self.process.file(event.file));
        }
        let (start_ns, starts_outside) = self.clock.at(event.start);
        let (end_ns, ends_outside) = self.clock.at(event.end);
        self.outside_span += u64::from(starts_outside | ends_outside);
        self.calls += 1;
        Call {
            op: event.op,
            file: self.recent.1,
            offset: event.offset,
            length: event.length,
            bytes: event.bytes(),
            errno: match event.outcome {
                Outcome::Error(errno) => Some(errno as i32),
                Outcome::Value(_) => None,
            },
            argument: event.argument,
            start_ns,
            end_ns: end_ns.max(start_ns),
            depth: event.depth,
        }
    }
}

fn damage(process: &Process, undecodable_bytes: u64) -> Option<String> {
    let damage = &process.damage;
    let bytes = damage.bytes.saturating_add(undecodable_bytes);
    let is_damaged = bytes > 0 || damage.chunks > 0 || damage.missing_blocks > 0;
    is_damaged.then(|| {
        format!(
            "{} is damaged: {bytes} bytes in {} chunks cannot be read and {} blocks are missing; the rest is exported",
            process.path.display(),
            damage.chunks,
            damage.missing_blocks
        )
    })
}

fn doubts(recording: &Recording, outside_span: u64) -> impl Iterator<Item = String> {
    let lost = recording.lost_events();
    [
        (lost > 0).then(|| format!("{lost} calls are missing in the recording itself")),
        (outside_span > 0).then(|| {
            format!("{outside_span} calls have impossible times, which are held within the recording's span")
        }),
    ]
    .into_iter()
    .flatten()
}
