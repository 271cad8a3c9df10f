//! The write-ahead file: what was appended since files of days were last written.
//!
//! A header (magic, version, sequence number, checksum), then frames: length, CRC-32C of length and content, content.
//! A frame is what was appended at once. What is behind the last whole frame was cut off, and never counted.

use crate::{Component, ComponentKind, Measure, Row, Series};

const MAGIC: &[u8; 8] = b"PLIMHIST";
/// The version that this program writes.
const VERSION: u32 = 1;
/// Magic, version, sequence number, checksum.
pub(crate) const HEADER_BYTES: usize = 24;
/// Length and checksum.
const FRAME_HEAD_BYTES: usize = 8;

const SERIES: u8 = 1;
const ROWS: u8 = 2;

/// Returns the header of a write-ahead file.
pub(crate) fn header(sequence: u64) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..20].copy_from_slice(&sequence.to_le_bytes());
    let sum = crc32c::crc32c(&header[..20]);
    header[20..].copy_from_slice(&sum.to_le_bytes());
    header
}

/// A frame in the making.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    bytes: Vec<u8>,
}

impl Frame {
    /// Begins anew.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.resize(FRAME_HEAD_BYTES, 0);
    }

    /// Tells of a series, which gets the next number of this file.
    pub fn series(&mut self, series: &Series) {
        let Series { component, server, measure, bin } = series;
        let Component { kind, cluster, file_system, name, job } = component;
        self.bytes.push(SERIES);
        for text in [kind.name(), cluster, file_system, name, job, server, measure.name()] {
            self.number(text.len() as u64);
            self.bytes.extend(text.as_bytes());
        }
        self.number(*bin);
    }

    /// Adds samples of one moment, by number of their series and value.
    pub fn rows(&mut self, end: u64, length: u32, values: &[(u32, u64)]) {
        self.bytes.push(ROWS);
        for number in [end, length.into(), values.len() as u64] {
            self.number(number);
        }
        for (series, value) in values {
            self.number((*series).into());
            self.number(*value);
        }
    }

    /// Returns its bytes, with length and checksum; nothing if nothing is in it.
    pub fn finish(&mut self) -> Option<&[u8]> {
        let length = self.bytes.len().checked_sub(FRAME_HEAD_BYTES).filter(|it| *it > 0)?;
        let length = (length as u32).to_le_bytes();
        let sum = checksum(length, &self.bytes[FRAME_HEAD_BYTES..]);
        self.bytes[..4].copy_from_slice(&length);
        self.bytes[4..8].copy_from_slice(&sum.to_le_bytes());
        Some(&self.bytes)
    }

    /// Seven bits a byte, the lowest first.
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }
}

fn checksum(length: [u8; 4], content: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&length), content)
}

/// What a write-ahead file holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    /// Its sequence number.
    pub sequence: u64,
    /// Series in the order of their numbers; `None` for one that this program does not know.
    pub series: Vec<Option<Series>>,
    /// Samples of known series, in the order in which they were appended.
    pub rows: Vec<Row>,
    /// Samples of series that this program does not know.
    pub unknown_rows: u64,
    /// Bytes up to the end of the last whole frame.
    pub whole_bytes: usize,
}

/// Why bytes are no write-ahead file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoLog {
    /// The header is not whole: it was cut off, and nothing was appended yet.
    #[error("it ends within its header")]
    Cut,
    /// It begins otherwise.
    #[error("it is no write-ahead file, or its header is damaged")]
    Other,
    /// A later program wrote it.
    #[error("it has version {0}, this program knows up to {VERSION}; hint: use a newer plimsoll")]
    Newer(u32),
}

impl Log {
    /// Reads a write-ahead file of any content, up to the first frame that is cut off or damaged.
    ///
    /// # Errors
    /// If it does not begin as one.
    pub fn read(bytes: &[u8]) -> Result<Log, NoLog> {
        let (head, mut rest) = bytes.split_at_checked(HEADER_BYTES).ok_or(NoLog::Cut)?;
        let number = |range: std::ops::Range<usize>| {
            head[range].iter().rev().fold(0u64, |all, byte| all << 8 | u64::from(*byte))
        };
        if &head[..8] != MAGIC || number(20..24) != u64::from(crc32c::crc32c(&head[..20])) {
            return Err(NoLog::Other);
        }
        match number(8..12) as u32 {
            VERSION => {}
            version if version > VERSION => return Err(NoLog::Newer(version)),
            _ => return Err(NoLog::Other),
        }
        let whole_bytes = HEADER_BYTES;
        let mut log = Log { sequence: number(12..20), whole_bytes, ..Log::default() };
        while let Some((content, behind)) = frame(rest) {
            if log.take(content).is_none() {
                break;
            }
            log.whole_bytes += FRAME_HEAD_BYTES + content.len();
            rest = behind;
        }
        Ok(log)
    }

    /// Adds what a frame tells; `None`, and nothing of it, if it cannot be understood.
    fn take(&mut self, content: &[u8]) -> Option<()> {
        let (series, rows, unknown) = (self.series.len(), self.rows.len(), self.unknown_rows);
        let taken = self.take_all(&mut Content(content));
        if taken.is_none() {
            self.series.truncate(series);
            self.rows.truncate(rows);
            self.unknown_rows = unknown;
        }
        taken
    }

    fn take_all(&mut self, content: &mut Content<'_>) -> Option<()> {
        while let Some(kind) = content.byte() {
            match kind {
                SERIES => {
                    let series = content.series()?;
                    self.series.push(series);
                }
                ROWS => self.take_rows(content)?,
                _ => return None,
            }
        }
        Some(())
    }

