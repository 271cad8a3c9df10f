//! What requests cost, when ends are noticed: each against a formula, or against a
//! computation of its own that knows nothing of the simulator.

use plimsoll_simulate::{Outcome, Policy, Scenario, fluid_bound_ns, run};
use plimsoll_theory::{Operations, TransactionCost};

fn scenario(storage: &str, application: &str, rest: &str) -> Scenario {
    let text = format!(
        "version = 1\ntitle = \"\"\npolicies = [\"static\"]\n[storage]\n{storage}\n\
         [application]\n{application}\n{rest}"
    );
    Scenario::parse("test", &text).unwrap_or_else(|error| panic!("{error}"))
}

fn simulated(scenario: &Scenario, policy: &str) -> Outcome {
    let policy: Policy = policy.parse().unwrap();
    run(scenario, &policy, 1).unwrap_or_else(|error| panic!("{policy}: {error}"))
}

fn bound(scenario: &Scenario) -> f64 {
    fluid_bound_ns(scenario, 1).unwrap() as f64 / 1e9
}

#[track_caller]
fn close(simulated: f64, expected: f64, tolerance: f64) {
    let off = simulated / expected - 1.0;
    assert!(off.abs() <= tolerance, "{simulated} against {expected}: off by {off:+.2e}");
}

/// Uselton, equations 1 and 3: each target takes a_0 for a request and a_1 for a byte of its own processes,
/// in a queue and shared.
#[test]
fn requests_cost_what_uselton_says() {
    let cost = TransactionCost::new(1.04e-3, 1.0 / 578e6).unwrap();
    for service in ["fifo", "processor-sharing"] {
        let storage = format!(
            "targets = 4\nrate = \"578MB/s\"\nrequest_cost = \"1.04ms\"\nservice = {service:?}"
        );
        for (blocks, block) in [(1u64, 4u64 << 20), (7, 256 << 10), (50, 4096)] {
            let application = format!("processes = 12\nblocks = {blocks}\nblock = \"{block}B\"");
            let scenario = scenario(&storage, &application, "");
            let own = Operations::new(3 * blocks, 3 * blocks * block).unwrap();
            close(simulated(&scenario, "static").makespan.unwrap(), cost.seconds(own), 1e-6);
        }
    }
}

/// The least time counts one request of each of the three nodes, and bytes alone where the network limits.
#[test]
fn the_least_time_has_one_request_of_each_node() {
    let storage = "targets = 4\nrate = \"100MB/s\"\nrequest_cost = \"20ms\"";
    let application = "processes = 12\nprocesses_per_node = 4\nblocks = 5\nblock = \"1MB\"";
    let free = scenario(storage, application, "");
    close(bound(&free), 60.0 / 400.0 + 3.0 * 0.02 / 4.0, 1e-6);
    let limited = scenario(&format!("{storage}\nnetwork_limit = \"300MB/s\""), application, "");
    close(bound(&limited), 60.0 / 300.0, 1e-6);
    for policy in ["static", "striped", "window", "coordinator:tf=none"] {
        for scenario in [&free, &limited] {
            assert!(simulated(scenario, policy).makespan.unwrap() >= bound(scenario), "{policy}");
        }
    }
}

/// The network limits bytes and not what requests cost: a target that gets 30 MB/s of them and could do
/// twice as many loses nothing by what its requests cost.
#[test]
fn what_a_request_costs_does_not_pass_through_the_network() {
    let with = |cost: &str| {
        let storage = format!(
            "targets = 1\nrate = \"100MB/s\"\nnetwork_limit = \"30MB/s\"\nrequest_cost = {cost:?}"
        );
        simulated(&scenario(&storage, "processes = 5\nblock = \"3MB\"", ""), "static")
    };
    // 30 ms for bytes and 20 ms beside: 60 MB/s.
    close(with("20ms").makespan.unwrap(), 15.0 / 30.0, 1e-6);
    // 30 ms and 100 ms: 23 MB/s.
    close(with("100ms").makespan.unwrap(), 5.0 * 0.13, 1e-6);
}

/// A process that waits for each block goes on when its node looks: blocks of 30 ms that are noticed every 50 ms
/// take 50 ms each, and those of 70 ms 100 ms.
#[test]
fn who_waits_for_a_block_waits_for_the_look() {
    for (block_mb, every_ms, each_ms) in [(3, 50, 50), (7, 50, 100), (3, 7, 35), (3, 0, 30)] {
        let application = format!(
            "processes = 1\nblocks = 20\nblock = \"{block_mb}MB\"\nsubmit = \"paced\"\n\
             notice_every = \"{every_ms}ms\""
        );
        let scenario = scenario("targets = 1\nrate = \"100MB/s\"", &application, "");
        let outcome = simulated(&scenario, "static");
        close(outcome.makespan.unwrap(), 20.0 * f64::from(each_ms) / 1e3, 1e-6);
        close(bound(&scenario), 20.0 * f64::from(block_mb) / 100.0, 1e-6);
    }
}

