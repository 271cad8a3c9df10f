//! The law of `window` on targets with known delays: what it does beside slow targets, beside
//! neighbours that flood all of them, and with more targets than it can use.

mod model;

use std::collections::BTreeMap;

use model::Effects;
use plimsoll_route::{Attempt, Factor, Input, Machine, Node, NodeSettings};
use plimsoll_route::{TargetId, Timer, Window, WindowSettings};

const MIB: u64 = 1 << 20;
const MS: u64 = 1_000_000;

/// A node whose writers always have more, on targets where a write takes as long as `delay_ns` says.
struct Bench<D> {
    node: Node<Window>,
    delay_ns: D,
    /// (end, order), attempt.
    under_way: BTreeMap<(u64, u64), Attempt>,
    timer: Option<Timer>,
    begun: u64,
    begun_on: Vec<u64>,
    most_in_flight_bytes: u64,
    last_commit_ns: u64,
}

impl<D: Fn(TargetId) -> u64> Bench<D> {
    fn new(writers: u32, targets: u16, delay_ns: D) -> Self {
        Bench::among(1, writers, targets, delay_ns)
    }

    /// One of so many nodes on each target.
    fn among(nodes_per_target: u32, writers: u32, targets: u16, delay_ns: D) -> Self {
        let law = WindowSettings { nodes_per_target, ..WindowSettings::default() };
        Bench::with(law, writers, targets, delay_ns)
    }

    fn with(law: WindowSettings, writers: u32, targets: u16, delay_ns: D) -> Self {
        let policy = Window::new(law, usize::from(targets), writers);
        let settings = NodeSettings {
            first_writer: 0,
            writers,
            targets: (0..targets).map(TargetId).collect(),
            factor: Factor::NONE,
        };
        let node = Node::new(settings, policy);
        let begun_on = vec![0; usize::from(targets)];
        let under_way = BTreeMap::new();
        Bench {
            node,
            delay_ns,
            under_way,
            timer: None,
            begun: 0,
            begun_on,
            most_in_flight_bytes: 0,
            last_commit_ns: 0,
        }
    }

    fn give(&mut self, now_ns: u64, input: Input) {
        let mut effects = Effects::default();
        self.node.step(now_ns, input, &mut effects);
        if !effects.committed.is_empty() {
            self.last_commit_ns = now_ns;
        }
        self.timer = effects.timers.pop().or(self.timer);
        for attempt in effects.started {
            self.begun += 1;
            self.begun_on[attempt.target.index()] += 1;
            let end_ns = now_ns + (self.delay_ns)(attempt.target);
            self.under_way.insert((end_ns, self.begun), attempt);
        }
        self.most_in_flight_bytes = self.most_in_flight_bytes.max(self.in_flight_bytes());
    }

    fn in_flight_bytes(&self) -> u64 {
        self.under_way.values().map(|attempt| attempt.length_bytes).sum()
    }

    /// Every writer submits much more than ends in `ends` ends of attempts.
    fn play(&mut self, writers: u32, ends: usize) {
        for writer in 0..writers {
            self.give(0, Input::Submit { writer, length_bytes: 1 << 40 });
        }
        for _ in 0..ends {
            self.play_timers();
            let Some(((now_ns, _), attempt)) = self.under_way.pop_first() else { break };
            let attempt = attempt.attempt;
            self.give(now_ns, Input::AttemptDone { attempt, pending_until_ns: now_ns });
        }
    }

    /// Timers that are due before the next attempt ends.
    fn play_timers(&mut self) {
        while let Some((&(end_ns, _), _)) = self.under_way.first_key_value() {
            let Some(timer) = self.timer.take_if(|timer| timer.at_ns <= end_ns) else { break };
            let (id, generation) = (timer.id, timer.generation);
            self.give(timer.at_ns, Input::Timer { id, generation });
        }
    }

    fn sum_of_windows(&self) -> u64 {
        (0..self.begun_on.len()).map(|lane| self.node.policy().window_bytes(lane)).sum()
    }
}

#[test]
fn a_slow_target_is_asked_now_and_then() {
    let mut bench = Bench::new(1, 4, |target| if target.0 == 2 { 900 * MS } else { 50 * MS });
    bench.play(1, 4000);
    assert!(bench.begun_on[2] > 3, "{:?}", bench.begun_on);
    assert!(bench.begun_on[2] * 10 < bench.begun_on[0], "{:?}", bench.begun_on);
    assert!(bench.node.policy().window_bytes(2) < bench.node.policy().window_bytes(0) / 8);
}

#[test]
fn a_neighbour_that_floods_all_targets_does_not_take_the_share() {
    let writers = 4;
    let mut bench = Bench::new(writers, 4, |_| 2000 * MS);
    bench.play(writers, 400);
    let share = 4 * MIB;
    assert!(bench.node.policy().aim_ns() > 1000 * MS, "{}", bench.node.policy().aim_ns());
    assert!(bench.sum_of_windows() >= share * 3 / 4, "{}", bench.sum_of_windows());
    assert!(bench.in_flight_bytes() >= share * 3 / 4, "{}", bench.in_flight_bytes());
}

