//! Lines of a journal: how one is written, and how damaged ones are told apart.

use std::io::{self, BufRead};

use serde::{Deserialize, Serialize};

use crate::Instance;

/// Name of the format in the first line.
pub(crate) const FORMAT: &str = "plimsoll.journal";
/// Version of the format.
pub(crate) const VERSION: u64 = 1;
/// No line is longer: about 400 000 pairs. It bounds what one line can cost a reader.
pub const LINE_BYTES_MAX: usize = 64 << 20;
/// The first line has a name and two short words.
const HEADER_BYTES_MAX: usize = 64 << 10;

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    pub format: String,
    pub version: u64,
    /// Later versions may leave it out or call it otherwise.
    #[serde(default)]
    pub experiment: String,
}

impl Header {
    pub fn new(experiment: &str) -> Self {
        Header { format: FORMAT.into(), version: VERSION, experiment: experiment.into() }
    }

    pub fn line(&self) -> Result<String, String> {
        let line = serde_json::to_string(self).map_err(|error| error.to_string())? + "\n";
        if line.len() > HEADER_BYTES_MAX {
            return Err("the experiment's name is too long".into());
        }
        Ok(line)
    }
}

/// Returns a line: eight digits of CRC32C, a space, the instance, a newline.
pub(crate) fn encode(instance: &Instance) -> Result<Vec<u8>, String> {
    encode_within(instance, LINE_BYTES_MAX)
}

fn encode_within(instance: &Instance, most: usize) -> Result<Vec<u8>, String> {
    let mut line = b"00000000 ".to_vec();
    serde_json::to_writer(&mut line, instance).map_err(|error| error.to_string())?;
    let sum = format!("{:08x}", crc32c::crc32c(&line[9..]));
    line[..8].copy_from_slice(sum.as_bytes());
    line.push(b'\n');
    if line.len() > most {
        return Err(format!(
            "its {} pairs need {} bytes, more than the {most} of a journal's line",
            instance.pairs.len(),
            line.len()
        ));
    }
    Ok(line)
}

/// Returns the text behind a checksum that holds, without the newline.
fn checked(line: &[u8]) -> Option<&[u8]> {
    let (sum, text) = (line.get(..8)?, line.get(9..)?);
    let is_lower_hex = |digit: &u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    if line[8] != b' ' || !sum.iter().all(is_lower_hex) {
        return None;
    }
    let sum = u32::from_str_radix(std::str::from_utf8(sum).ok()?, 16).ok()?;
    (crc32c::crc32c(text) == sum).then_some(text)
}

/// What a line is.
pub(crate) enum Line<'a> {
    /// An instance as JSON, exactly as it was written.
    Good(&'a [u8]),
    /// Not what was written.
    Damaged,
    /// The file ends before the line does.
    Torn,
}

/// Lines of a journal from any source, in bounded memory.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    /// Of the line that was returned last, from 1.
    pub number: u64,
    /// Bytes up to the end of the last line that has one.
    pub whole_bytes: u64,
}

impl<R: BufRead> Lines<R> {
    pub fn new(input: R) -> Self {
        Lines { input, buffer: Vec::new(), number: 0, whole_bytes: 0 }
    }

    /// Returns the first line, as text; nothing when it is not whole.
    pub fn header(&mut self) -> io::Result<Option<&[u8]>> {
        let (bytes, is_whole) = self.read_line(HEADER_BYTES_MAX)?;
        Ok((is_whole && bytes <= HEADER_BYTES_MAX as u64).then_some(&self.buffer))
    }