/// Who is woken by a timer looks: a router that looks after late writes learns what ended long before the next regular look.
#[test]
fn a_timer_is_a_look_too() {
    let application = "processes = 4\nblock = \"8MB\"\nnotice_every = \"60s\"";
    let scenario = scenario("targets = 4\nrate = \"100MB/s\"", application, "");
    close(simulated(&scenario, "static").makespan.unwrap(), 60.0, 1e-6);
    assert!(simulated(&scenario, "window").makespan.unwrap() < 59.0);
}

/// Nodes look at different moments: the last of many has to wait nearly a whole interval, the first one hardly.
#[test]
fn nodes_look_one_after_the_other() {
    let application = "processes = 100\nprocesses_per_node = 1\nblock = \"1MB\"\n\
                       notice_every = \"100ms\"";
    let scenario = scenario("targets = 100\nrate = \"100MB/s\"", application, "");
    let ends = simulated(&scenario, "static").ends;
    assert!(ends[0] < 0.02 && (0.1..0.11).contains(&ends[99]), "{} {}", ends[0], ends[99]);
    let late = ends.iter().filter(|end| **end > 0.06).count();
    assert!((45..=55).contains(&late), "half of them in the second half: {late}");
}

/// Two targets of one server that lets 110 MB/s through, one of them of 10 MB/s: what that one cannot use is the other's. An
/// equal division would take 100 / 55 s for the fast one.
#[test]
fn what_a_slow_target_cannot_use_is_given_to_its_neighbours() {
    let storage = "targets = 2\nrate = \"1MB/s\"\nrates = [\"100MB/s\", \"10MB/s\"]\n\
                   targets_per_server = 2\nserver_limit = \"110MB/s\"";
    let pinned =
        "processes = 11\nplacement = \"pinned\"\npinned = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]";
    let both = scenario(storage, &format!("{pinned}\nblock = \"10MB\""), "");
    close(bound(&both), 1.0, 1e-6);
    close(simulated(&both, "static").makespan.unwrap(), 1.0, 1e-6);
    // 60 MB/s: 10 for the slow one and 50 for the fast one, as long as both are busy.
    let strict =
        scenario(&storage.replace("110MB", "60MB"), &format!("{pinned}\nblock = \"10MB\""), "");
    close(simulated(&strict, "static").makespan.unwrap(), 1.0 + 50.0 / 60.0, 1e-6);
}

/// Eight processes that wait for each block and compute 30 ms before it: all write at the same time, 8 x 10 ms.
#[test]
fn who_computes_between_blocks_and_waits_for_each_takes_both_times() {
    let think = "think = { mean = \"30ms\", distribution = \"fixed\" }";
    let paced = format!("processes = 8\nblocks = 5\nblock = \"1MB\"\nsubmit = \"paced\"\n{think}");
    let scenario = scenario("targets = 1\nrate = \"100MB/s\"", &paced, "");
    let outcome = simulated(&scenario, "static");
    close(outcome.makespan.unwrap(), 5.0 * (0.03 + 0.08), 1e-6);
    close(outcome.mean_delay.unwrap(), 0.08, 1e-6);
    // A process alone could hand over a block every 40 ms, which is more than the target takes of all.
    close(bound(&scenario), 0.03 + 5.0 * 0.08, 1e-6);
}

/// The least time of blocks that come at given times: a server that is never idle while anything is there.
#[test]
fn blocks_that_come_in_time_are_served_as_they_come() {
    // One process, a block every 30 ms which takes 10 ms; or every 5 ms, so that the last of 20 ends at 205 ms.
    for (every_ms, expected) in [(30, 20.0 * 0.03 + 0.01), (5, 0.005 + 20.0 * 0.01)] {
        let think = format!("think = {{ mean = \"{every_ms}ms\", distribution = \"fixed\" }}");
        let application = format!("processes = 1\nblocks = 20\nblock = \"1MB\"\n{think}");
        let scenario = scenario("targets = 1\nrate = \"100MB/s\"", &application, "");
        close(bound(&scenario), expected, 1e-6);
        close(simulated(&scenario, "static").makespan.unwrap(), expected, 1e-6);
    }
}

/// Poisson arrivals of blocks that take 1 ms each on one target. Shared, the mean time in the system is S / (1 - rho) for any
/// distribution of sizes (M/G/1-PS); in a queue it is S (1 + rho / 2 / (1 - rho)) for equal sizes (Pollaczek and
/// Khinchine). 500 processes with 400 blocks each: their arrivals together are Poisson until the first have ended, after
/// which there are fewer. 6 % cover that.
#[test]
fn open_arrivals_wait_as_the_formulas_of_queues_say() {
    for rho in [0.3, 0.6, 0.8] {
        for (service, expected) in
            [("processor-sharing", 1.0 / (1.0 - rho)), ("fifo", 1.0 + rho / 2.0 / (1.0 - rho))]
        {
            let storage = format!("targets = 1\nrate = \"1GB/s\"\nservice = {service:?}");
            let mean_us = 500.0 * 1000.0 / rho;
            let application = format!(
                "processes = 500\nprocesses_per_node = 1\nblocks = 400\nblock = \"1MB\"\n\
                 think = {{ mean = \"{mean_us:.0}us\" }}"
            );
            let outcome = simulated(&scenario(&storage, &application, ""), "static");
            close(outcome.mean_delay.unwrap() * 1e3, expected, 0.06);
        }
    }
}

