//! Which targets a node uses, where there are too many for all nodes to use all.
//!
//! All nodes read one long list of targets, each the next `each` of it. The list is one
//! shuffle of all targets after another, so every target has nearly as many nodes as any
//! other. Shuffles are irregular on purpose: with an even stride, targets that are slow at
//! regular places (every fourth, say) would all fall to the same nodes.

use plimsoll_stats::random::mix;

use crate::TargetId;

/// The targets of `node`: `each` of `all`. Where to begin differs from node to node, because
/// nodes that begin at the same time should not all begin with the same target.
pub(crate) fn spread(node: u32, all: u16, each: u16) -> Vec<TargetId> {
    let mut targets = chosen(node, all, each);
    let first = mix(u64::from(node)) % targets.len().max(1) as u64;
    targets.rotate_left(first as usize);
    targets
}

/// The targets of `node`, in order.
fn chosen(node: u32, all: u16, each: u16) -> Vec<TargetId> {
    if each >= all {
        return (0..all).map(TargetId).collect();
    }
    let (size, count) = (u64::from(all), usize::from(each));
    let begin = u64::from(node) * u64::from(each);
    let mut targets: Vec<TargetId> = (begin..begin + u64::from(each))
        .map(|place| TargetId(shuffled(place % size, size, place / size) as u16))
        .collect();
    targets.sort_unstable();
    targets.dedup();
    // Where one shuffle ends and the next begins, a target may come twice.
    while targets.len() < count {
        let after = |target: &TargetId| TargetId((target.0 + 1) % all);
        let gap = targets.iter().map(after).find(|next| targets.binary_search(next).is_err());
        let Some(next) = gap else { break };
        let place = targets.partition_point(|known| *known < next);
        targets.insert(place, next);
    }
    targets
}

/// Where shuffle number `round` of `0..size` puts `place`: a Feistel network on the next power
/// of four, walked until it falls within the size.
fn shuffled(place: u64, size: u64, round: u64) -> u64 {
    const STEPS: u64 = 4;
    let half_bits = (64 - (size - 1).leading_zeros()).div_ceil(2).max(1);
    let mask = (1 << half_bits) - 1;
    let mut value = place;
    loop {
        let (mut left, mut right) = (value >> half_bits, value & mask);
        for step in 0..STEPS {
            let key = (round * STEPS + step) << 32;
            (left, right) = (right, left ^ (mix(key | right) & mask));
        }
        value = left << half_bits | right;
        if value < size {
            return value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_has_every_target_once() {
        for size in [1, 2, 3, 7, 16, 17, 1008, 4097] {
            for round in [0, 1, 9] {
                let mut all: Vec<u64> = (0..size).map(|i| shuffled(i, size, round)).collect();
                all.sort_unstable();
                assert!(all.into_iter().eq(0..size), "{size} {round}");
            }
        }
    }

    /// The same on every machine and in every version, so that runs can be compared.
    #[test]
    fn a_node_has_the_targets_that_it_always_had() {
        let of = |node, all, each| -> Vec<u16> {
            spread(node, all, each).iter().map(|target| target.0).collect()
        };
        assert_eq!(of(0, 1008, 6), [323, 381, 683, 813, 978, 118]);
        assert_eq!(of(167, 1008, 6), [272, 280, 630, 718, 976, 55]);
        assert_eq!(of(168, 1008, 6), [84, 536, 609, 724, 1001, 69]);
        assert_eq!(of(5000, 1008, 6), [346, 466, 632, 734, 818, 976]);
        assert_eq!(of(1, 16, 5), [1, 7, 8, 10, 15]);
        assert_eq!(of(3, 7, 5), [5, 6, 2, 3, 4]);
        assert_eq!(of(4, 7, 5), [3, 4, 0, 1, 2]);
        assert_eq!(of(2, 5, 5), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn every_node_has_its_number_of_distinct_targets_and_every_target_its_nodes() {
        for (all, each, nodes) in
            [(1008u16, 16u16, 8192u32), (1008, 4, 4096), (7, 3, 700), (5, 5, 9)]
        {
            let mut users = vec![0i64; usize::from(all)];
            for node in 0..nodes {
                let mut targets = spread(node, all, each);
                targets.sort_unstable();
                assert_eq!(targets.len(), usize::from(each.min(all)));
                assert!(targets.is_sorted_by(|a, b| a < b), "{targets:?}");
                targets.iter().for_each(|target| users[target.index()] += 1);
            }
            let mean = i64::from(nodes) * i64::from(each) / i64::from(all);
            let is_fair = |count: &i64| (count - mean).abs() <= 1 + mean / 4;
            assert!(users.iter().all(is_fair), "{all} {each} {users:?}");
        }
    }

    #[test]
    fn slow_targets_at_regular_places_do_not_gather_on_some_nodes() {
        let slow = |node: u32| spread(node, 1008, 4).iter().filter(|t| t.0 % 4 == 0).count();
        let only_slow = (0..4096).filter(|node| slow(*node) == 4).count();
        assert!(only_slow < 4096 / 64, "{only_slow} nodes; by chance 1 of 256");
    }
}
