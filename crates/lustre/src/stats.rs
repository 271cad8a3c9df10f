//! `stats` and `md_stats`: one line for each operation (lprocfs_stats_seq_show in obdclass).

use crate::text::{Fields, Lines, bits, digits, words};
use crate::time::time;
use crate::{Amounts, Tally, Time, Unit};

/// What a line of `stats` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatsLine<'a> {
    /// A time.
    Time(Time),
    /// What an operation has counted. A name may come twice in old releases, counted at two places: add them up.
    Operation(&'a str, Tally<'a>),
    /// Nothing that is known.
    Unknown(&'a [u8]),
}

/// The lines of `stats`.
#[derive(Debug, Clone)]
pub struct Stats<'a> {
    lines: Lines<'a>,
}

/// Reads the text of `stats`, `md_stats` or another file of the same form.
pub fn stats(text: &[u8]) -> Stats<'_> {
    Stats { lines: Lines::of(text) }
}

impl<'a> Iterator for Stats<'a> {
    type Item = StatsLine<'a>;

    fn next(&mut self) -> Option<StatsLine<'a>> {
        let line = self.lines.find(|line| !line.trim_ascii().is_empty())?;
        Some(match operation(line) {
            Some((name, tally)) => StatsLine::Operation(name, tally),
            None => time(line).map_or(StatsLine::Unknown(line), StatsLine::Time),
        })
    }
}

/// "write_bytes  25001 samples [bytes] 98304 4194304 104857600000 439803838556274688".
fn operation(line: &[u8]) -> Option<(&str, Tally<'_>)> {
    let mut fields = Fields::of(line);
    let name = words(fields.next()?)?;
    let samples = digits(fields.next()?)?;
    if fields.next()? != b"samples" {
        return None;
    }
    let unit = fields.next()?.strip_prefix(b"[")?.strip_suffix(b"]")?;
    let unit = Unit::of(words(unit)?);
    let amounts = match fields.next() {
        None => None,
        Some(least) => Some(amounts(least, &mut fields)?),
    };
    fields.next().is_none().then_some((name, Tally { samples, unit, amounts }))
}

fn amounts(least: &[u8], fields: &mut Fields<'_>) -> Option<Amounts> {
    let (least, most, sum) = (bits(least)?, bits(fields.next()?)?, bits(fields.next()?)?);
    let sum_of_squares = match fields.next() {
        None => None,
        Some(text) => Some(bits(text)?),
    };
    Some(Amounts { least, most, sum, sum_of_squares })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_line() {
        let text = b"snapshot_time             1438693064.430544 secs.usecs\n\
            write_bytes               71893382 samples [bytes] 1 1048576 15201500833981\n\
            write                     25001 samples [usecs] 86 16684 41700926 74443748896\n\
            statfs                    3575885 samples [reqs]\n\
            open                      136 samples [regs]\n\
            cache_hit                 7 samples [pages] 1 1 7\n\
            huge                      1 samples [bytes] 0 1 -2 9\n\
            \n\
            read_bytes                1 samples [bytes] 4\n\
            what is this\n";
        let lines: Vec<_> = stats(text).collect();
        let tally = |unit, samples, amounts| Tally { samples, unit, amounts };
        let amounts =
            |least, most, sum, sum_of_squares| Some(Amounts { least, most, sum, sum_of_squares });
        assert_eq!(
            lines,
            [
                StatsLine::Time(Time::Snapshot(1_438_693_064_430_544_000)),
                StatsLine::Operation(
                    "write_bytes",
                    tally(Unit::Bytes, 71_893_382, amounts(1, 1_048_576, 15_201_500_833_981, None))
                ),
                StatsLine::Operation(
                    "write",
                    tally(
                        Unit::Microseconds,
                        25_001,
                        amounts(86, 16_684, 41_700_926, Some(74_443_748_896))
                    )
                ),
                StatsLine::Operation("statfs", tally(Unit::Requests, 3_575_885, None)),
                StatsLine::Operation("open", tally(Unit::Requests, 136, None)),
                StatsLine::Operation("cache_hit", tally(Unit::Pages, 7, amounts(1, 1, 7, None))),
                StatsLine::Operation(
                    "huge",
                    tally(Unit::Bytes, 1, amounts(0, 1, u64::MAX - 1, Some(9)))
                ),
                StatsLine::Unknown(b"read_bytes                1 samples [bytes] 4"),
                StatsLine::Unknown(b"what is this"),
            ]
        );
    }

    #[test]
    fn bytes_are_bytes_only() {
        let text = b"a 2 samples [bytes] 1 2 3\nb 2 samples [usecs] 1 2 3\nc 2 samples [bytes]\n";
        let bytes = stats(text).map(|line| match line {
            StatsLine::Operation(_, tally) => tally.bytes(),
            _ => None,
        });
        assert_eq!(Vec::from_iter(bytes), [Some(3), None, None]);
    }
}
