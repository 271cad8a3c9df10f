//! Templates keep the shapes of their papers and fit the machine.

use plimsoll_bench::estimate::estimate;
use plimsoll_bench::plan::{ClientsPlan, Parameter, Plan, SizeOf, TargetPlan, Value};
use plimsoll_bench::schedule::{Schedule, Step};
use plimsoll_bench::template::{Facts, Planned, Template, TemplateOptions, plan_of};
use plimsoll_domain::burst::{Caching, Operation};
use plimsoll_domain::{Bytes, BytesPerSec};

const MIB: u64 = 1 << 20;

fn facts(targets: u32, free_mib: u64) -> Facts {
    let target = |index: u32| TargetPlan {
        name: format!("t{index}"),
        path: format!("/mnt/t{index}").into(),
        server: Some(format!("s{}", index % 2)),
        lustre_index: None,
    };
    Facts {
        targets: (0..targets).map(target).collect(),
        cores: 2,
        free_bytes_least: Bytes::new(free_mib * MIB),
        memory: Bytes::new(4096 * MIB),
        direct_io: true,
        lustre: false,
    }
}

fn made(template: Template, facts: &Facts) -> Plan {
    plan_of(template, facts, &TemplateOptions::default()).unwrap().plan
}

#[test]
fn every_template_fits_small_and_large_machines_and_reads_back() {
    for template in Template::ALL {
        assert_eq!(template.name().parse(), Ok(template));
        for (targets, free_mib) in [(1, 400), (2, 1000), (4, 100_000), (336, 100_000_000)] {
            let facts = facts(targets, free_mib);
            for operation in [Operation::Write, Operation::Read] {
                let clients = (operation == Operation::Read).then(|| ClientsPlan::of(8));
                let options = TemplateOptions { operation, clients, ..Default::default() };
                let plan = plan_of(template, &facts, &options).unwrap().plan;
                assert_eq!(Plan::parse(&plan.to_toml()), Ok(plan.clone()));
                let needed = estimate(&plan, &[]).bytes_at_once_per_target;
                assert!(
                    needed.get() <= free_mib * MIB / 5,
                    "{template}: {needed} of {free_mib}MiB"
                );
                assert!(matches!(Schedule::new(&plan).next(), Some(Step::Instance(_))));
            }
        }
    }
    assert!("pipelines".parse::<Template>().unwrap_err().contains("pipeline, target, server"));
}

#[test]
fn shapes_are_those_of_the_papers() {
    let facts = facts(4, 100_000);
    let target = made(Template::Target, &facts);
    let tasks: Vec<Value> = (1..=16).map(Value::Count).collect();
    assert_eq!((target.vary.parameter, &target.vary.values), (Parameter::Clients, &tasks));
    let pairs = made(Template::ManyPairs, &facts);
    assert_eq!(pairs.vary.values, [1, 2, 4].map(Value::Count));
    assert_eq!(pairs.burst.sizes, [Bytes::new(64 * MIB)]);
    let server = made(Template::Server, &facts);
    let servers = ["s0", "s1"].map(|name| Value::Server(name.into()));
    assert_eq!(server.groups.values, servers);
    let sweep = made(Template::Sweep, &facts);
    assert_eq!(sweep.vary.parameter, Parameter::StripeCount);
    assert_eq!(sweep.groups.parameter, Parameter::StripeSize);
    let sequences = made(Template::Sequences, &facts);
    assert_eq!((sequences.clients.used, sequences.burst.sizes[0].get()), (4, 16 * MIB));
    assert!(sequences.budget.time.is_some());
    let mut seen = Vec::new();
    for step in Schedule::new(&made(Template::Fanout { striped: false }, &facts)).take(40) {
        let Step::Instance(instance) = step else { continue };
        assert_eq!(instance.setting.targets, instance.setting.processes);
        seen.push(instance.setting.processes);
    }
    assert!(seen.contains(&4));
}

