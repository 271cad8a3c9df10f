//! Which write-ahead file told last of a time: of a time that a clock showed twice, what was appended later counts.

use std::collections::{BTreeSet, HashMap};

use crate::cover::{Cover, Span, place};
use crate::{Batch, Component};

/// Which of several write-ahead files told last of each moment, by component: of counters and of levels.
#[derive(Debug, Default)]
pub(crate) struct LatestCover {
    of: HashMap<Component, [Layers; 2]>,
}

/// Spans that do not overlap, in their order, each with the number of the last file that covers it. However many there are, a question costs
/// their logarithm: files may be of anybody.
#[derive(Debug, Default)]
struct Layers {
    spans: Vec<Span>,
    /// A tree: the number of span i is at `spans.len() + i`, and each place n has the greater one of 2n and 2n + 1.
    latest: Vec<u64>,
}

impl LatestCover {
    /// Returns what files of these numbers cover.
    pub fn of(covers: Vec<(u64, Cover)>) -> Self {
        let mut told: HashMap<Component, [Vec<(Span, u64)>; 2]> = HashMap::new();
        for (sequence, cover) in covers {
            for (component, spans) in cover.into_spans() {
                let of = told.entry(component).or_default();
                for (of, spans) in of.iter_mut().zip(spans) {
                    // What ends at the beginning of time covers nothing.
                    let some = spans.into_iter().filter(|span| span.start < span.end);
                    of.extend(some.map(|span| (span, sequence)));
                }
            }
        }
        let of = told.into_iter().map(|(component, of)| (component, of.map(Layers::of)));
        LatestCover { of: of.collect() }
    }

    /// Calls for what of a batch no later file than this one covers, if that is anything.
    pub fn not_later<E>(
        &self,
        sequence: u64,
        batch: Batch<'_>,
        each: &mut impl FnMut(Batch<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let layers = self.of.get(&batch.series.component).map(|it| &it[place(batch.series)]);
        let Some(layers) = layers.filter(|it| it.may_cover(sequence, batch.ends)) else {
            return each(batch);
        };
        let is_left =
            |place: &usize| !layers.is_covered(sequence, batch.ends[*place], batch.lengths[*place]);
        let left: Vec<usize> = (0..batch.ends.len()).filter(is_left).collect();
        let some = |all: &[u64]| -> Vec<u64> { left.iter().map(|place| all[*place]).collect() };
        let (ends, lengths, values) = (some(batch.ends), some(batch.lengths), some(batch.values));
        if ends.is_empty() {
            return Ok(());
        }
        each(Batch { series: batch.series, ends: &ends, lengths: &lengths, values: &values })
    }
}

impl Layers {
    fn of(told: Vec<(Span, u64)>) -> Self {
        // Where spans begin and end, from left to right, with those that are open in between.
        let begin = told.iter().map(|(span, sequence)| (span.start, true, *sequence));
        let end = told.iter().map(|(span, sequence)| (span.end, false, *sequence));
        let mut ends: Vec<(u64, bool, u64)> = begin.chain(end).collect();
        ends.sort_unstable();
        let (mut open, mut since) = (BTreeSet::new(), 0);
        let (mut spans, mut numbers): (Vec<Span>, Vec<u64>) = (Vec::new(), Vec::new());
        for (moment, is_begin, sequence) in ends {
            if let Some(latest) = open.last().filter(|_| moment > since) {
                spans.push(Span { start: since, end: moment });
                numbers.push(*latest);
            }
            since = moment;
            // Spans of one file do not overlap.
            if is_begin {
                open.insert(sequence)
            } else {
                open.remove(&sequence)
            };
        }
        let mut latest = vec![0; numbers.len()];
        latest.extend(&numbers);
        for place in (1..numbers.len()).rev() {
            latest[place] = latest[2 * place].max(latest[2 * place + 1]);
        }
        Layers { spans, latest }
    }

    /// Returns false if no later file covers any of the samples, which come in the order of time.
    fn may_cover(&self, sequence: u64, ends: &[u64]) -> bool {
        let (Some(first), Some(last)) = (self.spans.first(), ends.last()) else { return false };
        first.start < *last && self.greatest(0, self.spans.len()) > Some(sequence)
    }

