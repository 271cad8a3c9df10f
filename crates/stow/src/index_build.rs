//! Makes a merged index of the parts of a file.

use crate::index::{Fence, IndexHead, RUNS_PER_BLOCK, SINGLES_PER_BLOCK};
use crate::index_entry::{DELTA_MAX, Extent, IndexRun, LENGTH_MAX, STRIDE_MAX, encode_single};

/// Fewer parts than this take less room as singles.
const RUN_PARTS_MIN: u32 = 3;

/// Returns the bytes of an index of these parts; they overlap nowhere. `None` if one of them does not fit into an index.
pub fn index_of(head: IndexHead, extents: Vec<Extent>) -> Option<Vec<u8>> {
    let (runs, singles) = in_runs(joined(extents));
    let (run_fences, run_bytes) = run_blocks(&runs)?;
    let (single_fences, single_bytes) = single_blocks(&singles)?;
    let mut bytes = IndexHead { runs: run_fences, singles: single_fences, ..head }.encode();
    bytes.extend(run_bytes);
    bytes.extend(single_bytes);
    Some(bytes)
}

/// Joins what lies side by side in the file and in a log; returns it in the order of the logs.
fn joined(mut extents: Vec<Extent>) -> Vec<Extent> {
    extents.sort_unstable_by_key(|it| (it.log, it.position));
    extents.dedup_by(|next, last| {
        let is_next = next.log == last.log
            && next.position == last.position + last.length
            && next.start == last.end()
            && last.length + next.length <= LENGTH_MAX;
        if is_next {
            last.length += next.length;
        }
        is_next
    });
    extents
}

/// Finds the runs; returns them and all other parts, each in the order of the file.
fn in_runs(extents: Vec<Extent>) -> (Vec<IndexRun>, Vec<Extent>) {
    let (mut runs, mut singles): (Vec<IndexRun>, Vec<Extent>) = (Vec::new(), Vec::new());
    let mut rest = &extents[..];
    while let Some(first) = rest.first() {
        let run = run_from(first, rest);
        match run {
            Some(run) => {
                rest = &rest[run.count as usize..];
                let goes_on = runs.last_mut().is_some_and(|last| join(last, &run));
                if !goes_on {
                    runs.push(run);
                }
            }
            None => {
                singles.push(*first);
                rest = &rest[1..];
            }
        }
    }
    runs.sort_unstable_by_key(|it| it.first.start);
    singles.sort_unstable_by_key(|it| it.start);
    (runs, singles)
}

/// Lets a run go on behind a slot page, if the next one does so as the run began.
fn join(run: &mut IndexRun, next: &IndexRun) -> bool {
    let every = match run.every {
        0 => u16::try_from(run.count).unwrap_or(0),
        every => every,
    };
    let longer = IndexRun { every, count: run.count.saturating_add(next.count), ..*run };
    let is_next = every > 0
        && run.count.is_multiple_of(u32::from(every))
        && next.count <= u32::from(every)
        && next.stride == run.stride
        && next.first == longer.part(u64::from(run.count));
    if is_next {
        *run = longer;
    }
    is_next
}

/// Returns the run that begins with these parts, if it has enough of them.
fn run_from(first: &Extent, extents: &[Extent]) -> Option<IndexRun> {
    let stride = extents.get(1)?.start.checked_sub(first.start)?;
    if !(first.length..=STRIDE_MAX).contains(&stride) {
        return None;
    }
    let continues = |index: &u32| {
        let (steps, next) = (u64::from(*index), extents.get(*index as usize));
        next.is_some_and(|next| {
            next.log == first.log
                && next.length == first.length
                && next.position == first.position + steps * first.length
                && stride.checked_mul(steps).and_then(|it| it.checked_add(first.start))
                    == Some(next.start)
        })
    };
    let count = 1 + (1..u32::MAX).take_while(continues).count() as u32;
    (count >= RUN_PARTS_MIN).then_some(IndexRun { first: *first, stride, count, every: 0 })
}

fn run_blocks(runs: &[IndexRun]) -> Option<(Vec<Fence>, Vec<u8>)> {
    let (mut fences, mut all, mut reach) = (Vec::new(), Vec::new(), 0);
    for block in runs.chunks(RUNS_PER_BLOCK) {
        let begin = all.len();
        for run in block {
            all.extend(run.encode()?);
            reach = reach.max(run.end());
        }
        fences.push(Fence {
            first: block.first()?.first.start,
            reach,
            entries: block.len() as u32,
            checksum: crc32c::crc32c(&all[begin..]),
        });
    }
    Some((fences, all))
}

fn single_blocks(singles: &[Extent]) -> Option<(Vec<Fence>, Vec<u8>)> {
    let (mut fences, mut all): (Vec<Fence>, Vec<u8>) = (Vec::new(), Vec::new());
    let mut rest = singles;
    while let Some(first) = rest.first() {
        let base = first.start;
        let is_near = |it: &&Extent| it.start - base <= DELTA_MAX;
        let count = rest.iter().take(SINGLES_PER_BLOCK).take_while(is_near).count();
        let (block, behind) = rest.split_at(count);
        let begin = all.len();
        for single in block {
            all.extend(encode_single(single, base)?);
        }
        fences.push(Fence {
            first: base,
            reach: block.last()?.end(),
            entries: count as u32,
            checksum: crc32c::crc32c(&all[begin..]),
        });
        rest = behind;
    }
    Some((fences, all))
}