/// A node lets 50 MB/s through. Its writes share that, and what a slow target cannot use is for the other.
#[test]
fn the_writes_of_a_node_share_its_limit() {
    let storage = |service: &str| {
        format!(
            "targets = 2\nrate = \"1MB/s\"\nrates = [\"100MB/s\", \"10MB/s\"]\n\
             client_limit = \"50MB/s\"\nservice = {service:?}"
        )
    };
    for service in ["processor-sharing", "fifo"] {
        let two = scenario(&storage(service), "processes = 2\nblock = \"40MB\"", "");
        // 40 and 10 MB/s, as long as both write.
        let ends = simulated(&two, "static").ends;
        close(ends[0], 1.0, 1e-6);
        close(ends[1], 4.0, 1e-6);
        close(bound(&two), 80.0 / 50.0, 1e-6);
        // Each on a node of its own, and both on the fast target: 50 each.
        let pinned = "processes = 2\nprocesses_per_node = 1\nblock = \"40MB\"\n\
                      placement = \"pinned\"\npinned = [0]";
        let apart = scenario(&storage(service), pinned, "");
        let expected = if service == "fifo" { 2.0 * 40.0 / 50.0 } else { 40.0 / 50.0 };
        close(simulated(&apart, "static").makespan.unwrap(), expected, 1e-6);
        close(bound(&apart), 40.0 / 50.0, 1e-6);
    }
    // Four processes on one node and a fifth alone: the first four are what takes long.
    let storage = "targets = 5\nrate = \"100MB/s\"\nclient_limit = \"50MB/s\"";
    let uneven = "processes = 5\nprocesses_per_node = 4\nblock = \"40MB\"";
    let uneven = scenario(storage, uneven, "");
    close(bound(&uneven), 160.0 / 50.0, 1e-6);
    close(simulated(&uneven, "static").makespan.unwrap(), 160.0 / 50.0, 1e-6);
}

/// Nodes, targets and a server limit together, with requests that cost: against filling by small amounts, in small steps
/// of time.
#[test]
fn nodes_targets_and_servers_are_filled_together() {
    let storage = "targets = 3\nrate = \"1MB/s\"\nrates = [\"100MB/s\", \"30MB/s\", \"80MB/s\"]\n\
                   client_limit = \"70MB/s\"\ntargets_per_server = 2\nserver_limit = \"90MB/s\"\n\
                   request_cost = \"100ms\"";
    let pinned = [0, 1, 2, 0, 1, 1, 0];
    let application = format!(
        "processes = 7\nprocesses_per_node = 3\nblock = \"20MB\"\nplacement = \"pinned\"\n\
         pinned = {pinned:?}"
    );
    let scenario = scenario(storage, &application, "");
    let simulated = simulated(&scenario, "static");

    let rates = [100.0, 30.0, 80.0];
    let work = |process: usize| 20.0 + 0.1 * rates[pinned[process]];
    let mut left: Vec<f64> = (0..7).map(work).collect();
    let (mut now, step, mut ends) = (0.0, 1e-3, vec![0.0; 7]);
    while left.iter().any(|left| *left > 0.0) {
        // Of a share of a step all get a little more work done, as long as nothing on their way is used up.
        let mut given = [0.0; 7];
        let little = step * 0.05;
        let of = |given: &[f64; 7], through: &dyn Fn(usize) -> bool, counts_data: bool| -> f64 {
            let share = |process: usize| if counts_data { 20.0 / work(process) } else { 1.0 };
            (0..7).filter(|p| through(*p)).map(|p| given[p] * share(p)).sum()
        };
        loop {
            let rises: Vec<usize> = (0..7)
                .filter(|p| {
                    let target = pinned[*p];
                    left[*p] > 0.0
                        && of(&given, &|q| pinned[q] == target, false) + little
                            <= rates[target] * step
                        && of(&given, &|q| q / 3 == p / 3, true) + little <= 70.0 * step
                        && of(&given, &|q| pinned[q] / 2 == target / 2, true) + little
                            <= 90.0 * step
                })
                .collect();
            if rises.is_empty() {
                break;
            }
            rises.iter().for_each(|p| given[*p] += little);
        }
        now += step;
        for process in (0..7).filter(|p| left[*p] > 0.0).collect::<Vec<_>>() {
            left[process] -= given[process];
            ends[process] = now;
        }
    }
    ends.sort_by(f64::total_cmp);
    for (simulated, expected) in simulated.ends.iter().zip(&ends) {
        close(*simulated, *expected, 0.01);
    }
}
