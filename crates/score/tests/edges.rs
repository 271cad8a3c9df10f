//! Results at the edges: nothing, one, two, equal, failed, and a million.

mod made;

use made::SECOND;
use plimsoll_domain::burst::{Operation, Setting};
use plimsoll_domain::site::{Peak, Site, Target};
use plimsoll_domain::{Bytes, BytesPerSec};
use plimsoll_measures::{Instance, Outcome};
use plimsoll_score::condition::{ChangedRuns, normalised};
use plimsoll_score::outlier::{Mark, Marks};
use plimsoll_score::peak::PeakOrigin;
use plimsoll_score::relative::lebs;
use plimsoll_score::verdict::{CLIENTS_ERROR, TARGETS_ERROR, Verdicts};
use plimsoll_score::{Columns, Kind, Options, Peaks, Score, Source, score};

/// An instance whose pairs take this many nanoseconds each.
fn instance(round: u64, nanos: &[u64]) -> Instance {
    let pair = |(index, nanos): (usize, &u64)| (format!("c{index}"), format!("t{index}"), *nanos);
    made::instance(round, nanos.iter().enumerate().map(pair))
}

fn scores(instances: &[Instance]) -> (Columns, Score) {
    let columns = made::columns("many-pairs", instances.iter().cloned());
    let peaks = Peaks::new(&columns, None);
    let scores = score(&columns, &peaks, &Options::default());
    (columns, scores)
}

#[test]
fn nothing_gives_nothing() {
    let (_, scores) = scores(&[]);
    assert!(scores.points.is_empty() && scores.targets.is_empty() && scores.gains.is_empty());
    assert!(scores.runs.is_empty() && scores.target_verdicts.verdicts.is_empty());
    assert_eq!((scores.calendar.all.as_ref(), scores.burst_seconds()), (None, None));
    assert_eq!(scores.sequences[0].low, None);
}

#[test]
fn an_instance_without_pairs_or_that_failed_counts_as_such() {
    let mut failed = instance(1, &[5, 6]);
    failed.outcome = Outcome::Failed("no space".into());
    let (_, scores) = scores(&[instance(0, &[]), failed]);
    assert_eq!(scores.points.iter().map(|it| it.failed).sum::<usize>(), 1);
    assert!(scores.targets.is_empty() && scores.gains.is_empty());
    let empty = made::columns("many-pairs", [instance(0, &[])]);
    let row = &empty.instances()[0];
    assert_eq!((row.aggregate_bandwidth(), empty.has_scores(row)), (None, false));
    assert_eq!(normalised(&empty), [None]);
}

/// The start of a run is that of its first instance that began.
#[test]
fn a_run_has_its_beginning_and_its_failures() {
    let mut all: Vec<Instance> = (5..9).map(|it| instance(it, &[SECOND; 2])).collect();
    all.insert(0, instance(4, &[]));
    all[2].outcome = Outcome::Failed("no space".into());
    let (columns, scores) = scores(&all);
    let run = &scores.runs[0];
    assert_eq!((run.instances, run.failed), (4, 1));
    assert_eq!(columns.instances()[0].start, 0, "nothing began");
    assert_eq!(run.start, (1_700_000_000 + 50) * SECOND);
    assert_eq!(scores.burst_seconds(), Some(1.0));
    assert_eq!((scores.changed.found(), scores.targets_with_changed), (0, None));
}

/// What is usual is the median of a target in its setting, or of the setting where a target has fewer than three.
#[test]
fn instances_are_compared_with_what_is_usual_for_their_targets() {
    let seconds = [[1, 4], [1, 4], [2, 4], [1, 8]];
    let mut all: Vec<Instance> =
        (0..).zip(seconds).map(|(it, pair)| instance(it, &pair.map(|it| it * SECOND))).collect();
    // A target that is seen once, and moved nothing the second time.
    all[3].pairs[1].target = "t2".into();
    all[2].pairs[1].target = "t2".into();
    all[2].pairs[1].bytes = 0;
    let columns = made::columns("many-pairs", all);
    let found = normalised(&columns);
    let ratios: Vec<f64> = found.iter().map(|it| it.unwrap().exp()).collect();
    // Of t0 1 s is usual; of all pairs that moved something 2 s: t1 and t2 have too few for a median of their own.
    let expected = [(0.5f64).sqrt(), (0.5f64).sqrt(), 0.5, (0.25f64).sqrt()];
    for (found, expected) in ratios.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{ratios:?}");
    }
}