/// The targets of a small test bed have about 82 MiB free.
#[test]
fn every_template_fits_the_targets_of_a_small_bed_and_says_what_is_smaller() {
    for template in Template::ALL {
        let Planned { plan, notes } =
            plan_of(template, &facts(4, 82), &TemplateOptions::default()).unwrap();
        let needed = estimate(&plan, &[]).bytes_at_once_per_target;
        assert!(needed.get() <= 82 * MIB / 2, "{template}: {needed}");
        assert_eq!(notes.len(), 1, "{template}: {notes:?}");
        assert!(notes[0].contains("the fullest has 82MiB free"), "{notes:?}");
    }
    let Planned { plan, notes } =
        plan_of(Template::Target, &facts(4, 82), &TemplateOptions::default()).unwrap();
    // A peak needs two sizes, one four times the other, of a transfer of each client at least.
    assert_eq!((plan.clients.count, plan.burst.of), (10, SizeOf::Instance));
    assert_eq!(plan.burst.sizes, [10, 40].map(|size| Bytes::new(size * MIB)));
    assert_eq!(
        notes,
        [
            "target: 10 clients instead of 16, for 4 transfers of 1MiB each: the fullest has 82MiB free"
        ]
    );
    let large = plan_of(Template::Target, &facts(4, 100_000), &TemplateOptions::default());
    assert_eq!(large.unwrap().notes, Vec::<String>::new());
}

#[test]
fn small_targets_get_small_bursts_and_tiny_ones_a_refusal() {
    let pairs = made(Template::ManyPairs, &facts(4, 200));
    assert_eq!(pairs.burst.sizes, [Bytes::new(16 * MIB)]);
    let options = TemplateOptions::default();
    // Ten clients have room for a transfer each, sixteen have not.
    let Planned { plan, notes } = plan_of(Template::Sharing, &facts(4, 20), &options).unwrap();
    assert_eq!((plan.clients.count, &*plan.burst.sizes), (10, &[Bytes::new(MIB)][..]));
    assert!(
        notes[0].contains("10 clients instead of 16, for a transfer of 1MiB each"),
        "{notes:?}"
    );
    let asked = TemplateOptions { clients: Some(ClientsPlan::of(16)), ..Default::default() };
    for (options, free_mib) in [(&asked, 20), (&options, 1)] {
        for (template, bursts) in [
            (Template::Sharing, "16 bursts of 1MiB on one target are"),
            (Template::Target, "a burst of 16MiB on one target is"),
        ] {
            let error = plan_of(template, &facts(4, free_mib), options).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "plan: template: {template}: {bursts} more than half of the {free_mib}MiB that the \
                     fullest has free; hint: a smaller --transfer, or fewer clients"
                )
            );
        }
    }
    // One size alone cannot tell whether it fits a cache.
    let Planned { plan, notes } = plan_of(Template::Target, &facts(4, 100), &asked).unwrap();
    assert_eq!(plan.burst.sizes, [Bytes::new(16 * MIB)]);
    assert!(notes[0].contains("16MiB alone instead of 64MiB and a quarter of it"), "{notes:?}");
    let error = plan_of(Template::Target, &facts(0, 20), &options).unwrap_err().to_string();
    assert!(error.contains("no targets"), "{error}");
    let mut alone = facts(2, 2000);
    alone.targets.iter_mut().for_each(|target| target.server = None);
    let error = plan_of(Template::Server, &alone, &options).unwrap_err().to_string();
    assert!(error.contains("no target has a server; hint: "), "{error}");
}

#[test]
fn options_win_over_the_template() {
    let options = TemplateOptions {
        sizes: Some(vec![Bytes::new(2 * MIB)]),
        values: Some(vec![Value::Count(3)]),
        rounds: Some(2),
        ..Default::default()
    };
    let mut facts = facts(4, 10_000);
    facts.direct_io = false;
    let plan = plan_of(Template::ManyPairs, &facts, &options).unwrap().plan;
    assert_eq!(plan.vary.values, [Value::Count(3)]);
    assert_eq!(plan.burst.caching, Caching::Synced);
    // Two rounds were asked for, so two are made.
    assert_eq!((plan.repeat.rounds_most(), plan.repeat.precision), (2, None));
    let estimate = estimate(&plan, &[Some(BytesPerSec::new(MIB)); 4]);
    assert_eq!(estimate.bytes.most.get(), 2 * 3 * 2 * MIB);
    // Two instances, each with 2 MiB on its busiest target.
    assert_eq!(estimate.seconds.most, Some(4.0));
    let error = estimate.check_space(Bytes::new(MIB)).unwrap_err().to_string();
    assert!(error.contains("needs 2MiB on one target, and the fullest has 1MiB free"), "{error}");
}
