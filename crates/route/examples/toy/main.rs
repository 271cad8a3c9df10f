//! Every policy on a toy model of targets: makespan over the fluid bound.
//!
//! `cargo run --release -p plimsoll-route --example toy` prints the table;
//! `... --example toy scale` runs 131,072 writers on 1,008 targets and counts events.

mod world;

use plimsoll_route::coordinated::{ByQueue, Layout, RoleSettings, Roles, RoundRobin};
use plimsoll_route::{Factor, Nodes, Router, Static, Striped, TargetId, Window, WindowSettings};
use world::{Change, Target, World};

const MIB: u64 = 1 << 20;
/// Bytes per nanosecond of a quiet target: 500 MB/s.
const RATE: f64 = 0.5;

struct Scenario {
    name: &'static str,
    targets: Vec<Target>,
    changes: fn() -> Vec<Change>,
    writers: u32,
    blocks: Vec<u64>,
    bound_ns: f64,
    best_factor: f64,
}

impl Scenario {
    fn new(name: &'static str, targets: Vec<Target>, writers: u32, blocks: Vec<u64>) -> Self {
        let all: f64 = f64::from(writers) * blocks.iter().sum::<u64>() as f64;
        let rate: f64 = targets.iter().map(|target| target.rate / (1.0 + target.noise)).sum();
        let bound_ns = all / rate;
        let own = all / targets.len() as f64;
        let best =
            targets.iter().map(|target| target.rate / (1.0 + target.noise)).fold(0.0, f64::max);
        let best_factor = best * bound_ns / own - 1.0;
        Scenario { name, targets, changes: Vec::new, writers, blocks, bound_ns, best_factor }
    }

    fn run<R: Router>(&self, mut router: R) -> (f64, World) {
        let mut world = World::new(self.targets.clone(), (self.changes)());
        let took_ns = world.run(&mut router, self.writers, &self.blocks);
        let all = u64::from(self.writers) * self.blocks.iter().sum::<u64>();
        assert_eq!((world.committed_bytes, world.lost_bytes), (all, 0));
        (took_ns as f64 / self.bound_ns, world)
    }
}

fn uneven(slow: usize, of: usize, rate: f64) -> Vec<Target> {
    (0..of).map(|i| Target::new(if i < slow { rate } else { RATE }, 0.0)).collect()
}

fn noisy(slow: usize, of: usize, noise: f64) -> Vec<Target> {
    (0..of).map(|i| Target::new(RATE, if i < slow { noise } else { 0.0 })).collect()
}

fn scenarios() -> Vec<Scenario> {
    let block = || vec![64 * MIB];
    let mut drops = Scenario::new("drops-mid-run", uneven(0, 16, 0.0), 256, block());
    // At half the quiet time target 0 falls to 1/17: what is left over what rate is left.
    let quiet_ns = drops.bound_ns;
    drops.changes = || vec![Change { at_ns: 1_073_741_824, target: 0, rate: RATE / 17.0 }];
    drops.best_factor = 16.0 / (15.0 + 1.0 / 17.0) / 2.0 - 0.5;
    drops.bound_ns = quiet_ns / 2.0 + quiet_ns / 2.0 * 16.0 / (15.0 + 1.0 / 17.0);
    let mut late = Scenario::new("drops at 95 %", uneven(0, 16, 0.0), 256, block());
    late.changes = || vec![Change { at_ns: 2_040_109_465, target: 0, rate: RATE / 17.0 }];
    late.best_factor = drops.best_factor / 10.0;
    late.bound_ns = quiet_ns * 0.95 + quiet_ns * 0.05 * 16.0 / (15.0 + 1.0 / 17.0);
    vec![
        Scenario::new("quiet", uneven(0, 16, 0.0), 256, block()),
        Scenario::new("one-at-1/4", uneven(1, 16, RATE / 4.0), 256, block()),
        Scenario::new("one-at-1/17", uneven(1, 16, RATE / 17.0), 256, block()),
        Scenario::new("heavy, fixed rates", uneven(4, 16, RATE / 17.0), 256, block()),
        Scenario::new("heavy-noise, streams", noisy(4, 16, 16.0), 256, block()),
        Scenario::new("heavy, 8 blocks", uneven(4, 16, RATE / 17.0), 256, vec![8 * MIB; 8]),
        drops,
        late,
    ]
}

fn windows(
    scenario: &Scenario,
    per_node: u32,
    settings: WindowSettings,
    factor: Factor,
) -> Nodes<Window> {
    let all = scenario.targets.len() as u16;
    Nodes::new(scenario.writers, per_node, factor, |_, own| {
        (every(all), Window::new(settings, usize::from(all), own.len() as u32))
    })
}

fn every(targets: u16) -> Vec<TargetId> {
    (0..targets).map(TargetId).collect()
}

