//! Every call as a slice of a trace that <https://ui.perfetto.dev> opens: the trace event format
//! in JSON, which other viewers read as well.
//!
//! A process of the recording is a process of the trace and a thread is a thread, both with
//! numbers that are unique in the trace, as equal process ids may come from different nodes.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::atomic::AtomicU64;

use plimsoll_explain::{FileId, Process, Recording, align};
use serde_json::{Map, Value, json};

use crate::calls::{Call, Exported, Sink, visit_calls};
use crate::facts::facts;
use crate::lanes::Lanes;

/// Bytes that are gathered before they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// Calls inside a call that has not ended yet; more are written before it, on a row of their own.
const WAITING_MAX: usize = 1 << 18;

/// Bytes of a path that are written with each call, its last ones: a small recording may name a long one very often.
const PATH_BYTES_MAX: usize = 512;

/// Writes every call of a recording as a slice. Counts chunks of the recording in `chunks_done`.
///
/// # Errors
/// When the output cannot be written.
pub fn write_perfetto(
    recording: &Recording,
    output: impl Write,
    chunks_done: &AtomicU64,
) -> io::Result<Exported> {
    let clocks = align(recording.processes());
    let mut sink = PerfettoSink {
        output,
        buffer: b"{\"traceEvents\":[".to_vec(),
        recording,
        numbers_used: 0,
        process: 0,
        thread: 0,
        lanes: Lanes::default(),
        lane_numbers: Vec::new(),
        waiting: Vec::new(),
        crowded: 0,
        is_first: true,
    };
    let mut exported = visit_calls(recording, &clocks, chunks_done, &mut sink)?;
    sink.put_waiting(sink.waiting.len())?;
    if sink.crowded > 0 {
        let calls = sink.crowded;
        exported.warnings.push(format!(
            "{calls} calls overlap too many others of their thread and are drawn as moments"
        ));
    }
    let facts: Map<String, Value> =
        facts(recording, &clocks).into_iter().map(|(name, value)| (name.into(), value)).collect();
    let end = format!("\n],\"displayTimeUnit\":\"ns\",\"otherData\":{}}}\n", Value::Object(facts));
    sink.buffer.extend_from_slice(end.as_bytes());
    sink.flush()?;
    Ok(exported)
}

struct PerfettoSink<'a, W: Write> {
    output: W,
    buffer: Vec<u8>,
    recording: &'a Recording,
    /// Numbers of processes and threads that are in use, from 1.
    numbers_used: u64,
    process: u64,
    thread: u32,
    lanes: Lanes,
    lane_numbers: Vec<u64>,
    /// Calls in the order of their ends; an outer call comes after those inside it.
    waiting: Vec<Call>,
    crowded: u64,
    is_first: bool,
}

impl<W: Write> Sink for PerfettoSink<'_, W> {
    fn process(&mut self, index: usize, process: &Process) -> io::Result<()> {
        self.end_thread()?;
        self.numbers_used += 1;
        self.process = self.numbers_used;
        let program = process.program.rsplit('/').next().unwrap_or_default();
        let pid = process.rank.map_or(String::new(), |_| format!(", pid {}", process.pid));
        let name = format!("{}: {program} on {}{pid}", process.label(), process.host);
        self.metadata("process_name", self.process, json!({ "name": name }));
        self.metadata("process_sort_index", self.process, json!({ "sort_index": index }));
        Ok(())
    }

    fn thread(&mut self, thread: u32) -> io::Result<()> {
        self.end_thread()?;
        self.thread = thread;
        Ok(())
    }

    #[inline]
    fn call(&mut self, call: &Call) {
        self.waiting.push(*call);
    }

    fn write(&mut self) -> io::Result<()> {
        // What is behind the last outer call waits for its own.
        let last_outer = self.waiting.iter().rposition(|call| call.depth == 0);
        let is_full = self.waiting.len() >= WAITING_MAX;
        let ready = if is_full { self.waiting.len() } else { last_outer.map_or(0, |at| at + 1) };
        self.put_waiting(ready)
    }
}