    /// Returns the next line; nothing at the end.
    pub fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        let (bytes, is_whole) = self.read_line(LINE_BYTES_MAX)?;
        Ok(match (bytes, is_whole) {
            (0, _) => None,
            (_, false) => Some(Line::Torn),
            (_, true) if bytes > LINE_BYTES_MAX as u64 => Some(Line::Damaged),
            (_, true) => Some(checked(&self.buffer).map_or(Line::Damaged, Line::Good)),
        })
    }

    /// Reads a line and keeps up to `most` bytes of it, without the newline. Returns its length
    /// with the newline, and whether it has one.
    fn read_line(&mut self, most: usize) -> io::Result<(u64, bool)> {
        self.buffer.clear();
        let mut bytes = 0;
        loop {
            let available = match self.input.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if available.is_empty() {
                self.number += u64::from(bytes > 0);
                return Ok((bytes, false));
            }
            let newline = available.iter().position(|byte| *byte == b'\n');
            let text = &available[..newline.unwrap_or(available.len())];
            let room = most.saturating_sub(self.buffer.len());
            self.buffer.extend_from_slice(&text[..text.len().min(room)]);
            let used = text.len() + usize::from(newline.is_some());
            self.input.consume(used);
            bytes += used as u64;
            if newline.is_some() {
                self.number += 1;
                self.whole_bytes += bytes;
                return Ok((bytes, true));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(bytes: &[u8]) -> (String, u64) {
        let (mut lines, mut kinds) = (Lines::new(bytes), String::new());
        while let Some(line) = lines.next().unwrap() {
            kinds.push(match line {
                Line::Good(_) => 'g',
                Line::Damaged => 'd',
                Line::Torn => 't',
            });
        }
        (kinds, lines.whole_bytes)
    }

    #[test]
    fn good_damaged_and_torn_lines() {
        let sum = format!("{:08x}", crc32c::crc32c(b"{}"));
        let good = format!("{sum} {{}}\n");
        assert_eq!(kinds(good.as_bytes()), ("g".into(), 12));
        assert_eq!(kinds(format!("{good}{good}").as_bytes()).0, "gg");
        assert_eq!(kinds(format!("{good}{}", &good[..11]).as_bytes()), ("gt".into(), 12));
        assert_eq!(kinds(format!("{good}x{good}").as_bytes()).0, "gd");
        assert_eq!(
            kinds(good.to_uppercase().as_bytes()).0,
            if sum == sum.to_uppercase() { "g" } else { "d" }
        );
        assert_eq!(kinds(b"\n\n").0, "dd");
        assert_eq!(kinds(b"").0, "");
    }

    #[test]
    fn a_line_may_be_as_long_as_it_is_read_and_no_longer() {
        let named = |bytes: usize| {
            let mut instance = crate::from_rows::blank_instance();
            instance.varied = "x".repeat(bytes);
            encode_within(&instance, 1000)
        };
        let room = 1000 - named(0).unwrap().len();
        let longest = named(room).unwrap();
        assert_eq!((longest.len(), kinds(&longest)), (1000, ("g".into(), 1000)));
        assert!(named(room + 1).unwrap_err().contains("need 1001 bytes, more than the 1000"));
        assert!(named(room + 2).is_err());
    }

    #[test]
    fn the_longest_header_that_is_written_is_read() {
        let named = |bytes: usize| Header::new(&"x".repeat(bytes)).line();
        let room = HEADER_BYTES_MAX - named(0).unwrap().len();
        let longest = named(room).unwrap();
        let mut lines = Lines::new(longest.as_bytes());
        assert_eq!(lines.header().unwrap(), Some(longest.trim_end().as_bytes()));
        assert!(named(room + 1).is_err() && named(room + 2).is_err());
        let longer = longest.replace('\n', "x\n");
        assert_eq!(Lines::new(longer.as_bytes()).header().unwrap(), None);
    }

    /// Gives a byte at a time, after an interruption each, and fails at the end.
    struct Trying(&'static [u8], bool);

    impl io::Read for Trying {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let (first, rest) = self.0.split_first().ok_or(io::ErrorKind::TimedOut)?;
            (buffer[0], self.0) = (*first, rest);
            Ok(1)
        }
    }

    #[test]
    fn an_interruption_is_no_error_and_an_error_is_one() {
        let mut lines = Lines::new(std::io::BufReader::new(Trying(b"ab\nc", false)));
        assert_eq!(lines.read_line(4).unwrap(), (3, true));
        assert_eq!(lines.buffer, b"ab");
        assert_eq!(lines.read_line(4).unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn lines_are_numbered_also_one_that_is_torn() {
        let mut lines = Lines::new(&b"a\nb\nc"[..]);
        for (number, whole_bytes) in [(1, 2), (2, 4), (3, 4), (3, 4)] {
            lines.next().unwrap();
            assert_eq!((lines.number, lines.whole_bytes), (number, whole_bytes));
        }
    }

    #[test]
    fn long_lines_are_passed_over_and_not_kept() {
        let mut lines = Lines::new(std::io::BufReader::with_capacity(7, &b"123456789\nab\n"[..]));
        assert_eq!(lines.read_line(4).unwrap(), (10, true));
        assert_eq!(lines.buffer, b"1234");
        assert_eq!(lines.read_line(4).unwrap(), (3, true));
        assert_eq!(lines.buffer, b"ab");
    }
}
