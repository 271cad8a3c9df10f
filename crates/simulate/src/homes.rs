//! Where each process writes when nobody routes.

use plimsoll_route::TargetId;
use plimsoll_route::coordinated::Layout;
use plimsoll_stats::Random;

use crate::scenario::{Home, Scenario};

/// Random streams of a seed: placement has its own, so that noise does not move it.
const PLACEMENT_STREAM: u64 = 1 << 33;

/// The targets of process 0, then of process 1, …; `stripes` of each.
pub fn homes(scenario: &Scenario, seed: u64) -> Vec<TargetId> {
    let application = &scenario.application;
    let targets = scenario.storage.targets;
    let layout = Layout { targets: targets as u16, writers: application.processes };
    let mut random = Random::for_stream(seed, PLACEMENT_STREAM);
    let mut all: Vec<u16> = (0..targets as u16).collect();
    let mut homes =
        Vec::with_capacity(application.processes as usize * application.stripes as usize);
    for process in 0..application.processes {
        let neighbours = |first: u32| {
            (0..application.stripes).map(move |nth| TargetId(((first + nth) % targets) as u16))
        };
        match application.placement {
            Home::Grouped => homes.extend(neighbours(u32::from(layout.home(process).0))),
            Home::Pinned => {
                let nth = process as usize % application.pinned.len();
                homes.extend(neighbours(application.pinned[nth]));
            }
            Home::Random => {
                let drawn = random.choose_distinct(&mut all, application.stripes as usize);
                homes.extend(drawn.iter().map(|target| TargetId(*target)));
            }
        }
    }
    homes
}

/// Bytes that each target would hold, when each process has written so many blocks.
pub fn home_bytes(
    scenario: &Scenario,
    homes: &[TargetId],
    blocks_of_each: impl Iterator<Item = u64>,
) -> Vec<u64> {
    let application = &scenario.application;
    let stripes = u64::from(application.stripes);
    let block = application.block.get();
    let stripe = block.div_ceil(stripes);
    let mut bytes = vec![0; scenario.storage.targets as usize];
    for (own, blocks) in homes.chunks(stripes as usize).zip(blocks_of_each) {
        let mut left = block;
        for target in own {
            let part = stripe.min(left);
            bytes[target.index()] += part * blocks;
            left -= part;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::embedded;
    use plimsoll_theory::{Contention, Requests};

    fn blocks(scenario: &Scenario) -> impl Iterator<Item = u64> {
        let application = &scenario.application;
        std::iter::repeat(u64::from(application.blocks) * u64::from(application.bursts))
    }

    #[test]
    fn groups_are_equal_and_stripes_hold_everything() {
        let mut scenario = embedded("heavy-noise").unwrap();
        let bytes = home_bytes(&scenario, &homes(&scenario, 1), blocks(&scenario));
        assert!(bytes.iter().all(|held| *held == bytes[0]));
        assert_eq!(bytes.iter().sum::<u64>(), scenario.application.total_bytes());
        scenario.application.stripes = 3;
        let bytes = home_bytes(&scenario, &homes(&scenario, 1), blocks(&scenario));
        assert_eq!(bytes.iter().sum::<u64>(), scenario.application.total_bytes());
    }

    #[test]
    fn pinned_processes_take_their_targets_in_turn_and_stripes_follow() {
        let mut scenario = embedded("quiet").unwrap();
        scenario.storage.targets = 4;
        let application = &mut scenario.application;
        (application.processes, application.stripes) = (3, 3);
        (application.placement, application.pinned) = (Home::Pinned, vec![2, 0]);
        (application.blocks, application.bursts) = (3, 2);
        application.block = plimsoll_domain::Bytes::new(10);
        let homes = homes(&scenario, 1);
        let targets: Vec<u16> = homes.iter().map(|target| target.0).collect();
        assert_eq!(targets, [2, 3, 0, 0, 1, 2, 2, 3, 0]);
        // Six blocks of 4, 4 and 2 bytes for each process.
        assert_eq!(home_bytes(&scenario, &homes, blocks(&scenario)), [6 * 8, 6 * 4, 6 * 10, 6 * 8]);
    }

    /// Wright, equations 6.5 and 6.6: 512 ranks with two stripes each on 480 targets.
    #[test]
    fn random_placement_has_wrights_load() {
        let mut scenario = embedded("plfs-scale").unwrap();
        scenario.application.processes = 512;
        let expected = Contention::new(480, Requests::equal(2, 512).unwrap()).unwrap();
        let trials = 200;
        let in_use: f64 = (0..trials)
            .map(|seed| {
                let mut used = homes(&scenario, seed);
                used.sort_unstable();
                used.dedup();
                used.len() as f64
            })
            .sum::<f64>()
            / trials as f64;
        // A deviation of about 7 targets; five standard errors of 200 trials.
        assert!((in_use - expected.in_use()).abs() < 2.5, "{in_use} {}", expected.in_use());
    }
}
