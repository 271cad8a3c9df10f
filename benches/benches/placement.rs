//! Drawing distinct targets for a job: the partial shuffle that the contention model's
//! simulation uses, against drawing again whenever a target was taken already.

use std::collections::HashSet;
use std::hint::black_box;

use plimsoll_benches::{PAIRS, interleaved, report, seconds};
use plimsoll_stats::Random;

const TARGETS: u64 = 480;
const JOBS: usize = 20_000;

fn main() {
    for per_job in [2, 64, 160, 400] {
        let mut order: Vec<u32> = (0..TARGETS as u32).collect();
        let mut random = Random::new(1);
        let shuffle = || {
            seconds(|| {
                for _ in 0..JOBS {
                    black_box(random.choose_distinct(&mut order, per_job));
                }
            })
        };
        let mut other = Random::new(2);
        let redraw = || {
            seconds(|| {
                for _ in 0..JOBS {
                    let mut chosen = HashSet::with_capacity(per_job);
                    while chosen.len() < per_job {
                        chosen.insert(other.below(TARGETS));
                    }
                    black_box(&chosen);
                }
            })
        };
        let ratios = interleaved(PAIRS, shuffle, redraw);
        report(&format!("{per_job} of {TARGETS} targets: time of shuffle over redraw"), ratios);
    }
}
