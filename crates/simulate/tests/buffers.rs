//! Buffers on the way to storage: closed forms, and what was put there to be found.

use plimsoll_domain::{Bytes, BytesPerSec};
use plimsoll_simulate::scenario::{Buffer, Choice, Drain, embedded};
use plimsoll_simulate::{Discipline, Outcome, Scenario, fluid_bound_ns, run};
use plimsoll_theory::Absorption;

const BLOCK: u64 = 4 << 20;

/// 32 processes compute 10 s and write 500 MiB each, to 16 targets of 125 MiB/s, through four buffers.
fn scenario(capacity: u64, rate: u64) -> Scenario {
    let mut scenario = embedded("absorb").unwrap();
    scenario.sweep = None;
    scenario.application.bursts = 6;
    scenario.buffer = Some(Buffer {
        nodes: 4,
        capacity: Bytes::new(capacity),
        rate: BytesPerSec::new(rate),
        rates: Vec::new(),
        choice: Choice::Own,
        drain: Drain::AtOnce,
        streams: 16,
    });
    scenario
}

fn simulated(scenario: &Scenario, policy: &str) -> Outcome {
    scenario.check().unwrap();
    run(scenario, &policy.parse().unwrap(), 1).unwrap_or_else(|error| panic!("{policy}: {error}"))
}

/// Xie 2.1 with a rate of taking in: max(W / R, (W - min(M, S C)) / S), to a few blocks of a thousand.
#[test]
fn the_stage_agrees_with_the_model() {
    let burst = 8.0 * 500.0 * 1048576.0;
    let drain = 4.0 * 125.0 * 1048576.0;
    let tolerance = 4.0 * BLOCK as f64 / drain;
    for (share, rate, compute) in [
        (0.25, 4e9, 10),
        (0.5, 4e9, 10),
        (0.75, 1.3e9, 10),
        (1.0, 4e9, 10),
        (1.5, 0.9e9, 10),
        (1.5, 4e9, 3),
        (0.5, 0.7e9, 3),
    ] {
        let mut scenario = scenario((share * burst) as u64, rate as u64);
        scenario.application.compute = format!("{compute}s").parse().unwrap();
        // The model frees room byte by byte. Where targets serve all at once, blocks end late, and together.
        scenario.storage.service = Discipline::Fifo;
        let model = Absorption::new(f64::from(compute), burst, share * burst, drain).unwrap();
        let expected = model.stall_with_intake(rate).unwrap();
        for drains in [Drain::AtOnce, Drain::AfterBurst] {
            scenario.buffer.as_mut().unwrap().drain = drains;
            // What is held back until the burst is over is missed only where it would have made room.
            let is_exact = drains == Drain::AtOnce || expected == burst / rate && share >= 1.0;
            let stall = simulated(&scenario, "static").stall.unwrap();
            let off = stall - expected;
            assert!(off >= -tolerance, "{share} {rate} {compute}: {stall}, not {expected}");
            assert!(
                !is_exact || off <= tolerance,
                "{share} {rate} {compute}: {stall}, not {expected}"
            );
        }
    }
}

/// A capacity of 0 is no buffer: the very same run.
#[test]
fn no_room_is_no_buffer() {
    let with = scenario(0, 1_000_000);
    let without = Scenario { buffer: None, ..with.clone() };
    for policy in ["static", "window"] {
        assert_eq!(simulated(&with, policy), simulated(&without, policy));
    }
}

/// Nothing is durable before the bound, and everything is in the end.
#[test]
fn the_bound_holds_behind_buffers() {
    for (capacity, choice) in [(8 << 20, Choice::Own), (2 << 30, Choice::Soonest)] {
        let mut scenario = scenario(capacity, 2_000_000_000);
        scenario.application.bursts = 3;
        scenario.buffer.as_mut().unwrap().choice = choice;
        let bound = fluid_bound_ns(&scenario, 1).unwrap() as f64 / 1e9;
        for policy in ["static", "window", "coordinator"] {
            let outcome = simulated(&scenario, policy);
            assert!(outcome.makespan.unwrap() >= bound, "{policy}: {:?} {bound}", outcome.makespan);
            assert!(outcome.program_time.unwrap() <= outcome.makespan.unwrap());
            assert_eq!(outcome.committed_bytes, scenario.application.total_bytes());
        }
    }
}

/// One buffer of four is ten times slower: whoever may go elsewhere does, and takes what three and a tenth of them take.
#[test]
fn routing_before_the_buffers_goes_round_a_slow_one() {
    let mut scenario = scenario(64 << 30, 1_000_000_000);
    scenario.application.bursts = 1;
    let buffer = scenario.buffer.as_mut().unwrap();
    buffer.rates = vec![BytesPerSec::new(1_000_000_000); 4];
    buffer.rates[2] = BytesPerSec::new(100_000_000);
    let total = scenario.application.total_bytes() as f64;
    let own = simulated(&scenario, "static").stall.unwrap();
    assert!((own / (total / 4.0 / 1e8) - 1.0).abs() < 0.01, "{own}");
    scenario.buffer.as_mut().unwrap().choice = Choice::Soonest;
    let soonest = simulated(&scenario, "static").stall.unwrap();
    assert!((soonest / (total / 3.1e9) - 1.0).abs() < 0.03, "{soonest}");
}

/// A slow target behind the buffers: they fill up with what waits for it, and the program with them. Routing behind them goes round it.
#[test]
fn routing_behind_the_buffers_goes_round_a_slow_target() {
    let mut scenario = scenario(2 << 30, 4_000_000_000);
    scenario.storage.rates = vec!["125MiB/s".parse().unwrap(); 16];
    let quiet = simulated(&scenario, "static").program_time.unwrap();
    scenario.storage.rates[5] = "12.5MiB/s".parse().unwrap();
    let held_up = simulated(&scenario, "static").program_time.unwrap();
    let routed = simulated(&scenario, "window").program_time.unwrap();
    assert!(held_up > 1.5 * quiet, "{held_up} {quiet}");
    assert!(routed < 1.1 * quiet, "{routed} {quiet}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |change: fn(&mut Scenario)| {
        let mut scenario = scenario(1 << 30, 1_000_000_000);
        change(&mut scenario);
        scenario.check().unwrap_err().to_string()
    };
    let small = refused(|it| it.buffer.as_mut().unwrap().capacity = Bytes::new(BLOCK - 1));
    assert!(small.contains("less than a block"), "{small}");
    let none = refused(|it| it.buffer.as_mut().unwrap().nodes = 0);
    assert!(none.contains("buffer.nodes"), "{none}");
    let slow = refused(|it| it.buffer.as_mut().unwrap().rate = BytesPerSec::new(0));
    assert!(slow.contains("buffer.rate"), "{slow}");
    let rates = refused(|it| it.buffer.as_mut().unwrap().rates = vec![BytesPerSec::new(9)]);
    assert!(rates.contains("1 rates for 4 nodes"), "{rates}");
    let cached = refused(|it| it.application.cache = Bytes::new(1));
    assert!(cached.contains("cache"), "{cached}");
    let huge = refused(|it| {
        let buffer = it.buffer.as_mut().unwrap();
        (buffer.nodes, buffer.streams) = (65_536, 4_096);
    });
    assert!(huge.contains("buffer.nodes x buffer.streams"), "{huge}");
}
