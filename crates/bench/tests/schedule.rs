//! The schedule: complete, fair, the same again, and free to enter anywhere.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_bench::plan::{Parameter, Plan, Value, Vary};
use plimsoll_bench::schedule::{InstancePlan, ProcessPlan, Schedule, Step};
use plimsoll_domain::burst::{Operation, Sharing};
use plimsoll_domain::{Bytes, Nanos};
use proptest::prelude::*;

/// Targets on two servers, clients with one process, bursts of 4 and 8 MiB.
fn plan(targets: u32, clients: u32, extra: &str) -> Plan {
    let mut text = String::from("version = 1\nname = \"test\"\nseed = 7\n");
    for target in 0..targets {
        let server = target % 2;
        text += &format!("[[target]]\nname = \"t{target}\"\npath = \"/t{target}\"\n");
        text += &format!("server = \"s{server}\"\n");
    }
    text +=
        &format!("[clients]\ncount = {clients}\n[burst]\nsizes = [\"4MiB\", \"8MiB\"]\n{extra}");
    Plan::parse(&text).unwrap()
}

fn pairs_plan() -> Plan {
    plan(
        4,
        5,
        "[vary]\nparameter = \"pairs\"\nvalues = [1, 2, 4]\n[repeat]\nruns = 3\nrounds = 4\n",
    )
}

fn instances(steps: impl Iterator<Item = Step>) -> impl Iterator<Item = InstancePlan> {
    steps.filter_map(|step| match step {
        Step::Instance(instance) => Some(instance),
        _ => None,
    })
}

#[test]
fn a_burst_in_one_call_is_recorded_as_its_size_up_to_what_a_call_can_move() {
    let text = pairs_plan().to_toml().replace("\"8MiB\"", "\"3GiB\"");
    let text = text.replace("transfer = \"1MiB\"", "transfer = \"burst\"");
    let plan = Plan::parse(&text).unwrap();
    let calls: BTreeSet<(Bytes, Bytes)> =
        instances(Schedule::new(&plan)).map(|it| (it.setting.burst, it.setting.transfer)).collect();
    let (mib, gib) = (1 << 20, 1 << 30);
    let expected = [(4 * mib, 4 * mib), (3 * gib, gib)];
    assert_eq!(calls, expected.map(|(a, b)| (Bytes::new(a), Bytes::new(b))).into());
}

#[test]
fn every_round_has_every_value_once_and_every_group_every_size() {
    let plan = pairs_plan();
    let mut rounds: BTreeMap<_, Vec<String>> = BTreeMap::new();
    let mut sizes: BTreeMap<_, BTreeSet<Bytes>> = BTreeMap::new();
    for instance in instances(Schedule::new(&plan)) {
        let round = (instance.run, instance.group, instance.round);
        rounds.entry(round).or_default().push(instance.varied);
        sizes.entry((instance.run, instance.group)).or_default().insert(instance.setting.burst);
    }
    assert_eq!(rounds.len(), 3 * 4 * 2);
    assert_eq!(sizes.len(), 3 * 4);
    let orders: BTreeSet<_> = rounds.values().cloned().collect();
    assert!(orders.len() > 3, "the order is not shuffled: {orders:?}");
    for mut values in rounds.into_values() {
        values.sort();
        assert_eq!(values, ["1", "2", "4"]);
    }
    assert!(sizes.values().all(|sizes| sizes.len() == 2));
}

#[test]
fn pairs_are_a_matching_of_clients_and_targets() {
    for instance in instances(Schedule::new(&pairs_plan())) {
        let pairs: u32 = instance.varied.parse().unwrap();
        let clients: BTreeSet<u32> = instance.processes.iter().map(|it| it.client).collect();
        let targets: BTreeSet<u32> = instance.processes.iter().map(|it| it.targets[0]).collect();
        assert_eq!((clients.len(), targets.len()), (pairs as usize, pairs as usize));
        assert_eq!((instance.setting.clients, instance.setting.targets), (pairs, pairs));
    }
}

#[test]
fn every_client_meets_every_target_about_equally() {
    let mut plan = plan(4, 5, "[vary]\nparameter = \"pairs\"\nvalues = [3]\n");
    plan.repeat.rounds = 2000;
    let mut met = BTreeMap::new();
    for instance in instances(Schedule::new(&plan)) {
        for process in &instance.processes {
            *met.entry((process.client, process.targets[0])).or_insert(0i64) += 1;
        }
    }
    // 4000 instances with 3 pairs each over 20 combinations; six standard deviations.
    assert_eq!(met.len(), 20);
    assert!(met.values().all(|count| (count - 600).abs() < 6 * 23), "{met:?}");
}

