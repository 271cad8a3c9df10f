//! `job_stats`: what each job did on a target, in a form like YAML (lprocfs_jobstats_seq_show in obdclass).
//!
//! A job's name is what users and batch systems like. Releases from 2.12 on quote and escape names; earlier ones print them as they are,
//! also with blanks and line ends. What a name with a line end adds is then read as what it looks like: unknown lines, or
//! counts of that job.

use std::borrow::Cow;

use memchr::memchr;

use crate::text::{Lines, bits, digits, words};
use crate::time::time;
use crate::{Amounts, Tally, Time, Unit};

/// What a line of `job_stats` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobLine<'a> {
    /// A job begins.
    Job(JobId<'a>),
    /// A time of that job.
    Time(Time),
    /// What the job did of an operation.
    Operation(&'a str, Tally<'a>),
    /// Nothing that is known.
    Unknown(&'a [u8]),
}

/// The name of a job as Lustre wrote it, without quotes around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId<'a>(&'a [u8]);

impl<'a> JobId<'a> {
    /// Returns the bytes that Lustre wrote: those that name the job the same each time.
    pub fn written(self) -> &'a [u8] {
        self.0
    }

    /// Returns the name itself, with `\xHH` turned back. It may be any bytes.
    pub fn name(self) -> Cow<'a, [u8]> {
        if memchr(b'\\', self.0).is_none() {
            return Cow::Borrowed(self.0);
        }
        let mut name = Vec::with_capacity(self.0.len());
        let mut rest = self.0;
        while let Some((&byte, after)) = rest.split_first() {
            match escaped(rest) {
                Some(value) => {
                    name.push(value);
                    rest = &rest[4..];
                }
                None => {
                    name.push(byte);
                    rest = after;
                }
            }
        }
        Cow::Owned(name)
    }
}

/// "\x20" at the beginning of a text.
fn escaped(text: &[u8]) -> Option<u8> {
    let code = text.get(..4)?.strip_prefix(b"\\x")?;
    u8::from_str_radix(words(code)?, 16).ok().filter(|_| code[0] != b'+')
}

/// The lines of `job_stats`.
#[derive(Debug, Clone)]
pub struct JobStats<'a> {
    lines: Lines<'a>,
}

/// Reads the text of `job_stats`.
pub fn job_stats(text: &[u8]) -> JobStats<'_> {
    JobStats { lines: Lines::of(text) }
}

impl<'a> Iterator for JobStats<'a> {
    type Item = JobLine<'a>;

    fn next(&mut self) -> Option<JobLine<'a>> {
        let line = self.lines.find(|line| {
            let line = line.trim_ascii();
            !line.is_empty() && line != b"job_stats:"
        })?;
        Some(if let Some((name, tally)) = operation(line) {
            JobLine::Operation(name, tally)
        } else if let Some(id) = line.strip_prefix(b"- job_id:") {
            JobLine::Job(JobId(unquoted(id.trim_ascii())))
        } else {
            time(line).map_or(JobLine::Unknown(line), JobLine::Time)
        })
    }
}

fn unquoted(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text)
}

