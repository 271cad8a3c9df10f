//! Larger systems in thousands of orders chosen by seeds: what the checker cannot exhaust.

mod model;

use std::ops::Range;

use model::roles::Roles;
use model::run::walk;
use model::{Bounds, Effects, Party};
use plimsoll_route::coordinated::{Layout, RoleSettings};
use plimsoll_route::{
    ActorId, Factor, Failure, Input, Placement, Router, Static, Striped, TargetId, Window,
    WindowSettings,
};
use plimsoll_stats::random::mix;

/// Nodes with a clock of their own, which runs by fits and starts.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct Nodes<P> {
    nodes: plimsoll_route::Nodes<P>,
    largest_bytes: u64,
    now_ns: u64,
}

impl<P: Placement> Nodes<P> {
    fn new(nodes: u32, targets: u16, factor: Factor, policy: impl Fn(Range<u32>) -> P) -> Self {
        let nodes = plimsoll_route::Nodes::new(nodes * 8, 8, factor, |_, own| {
            ((0..targets).map(TargetId).collect(), policy(own))
        });
        Nodes { nodes, largest_bytes: 8 << 20, now_ns: 0 }
    }
}

impl<P> Party for Nodes<P>
where
    P: Placement + Clone + std::fmt::Debug + std::hash::Hash + Eq + Send + Sync + 'static,
{
    fn step(&mut self, actor: ActorId, input: Input, out: &mut Effects) {
        self.now_ns += mix(self.now_ns) % 9_000_000;
        self.nodes.step(actor, self.now_ns, input, out);
    }

    fn actors(&self) -> u32 {
        self.nodes.actors()
    }

    fn home(&self, writer: u32) -> ActorId {
        self.nodes.actor_of(writer)
    }

    fn advise(&mut self, _advice: u16) {}

    fn targets(&self) -> usize {
        self.nodes.nodes()[0].lanes().len()
    }

    fn roles(&self) -> u32 {
        0
    }

    fn is_throttle_kept(&self) -> bool {
        self.nodes.nodes().iter().all(|node| node.is_throttle_kept(self.largest_bytes))
    }
}

fn window() -> Window {
    Window::new(WindowSettings::default(), 6, 8)
}

fn troubles(bounds: Bounds) -> Bounds {
    let target_failures = vec![(TargetId(0), Failure::Stopped), (TargetId(3), Failure::Full)];
    Bounds { attempt_failures: 2, writer_deaths: 2, target_returns: 1, target_failures, ..bounds }
}

/// A debug build, ten times as slow, does a quarter of them.
fn seeds(count: u64) -> std::ops::Range<u64> {
    0..if cfg!(debug_assertions) { count / 4 } else { count }
}

fn stopping(bounds: Bounds) -> Bounds {
    Bounds { stopped_is_for_ever: true, ..bounds }
}

const BLOCKS: [u64; 3] = [3 << 20, 1 << 20, 700_001];

#[test]
fn windows_in_any_order() {
    for seed in seeds(300) {
        let factor =
            [Factor::NONE, Factor::ZERO, Factor::from_millionths(100_000)][seed as usize % 3];
        let nodes = Nodes::new(4, 6, factor, |_| window());
        walk(nodes, Bounds::new(32, &BLOCKS, 1), seed);
    }
}

#[test]
fn windows_with_failures() {
    for seed in seeds(300) {
        let factor = if seed % 2 == 0 { Factor::NONE } else { Factor::ZERO };
        let nodes = Nodes::new(3, 6, factor, |_| window());
        walk(nodes, stopping(troubles(Bounds::new(24, &BLOCKS, 1))), seed);
    }
}

#[test]
fn static_and_striped_with_failures() {
    for seed in seeds(300) {
        let nodes = Nodes::new(3, 6, Factor::NONE, |own| Static::grouped(own, 24, 6));
        walk(nodes, stopping(troubles(Bounds::new(24, &BLOCKS, 1))), seed);
        let nodes = Nodes::new(3, 6, Factor::NONE, |own| Striped::new(own.start, 4));
        walk(nodes, stopping(troubles(Bounds::new(24, &BLOCKS, 1))), seed);
    }
}

fn coordinated(seed: u64, retry_ns: u64) -> Roles {
    let layout = Layout { targets: 8, writers: 41 };
    let factors = [Factor::NONE, Factor::ZERO, Factor::from_millionths(300_000)];
    let settings = RoleSettings {
        layout,
        factor: factors[seed as usize % 3],
        status_inquiry: seed.is_multiple_of(2),
        remembers_rejects: (seed / 4).is_multiple_of(2),
        part_bytes: [0, 1 << 20][seed as usize / 2 % 2],
        retry_ns,
    };
    Roles::new(settings, 3 << 20)
}

/// 50 actors: a coordinator, 8 sub-coordinators, 41 clients.
#[test]
fn coordinated_in_any_order() {
    for seed in seeds(500) {
        walk(coordinated(seed, 0), Bounds::new(41, &BLOCKS[..2], 3), seed);
    }
}

#[test]
fn coordinated_with_lost_repeated_and_overtaken_messages() {
    for seed in seeds(200) {
        let bounds = Bounds::new(41, &BLOCKS[..2], 3);
        let bounds = Bounds { is_fifo: false, losses: 40, repeats: 40, ..bounds };
        walk(coordinated(seed, 1), bounds, seed);
    }
}

#[test]
fn coordinated_with_failures() {
    for seed in seeds(300) {
        walk(coordinated(seed, 0), troubles(Bounds::new(41, &BLOCKS[..2], 3)), seed);
    }
}

#[test]
fn coordinated_with_failures_and_losses() {
    for seed in seeds(200) {
        let bounds = troubles(Bounds::new(41, &BLOCKS[..1], 3));
        let bounds = Bounds { is_fifo: false, losses: 20, repeats: 20, ..bounds };
        walk(coordinated(seed, 1), bounds, seed);
    }
}

/// Many takers for few writes: most requests are rejected, and rejections come twice.
#[test]
fn old_rejections_are_no_answers() {
    for seed in seeds(400) {
        let layout = Layout { targets: 8, writers: 9 };
        let settings = RoleSettings {
            factor: Factor::NONE,
            status_inquiry: false,
            remembers_rejects: seed.is_multiple_of(2),
            part_bytes: 1 << 20,
            retry_ns: 1,
            ..RoleSettings::new(layout)
        };
        let bounds = Bounds::new(9, &[3 << 20], 3);
        let bounds = Bounds { is_fifo: false, repeats: 120, ..bounds };
        walk(Roles::new(settings, 1 << 20), bounds, seed);
    }
}
