//! The world of a run at its begin: targets, stages, program and messages as the scenario has them.

use std::rc::Rc;

use plimsoll_stats::Random;

use crate::ScenarioError;
use crate::clients::Clients;
use crate::host::Host;
use crate::messages::MessageSettings;
use crate::noise::Timeline;
use crate::program::Program;
use crate::queue::Event;
use crate::scenario::{Application, Scenario};
use crate::stage::Stages;
use crate::staging::Staging;
use crate::target::{Target, TargetKind};

/// Random streams of a seed: the network has its own.
const MESSAGE_STREAM: u64 = 1 << 34;

/// Returns the world at time zero, with the noise of a seed, for this many machines. The first burst, changes
/// of noise and faults are scheduled.
pub fn world(
    scenario: &Scenario,
    lines: &[Timeline],
    actors: usize,
    seed: u64,
) -> Result<Host, ScenarioError> {
    let curve = Rc::new(scenario.curve()?);
    let storage = &scenario.storage;
    let rate_of = |target: usize| storage.rate_of(target) / 1e9;
    let target = |(index, line): (usize, &Timeline)| {
        let kind = TargetKind {
            discipline: storage.service,
            bytes_per_ns: rate_of(index),
            curve: curve.clone(),
            stream_cap: scenario.network.stream_cap(),
            request_bytes: storage.request_bytes(index),
            is_by_node: storage.client_limit.is_some(),
        };
        Target::new(kind, line.now())
    };
    let targets = lines.iter().enumerate().map(target).collect();
    let network = &scenario.network;
    let messages = MessageSettings {
        latency_ns: network.message_latency.get(),
        cost_ns: network.message_cost.get(),
        loss: network.loss,
        repeat: network.repeat,
        random: Random::for_stream(seed, MESSAGE_STREAM),
    };
    let stages = Stages::new(storage);
    let behind = scenario.behind_buffers().application;
    let buffer = scenario.buffer_in_use();
    let program = match buffer {
        Some(_) => Program::fed(&behind),
        None => Program::new(&scenario.application, seed),
    };
    let mut host = Host::new(targets, stages, program, messages, actors);
    host.staging = buffer.map(|buffer| Staging::new(&scenario.application, buffer));
    host.notice_every(scenario.application.notice_every.get(), actors);
    if let Some(limit) = storage.client_limit {
        let Application { processes, processes_per_node, .. } = behind;
        let limit = limit.get() as f64 / 1e9;
        host.limit_clients(Clients::new(limit, processes, processes_per_node, lines.len()));
    }
    for (target, line) in lines.iter().enumerate() {
        if let Some(change_ns) = line.next_change_ns() {
            host.queue.push(change_ns, Event::Noise(target as u32));
        }
    }
    for (index, fault) in scenario.fault.iter().enumerate() {
        host.queue.push(fault.at.get(), Event::Fault(index as u32));
    }
    host.queue.push(scenario.application.compute.get(), Event::Burst);
    Ok(host)
}