impl<W: Write> PerfettoSink<'_, W> {
    fn flush(&mut self) -> io::Result<()> {
        self.output.write_all(&self.buffer)?;
        self.buffer.clear();
        self.output.flush()
    }

    fn end_thread(&mut self) -> io::Result<()> {
        self.put_waiting(self.waiting.len())?;
        self.lanes = Lanes::default();
        self.lane_numbers.clear();
        Ok(())
    }

    /// Puts the first calls that wait, outer ones before those inside them.
    fn put_waiting(&mut self, count: usize) -> io::Result<()> {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting[..count].sort_by_key(|call| (call.start_ns, std::cmp::Reverse(call.end_ns)));
        for call in waiting.drain(..count) {
            self.put(&call);
            // A call is a few bytes in the recording, and has the name of its file here.
            if self.buffer.len() >= BUFFER_BYTES {
                self.flush()?;
            }
        }
        self.waiting = waiting;
        Ok(())
    }

    fn put(&mut self, call: &Call) {
        let place = self.lanes.place(call.start_ns, call.end_ns);
        let thread = self.lane_number(place.unwrap_or(0));
        self.separate();
        let buffer = &mut self.buffer;
        match place {
            Some(_) => {
                buffer.extend_from_slice(b"{\"ph\":\"X\",\"dur\":");
                push_micros(buffer, call.end_ns - call.start_ns, DURATION_ROUNDING);
            }
            None => {
                self.crowded += 1;
                buffer.extend_from_slice(b"{\"ph\":\"i\",\"s\":\"t\"");
            }
        }
        buffer.extend_from_slice(b",\"ts\":");
        push_micros(buffer, call.start_ns, START_ROUNDING);
        push_member(buffer, "pid", self.process);
        push_member(buffer, "tid", thread);
        for text in [",\"name\":\"", call.op.name(), "\",\"cat\":\"", call.op.layer().name(), "\""]
        {
            buffer.extend_from_slice(text.as_bytes());
        }
        self.put_arguments(call, place.is_some());
    }

    fn put_arguments(&mut self, call: &Call, has_duration: bool) {
        let buffer = &mut self.buffer;
        buffer.extend_from_slice(b",\"args\":{");
        let begin = buffer.len();
        if call.file != FileId::UNKNOWN {
            let path = Value::from(end_of(self.recording.files().path(call.file)));
            buffer.extend_from_slice(format!(",\"file\":{path}").as_bytes());
        }
        if let Some(offset) = call.offset {
            push_member(buffer, "offset", offset);
        }
        if call.op.class().is_data() {
            push_member(buffer, "length", call.length);
            push_member(buffer, "bytes", call.bytes);
        }
        if let Some(errno) = call.errno {
            push_member(buffer, "errno", u64::from(errno.unsigned_abs()));
        }
        if call.argument != 0 {
            push_member(buffer, "argument", call.argument);
        }
        if !has_duration {
            push_member(buffer, "duration_ns", call.end_ns - call.start_ns);
        }
        if buffer.len() > begin {
            buffer.remove(begin); // the comma before the first
        }
        buffer.extend_from_slice(b"}}");
    }

    /// The number of a row of the thread, which is named when it is used first.
    fn lane_number(&mut self, lane: usize) -> u64 {
        while self.lane_numbers.len() <= lane {
            self.numbers_used += 1;
            let name = match self.lane_numbers.len() {
                0 => format!("thread {}", self.thread),
                more => format!("thread {}, overlapping calls {more}", self.thread),
            };
            self.lane_numbers.push(self.numbers_used);
            self.metadata("thread_name", self.numbers_used, json!({ "name": name }));
        }
        self.lane_numbers[lane]
    }

    fn metadata(&mut self, what: &str, thread: u64, arguments: Value) {
        self.separate();
        let event = json!({
            "ph": "M", "name": what, "pid": self.process, "tid": thread, "args": arguments
        });
        self.buffer.extend_from_slice(event.to_string().as_bytes());
    }

    fn separate(&mut self) {
        self.buffer.extend_from_slice(if self.is_first { b"\n" } else { b",\n" });
        self.is_first = false;
    }
}

/// Times are microseconds with decimals, and Perfetto cuts off what is below a nanosecond
/// (`CoerceToTs`), so that 1.001 becomes 1000 ns in floating point and neighbours overlap. Part
/// of a nanosecond on top makes every time come out as it is.
const START_ROUNDING: u8 = b'5';
/// Less than that of starts, so that for exact readers calls overlap by a tenth of a nanosecond only.
const DURATION_ROUNDING: u8 = b'1';

fn push_micros(buffer: &mut Vec<u8>, nanos: u64, rounding: u8) {
    push_number(buffer, nanos / 1000);
    let below = nanos % 1000;
    let digit = |value: u64| b'0' + (value % 10) as u8;
    buffer.extend_from_slice(&[
        b'.',
        digit(below / 100),
        digit(below / 10),
        digit(below),
        rounding,
    ]);
}

fn push_member(buffer: &mut Vec<u8>, name: &str, value: u64) {
    buffer.extend_from_slice(b",\"");
    buffer.extend_from_slice(name.as_bytes());
    buffer.extend_from_slice(b"\":");
    push_number(buffer, value);
}

/// As `write!` does, which takes most of the time of an export.
fn push_number(buffer: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    buffer.extend_from_slice(&digits[at..]);
}

/// Returns a path, or the end of one that is too long, with a sign that something is left out.
fn end_of(path: &str) -> Cow<'_, str> {
    if path.len() <= PATH_BYTES_MAX {
        return path.into();
    }
    let mut from = path.len() - PATH_BYTES_MAX;
    while !path.is_char_boundary(from) {
        from += 1;
    }
    format!("…{}", &path[from..]).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_path_the_end_is_written() {
        assert_eq!(end_of("/scratch/data"), "/scratch/data");
        let long = format!("/scratch/{}/data", "ö".repeat(PATH_BYTES_MAX));
        let end = end_of(&long);
        assert!(end.starts_with("…ö") && end.ends_with("ö/data"), "{end}");
        assert!(end.len() <= PATH_BYTES_MAX + '…'.len_utf8());
    }
}
