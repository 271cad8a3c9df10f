//! Packing events: what the writer predicts is not written.
//!
//! ```text
//! byte 0    operation
//! byte 1    bits 0-1 size of the gap (2, 3, 4 or 8 bytes), bits 2-3 size of the duration,
//!           bit 4 file given, bit 5 length given, bit 6 offset given, bit 7 extras given
//! [byte     sizes: bits 0-2 offset, 3-5 length (1 to 8 bytes), 6-7 file (1 to 4 bytes);
//!           present when any of the three is given]
//! [byte     extras: bit 0 outcome given, bit 1 it is an error number, bit 2 argument given,
//!           bit 3 the gap is negative]
//! gap       ticks from the end of the thread's previous event to the start of this one
//! duration  ticks from start to end
//! [file] [length] [offset, as zigzag of the distance from the predicted one]
//! [outcome, 8 bytes] [argument, 8 bytes]
//! ```
//!
//! Predicted: the file and length of the thread's previous data event, and the offset that
//! keeps the distance of the last two data events, which covers sequential and strided
//! access. A strided `pwrite` takes 6 bytes. An outcome is given when it is not the length
//! (data) or zero (all others).
//!
//! Prediction starts anew in every chunk, so that each chunk can be read by itself.

use crate::Op;

/// Room that an event needs at most; a chunk with less left is full.
pub const EVENT_BYTES_MAX: usize = 64;

/// File number of events that belong to no known file.
pub const NO_FILE: u32 = 0;

/// Offset of data events whose position is not known (pipes, sockets, inherited descriptors).
pub const UNKNOWN_OFFSET: u64 = u64::MAX;

/// Argument of the second event of a call that has one for each of two files.
pub const SECOND_OF_CALL: u64 = 1;

/// What happened in one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// The operation.
    pub op: Op,
    /// The file's number, [`NO_FILE`] if none.
    pub file: u32,
    /// Where data was read or written; [`UNKNOWN_OFFSET`] if not known.
    pub offset: u64,
    /// How many bytes were asked for.
    pub length: u64,
    /// What came back: bytes moved, zero, or an error number.
    pub outcome: Outcome,
    /// Whatever else is worth keeping: open flags, seek target, lock length; 0 if nothing.
    pub argument: u64,
    /// When it began, in ticks.
    pub start: u64,
    /// When it ended, in ticks.
    pub end: u64,
}

/// What a call gave back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Success, with a value: bytes moved for data, 0 for most others.
    Value(u64),
    /// Failure, with the system's error number.
    Error(u32),
}

/// What the next event is predicted from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Prediction {
    /// End of the thread's previous event.
    pub clock: u64,
    /// Offset of its previous data event.
    pub offset: u64,
    /// Distance of the previous two.
    pub stride: u64,
    /// Length of its previous data event.
    pub length: u64,
    /// File of its previous event.
    pub file: u32,
}

impl Prediction {
    /// At the beginning of a chunk.
    pub const fn new(base_ticks: u64) -> Self {
        Prediction { clock: base_ticks, offset: 0, stride: 0, length: 0, file: NO_FILE }
    }

    /// Returns the offset that the next data event is expected to have.
    #[inline]
    pub fn next_offset(&self) -> u64 {
        self.offset.wrapping_add(self.stride)
    }

    /// Moves on after a data event.
    #[inline]
    pub fn data(&mut self, offset: u64, length: u64) {
        self.stride = offset.wrapping_sub(self.offset);
        self.offset = offset;
        self.length = length;
    }
}

pub(crate) const FILE_GIVEN: u8 = 1 << 4;
pub(crate) const LENGTH_GIVEN: u8 = 1 << 5;
pub(crate) const OFFSET_GIVEN: u8 = 1 << 6;
pub(crate) const EXTRAS_GIVEN: u8 = 1 << 7;

pub(crate) const OUTCOME_GIVEN: u8 = 1 << 0;
pub(crate) const OUTCOME_IS_ERROR: u8 = 1 << 1;
pub(crate) const ARGUMENT_GIVEN: u8 = 1 << 2;
pub(crate) const GAP_IS_NEGATIVE: u8 = 1 << 3;

/// Bytes of a gap or duration by its two-bit code.
pub(crate) const TIME_BYTES: [usize; 4] = [2, 3, 4, 8];

