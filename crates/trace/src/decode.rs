//! Unpacking events, chunk by chunk of one thread.

use crate::encode::{
    ARGUMENT_GIVEN, EXTRAS_GIVEN, FILE_GIVEN, GAP_IS_NEGATIVE, LENGTH_GIVEN, OFFSET_GIVEN,
    OUTCOME_GIVEN, OUTCOME_IS_ERROR, Outcome, Prediction, SECOND_OF_CALL, TIME_BYTES,
    UNKNOWN_OFFSET, unzigzag,
};
use crate::op::{Layer, Op};

/// One recorded call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The operation.
    pub op: Op,
    /// The file's number; 0 if none.
    pub file: u32,
    /// Where data was read or written; `None` for other operations and unknown positions.
    pub offset: Option<u64>,
    /// Bytes asked for; 0 for operations that move no data.
    pub length: u64,
    /// What came back.
    pub outcome: Outcome,
    /// Open flags, seek target, lock length, ….
    pub argument: u64,
    /// When it began, in ticks.
    pub start: u64,
    /// When it ended, in ticks.
    pub end: u64,
    /// Calls that contain this one: 0 for a call of the program itself, 1 for what MPI-IO
    /// calls, and so on.
    pub depth: u32,
}

impl Event {
    /// Returns the bytes that were moved; 0 after a failure and for operations that move no data.
    pub fn bytes(&self) -> u64 {
        match self.outcome {
            Outcome::Value(value) if self.op.class().is_data() => value,
            _ => 0,
        }
    }

    /// Returns true for the second event of a call that moves data from file to file. It has the times of
    /// the first, so that only one of the two may be added to a sum of times.
    #[inline]
    pub fn is_second_of_call(&self) -> bool {
        let has_two = matches!(
            self.op,
            Op::CopyFileRange
                | Op::CopyFileRangeRead
                | Op::Sendfile
                | Op::SendfileWrite
                | Op::SpliceRead
                | Op::SpliceWrite
        );
        has_two && self.argument == SECOND_OF_CALL
    }

    /// False for events whose time is not to be added to what the program spends in calls: it is
    /// that of another event, or goes on while the program does something else.
    #[inline]
    pub fn is_spent(&self) -> bool {
        !self.is_second_of_call() && !self.op.is_asynchronous()
    }
}

/// Deepest nesting that is believed; more is damage.
const DEPTH_MAX: usize = 64;

/// Decodes the chunks of one thread, in their order. Calls may span chunks, so the state of
/// open calls is carried over; predictions are not.
#[derive(Debug, Default)]
pub struct ThreadDecoder {
    open: Vec<u64>,
}

impl ThreadDecoder {
    /// Returns a thread that has done nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Hands every event of a chunk to `visit`. Returns the bytes that could not be read: 0 for
    /// a sound chunk.
    #[inline]
    pub fn decode(
        &mut self,
        base_ticks: u64,
        payload: &[u8],
        mut visit: impl FnMut(Event),
    ) -> usize {
        let mut prediction = Prediction::new(base_ticks);
        let mut bytes = Bytes { payload, at: 0 };
        loop {
            let before = bytes.at;
            match self.event(&mut bytes, &mut prediction) {
                Ok(Some(event)) => visit(event),
                Ok(None) if bytes.at == payload.len() => return 0,
                Ok(None) => {}
                Err(CutOff) => return payload.len() - before,
            }
        }
    }

    /// Returns the next event; `None` for the beginning of a call that contains others, and at the end.
    #[inline]
    fn event(
        &mut self,
        bytes: &mut Bytes<'_>,
        prediction: &mut Prediction,
    ) -> Result<Option<Event>, CutOff> {
        if bytes.at == bytes.payload.len() {
            return Ok(None);
        }
        let op = Op::from_number(bytes.byte()?).ok_or(CutOff)?;
        let flags = bytes.byte()?;
        let any_given = flags & (FILE_GIVEN | LENGTH_GIVEN | OFFSET_GIVEN) != 0;
        let sizes = if any_given { bytes.byte()? } else { 0 };
        let extras = if flags & EXTRAS_GIVEN != 0 { bytes.byte()? } else { 0 };
        let gap = bytes.take(TIME_BYTES[usize::from(flags & 3)])?;
        let duration = bytes.take(TIME_BYTES[usize::from(flags >> 2 & 3)])?;
        let file = if flags & FILE_GIVEN != 0 {
            bytes.take(usize::from(sizes >> 6) + 1)? as u32
        } else {
            prediction.file
        };
        let (mut offset, mut length) = (UNKNOWN_OFFSET, 0);
        let is_data = op.class().is_data();
        if is_data {
            length = if flags & LENGTH_GIVEN != 0 {
                bytes.take(usize::from(sizes >> 3 & 7) + 1)?
            } else {
                prediction.length
            };
            offset = prediction.next_offset();
            if flags & OFFSET_GIVEN != 0 {
                offset = offset.wrapping_add(unzigzag(bytes.take(usize::from(sizes & 7) + 1)?));
            }
            prediction.data(offset, length);
        }
        let outcome = if extras & OUTCOME_GIVEN == 0 {
            Outcome::Value(length)
        } else if extras & OUTCOME_IS_ERROR != 0 {
            Outcome::Error(bytes.take(8)? as u32)
        } else {
            Outcome::Value(bytes.take(8)?)
        };
        let argument = if extras & ARGUMENT_GIVEN != 0 { bytes.take(8)? } else { 0 };
        let start = if extras & GAP_IS_NEGATIVE != 0 {
            prediction.clock.wrapping_sub(gap)
        } else {
            prediction.clock.wrapping_add(gap)
        };
        let end = start.wrapping_add(duration);
        prediction.clock = end;
        prediction.file = file;
        if op == Op::Enter {
            if self.open.len() >= DEPTH_MAX {
                return Err(CutOff);
            }
            self.open.push(start);
            return Ok(None);
        }
        // A call that was entered ends with its own start as the beginning of its duration. Only
        // MPI calls are entered: what they call may begin on the same tick of a coarse clock.
        if op.layer() == Layer::Mpi && self.open.last() == Some(&start) {
            self.open.pop();
        }
        let offset = (is_data && offset != UNKNOWN_OFFSET).then_some(offset);
        let depth = self.open.len() as u32;
        Ok(Some(Event { op, file, offset, length, outcome, argument, start, end, depth }))
    }
}

/// The payload ends, or makes no sense from here on.
struct CutOff;

struct Bytes<'a> {
    payload: &'a [u8],
    at: usize,
}

impl Bytes<'_> {
    #[inline]
    fn byte(&mut self) -> Result<u8, CutOff> {
        let byte = *self.payload.get(self.at).ok_or(CutOff)?;
        self.at += 1;
        Ok(byte)
    }

    /// Returns a little-endian number of `size` bytes, 1 to 8.
    #[inline]
    fn take(&mut self, size: usize) -> Result<u64, CutOff> {
        let word = match self.payload.get(self.at..self.at + 8) {
            // The common case: eight bytes are there, and a mask does the rest.
            Some(eight) => {
                let mut word = [0u8; 8];
                word.copy_from_slice(eight);
                u64::from_le_bytes(word) & (u64::MAX >> (64 - 8 * size))
            }
            None => {
                let few = self.payload.get(self.at..self.at + size).ok_or(CutOff)?;
                let mut word = [0u8; 8];
                word[..size].copy_from_slice(few);
                u64::from_le_bytes(word)
            }
        };
        self.at += size;
        Ok(word)
    }
}