#[test]
fn a_node_among_very_many_keeps_its_share_from_the_start() {
    // Ten times the setting before anything ends: looks come and find every target late.
    let writers = 16;
    let mut bench = Bench::among(100, writers, 16, |_| 500 * MS);
    bench.play(writers, 1);
    assert!(bench.sum_of_windows() >= 4 * MIB, "a least lease on each");
    bench.play(0, 200);
    let sum = bench.sum_of_windows();
    assert!(
        (15 * MIB..=17 * MIB).contains(&sum),
        "1 MiB for each writer, neither less nor more: {sum}"
    );
    let aim_ns = bench.node.policy().aim_ns();
    assert!((450 * MS..=550 * MS).contains(&aim_ns), "the delay that there is: {aim_ns}");
}

#[test]
fn beside_a_flood_no_writer_has_more_than_64_mib_in_flight() {
    let mut bench = Bench::new(4, 4, |_| 2000 * MS);
    bench.play(4, 4000);
    let sum = bench.sum_of_windows();
    assert!((240 * MIB..=270 * MIB).contains(&sum), "blocks are much larger: {sum}");
}

#[test]
fn while_nothing_ends_what_waits_joins_the_queues() {
    // Each target has a queue of others of ten seconds.
    let mut bench = Bench::new(16, 4, |_| 10_000 * MS);
    for writer in 0..16 {
        bench.give(0, Input::Submit { writer, length_bytes: 8 * MIB });
        bench.give(0, Input::Close { writer });
    }
    assert_eq!(bench.in_flight_bytes(), 4 * MIB, "nobody knows yet");
    bench.play_timers();
    assert!(bench.in_flight_bytes() >= 40 * MIB, "{}", bench.in_flight_bytes() / MIB);
}

#[test]
fn where_requests_cost_small_submissions_become_leases() {
    let law = WindowSettings::default().where_requests_cost(MIB);
    let mut bench = Bench::with(law, 1, 4, |_| 20 * MS);
    for _ in 0..1024 {
        bench.give(0, Input::Submit { writer: 0, length_bytes: 64 << 10 });
    }
    bench.give(0, Input::Close { writer: 0 });
    bench.play(0, usize::MAX);
    assert!(bench.begun <= 40, "64 MiB in leases of some MiB, not {}", bench.begun);
    let mut bench = Bench::new(1, 4, |_| 20 * MS);
    for _ in 0..4096 {
        bench.give(0, Input::Submit { writer: 0, length_bytes: 64 << 10 });
    }
    bench.play(0, usize::MAX);
    assert!(bench.begun <= 1100, "256 MiB, in 256 KiB once windows are full: {}", bench.begun);
}

#[test]
fn the_aim_comes_back_when_the_flood_is_over() {
    let flooded_until = std::cell::Cell::new(1000u32);
    let mut bench = Bench::new(2, 2, |_| {
        flooded_until.set(flooded_until.get().saturating_sub(1));
        if flooded_until.get() > 0 { 1000 * MS } else { 10 * MS }
    });
    bench.play(2, 250);
    assert!(bench.node.policy().aim_ns() > 500 * MS, "{}", bench.node.policy().aim_ns());
    bench.play(0, 2000);
    assert_eq!(bench.node.policy().aim_ns(), WindowSettings::default().tau_ns);
}

#[test]
fn more_targets_than_fit_the_delay_take_turns() {
    // As if very many nodes used the same targets: one lease on each of 256 is far too much.
    let mut bench = Bench::among(100, 1, 256, |_| 400 * MS);
    bench.play(1, 256);
    bench.most_in_flight_bytes = 0;
    bench.play(0, 4000);
    assert!(bench.sum_of_windows() < 16 * MIB, "{}", bench.sum_of_windows());
    assert!(bench.most_in_flight_bytes < 24 * MIB, "{}", bench.most_in_flight_bytes);
    let (least, most) = (bench.begun_on.iter().min(), bench.begun_on.iter().max());
    assert!(least.is_some_and(|least| *least > 4), "none is forgotten: {:?}", bench.begun_on);
    assert!(most < Some(&60), "none is preferred: {:?}", bench.begun_on);
}

#[test]
fn what_is_stuck_on_one_target_goes_to_another_however_small_its_window() {
    let stalls = std::cell::Cell::new(false);
    let mut bench = Bench::new(1, 2, |target| match (target.0, stalls.get()) {
        (0, false) => 2 * MS,
        (0, true) => 10_000_000 * MS,
        _ => 90 * MS,
    });
    bench.give(0, Input::Submit { writer: 0, length_bytes: 4096 * MIB });
    bench.give(0, Input::Close { writer: 0 });
    bench.play(0, 200);
    stalls.set(true);
    let window_bytes = |lane: usize| bench.node.policy().window_bytes(lane);
    assert!(window_bytes(0) > 32 * window_bytes(1), "one large, one small window");
    bench.play(0, usize::MAX);
    assert!(bench.last_commit_ns < 10_000_000 * MS, "{} ms", bench.last_commit_ns / MS);
}

#[test]
fn nodes_have_a_sensible_number_of_targets_without_knowing_their_rates() {
    assert_eq!(Window::lanes(1, 16, 480), 480, "one node uses all");
    assert_eq!(Window::lanes(1, 1, 480), 480, "however few writers it has");
    assert_eq!(Window::lanes(64, 16, 480), 60);
    assert_eq!(Window::lanes(100_000, 16, 1008), 16);
    assert_eq!(Window::lanes(100_000, 2, 1008), 16);
    assert_eq!(Window::lanes(100_000, 1, 1008), 8, "one writer among very many has little data");
    assert_eq!(Window::lanes(8 * 1008, 1, 1008), 16, "these are not too many");
    assert_eq!(Window::lanes(7, 16, 4), 4);
    assert_eq!(Window::lanes(0, 0, 1), 1);
}