#[test]
fn copies_of_results_are_noticed() {
    let with_copies = |second: &str, change: fn(&mut Instance)| {
        let mut columns = Columns::default();
        for (label, experiment) in [("one", "many-pairs"), ("other", second)] {
            let experiment = experiment.to_string();
            let source = columns.source(Source { label: label.into(), experiment, machine: None });
            for number in 0..3 {
                let mut it = instance(number, &[SECOND; 2]);
                if label == "other" {
                    change(&mut it);
                }
                columns.add(source, &it);
            }
        }
        columns.repeated().map(|(one, other)| (one.label.clone(), other.label.clone()))
    };
    let copies = Some(("one".to_string(), "other".to_string()));
    assert_eq!(with_copies("many-pairs", |_| {}), copies);
    assert_eq!(with_copies("target", |_| {}), None, "another experiment");
    assert_eq!(with_copies("many-pairs", |it| it.run = 1), None);
    assert_eq!(
        with_copies("many-pairs", |it| it.pairs.iter_mut().for_each(|it| it.start += 1)),
        None
    );
    assert_eq!(with_copies("many-pairs", |it| it.pairs.clear()), None, "nothing was measured");
}

#[test]
fn an_instance_has_the_operation_of_its_setting() {
    let operation = |operation| {
        let mut it = instance(0, &[SECOND]);
        it.setting.operation = operation;
        let columns = made::columns("many-pairs", [it]);
        columns.operation(&columns.instances()[0])
    };
    assert_eq!(operation(Operation::Read), Operation::Read);
    assert_eq!(operation(Operation::Write), Operation::Write);
}

#[test]
fn one_pair_alone_is_not_compared_with_itself() {
    let (columns, _) = scores(&[instance(0, &[SECOND]), instance(1, &[SECOND, 2 * SECOND])]);
    let lebs = |at: usize| lebs(columns.pairs(&columns.instances()[at]));
    assert_eq!((lebs(0), lebs(1)), (vec![], vec![1.0, 0.5]));
}

#[test]
fn clients_are_judged_with_their_own_error() {
    let (_, scores) = scores(&[instance(0, &[SECOND; 2])]);
    let errors = [&scores.target_verdicts, &scores.client_verdicts].map(|it| it.test.error);
    assert_eq!(errors, [TARGETS_ERROR, CLIENTS_ERROR]);
}

/// Beside others, a target does not have its peak; alone it has.
#[test]
fn peaks_are_measured_where_each_instance_has_one_target() {
    let peaks = |experiment: &str, beside: bool| {
        let mut all: Vec<Instance> = Vec::new();
        for number in 0..20 {
            let mib = [4 << 20, 16 << 20][number as usize % 2];
            let mut it = instance(number, &[SECOND]);
            it.pairs[0].bytes = mib;
            it.pairs[0].end = it.pairs[0].start + mib * 1000;
            it.setting = Setting::pairs(1, 1, Bytes::new(mib));
            all.push(it);
        }
        if beside {
            all.push(instance(20, &[SECOND; 2]));
        }
        let columns = made::columns(experiment, all);
        let peak = Peaks::measured(&columns).get(0, Operation::Write);
        peak.map(|it| it.rate.round())
    };
    let rate = Some(1_000_000.0);
    assert_eq!((peaks("sequences", false), peaks("target", false)), (rate, rate));
    assert_eq!(peaks("sequences", true), None, "others were written beside it");
    assert_eq!(peaks("target", true), rate, "what is made for peaks counts in any case");
}