/// "  write_bytes:     { samples:  25, unit: bytes, min: 1048576, max:16777216, sum:  26214400 }".
fn operation(line: &[u8]) -> Option<(&str, Tally<'_>)> {
    let line = line.strip_prefix(b"  ")?;
    let colon = memchr(b':', line)?;
    let name = words(line[..colon].trim_ascii())?;
    let mut rest = line[colon + 1..].trim_ascii().strip_prefix(b"{")?.strip_suffix(b"}")?;
    let (mut samples, mut unit) = (None, Unit::Requests);
    let (mut amounts, mut has_amounts) = (Amounts::default(), false);
    while let Some(colon) = memchr(b':', rest) {
        let key = rest[..colon].trim_ascii();
        if key == b"hist" {
            break;
        }
        let end = memchr(b',', &rest[colon..]).map_or(rest.len(), |comma| colon + comma);
        let value = rest[colon + 1..end].trim_ascii();
        match key {
            b"samples" => samples = Some(digits(value)?),
            b"unit" => unit = Unit::of(words(value)?),
            b"min" => amounts.least = bits(value)?,
            b"max" => amounts.most = bits(value)?,
            b"sum" => (amounts.sum, has_amounts) = (bits(value)?, true),
            b"sumsq" => amounts.sum_of_squares = Some(bits(value)?),
            _ => return None,
        }
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    Some((name, Tally { samples: samples?, unit, amounts: has_amounts.then_some(amounts) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_form_of_every_release() {
        let text = b"job_stats:
- job_id:          cluster-testjob1
  snapshot_time:   1461772761
  write_bytes:     { samples:          25, unit: bytes, min: 1048576, max:16777216, sum:        26214400 }
  punch:           { samples:           1, unit:  reqs }
- job_id:          \"node\\x20exporter:989\"
  snapshot_time:   1724140459.176791282 secs.nsecs
  elapsed_time:    2420.120267092 secs.nsecs
  parallel_rename_file: { samples:  3, unit: usecs, min:   1, max:   2, sum:     5, sumsq:      9 }
  read_bytes:      { samples: 1, unit: bytes, min: 4, max: 4, sum: 4, sumsq: 16, hist: { 4K: 1, 1M: 2 } }
- job_id:
  open:            { samples: many }
";
        let lines: Vec<_> = job_stats(text).collect();
        assert_eq!(lines.len(), 11);
        assert_eq!(lines[0], JobLine::Job(JobId(b"cluster-testjob1")));
        let amounts =
            Amounts { least: 1 << 20, most: 16 << 20, sum: 26_214_400, sum_of_squares: None };
        let tally = Tally { samples: 25, unit: Unit::Bytes, amounts: Some(amounts) };
        assert_eq!(lines[2], JobLine::Operation("write_bytes", tally));
        let tally = Tally { samples: 1, unit: Unit::Requests, amounts: None };
        assert_eq!(lines[3], JobLine::Operation("punch", tally));
        let JobLine::Job(id) = lines[4] else { panic!("{:?}", lines[4]) };
        assert_eq!(&*id.name(), b"node exporter:989");
        assert_eq!(id.written(), b"node\\x20exporter:989");
        assert_eq!(lines[6], JobLine::Time(Time::Elapsed(2_420_120_267_092)));
        let JobLine::Operation(_, tally) = lines[8] else { panic!("{:?}", lines[8]) };
        assert_eq!(tally.amounts.unwrap().sum_of_squares, Some(16));
        assert_eq!(lines[9], JobLine::Job(JobId(b"")));
        assert!(matches!(lines[10], JobLine::Unknown(_)));
    }

    proptest! {
        #[test]
        fn any_name_comes_back(name in proptest::collection::vec(any::<u8>(), 0..32)) {
            // As Lustre writes it.
            let mut written = String::new();
            for &byte in &name {
                match byte {
                    b'.' | b'@' | b'-' | b'_' | b':' | b'/' => written.push(byte.into()),
                    byte if byte.is_ascii_alphanumeric() => written.push(byte.into()),
                    byte => written += &format!("\\x{byte:02X}"),
                }
            }
            let text = format!("- job_id:          \"{written}\"\n");
            let Some(JobLine::Job(id)) = job_stats(text.as_bytes()).next() else { panic!("{text}") };
            prop_assert_eq!(&*id.name(), &name[..]);
        }

        #[test]
        fn no_text_panics(text in "(- job_id:|  [a-z]+: |\\{|\\}|samples:|sum:|[0-9]+|[,\n\" ]|.){0,60}") {
            for line in job_stats(text.as_bytes()) {
                if let JobLine::Job(id) = line {
                    id.name();
                }
            }
        }
    }
}
