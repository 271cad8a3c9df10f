//! The manifest: which logs a container has, one line for each.
//!
//! A line is `log NUMBER TARGET PATH CHECKSUM`, or `log NUMBER TARGET PATH seat SEAT CHECKSUM` for logs of other seats than the first, with
//! a tab between each two. It is appended before the first record is written to its log. A last line that is not whole belongs to a log that never had a record, and is left out.

use std::path::{Path, PathBuf};

/// Most logs of a container. 256 nodes on 480 targets need 4,096.
pub const LOGS_MAX: usize = 4096;

/// The only seat of a container that one node writes at a time.
pub const FIRST_SEAT: u32 = 1;

/// Largest manifest: a line for each log, each with the longest path that the kernel takes.
pub const MANIFEST_BYTES_MAX: u64 = 32 << 20;

/// Longest path that the kernel takes (PATH_MAX, limits.h, which counts a zero behind it). A longer one can be walked step by step, which takes as long as whoever forged it likes.
const PATH_BYTES_MAX: usize = 4095;

/// Most directories on the way to a target. Each is looked at for each log, which takes milliseconds for thousands of logs at the ends of short ways, and a minute for those of long ones.
const STEPS_MAX: usize = 64;

/// A log, as the manifest knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedLog {
    /// Its number in the container, which is also its line, from 0 on.
    pub number: u32,
    /// The name of its target.
    pub target: String,
    /// Where the target was when the log was made.
    pub path: PathBuf,
    /// Which of the nodes that write appends to it, from 1 on.
    pub seat: u32,
}

impl ListedLog {
    /// Returns the line to append; `None` if the target's name or path cannot be written in one, or the path is longer than is walked.
    pub fn line(&self) -> Option<String> {
        let path = self.path.to_str()?;
        let is_plain = |text: &str| !text.is_empty() && !text.contains(char::is_control);
        let steps = self.path.components().count().saturating_sub(1);
        let is_short = path.len() <= PATH_BYTES_MAX && steps <= STEPS_MAX;
        if !is_plain(&self.target) || !is_plain(path) || !is_short || !is_absolute(&self.path) {
            return None;
        }
        let mut said = format!("log\t{}\t{}\t{path}\t", self.number, self.target);
        if self.seat != FIRST_SEAT {
            said += &format!("seat\t{}\t", self.seat);
        }
        Some(format!("{said}{:08x}\n", crc32c::crc32c(said.as_bytes())))
    }

    fn parse(line: &str) -> Option<Self> {
        let (said, sum) = line.split_at_checked(line.rfind('\t')? + 1)?;
        if sum != format!("{:08x}", crc32c::crc32c(said.as_bytes())) {
            return None;
        }
        let mut fields = said.split('\t');
        let (Some("log"), number, target, path) =
            (fields.next(), fields.next()?, fields.next()?, fields.next()?)
        else {
            return None;
        };
        let log = ListedLog {
            number: number.parse().ok()?,
            target: target.to_string(),
            path: PathBuf::from(path),
            seat: match fields.next() {
                Some("seat") => fields.next()?.parse().ok()?,
                _ => FIRST_SEAT,
            },
        };
        // What can be said in one way only is read in that way only.
        (log.line().as_deref() == Some(&format!("{line}\n"))).then_some(log)
    }
}

/// Reads a manifest.
///
/// # Errors
/// Says which line is wrong.
pub fn parse(text: &[u8]) -> Result<Vec<ListedLog>, String> {
    let whole = text.iter().rposition(|it| *it == b'\n').map_or(0, |end| end + 1);
    let mut logs = Vec::new();
    for (index, line) in text[..whole].split_inclusive(|it| *it == b'\n').enumerate() {
        let line = std::str::from_utf8(line).unwrap_or_default();
        let log = line.strip_suffix('\n').and_then(ListedLog::parse);
        match log {
            Some(log) if index < LOGS_MAX && log.number as usize == index => logs.push(log),
            _ => return Err(format!("line {} is not a log", index + 1)),
        }
    }
    Ok(logs)
}

/// No step leads back.
fn is_absolute(path: &Path) -> bool {
    use std::path::Component;
    let is_step = |it: Component| matches!(it, Component::RootDir | Component::Normal(_));
    path.is_absolute() && path.components().all(is_step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn log(number: u32) -> ListedLog {
        ListedLog { number, target: "t 0".into(), path: "/mnt/t 0".into(), seat: FIRST_SEAT }
    }

    fn text(count: u32) -> Vec<u8> {
        (0..count).map(|it| log(it).line().unwrap()).collect::<String>().into_bytes()
    }

    #[test]
    fn lines_are_read_back_and_half_a_line_is_none() {
        assert_eq!(parse(b"").unwrap(), []);
        assert_eq!(parse(&text(3)).unwrap(), [log(0), log(1), log(2)]);
        let elsewhere = ListedLog { seat: 2, ..log(0) };
        assert_eq!(parse(elsewhere.line().unwrap().as_bytes()).unwrap(), [elsewhere]);
        for cut in text(2).len() + 1..text(3).len() {
            assert_eq!(parse(&text(3)[..cut]).unwrap(), [log(0), log(1)]);
        }
    }

    #[test]
    fn tricks_are_told_by_their_line() {
        assert_eq!(parse(b"\n").unwrap_err(), "line 1 is not a log");
        let twice = [text(1), text(1)].concat();
        assert_eq!(parse(&twice).unwrap_err(), "line 2 is not a log");
        for path in ["etc", "/a/../etc", "/a\nb", "", "/a\tb"] {
            assert_eq!(ListedLog { path: path.into(), ..log(0) }.line(), None, "{path:?}");
        }
    }

    /// An archive of 72 KB had a list of 4,096 logs, each behind 1,990 directories.
    #[test]
    fn a_path_has_few_steps() {
        let of = |steps: usize| ListedLog { path: "/d".repeat(steps).into(), ..log(0) };
        assert_eq!(parse(of(STEPS_MAX).line().unwrap().as_bytes()).unwrap(), [of(STEPS_MAX)]);
        assert_eq!(of(STEPS_MAX + 1).line(), None);
        assert_eq!(ListedLog { path: "".into(), ..log(0) }.line(), None);
    }

    /// A forged list named 4,096 logs at the end of a path 4,000 directories deep: looking for them took minutes.
    #[test]
    fn a_path_is_no_longer_than_the_kernel_takes() {
        let of = |bytes: usize| ListedLog {
            path: format!("/{}", "d".repeat(bytes - 1)).into(),
            ..log(0)
        };
        assert_eq!(
            parse(of(PATH_BYTES_MAX).line().unwrap().as_bytes()).unwrap(),
            [of(PATH_BYTES_MAX)]
        );
        let longer = of(PATH_BYTES_MAX + 1);
        assert_eq!(longer.line(), None);
        let said = format!("log\t0\tt 0\t{}\t", longer.path.display());
        let line = format!("{said}{:08x}\n", crc32c::crc32c(said.as_bytes()));
        assert_eq!(parse(line.as_bytes()).unwrap_err(), "line 1 is not a log");
    }

    proptest! {
        #[test]
        fn one_flipped_bit_is_noticed(bit in 0usize..8 * 30) {
            let mut text = text(2);
            text[bit / 8] ^= 1 << (bit % 8);
            prop_assert_ne!(parse(&text).ok(), Some(vec![log(0), log(1)]));
        }

        #[test]
        fn no_text_is_too_strange(text: Vec<u8>) {
            let _ = parse(&text);
        }
    }
}