    fn is_covered(&self, sequence: u64, end: u64, length: u64) -> bool {
        let start = end.saturating_sub(length.max(1));
        let from = self.spans.partition_point(|span| span.end <= start);
        let until = self.spans.partition_point(|span| span.start < end);
        self.greatest(from, until) > Some(sequence)
    }

    /// Returns the greatest number of some spans that follow each other; nothing if there are none.
    fn greatest(&self, from: usize, until: usize) -> Option<u64> {
        let (mut from, mut until) = (from + self.spans.len(), until + self.spans.len());
        let mut greatest = None;
        while from < until {
            if from % 2 == 1 {
                greatest = greatest.max(self.latest.get(from).copied());
                from += 1;
            }
            if until % 2 == 1 {
                until -= 1;
                greatest = greatest.max(self.latest.get(until).copied());
            }
            (from, until) = (from / 2, until / 2);
        }
        greatest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cover::is_covered;
    use crate::{ComponentKind, Measure, Row, Series};
    use proptest::prelude::*;

    fn series() -> Series {
        let component = Component::new(ComponentKind::Ost, "a");
        Series { measure: Measure::ReadBytes, bin: 0, component, server: String::new() }
    }

    fn row(end: u64, length: u32) -> Row {
        Row { series: 0, end, length, value: 1 }
    }

    fn covers(files: &[Vec<(u64, u32)>]) -> Vec<(u64, Cover)> {
        let known = [Some(series())];
        let cover = |(number, rows): (usize, &Vec<(u64, u32)>)| {
            let rows: Vec<Row> = rows.iter().map(|(end, length)| row(*end, *length)).collect();
            (3 * number as u64, Cover::of(&known, &rows))
        };
        files.iter().enumerate().map(cover).collect()
    }

    proptest! {
        /// Asking each file gives the same answer, and takes longer.
        #[test]
        fn a_sample_is_covered_if_any_later_file_covers_it(
            files in proptest::collection::vec(proptest::collection::vec((0u64..200, 1u32..40), 0..6), 0..8),
            asked in proptest::collection::vec((0u64..30, 0u64..250, 0u64..60), 1..40),
        ) {
            let (all, latest) = (covers(&files), LatestCover::of(covers(&files)));
            for (sequence, end, length) in asked {
                let later = all.iter().filter(|(number, _)| *number > sequence);
                let expected =
                    later.into_iter().any(|(_, cover)| is_covered(cover.spans(&series()), end, length));
                let series = series();
                let batch = Batch { series: &series, ends: &[end], lengths: &[length], values: &[1] };
                let mut is_left = false;
                let asked: Result<(), ()> = latest.not_later(sequence, batch, &mut |_| {
                    is_left = true;
                    Ok(())
                });
                asked.unwrap();
                prop_assert_eq!(!is_left, expected, "{} {} {}", sequence, end, length);
            }
        }
    }

    /// Ten thousand files, each of which covers a time of its own and all of them: every question would look at all.
    #[test]
    fn very_many_files_and_samples_are_compared_at_once() {
        let files: Vec<Vec<(u64, u32)>> =
            (0..10_000u64).map(|it| vec![(10 + 20 * it, 10), (10_000_000, 9_000_000)]).collect();
        let latest = LatestCover::of(covers(&files));
        let ends: Vec<u64> = (1..100_000u64).map(|it| it * 2).collect();
        let lengths = vec![200_000; ends.len()];
        let series = series();
        let batch = Batch { series: &series, ends: &ends, lengths: &lengths, values: &ends };
        let mut left = Vec::new();
        let asked: Result<(), ()> = latest.not_later(15_000, batch, &mut |batch| {
            left.extend(batch.ends.to_vec());
            Ok(())
        });
        asked.unwrap();
        assert_eq!(left, ends.iter().copied().filter(|end| *end <= 5001 * 20).collect::<Vec<_>>());
    }
}