#[test]
fn no_targets_have_no_peak_together() {
    assert_eq!(Peaks::default().total(std::iter::empty(), Operation::Write), None);
}

#[test]
fn one_pair_has_no_leb_two_have() {
    let (_, one) = scores(&[instance(0, &[7])]);
    assert_eq!(one.targets[&0].leb, None);
    assert_eq!(one.targets[&0].peb.as_ref().unwrap().median, 1.0);
    let (_, two) = scores(&[instance(0, &[SECOND, 4 * SECOND])]);
    assert_eq!(two.targets[&0].leb.as_ref().unwrap().median, 1.0);
    assert_eq!(two.targets[&1].leb.as_ref().unwrap().median, 0.25);
    assert_eq!(two.target_verdicts.verdicts[1].kind, None, "one measure proves nothing");
}

/// The site knows one of its targets, and no measure of this experiment the other.
#[test]
fn the_peak_of_a_striped_file_is_the_sum_of_those_of_its_targets() {
    let pairs = [("c".to_string(), "a+b".to_string(), SECOND)];
    let columns = made::columns("many-pairs", [made::instance(0, pairs)]);
    let site = |peaks: &[(&str, u64)]| {
        let target = |(name, rate): &(&str, u64)| {
            let write = Some(BytesPerSec::new(*rate));
            Target { peak: Peak { write, ..Peak::default() }, ..Target::named(*name) }
        };
        Site { targets: peaks.iter().map(target).collect(), ..Site::empty() }
    };
    let peak = |site: &Site| Peaks::new(&columns, Some(site)).get(0, Operation::Write);
    let both = peak(&site(&[("a", 300), ("b", 200)])).unwrap();
    assert_eq!((both.rate, both.origin), (500.0, PeakOrigin::Stripes));
    assert_eq!(peak(&site(&[("a", 300)])), None, "one of two says nothing of both");
    let whole = peak(&site(&[("a", 300), ("b", 200), ("a+b", 400)])).unwrap();
    assert_eq!((whole.rate, whole.origin), (400.0, PeakOrigin::Site));
}

/// A journal that somebody made up: both a target's and a client's pairs have more bytes than there are.
#[test]
fn bytes_beyond_all_numbers_are_not_summed_beyond_them() {
    let pairs = [("c0", "t0"), ("c1", "t0"), ("c1", "t1")];
    let pairs = pairs.map(|(client, target)| (client.to_string(), target.to_string(), SECOND));
    let mut made_up = made::instance(0, pairs);
    made_up.pairs.iter_mut().for_each(|pair| pair.bytes = u64::MAX);
    let (columns, scores) = scores(&[made_up]);
    assert_eq!((columns.all_pairs().len(), scores.targets.len()), (3, 2));
}

#[test]
fn equal_times_and_no_time_at_all_are_ties() {
    for nanos in [SECOND, 0] {
        let instances: Vec<Instance> = (0..12).map(|it| instance(it, &[nanos; 4])).collect();
        let (_, scores) = scores(&instances);
        for scores in scores.targets.values() {
            let leb = scores.leb.as_ref().unwrap();
            assert_eq!((leb.n, leb.min, leb.max), (12, 1.0, 1.0));
        }
        let kinds = scores.target_verdicts.verdicts.iter().map(|it| it.kind);
        assert!(kinds.into_iter().all(|kind| kind == Some(Kind::Normal)));
        assert!(scores.gains.iter().all(|it| it.gains.max() == 1.0));
        assert!(scores.sequences.iter().all(|it| it.low_measures == 0 && it.low.is_none()));
        assert!(!scores.runs[0].changed());
    }
}

