//! `brw_stats` of a target and `rpc_stats` of a client's connection: histograms of reads beside writes
//! (brw_stats_seq_show in obdclass).

use memchr::memchr;

use crate::text::{Fields, Lines, digits, scaled};
use crate::time::time;
use crate::{Bin, Histogram, Time};

/// What a line of `brw_stats` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrwLine<'a> {
    /// A time.
    Time(Time),
    /// A histogram begins; it may be empty.
    Head(Histogram),
    /// A bin of the histogram that began last.
    Bin(Histogram, Bin),
    /// Nothing that is known; so are the bins of a histogram that is not known.
    Unknown(&'a [u8]),
}

/// The lines of `brw_stats`.
#[derive(Debug, Clone)]
pub struct BrwStats<'a> {
    lines: Lines<'a>,
    current: Option<Histogram>,
}

/// Reads the text of `brw_stats` or `rpc_stats`.
pub fn brw_stats(text: &[u8]) -> BrwStats<'_> {
    BrwStats { lines: Lines::of(text), current: None }
}

impl<'a> Iterator for BrwStats<'a> {
    type Item = BrwLine<'a>;

    fn next(&mut self) -> Option<BrwLine<'a>> {
        loop {
            let line = self.lines.next()?;
            if let Some(bin) = bin(line) {
                return Some(match self.current {
                    Some(histogram) => BrwLine::Bin(histogram, bin),
                    None => BrwLine::Unknown(line),
                });
            }
            if is_decoration(line) {
                continue;
            }
            if let Some(time) = time(line) {
                return Some(BrwLine::Time(time));
            }
            // Whatever follows the head of an unknown histogram does not belong to the one before.
            self.current = Histogram::of_head(line);
            return Some(self.current.map_or(BrwLine::Unknown(line), BrwLine::Head));
        }
    }
}

/// Blank lines, "read | write", and the momentary figures at the head of `rpc_stats`.
fn is_decoration(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let mut fields = Fields::of(line);
    match fields.next() {
        None => true,
        Some(b"read") => {
            matches!(fields.rest(), b"write") || is_rpc_gauge(line) || is_sides(fields)
        }
        Some(b"write" | b"pending") => is_rpc_gauge(line),
        Some(_) => false,
    }
}

/// "read      |     write", after its first word.
fn is_sides(mut fields: Fields<'_>) -> bool {
    fields.next() == Some(b"|") && fields.next() == Some(b"write") && fields.next().is_none()
}

fn is_rpc_gauge(line: &[u8]) -> bool {
    [
        &b"read RPCs in flight:"[..],
        b"write RPCs in flight:",
        b"pending write pages:",
        b"pending read pages:",
    ]
    .iter()
    .any(|words| line.starts_with(words))
}

/// "128K:    35   0   0   |  209   0  22".
fn bin(line: &[u8]) -> Option<Bin> {
    if !line.first()?.is_ascii_digit() {
        return None;
    }
    let colon = memchr(b':', line)?;
    let upper = scaled(&line[..colon])?;
    let mut fields = Fields::of(&line[colon + 1..]);
    let reads = digits(fields.next()?)?;
    let bar = fields.by_ref().nth(2)?;
    let writes = digits(fields.next()?)?;
    (bar == b"|").then_some(Bin { upper, reads, writes })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPTURED: &[u8] = b"snapshot_time:         1510782606.797216394 (secs.nsecs)

                           read      |     write
discontiguous pages    rpcs  % cum % |  rpcs        % cum %
0:		        23 100 100   |  153   0   0

                           read      |     write
disk I/O size          ios   % cum % |  ios         % cum %
512:		         1   4  39   |    0   0   0
1K:		         2   8  47   |    0   0   0
4M:		         0   0 100   | 4059303  94 100

                           read      |     write
colour of the disk     ios   % cum % |  ios         % cum %
1:		         1   4  39   |    0   0   0
";

    #[test]
    fn histograms_are_read_and_what_is_new_is_told() {
        let bin = |upper, reads, writes| Bin { upper, reads, writes };
        let lines: Vec<_> = brw_stats(CAPTURED).collect();
        assert_eq!(
            lines[..8],
            [
                BrwLine::Time(Time::Snapshot(1_510_782_606_797_216_394)),
                BrwLine::Head(Histogram::DiscontiguousPages),
                BrwLine::Bin(Histogram::DiscontiguousPages, bin(0, 23, 153)),
                BrwLine::Head(Histogram::DiskSize),
                BrwLine::Bin(Histogram::DiskSize, bin(512, 1, 0)),
                BrwLine::Bin(Histogram::DiskSize, bin(1024, 2, 0)),
                BrwLine::Bin(Histogram::DiskSize, bin(4 << 20, 0, 4_059_303)),
                BrwLine::Unknown(b"colour of the disk     ios   % cum % |  ios         % cum %"),
            ]
        );
        assert_eq!(lines.len(), 9);
        assert!(
            matches!(lines[8], BrwLine::Unknown(_)),
            "a bin of what is not known: {:?}",
            lines[8]
        );
    }

    #[test]
    fn a_clients_requests_are_read_too() {
        let text = b"snapshot_time:         1510950459.787901292 (secs.nsecs)
read RPCs in flight:  0
write RPCs in flight: 6
pending write pages:  1244
pending read pages:   0

\t\t\tread\t\t\twrite
pages per rpc         rpcs   % cum % |       rpcs   % cum %
1024:\t\t         0   0   0   |   16389010  89 100
";
        let bin = Bin { upper: 1024, reads: 0, writes: 16_389_010 };
        let lines: Vec<_> = brw_stats(text).skip(1).collect();
        let histogram = Histogram::PagesPerRequest;
        assert_eq!(lines, [BrwLine::Head(histogram), BrwLine::Bin(histogram, bin)]);
    }
}
