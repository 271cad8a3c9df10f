//! Which of many targets a node writes to: so few that a container has few logs, and so chosen that all targets have about as many.
//!
//! Nobody coordinates this. All nodes know one ring of all targets, another one for each container, in an order by chance: targets that are slow
//! at regular places do not fall to the same nodes. A node's seat says where on the ring it begins; those of the first seats are as far apart
//! as a node reaches, those of the next ones halfway between them, and so on. How far it reaches depends on how many nodes write, and on how many
//! logs they have made: nodes that come early leave room for all that may come.

use plimsoll_stats::random::mix;

use crate::Id;
use crate::states::SEATS_MAX;

/// Logs that a node has at most, and targets that it writes to: of a container's 4,096 logs, each of 256 nodes has its part.
const LOGS_PER_NODE: usize = 16;

/// Logs on one target at most, of one node: writers of one log wait for each other's changes of its inode (four processes wrote 4 KiB to logs of
/// their own twice as fast as to one), and many logs are many files.
const LOGS_PER_TARGET: usize = 8;

/// Logs for each target, of all nodes together (D_load, Wright 6.6), where nodes have a choice.
const LOAD: usize = 3;

/// Targets that a node writes to at least: with fewer, it could not avoid slow ones.
const TARGETS_LEAST: usize = 4;

/// Where the seats of later rounds begin between those of the first: this many places for each, halves before quarters.
const PLACES_BITS: u32 = 4;

/// The targets of a container, in the order in which a node writes to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// Those that the node writes to come first; where one of them refuses, the next one takes its place.
    order: Vec<usize>,
}

impl Reach {
    /// Returns the reach of the node of a seat. Targets are known by their names, in whichever order they are named.
    pub fn new<'a>(container: Id, targets: impl Iterator<Item = &'a str>, seat: u32) -> Self {
        let names: Vec<&str> = targets.collect();
        let mut order: Vec<usize> = (0..names.len()).collect();
        if names.len() > LOGS_PER_NODE {
            order.sort_by_cached_key(|at| (chance(container, names[*at]), *at));
            order.rotate_left(start(names.len(), seat));
        }
        Reach { order }
    }

    /// Returns the places of the targets in the list that they were named in, those first that the node writes to.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Returns to how many targets each of so many nodes writes, if they came together.
    pub fn width(targets: usize, nodes: usize) -> usize {
        Self::width_beside(targets, nodes, 0, 0)
    }

    /// Returns to how many targets one of so many nodes writes that has so many logs, while the others have so many.
    pub fn width_beside(
        targets: usize,
        nodes: usize,
        own_logs: usize,
        logs_of_others: usize,
    ) -> usize {
        if targets <= LOGS_PER_NODE {
            return targets;
        }
        let logs = logs_of(targets, nodes);
        let left = logs.saturating_sub(logs_of_others).min(logs / nodes.max(1));
        // Where all that may come have been left theirs, what a node has it keeps.
        let kept = if is_enough_for_all(targets) { own_logs } else { 0 };
        left.max(kept).clamp(TARGETS_LEAST, LOGS_PER_NODE)
    }

    /// Returns how many logs a node has on a target at most.
    pub fn logs_per_target(targets: usize) -> usize {
        (LOGS_PER_NODE / targets.max(1)).clamp(1, LOGS_PER_TARGET)
    }

    /// Returns whether the number of nodes matters.
    pub fn is_part(&self) -> bool {
        self.order.len() > LOGS_PER_NODE
    }
}

/// Returns how many logs so many nodes have together. Where there can be enough for the most nodes, those that are not there yet are left a few each,
/// whether they come or not; but each target is used.
fn logs_of(targets: usize, nodes: usize) -> usize {
    let left_to_others = TARGETS_LEAST * (SEATS_MAX as usize).saturating_sub(nodes);
    match is_enough_for_all(targets) {
        true => (LOAD * targets - left_to_others).max(targets),
        false => LOAD * targets,
    }
}

fn is_enough_for_all(targets: usize) -> bool {
    LOAD * targets >= TARGETS_LEAST * SEATS_MAX as usize
}

fn chance(container: Id, name: &str) -> u64 {
    let bytes = container.bytes().into_iter().chain(name.bytes());
    bytes.fold(0, |all, byte| mix(all ^ u64::from(byte)))
}