#[test]
fn pairs_far_from_their_equals_are_marked_on_their_side() {
    let millis: [u64; 10] = [1000, 1010, 1020, 1030, 1040, 1050, 1060, 1070, 2000, 500];
    let (columns, _) = scores(&[instance(0, &millis.map(|it| it * 1_000_000))]);
    let marks = Marks::new(&columns);
    let row = &columns.instances()[0];
    let of = |pair| marks.mark(row, pair);
    let found: Vec<Option<Mark>> = columns.pairs(row).iter().map(of).collect();
    assert_eq!(found[..8], [None; 8]);
    assert_eq!(found[8..], [Some(Mark::Low), Some(Mark::High)]);
    // Quartiles of 4 and 6: what lies on a fence, at 1 or 9, is not beyond it.
    let mut on_fences = instance(0, &[SECOND; 5]);
    for (pair, mib) in on_fences.pairs.iter_mut().zip([1, 4, 5, 6, 9]) {
        pair.bytes = mib << 20;
    }
    let (columns_of_five, _) = scores(&[on_fences]);
    let (five, row_of_five) = (Marks::new(&columns_of_five), &columns_of_five.instances()[0]);
    let pairs = columns_of_five.pairs(row_of_five);
    assert!(pairs.iter().all(|it| five.mark(row_of_five, it).is_none()));
    let z: Vec<f64> =
        columns.pairs(row).iter().map(|it| marks.modified_z(row, it).unwrap()).collect();
    assert!(z[..8].iter().all(|it| it.abs() < 3.5) && z[8] < -3.5 && z[9] > 3.5, "{z:?}");
}

#[test]
fn no_bytes_are_no_speed_and_no_nan() {
    let mut instances: Vec<Instance> = (0..12).map(|it| instance(it, &[SECOND; 3])).collect();
    for instance in &mut instances {
        instance.pairs.iter_mut().for_each(|pair| pair.bytes = 0);
    }
    let (_, scores) = scores(&instances);
    assert!(scores.targets.values().all(|it| it.leb.is_none() && it.peb.is_none()));
    assert!(scores.target_verdicts.verdicts.iter().all(|it| it.kind.is_none()));
}

#[test]
fn a_clock_that_ran_backwards_is_a_nanosecond() {
    let mut backwards = instance(0, &[SECOND, SECOND]);
    backwards.pairs[0].end = backwards.pairs[0].start - 5;
    let (columns, scores) = scores(&[backwards]);
    assert_eq!(columns.all_pairs()[0].seconds, 1e-9);
    assert!(scores.targets[&1].leb.as_ref().unwrap().median > 0.0);
}

#[test]
fn a_run_that_changed_is_set_apart_and_both_are_stated() {
    let steady = |run: u32, offset: u64, slow_from: u64| {
        (0..20).map(move |round| {
            let wobble = SECOND + (round * 7919 + offset) % 97 * 100_000;
            let nanos = if round < slow_from { wobble } else { 2 * wobble };
            let mut it = instance(offset + round, &[nanos, nanos + 1_000_000, nanos + 2_000_000]);
            it.run = run;
            it
        })
    };
    let all: Vec<Instance> = steady(0, 0, 20).chain(steady(1, 20, 9)).collect();
    let (columns, scores) = scores(&all);
    assert_eq!(scores.runs.iter().map(|it| it.changed()).collect::<Vec<_>>(), [false, true]);
    assert_eq!((scores.changed.found(), scores.changed.left_out()), (1, 1));
    let (whole, changed) = (&columns.instances()[0], &columns.instances()[39]);
    assert!(scores.changed.has(changed) && !scores.changed.has(whole));
    assert!(scores.changed.count(whole) && !scores.changed.count(changed));
    let included = ChangedRuns::new(&scores.runs, true);
    assert!(included.has(changed) && included.count(changed) && included.left_out() == 0);
    let alone = ChangedRuns::new(&scores.runs[1..], false);
    assert!(alone.count(changed), "there is no other run");
    assert_eq!(scores.runs[1].change.unwrap().at, 9);
    let with = scores.targets_with_changed.as_ref().unwrap();
    assert_eq!(scores.targets[&0].peb.as_ref().unwrap().n, 20);
    assert_eq!(with[&0].peb.as_ref().unwrap().n, 40);
    assert_eq!(scores.target_verdicts.verdicts[0].kind, Some(Kind::Normal), "all slowed alike");
}

