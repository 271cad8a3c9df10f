//! Lays down many records and holes at once: goes through the file from its beginning to its end, with those that are there at each
//! place. Its time does not depend on how they cover each other.

use std::collections::BinaryHeap;
use std::ops::Range;

use super::{Joined, Piece, Source, Stamp};

/// Something to lay down.
#[derive(Debug, Clone)]
pub struct Layer {
    /// Where.
    pub range: Range<u64>,
    /// When it got there.
    pub stamp: Stamp,
    /// Where its bytes come from.
    pub source: Source,
    /// The last time at which any of its bytes was written.
    pub written: Stamp,
}

impl Layer {
    /// Returns a record, or a hole.
    pub fn new(range: Range<u64>, stamp: Stamp, source: Source) -> Self {
        let written = if source == Source::Hole { Stamp::default() } else { stamp };
        Layer { range, stamp, source, written }
    }
}

/// What has begun and not ended, the latest first; some at its bottom may have ended: when, its number, and its end.
type There = BinaryHeap<(Stamp, usize, u64)>;

/// Returns the pieces that so many layers make. Of two of the same stamp, the one behind is seen.
pub fn sweep(count: usize, layer: impl Fn(usize) -> Layer) -> Vec<(u64, Piece)> {
    let mut has_holes = false;
    let mut starts: Vec<(u64, usize)> = Vec::with_capacity(count);
    for number in 0..count {
        let Layer { range, source, .. } = layer(number);
        has_holes |= source == Source::Hole;
        if !range.is_empty() {
            starts.push((range.start, number));
        }
    }
    starts.sort_unstable();
    let mut laid = Joined::default();
    laid.pieces.reserve(starts.len());
    // A record that is seen was written last of all that are there. Of a hole, that is one below it.
    let (mut there, mut writings) = (There::new(), There::new());
    let mut left = &starts[..];
    let mut place = 0;
    loop {
        drop_ended(&mut there, place);
        drop_ended(&mut writings, place);
        if there.is_empty() {
            left = lay_alone(left, has_holes, &layer, &mut laid);
        }
        let begin = left.first().map(|(start, _)| *start);
        if let Some(&(stamp, number, end)) = there.peek() {
            let stop = begin.map_or(end, |begin| begin.min(end));
            let source = layer(number).source;
            // The last of all may end before what is seen does.
            let (written, stop) = match writings.peek() {
                Some((written, _, end)) if has_holes => (*written, stop.min(*end)),
                _ if has_holes => (Stamp::default(), stop),
                _ => (stamp, stop),
            };
            laid.push(place, Piece { end: stop, stamp, source, written });
            place = stop;
        } else {
            let Some(begin) = begin else { break };
            place = begin;
        }
        let (begun, behind) = left.split_at(left.iter().take_while(|it| it.0 <= place).count());
        left = behind;
        for &(_, number) in begun {
            let Layer { range, stamp, written, .. } = layer(number);
            there.push((stamp, number, range.end));
            if has_holes && written != Stamp::default() {
                writings.push((written, number, range.end));
            }
        }
    }
    laid.pieces
}

fn drop_ended(there: &mut There, place: u64) {
    while there.peek().is_some_and(|(_, _, end)| *end <= place) {
        there.pop();
    }
}

/// Lays down the first ones as long as each of them ends before the next one begins, as most do; returns those that are left.
fn lay_alone<'a>(
    mut left: &'a [(u64, usize)],
    has_holes: bool,
    layer: impl Fn(usize) -> Layer,
    laid: &mut Joined,
) -> &'a [(u64, usize)] {
    while let [(start, number), behind @ ..] = left {
        let Layer { range, stamp, source, written } = layer(*number);
        if behind.first().is_some_and(|it| it.0 < range.end) {
            break;
        }
        let written = if has_holes { written } else { stamp };
        laid.push(*start, Piece { end: range.end, stamp, source, written });
        left = behind;
    }
    left
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Each hole takes all that is there, so that laying them one by one would go through all of it each time.
    #[test]
    fn each_layer_is_looked_at_a_few_times_however_they_cover_each_other() {
        const COUNT: usize = 20_000;
        let looks = Cell::new(0);
        let stamp = |sequence: usize| Stamp { sequence: sequence as u64 + 1, seat: 1 };
        let layer = |number: usize| {
            looks.set(looks.get() + 1);
            let place = 10 * (number % COUNT) as u64;
            if number < COUNT {
                return Layer::new(place..place + 5, stamp(number), Source::Record(number as u32));
            }
            Layer::new(place / 7..u64::MAX, stamp(number * 17 % (2 * COUNT)), Source::Hole)
        };
        let pieces = sweep(2 * COUNT, layer);
        assert!(pieces.len() <= 6 * COUNT, "{} pieces", pieces.len());
        assert!(looks.get() <= 12 * COUNT, "{} looks", looks.get());
    }
}