/// Returns where on the ring the node of a seat begins.
fn start(targets: usize, seat: u32) -> usize {
    let index = seat.saturating_sub(1) as usize;
    // So many nodes reach all targets together, each another part.
    let round = targets.div_ceil(LOGS_PER_NODE);
    let places = 1 << PLACES_BITS;
    let between = ((index / round % places) as u32).reverse_bits() >> (u32::BITS - PLACES_BITS);
    targets * (places * (index % round) + between as usize) / (places * round)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: usize = 256;

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|it| format!("scratch-OST{it:04x}")).collect()
    }

    /// How many nodes write to each target.
    fn users(seed: u8, targets: usize, nodes: usize) -> Vec<usize> {
        let (names, id) = (names(targets), Id::from_bytes([seed; 16]));
        let mut users = vec![0; targets];
        for seat in 1..=nodes as u32 {
            let reach = Reach::new(id, names.iter().map(String::as_str), seat);
            let width = Reach::width(targets, nodes);
            reach.order()[..width].iter().for_each(|it| users[*it] += 1);
        }
        users
    }

    #[test]
    fn the_largest_run_has_few_logs_and_even_targets() {
        for seed in 0..20 {
            let users = users(seed, 480, NODES);
            let logs: usize = users.iter().sum::<usize>() * Reach::logs_per_target(480);
            let used = users.iter().filter(|it| **it > 0).count();
            assert!(logs <= 4096 && used == 480, "{logs} logs on {used} targets");
            assert!(logs as f64 / used as f64 <= 3.0, "{logs} logs on {used} targets");
            assert!(users.iter().all(|it| (2..=4).contains(it)), "{users:?}");
        }
    }

    /// Each has made all its logs before the next one comes.
    #[test]
    fn nodes_that_come_one_after_the_other_have_as_few_logs() {
        let (names, id) = (names(480), Id::from_bytes([5; 16]));
        let (mut users, mut logs) = (vec![0; 480], 0);
        for seat in 1..=NODES {
            let width = Reach::width_beside(480, seat, 0, logs);
            assert!(width == LOGS_PER_NODE || seat > 30 && width >= TARGETS_LEAST, "{seat}");
            let reach = Reach::new(id, names.iter().map(String::as_str), seat as u32);
            reach.order()[..width].iter().for_each(|it| users[*it] += 1);
            assert_eq!(Reach::width_beside(480, NODES, width, LOAD * 480), width, "it keeps them");
            logs += width;
            let used = users.iter().filter(|it| **it > 0).count();
            assert!(logs <= LOAD * used, "{logs} logs on {used} targets");
        }
        assert!(users.iter().all(|it| (2..=5).contains(it)), "{users:?}");
    }

    #[test]
    fn whoever_writes_with_others_shares_targets_evenly() {
        for targets in [17, 31, 64, 100, 480] {
            for nodes in [1, 2, 7, 30, 31, 60, 100, 128, 256] {
                let users = users(1, targets, nodes);
                let (width, all) = (Reach::width(targets, nodes), users.iter().sum::<usize>());
                assert_eq!(all, width * nodes);
                let mean = all as f64 / targets as f64;
                let most = *users.iter().max().unwrap() as f64;
                // Where seats of a round are half done, some targets have those of one more place.
                assert!(most <= 2.0 * mean.max(1.0) + 1.0, "{targets} {nodes}: {most}, {mean}");
                let used = users.iter().filter(|it| **it > 0).count() as f64;
                assert!(used >= 0.5 * targets.min(all) as f64, "{targets} {nodes}: {used} used");
            }
        }
    }

    #[test]
    fn of_few_targets_each_node_has_all() {
        for count in 1..=16 {
            let names = names(count);
            let reach = Reach::new(Id::from_bytes([7; 16]), names.iter().map(String::as_str), 9);
            assert!(reach.order().iter().copied().eq(0..count) && !reach.is_part());
            for nodes in [1, NODES] {
                assert_eq!(Reach::width(count, nodes), count);
                assert!(nodes * count * Reach::logs_per_target(count) <= 4096);
            }
        }
        assert_eq!([1, 2, 4, 8, 9, 16, 480].map(Reach::logs_per_target), [8, 8, 4, 2, 1, 1, 1]);
    }

    #[test]
    fn a_node_has_the_same_targets_however_they_are_named() {
        let names = names(40);
        let id = Id::from_bytes([3; 16]);
        let first = |names: &[String]| -> Vec<String> {
            let reach = Reach::new(id, names.iter().map(String::as_str), 2);
            reach.order()[..16].iter().map(|it| names[*it].clone()).collect()
        };
        let turned: Vec<String> = names.iter().rev().cloned().collect();
        assert_eq!(first(&names), first(&turned));
        let other = Reach::new(Id::from_bytes([4; 16]), names.iter().map(String::as_str), 2);
        let other: Vec<String> = other.order()[..16].iter().map(|it| names[*it].clone()).collect();
        assert_ne!(first(&names), other, "another container has other targets first");
    }
}