#[test]
fn all_clients_of_a_target_are_on_it_and_a_server_deals_round_robin() {
    let one =
        plan(4, 4, "[placement]\ntargets = 1\n[vary]\nparameter = \"clients\"\nvalues = [4]\n");
    for instance in instances(Schedule::new(&one)) {
        let targets: BTreeSet<&Vec<u32>> =
            instance.processes.iter().map(|it| &it.targets).collect();
        assert_eq!((targets.len(), instance.setting.targets), (1, 1));
    }
    let server = plan(
        6,
        4,
        "of = \"instance\"\n[vary]\nparameter = \"clients\"\nvalues = [1, 4]\n\
         [groups]\nparameter = \"server\"\nvalues = [\"s0\", \"s1\"]\n",
    );
    for instance in instances(Schedule::new(&server)) {
        let parity = u32::from(instance.grouped == "s1");
        assert!(instance.processes.iter().all(|it| it.targets[0] % 2 == parity));
        let mut loads = BTreeMap::new();
        for process in &instance.processes {
            *loads.entry(process.targets[0]).or_insert(0) += 1;
        }
        let (least, most) = (loads.values().min().unwrap(), loads.values().max().unwrap());
        assert!(most - least <= 1, "{loads:?}");
        assert_eq!(loads.len() as u32, instance.setting.targets);
        let all: u64 = instance.processes.iter().map(|it| it.bytes.get()).sum();
        assert!([4 << 20, 8 << 20].contains(&all), "the aggregate is fixed");
    }
}

#[test]
fn striped_files_of_one_set_begin_on_different_targets() {
    let plan = plan(4, 4, "stripe_count = 4\n");
    for instance in instances(Schedule::new(&plan)) {
        let first: BTreeSet<u32> = instance.processes.iter().map(|it| it.targets[0]).collect();
        assert_eq!(first.len(), 4);
        assert!(instance.processes.iter().all(|it| distinct(&it.targets) == 4));
    }
}

fn distinct(targets: &[u32]) -> usize {
    targets.iter().collect::<BTreeSet<_>>().len()
}

#[test]
fn regions_of_a_shared_file_do_not_overlap() {
    for extra in ["", "stripe_count = 2\n", "stripe_count = 3\nstripe_size = \"2MiB\"\n"] {
        let plan = plan(4, 5, &format!("sharing = \"shared\"\n{extra}"));
        for instance in instances(Schedule::new(&plan)) {
            let mut regions: BTreeMap<(&str, &[u32]), Vec<u64>> = BTreeMap::new();
            for process in &instance.processes {
                let file = (process.file.as_str(), process.targets.as_slice());
                regions.entry(file).or_default().push(process.offset.get());
            }
            let files: BTreeSet<&str> = regions.keys().map(|(file, _)| *file).collect();
            assert_eq!(files.len(), regions.len(), "a file has one place");
            let per_target =
                instance.setting.burst.get() / u64::from(instance.setting.stripe_count);
            for mut offsets in regions.into_values() {
                offsets.sort_unstable();
                assert!(offsets.windows(2).all(|two| two[1] - two[0] >= per_target));
            }
            let used: BTreeSet<u32> =
                instance.processes.iter().flat_map(|it| it.targets.clone()).collect();
            assert_eq!(used.len() as u32, instance.setting.targets);
        }
    }
}

#[test]
fn a_file_is_read_by_another_client_than_its_writer() {
    for (clients, used, processes) in [(4, 4, 2), (4, 1, 1), (2, 1, 2), (1, 1, 3)] {
        let mut plan = plan(4, clients, "");
        plan.burst.operation = Operation::Read;
        (plan.clients.used, plan.clients.processes) = (used, processes);
        plan.check().unwrap();
        for instance in instances(Schedule::new(&plan)) {
            assert_eq!(instance.setting.operation, Operation::Read);
            let place =
                |it: &ProcessPlan| (it.file.clone(), it.targets.clone(), it.offset, it.seed);
            let written: Vec<_> = instance.prepare.iter().map(place).collect();
            let read: Vec<_> = instance.processes.iter().map(place).collect();
            assert_eq!(written, read);
            let who = |it: &ProcessPlan| (it.client, it.process);
            let writers: BTreeSet<_> = instance.prepare.iter().map(who).collect();
            assert_eq!(writers.len(), instance.prepare.len(), "nobody writes twice");
            for (reader, writer) in instance.processes.iter().zip(&instance.prepare) {
                assert_ne!(who(reader), who(writer));
                assert!(clients == 1 || reader.client != writer.client);
            }
        }
    }
}

#[test]
fn sequences_go_round_the_targets() {
    let extra = "[placement]\ntargets = 1\norder = \"round-robin\"\n";
    let mut plan = plan(3, 2, extra);
    plan.burst.sizes.truncate(1);
    let targets: Vec<u32> =
        instances(Schedule::new(&plan)).map(|it| it.processes[0].targets[0]).take(7).collect();
    assert_eq!(targets, [0, 1, 2, 0, 1, 2, 0]);
}

#[test]
fn a_run_can_end_early_and_the_next_is_as_it_would_have_been() {
    let mut plan = pairs_plan();
    plan.pause.runs = Nanos::new(5);
    let mut schedule = Schedule::new(&plan);
    while !matches!(schedule.next(), Some(Step::EndOfRepetition { repetitions: 2, .. })) {}
    schedule.end_run();
    assert_eq!(schedule.next(), Some(Step::EndOfRun { run: 0 }));
    schedule.end_run();
    assert_eq!(schedule.next(), Some(Step::Pause(Nanos::new(5))));
    let rest: Vec<Step> = schedule.collect();
    assert_eq!(rest, Schedule::from_instance(&plan, 24).collect::<Vec<_>>());
    assert!(matches!(rest.last(), Some(Step::EndOfRun { run: 2 })));
}