fn coordinator(scenario: &Scenario, factor: f64, part_bytes: u64) -> RoleSettings {
    let layout = Layout { targets: scenario.targets.len() as u16, writers: scenario.writers };
    let factor = Factor::from_millionths((factor * 1e6).ceil() as u64);
    RoleSettings { factor, part_bytes, ..RoleSettings::new(layout) }
}

fn table() {
    println!("makespan over the fluid bound");
    for scenario in scenarios() {
        let all = scenario.targets.len() as u16;
        println!(
            "{}: bound {:.2} s, TF* {:.3}",
            scenario.name,
            scenario.bound_ns / 1e9,
            scenario.best_factor
        );
        let show = |name: &str, (ratio, world): (f64, World)| {
            println!(
                "  {name:<28} {ratio:>7.3}   {:>8} attempts {:>7} messages {:>4} rescued",
                world.attempts, world.message_count, world.wasted_bytes
            );
        };
        let statics = Nodes::new(scenario.writers, 16, Factor::NONE, |_, own| {
            (every(all), Static::grouped(own, scenario.writers, usize::from(all)))
        });
        show("static", scenario.run(statics));
        let striped = Nodes::new(scenario.writers, 16, Factor::NONE, |_, own| {
            (every(all), Striped::new(own.start, 4))
        });
        show("striped over 4", scenario.run(striped));
        show(
            "coordinator, TF 0.1",
            scenario.run(Roles::new(coordinator(&scenario, 0.1, 0), ByQueue)),
        );
        show(
            "coordinator, TF*",
            scenario.run(Roles::new(coordinator(&scenario, scenario.best_factor, 0), ByQueue)),
        );
        let no_inquiry = RoleSettings {
            status_inquiry: false,
            ..coordinator(&scenario, scenario.best_factor, 0)
        };
        show(
            "coordinator, TF*, no inquiry",
            scenario.run(Roles::new(no_inquiry, RoundRobin::default())),
        );
        show(
            "coordinator, TF*, parts 4 MiB",
            scenario
                .run(Roles::new(coordinator(&scenario, scenario.best_factor, 4 * MIB), ByQueue)),
        );
        show(
            "coordinator, no TF, parts 4 MiB",
            scenario.run(Roles::new(
                RoleSettings { factor: Factor::NONE, ..coordinator(&scenario, 0.0, 4 * MIB) },
                ByQueue,
            )),
        );
        let settings = WindowSettings::default();
        show("window, 16 nodes", scenario.run(windows(&scenario, 16, settings, Factor::NONE)));
        show("window, 4 nodes", scenario.run(windows(&scenario, 64, settings, Factor::NONE)));
        show("window, 1 node", scenario.run(windows(&scenario, 256, settings, Factor::NONE)));
        let alone = WindowSettings { rescue: false, ..settings };
        show(
            "window, 16 nodes, no rescue",
            scenario.run(windows(&scenario, 16, alone, Factor::NONE)),
        );
        let factor = Factor::from_millionths((scenario.best_factor * 1e6).ceil() as u64);
        show("window, 16 nodes, TF*", scenario.run(windows(&scenario, 16, settings, factor)));
    }
}

/// Seconds of processor time of this process: a shared machine distorts the wall clock.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

fn timed<R: Router>(name: &str, scenario: &Scenario, router: impl FnOnce() -> R) {
    let start = processor_seconds();
    let (ratio, world) = scenario.run(router());
    let seconds = processor_seconds() - start;
    let millions = world.events as f64 / seconds / 1e6;
    println!(
        "{name:<28} {ratio:.3} of the bound, {} events in {seconds:.2} s of processor, {millions:.1} million/s",
        world.events
    );
}

fn scale() {
    const TARGETS: u16 = 1008;
    let noise = |i: u16| if i.is_multiple_of(4) { 16.0 } else { 0.0 };
    let targets = (0..TARGETS).map(|i| Target::new(RATE, noise(i))).collect();
    let scenario = Scenario::new("scale", targets, 131_072, vec![8 * MIB; 8]);
    timed("coordinator, TF*", &scenario, || {
        Roles::new(coordinator(&scenario, scenario.best_factor, 0), ByQueue)
    });
    let settings = WindowSettings { lease_bytes_min: 2 * MIB, ..WindowSettings::default() };
    for each in [4, 8, 16] {
        timed(&format!("window, {each} targets a node"), &scenario, || {
            Nodes::new(scenario.writers, 32, Factor::NONE, |node, own| {
                let targets = Window::spread(node, TARGETS, each);
                let window = Window::new(settings, targets.len(), own.len() as u32);
                (targets, window)
            })
        });
    }
    timed("static", &scenario, || {
        Nodes::new(scenario.writers, 32, Factor::NONE, |_, own| {
            (every(TARGETS), Static::grouped(own, scenario.writers, usize::from(TARGETS)))
        })
    });
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or(""));
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        None => table(),
        Some("scale") => scale(),
        Some(other) => eprintln!("cannot run {other}: there is only scale; hint: toy [scale]"),
    }
}