/// Packs a call at the start of `room` and gives its length. `room` must have
/// [`EVENT_BYTES_MAX`] bytes; with less, nothing is written and the length is 0.
#[inline]
pub fn encode(call: &Call, prediction: &mut Prediction, room: &mut [u8]) -> usize {
    let Some(room) = room.first_chunk_mut::<EVENT_BYTES_MAX>() else { return 0 };
    let is_data = call.op.class().is_data();
    let gap = call.start.wrapping_sub(prediction.clock);
    let is_negative = (gap as i64) < 0;
    let gap = if is_negative { gap.wrapping_neg() } else { gap };
    let duration = call.end.wrapping_sub(call.start);
    let (gap_code, duration_code) = (time_code(gap), time_code(duration));

    let mut flags = gap_code | duration_code << 2;
    let mut offset_delta = 0;
    if call.file != prediction.file {
        flags |= FILE_GIVEN;
    }
    if is_data {
        offset_delta = call.offset.wrapping_sub(prediction.next_offset());
        if call.length != prediction.length {
            flags |= LENGTH_GIVEN;
        }
        if offset_delta != 0 {
            flags |= OFFSET_GIVEN;
        }
    }
    let extras = extras(call, is_data, is_negative);
    if extras != 0 {
        flags |= EXTRAS_GIVEN;
    }

    let mut at = Cursor { room, at: 2 };
    if flags & (FILE_GIVEN | LENGTH_GIVEN | OFFSET_GIVEN) != 0 {
        let offset = zigzag(offset_delta);
        let sizes = (byte_size(offset) - 1) as u8
            | ((byte_size(call.length) - 1) as u8) << 3
            | ((byte_size(u64::from(call.file)) - 1) as u8) << 6;
        at.put(u64::from(sizes), 1);
        if extras != 0 {
            at.put(u64::from(extras), 1);
        }
        at.put(gap, TIME_BYTES[usize::from(gap_code)]);
        at.put(duration, TIME_BYTES[usize::from(duration_code)]);
        if flags & FILE_GIVEN != 0 {
            at.put(u64::from(call.file), byte_size(u64::from(call.file)));
        }
        if flags & LENGTH_GIVEN != 0 {
            at.put(call.length, byte_size(call.length));
        }
        if flags & OFFSET_GIVEN != 0 {
            at.put(offset, byte_size(offset));
        }
    } else {
        if extras != 0 {
            at.put(u64::from(extras), 1);
        }
        at.put(gap, TIME_BYTES[usize::from(gap_code)]);
        at.put(duration, TIME_BYTES[usize::from(duration_code)]);
    }
    if extras & OUTCOME_GIVEN != 0 {
        at.put(outcome_word(call.outcome), 8);
    }
    if extras & ARGUMENT_GIVEN != 0 {
        at.put(call.argument, 8);
    }
    let length = at.at;
    room[0] = call.op as u8;
    room[1] = flags;

    prediction.clock = call.end;
    prediction.file = call.file;
    if is_data {
        prediction.data(call.offset, call.length);
    }
    length
}

/// A data call, in as few words as it can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataCall {
    /// The operation, which reads or writes.
    pub op: Op,
    /// The file's number, [`NO_FILE`] if none.
    pub file: u32,
    /// Where; [`UNKNOWN_OFFSET`] if not known.
    pub offset: u64,
    /// Bytes asked for.
    pub length: u64,
    /// Bytes moved; negative after a failure.
    pub moved: isize,
    /// When it began, in ticks.
    pub start: u64,
    /// When it ended, in ticks.
    pub end: u64,
}

/// Bytes of an event that is as predicted.
pub const PREDICTED_BYTES: usize = 6;

/// Packs a data call that is as predicted, which most are: [`PREDICTED_BYTES`] bytes, the low ones
/// of a word. `None`, and nothing has changed, when it is not: then [`encode`] is for it.
#[inline(always)]
pub fn encode_predicted(data: &DataCall, prediction: &mut Prediction) -> Option<u64> {
    let gap = data.start.wrapping_sub(prediction.clock);
    let duration = data.end.wrapping_sub(data.start);
    // Two bytes each, whose code is 0; a negative gap has high bits too.
    let is_predicted = (gap | duration) >> 16 == 0
        && data.file == prediction.file
        && data.length == prediction.length
        && data.moved as u64 == data.length
        && data.offset == prediction.next_offset();
    if !is_predicted {
        return None;
    }
    // The length and the distance of offsets stay as they are.
    prediction.clock = data.end;
    prediction.offset = data.offset;
    Some(u64::from(data.op as u8) | gap << 16 | duration << 32)
}

#[inline]
fn extras(call: &Call, is_data: bool, is_negative: bool) -> u8 {
    let expected = if is_data { call.length } else { 0 };
    let mut extras = match call.outcome {
        Outcome::Value(value) if value == expected => 0,
        Outcome::Value(_) => OUTCOME_GIVEN,
        Outcome::Error(_) => OUTCOME_GIVEN | OUTCOME_IS_ERROR,
    };
    if call.argument != 0 {
        extras |= ARGUMENT_GIVEN;
    }
    if is_negative {
        extras |= GAP_IS_NEGATIVE;
    }
    extras
}