#[test]
fn slow_first_rounds_are_told_with_their_ratio() {
    // Ten runs of two rounds each.
    let found = |slow: u64| {
        let all = (0..20).map(|number| {
            let wobble = SECOND + number * 7919 % 97 * 100_000;
            let nanos = if number.is_multiple_of(2) { slow * wobble } else { wobble };
            let mut it = instance(number, &[nanos; 3]);
            (it.run, it.round) = (number as u32 / 2, number as u32 % 2);
            it
        });
        let (_, scores) = scores(&all.collect::<Vec<_>>());
        scores.warm_ups[0]
    };
    let twice = found(2);
    assert_eq!((twice.first, twice.rest), (10, 10));
    assert!((twice.ratio - 0.5).abs() < 0.01 && twice.significant(), "{twice:?}");
    assert!(!found(1).significant(), "{:?}", found(1));
    let mut of_one_round = instance(0, &[SECOND; 3]);
    let all = (0..20).map(|run| {
        of_one_round.run = run;
        of_one_round.clone()
    });
    let (_, scores) = scores(&all.collect::<Vec<_>>());
    assert!(scores.warm_ups.is_empty(), "runs of one round have no rest");
}

#[test]
fn a_client_that_is_slow_at_times_is_not_held_against_targets() {
    // One client takes a third longer in every third round, with whichever target it has then.
    let round = |round: u64| {
        let mut it = instance(round, &[SECOND; 4]);
        for (target, pair) in (0..).zip(&mut it.pairs) {
            let client = (target + round) % 4;
            let late = if client == 0 && round.is_multiple_of(3) { SECOND / 3 } else { 0 };
            pair.client = format!("c{client}");
            pair.end += (round * 7919 + target * 104_729) % 97 * 100_000 + late;
        }
        it
    };
    let (columns, scores) = scores(&(0..24).map(round).collect::<Vec<_>>());
    let named = |verdicts: &Verdicts| {
        let kinds = verdicts.verdicts.iter().map(|it| it.kind);
        kinds.map(|it| it.is_some_and(Kind::is_straggler)).collect::<Vec<bool>>()
    };
    assert_eq!(named(&scores.target_verdicts), [false; 4]);
    let slow = columns.clients.find("c0").unwrap() as usize;
    let kinds = named(&scores.client_verdicts);
    assert!((0..4).all(|client| kinds[client] == (client == slow)), "{kinds:?}");
}

/// For each component, the others are looked at together: one by one, these would take minutes.
#[test]
fn an_instance_may_have_very_many_pairs() {
    let nanos: Vec<u64> = (0..30_000).map(|it| SECOND * (1 + it % 3)).collect();
    let (columns, scores) = scores(&[instance(0, &nanos)]);
    assert_eq!((columns.rows(), columns.distinct()), (30_001, 60_003));
    let verdicts = &scores.target_verdicts.verdicts;
    assert_eq!(verdicts.len(), 30_000);
    // A third is as fast as the median, a third slower: of the others of any, most are not low.
    assert!(verdicts.iter().all(|it| it.usual_low == Some(0.0)));
}

/// Half a minute without optimisation; the sizes are what matters.
#[test]
#[ignore = "takes long without optimisation: cargo test --release -p plimsoll-score -- --ignored"]
fn a_million_pairs_fit() {
    let round = |round| {
        let nanos: Vec<u64> = (0..1000)
            .map(|target| SECOND + (round * 7919 + target * 104_729) % 1009 * 100_000)
            .collect();
        instance(round, &nanos)
    };
    let columns = made::columns("many-pairs", (0..1000).map(round));
    let begun = std::time::Instant::now();
    let scores = score(&columns, &Peaks::default(), &Options::default());
    println!("scored in {:.1} s, peak memory {}", begun.elapsed().as_secs_f64(), peak_memory());
    assert_eq!(scores.targets.len(), 1000);
}

fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM: unknown");
    line.trim_start_matches("VmHWM:").trim().to_string()
}