    fn take_rows(&mut self, content: &mut Content<'_>) -> Option<()> {
        let (end, length, count) = (content.number()?, content.number()?, content.number()?);
        let length = u32::try_from(length).ok()?;
        for _ in 0..count {
            let (series, value) = (content.number()?, content.number()?);
            let series = u32::try_from(series).ok()?;
            match self.series.get(series as usize)? {
                Some(_) => self.rows.push(Row { series, end, length, value }),
                None => self.unknown_rows += 1,
            }
        }
        Some(())
    }
}

/// Returns the content of the first frame, and what is behind it; `None` if it is not whole.
fn frame(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (head, rest) = bytes.split_at_checked(FRAME_HEAD_BYTES)?;
    let (length, sum) = (head[..4].try_into().ok()?, head[4..].try_into().ok()?);
    let (content, behind) = rest.split_at_checked(u32::from_le_bytes(length) as usize)?;
    (checksum(length, content) == u32::from_le_bytes(sum)).then_some((content, behind))
}

/// What is left of a frame.
struct Content<'a>(&'a [u8]);

impl Content<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    /// Returns a series; `Some(None)` if this program does not know its kind or measure.
    fn series(&mut self) -> Option<Option<Series>> {
        let kind = self.text()?;
        let (cluster, file_system) = (self.text()?, self.text()?);
        let (name, job, server) = (self.text()?, self.text()?, self.text()?);
        let (measure, bin) = (self.text()?, self.number()?);
        let known = ComponentKind::named(&kind).zip(Measure::named(&measure));
        Some(known.map(|(kind, measure)| {
            let component = Component { kind, cluster, file_system, name, job };
            Series { measure, bin, component, server }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn series(number: u64) -> Series {
        let component = Component::new(ComponentKind::Ost, format!("OST{number:04}"))
            .of_cluster("c")
            .of_file_system("scratch");
        Series { measure: Measure::ReadSizes, bin: number << 12, component, server: "oss1".into() }
    }

    /// A log of so many frames, each with a new series and a row of each series, and where frames end.
    fn log(frames: u64) -> (Vec<u8>, Vec<usize>) {
        let (mut bytes, mut frame) = (header(7).to_vec(), Frame::default());
        let mut ends = vec![bytes.len()];
        for number in 0..frames {
            frame.clear();
            frame.series(&series(number));
            let values: Vec<_> = (0..=number).map(|it| (it as u32, it * 1000 + number)).collect();
            frame.rows(1_700_000_000_000 + number * 1000, 1000, &values);
            bytes.extend(frame.finish().unwrap());
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    #[test]
    fn cut_at_every_byte_it_has_everything_before_the_cut() {
        let (bytes, ends) = log(12);
        for cut in 0..=bytes.len() {
            let whole = ends.iter().filter(|end| **end <= cut).count();
            let read = Log::read(&bytes[..cut]);
            if whole == 0 {
                assert_eq!(read, Err(NoLog::Cut), "cut at {cut}");
                continue;
            }
            let (read, frames) = (read.unwrap(), whole as u64 - 1);
            assert_eq!((read.sequence, read.whole_bytes), (7, ends[whole - 1]), "cut at {cut}");
            assert_eq!(read.series, (0..frames).map(|it| Some(series(it))).collect::<Vec<_>>());
            assert_eq!(read.rows.len() as u64, frames * (frames + 1) / 2, "cut at {cut}");
        }
    }

    #[test]
    fn a_changed_byte_ends_it_there() {
        let (bytes, ends) = log(5);
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 0x10;
            match Log::read(&damaged) {
                Ok(read) => {
                    let before = ends.iter().rev().find(|end| **end <= place).unwrap();
                    assert_eq!(read.whole_bytes, *before, "changed at {place}");
                }
                Err(error) => assert!(place < HEADER_BYTES && error == NoLog::Other, "{place}"),
            }
        }
    }

    #[test]
    fn what_a_later_program_knows_is_counted_and_its_versions_are_refused() {
        let (mut bytes, mut frame) = (header(1).to_vec(), Frame::default());
        frame.clear();
        frame.series(&series(0));
        frame.rows(5, 5, &[(0, 9)]);
        let old = frame.finish().unwrap().to_vec();
        let place = old.windows(10).position(|it| it == b"read_sizes").unwrap();
        let mut new = old.clone();
        new[place..place + 10].copy_from_slice(b"warp_speed");
        let sum = checksum(new[..4].try_into().unwrap(), &new[8..]);
        new[4..8].copy_from_slice(&sum.to_le_bytes());
        bytes.extend(new);
        let read = Log::read(&bytes).unwrap();
        assert_eq!((read.series, read.unknown_rows, read.rows.len()), (vec![None], 1, 0));
        let mut later = header(1);
        later[8] = 2;
        let sum = crc32c::crc32c(&later[..20]);
        later[20..].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(Log::read(&later), Err(NoLog::Newer(2)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>, sequence: u64) {
            let _ = Log::read(&bytes);
            let framed = {
                let length = (bytes.len() as u32).to_le_bytes();
                let mut all = header(sequence).to_vec();
                all.extend(length);
                all.extend(checksum(length, &bytes).to_le_bytes());
                all.extend(&bytes);
                all
            };
            prop_assert_eq!(Log::read(&framed).unwrap().sequence, sequence);
        }

        #[test]
        fn numbers_come_back(value: u64, end: u64, length: u32) {
            let (mut bytes, mut frame) = (header(0).to_vec(), Frame::default());
            frame.clear();
            frame.series(&series(3));
            frame.rows(end, length, &[(0, value)]);
            bytes.extend(frame.finish().unwrap());
            prop_assert_eq!(Log::read(&bytes).unwrap().rows, [Row { series: 0, end, length, value }]);
        }
    }
}