#[inline]
fn outcome_word(outcome: Outcome) -> u64 {
    match outcome {
        Outcome::Value(value) => value,
        Outcome::Error(number) => u64::from(number),
    }
}

struct Cursor<'a> {
    room: &'a mut [u8; EVENT_BYTES_MAX],
    at: usize,
}

impl Cursor<'_> {
    /// Writes the low `size` bytes. Eight are stored, so that no size needs a branch: the
    /// next field overwrites the rest, and the room is larger than any event.
    #[inline]
    fn put(&mut self, value: u64, size: usize) {
        if let Some(slot) = self.room.get_mut(self.at..self.at + 8) {
            slot.copy_from_slice(&value.to_le_bytes());
        }
        self.at += size;
    }
}

/// Code of the smallest of [`TIME_BYTES`] that holds the value.
#[inline]
fn time_code(value: u64) -> u8 {
    u8::from(value >> 16 != 0) + u8::from(value >> 24 != 0) + u8::from(value >> 32 != 0)
}

/// Returns the bytes that hold the value, at least one.
#[inline]
fn byte_size(value: u64) -> usize {
    (71 - (value | 1).leading_zeros() as usize) / 8
}

#[inline]
fn zigzag(value: u64) -> u64 {
    (value << 1) ^ ((value as i64 >> 63) as u64)
}

/// Undoes [`zigzag`].
#[cfg(feature = "reader")]
#[inline]
pub(crate) fn unzigzag(value: u64) -> u64 {
    (value >> 1) ^ (value & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fit_their_values() {
        for (value, size) in [(0, 1), (255, 1), (256, 2), (1 << 40, 6), (u64::MAX, 8)] {
            assert_eq!(byte_size(value), size);
        }
        for (value, bytes) in [(0, 2), (65_535, 2), (65_536, 3), (1 << 24, 4), (1 << 32, 8)] {
            assert_eq!(TIME_BYTES[usize::from(time_code(value))], bytes);
        }
    }

    #[test]
    fn a_strided_write_takes_six_bytes_and_a_random_one_at_most_fourteen() {
        let mut prediction = Prediction::new(0);
        let mut room = [0u8; EVENT_BYTES_MAX];
        let mut lengths = Vec::new();
        for index in 0..100u64 {
            let start = index * 3000;
            let call = Call {
                op: Op::Pwrite,
                file: 3,
                offset: index * 4096,
                length: 16,
                outcome: Outcome::Value(16),
                argument: 0,
                start,
                end: start + 900,
            };
            lengths.push(encode(&call, &mut prediction, &mut room));
        }
        assert!(lengths[3..].iter().all(|length| *length == 6), "{lengths:?}");
        let far = Call {
            op: Op::Pwrite,
            file: 3,
            offset: 1 << 39,
            length: 16,
            outcome: Outcome::Value(16),
            argument: 0,
            start: 400_000,
            end: 600_000,
        };
        assert!(encode(&far, &mut prediction, &mut room) <= 14);
        assert_eq!(encode(&far, &mut prediction, &mut room[..10]), 0, "no room");
    }

    #[test]
    fn what_is_predicted_is_packed_as_everything_is() {
        let mut packed = 0;
        let mut prediction = Prediction::new(1000);
        for index in 0..200u64 {
            let start = 1000 + index * 700 + if index % 9 == 8 { 1 << 17 } else { 0 };
            let data = DataCall {
                op: if index % 5 == 4 { Op::Pread } else { Op::Pwrite },
                file: 3 + u32::from(index % 41 == 40),
                offset: index * 4096 + u64::from(index % 17 == 16),
                length: 16,
                moved: if index % 23 == 22 { 7 } else { 16 },
                start,
                // Both times are long then, by the same high bits.
                end: start + 300 + if index % 27 == 26 { 1 << 17 } else { 0 },
            };
            let call = Call {
                op: data.op,
                file: data.file,
                offset: data.offset,
                length: data.length,
                outcome: Outcome::Value(data.moved as u64),
                argument: 0,
                start: data.start,
                end: data.end,
            };
            let mut room = [0u8; EVENT_BYTES_MAX];
            let mut other = prediction;
            let length = encode(&call, &mut prediction, &mut room);
            if let Some(word) = encode_predicted(&data, &mut other) {
                packed += 1;
                assert_eq!(length, PREDICTED_BYTES);
                assert_eq!(room[..length], word.to_le_bytes()[..length]);
                assert_eq!(other, prediction);
            } else {
                assert_ne!(length, PREDICTED_BYTES, "{call:?}");
                assert_ne!(other, prediction);
            }
        }
        assert!((50..190).contains(&packed), "{packed} of 200");
    }
}