#[test]
fn the_steps_of_a_small_plan() {
    let mut plan = plan(2, 1, "[repeat]\nruns = 2\nrounds = 1\n");
    plan.pause.rounds = Nanos::new(3);
    let told: Vec<String> = Schedule::new(&plan)
        .map(|step| match step {
            Step::Instance(it) => format!("{}/{}/{}", it.run, it.group, it.round),
            Step::Pause(pause) => pause.to_string(),
            Step::EndOfRound { round, .. } => format!("round {round}"),
            Step::EndOfRepetition { repetitions, .. } => format!("repetition {repetitions}"),
            Step::EndOfRun { run } => format!("run {run}"),
        })
        .collect();
    let expected = "0/0/0, round 0, 3ns, 0/0/1, round 1, repetition 1, run 0, \
                    1/0/0, round 0, 3ns, 1/0/1, round 1, repetition 1, run 1";
    assert_eq!(told.join(", "), expected);
}

#[test]
fn a_million_instances_take_no_memory() {
    let mut plan = pairs_plan();
    (plan.repeat.runs, plan.repeat.rounds) = (100, 100_000);
    plan.check().unwrap();
    let schedule = Schedule::new(&plan);
    assert_eq!(schedule.instances(), 60_000_000);
    // The last is had at once, and a walk keeps nothing but what follows the last instance.
    let last = Schedule::from_instance(&plan, 59_999_999);
    assert_eq!(instances(last.clone()).count(), 1);
    assert_eq!(last.count(), 4);
    assert!(schedule.take(50_000).count() == 50_000);
}

fn any_plan() -> impl Strategy<Value = Plan> {
    let shape = (1u32..6, 1u32..6, 1u32..4, any::<bool>(), any::<bool>());
    let repeat = (1u32..3, 1u32..4, 0i64..i64::MAX);
    (shape, repeat).prop_map(
        |((targets, clients, processes, shared, read), (runs, rounds, seed))| {
            let mut plan = plan(targets, clients.max(2), "");
            plan.clients.processes = processes;
            plan.burst.sharing = if shared { Sharing::Shared } else { Sharing::Independent };
            plan.burst.operation = if read { Operation::Read } else { Operation::Write };
            plan.vary = Vary::counts(Parameter::StripeCount, 1..=targets);
            let sizes = [1 << 20, 2 << 20].map(|size| Value::Size(Bytes::new(size)));
            plan.groups = Vary { parameter: Parameter::StripeSize, values: sizes.into() };
            (plan.repeat.runs, plan.repeat.rounds, plan.seed) = (runs, rounds, seed as u64);
            plan.pause.instances = Nanos::new(1);
            plan.check().unwrap();
            plan
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn the_tail_is_the_same_from_every_instance(plan in any_plan(), skip in 0u64..200) {
        prop_assert_eq!(Plan::parse(&plan.to_toml()), Ok(plan.clone()));
        let all = Schedule::new(&plan);
        let skip = skip.min(all.instances());
        let is_there = |step: &Step| matches!(step, Step::Instance(it) if it.instance == skip);
        let tail: Vec<Step> = all.skip_while(|step| !is_there(step)).collect();
        prop_assert_eq!(tail, Schedule::from_instance(&plan, skip).collect::<Vec<_>>());
    }

    #[test]
    fn space_and_bytes_are_what_was_estimated(plan in any_plan()) {
        let estimate = plimsoll_bench::estimate::estimate(&plan, &[]);
        let (mut count, mut bytes, mut peak) = (0, 0, 0);
        for instance in instances(Schedule::new(&plan)) {
            count += 1;
            bytes += instance.processes.iter().chain(&instance.prepare).map(|it| it.bytes.get()).sum::<u64>();
            peak = peak.max(busiest(&instance));
        }
        prop_assert_eq!((estimate.instances.least, estimate.instances.most), (count, count));
        prop_assert_eq!(estimate.bytes.most.get(), bytes);
        prop_assert!(peak <= estimate.bytes_at_once_per_target.get());
        prop_assert!(estimate.bytes_at_once_per_target.get() <= 2 * peak);
    }
}

/// Bytes on the target that has most, every stripe dealt out in turn.
fn busiest(instance: &InstancePlan) -> u64 {
    let mut held = BTreeMap::new();
    for process in &instance.processes {
        let stripe = instance.setting.stripe_size.get();
        let mut left = process.bytes.get();
        for target in process.targets.iter().cycle() {
            let part = if process.targets.len() > 1 { left.min(stripe) } else { left };
            *held.entry(*target).or_insert(0) += part;
            left -= part;
            if left == 0 {
                break;
            }
        }
    }
    held.into_values().max().unwrap_or(0)
}
