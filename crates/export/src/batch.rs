//! Calls as columns, until there are enough for a row group.

use plimsoll_explain::FileId;
use plimsoll_trace::Op;

use crate::calls::Call;

/// Rows that share process and thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowsOfThread {
    pub process: usize,
    pub thread: u32,
    pub rows: usize,
}

/// Columns as the Parquet writer wants them: nullable ones have a level for each row (1 where
/// there is a value) and values only where there are any.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub runs: Vec<RowsOfThread>,
    pub ops: Vec<Op>,
    pub files: Vec<FileId>,
    pub file_levels: Vec<i16>,
    pub offsets: Vec<i64>,
    pub offset_levels: Vec<i16>,
    pub lengths: Vec<i64>,
    pub bytes: Vec<i64>,
    pub errnos: Vec<i32>,
    pub errno_levels: Vec<i16>,
    pub arguments: Vec<i64>,
    pub starts: Vec<i64>,
    pub durations: Vec<i64>,
    pub depths: Vec<i32>,
}

impl Batch {
    pub fn rows(&self) -> usize {
        self.ops.len()
    }

    /// The rows that follow are of this thread.
    pub fn begin(&mut self, process: usize, thread: u32) {
        match self.runs.last_mut() {
            Some(run) if run.rows == 0 => (run.process, run.thread) = (process, thread),
            _ => self.runs.push(RowsOfThread { process, thread, rows: 0 }),
        }
    }

    #[inline]
    pub fn push(&mut self, call: &Call) {
        if let Some(run) = self.runs.last_mut() {
            run.rows += 1;
        }
        self.ops.push(call.op);
        let has_file = call.file != FileId::UNKNOWN;
        self.file_levels.push(i16::from(has_file));
        if has_file {
            self.files.push(call.file);
        }
        self.offset_levels.push(i16::from(call.offset.is_some()));
        // Unsigned columns are stored as signed integers of the same bits.
        self.offsets.extend(call.offset.map(|offset| offset as i64));
        self.lengths.push(call.length as i64);
        self.bytes.push(call.bytes as i64);
        self.errno_levels.push(i16::from(call.errno.is_some()));
        self.errnos.extend(call.errno);
        self.arguments.push(call.argument as i64);
        self.starts.push(call.start_ns as i64);
        self.durations.push((call.end_ns - call.start_ns) as i64);
        self.depths.push(call.depth as i32);
    }

    /// Forgets the rows and keeps the room, and the thread whose calls are coming.
    pub fn clear(&mut self) {
        let coming = self.runs.last().copied();
        self.runs.clear();
        self.runs.extend(coming.map(|run| RowsOfThread { rows: 0, ..run }));
        self.ops.clear();
        self.files.clear();
        self.file_levels.clear();
        self.offsets.clear();
        self.offset_levels.clear();
        self.lengths.clear();
        self.bytes.clear();
        self.errnos.clear();
        self.errno_levels.clear();
        self.arguments.clear();
        self.starts.clear();
        self.durations.clear();
        self.depths.clear();
    }
}
