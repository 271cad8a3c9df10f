use super::*;

const SECOND: u64 = 1_000_000_000;

fn target(discipline: Discipline, interference: Interference) -> Target {
    let kind = TargetKind {
        discipline,
        bytes_per_ns: 1.0,
        curve: Rc::new(ServiceCurve::flat()),
        stream_cap: f64::INFINITY,
        request_bytes: 0.0,
        is_by_node: false,
    };
    Target::new(kind, interference)
}

fn job(actor: u32, length_bytes: u64) -> Job {
    Job { actor, attempt: AttemptId { slot: 0, generation: 0 }, node: 0, length_bytes }
}

/// Runs until empty; (whose job, end) in order.
fn ends(target: &mut Target) -> Vec<(u32, u64)> {
    let (mut all, mut done) = (Vec::new(), Vec::new());
    while let Some(at) = target.next_end_ns() {
        target.take_done(at, &mut done);
        all.extend(done.drain(..).map(|job: Job| (job.actor, at)));
    }
    all
}

#[test]
fn streams_share_and_the_shorter_ends_first() {
    let mut shared = target(Discipline::ProcessorSharing, Interference::none());
    shared.arrive(0, job(1, 3 * SECOND));
    shared.arrive(0, job(2, SECOND));
    // Both at one half until 2 s; then 2 s of work are left, alone.
    assert_eq!(ends(&mut shared), [(2, 2 * SECOND), (1, 4 * SECOND)]);
    assert!((shared.served_bytes() - 4e9).abs() < 10.0);
    assert_eq!(shared.busy_ns(), 4 * SECOND);
}

#[test]
fn a_queue_serves_one_after_the_other_and_noise_in_between() {
    let mut queue = target(Discipline::Fifo, Interference::none());
    queue.arrive(0, job(1, 3 * SECOND));
    queue.arrive(0, job(2, SECOND));
    assert_eq!(ends(&mut queue), [(1, 3 * SECOND), (2, 4 * SECOND)]);

    let noise = Interference { streams: 2, block_bytes: 1e9, ..Interference::none() };
    let mut noisy = target(Discipline::Fifo, noise);
    noisy.arrive(0, job(1, SECOND));
    noisy.arrive(0, job(2, SECOND));
    // Two blocks of noise are before us, and come again behind us.
    assert_eq!(ends(&mut noisy), [(1, 3 * SECOND), (2, 4 * SECOND)]);
    noisy.arrive(10 * SECOND, job(3, SECOND));
    assert_eq!(ends(&mut noisy), [(3, 13 * SECOND)]);
    assert!((noisy.served_bytes() - 3e9).abs() < 10.0, "noise is not ours");
}

#[test]
fn noise_takes_its_share() {
    let by_job = Interference { streams: 16, ..Interference::none() };
    let mut noisy = target(Discipline::ProcessorSharing, by_job);
    for nth in 0..4 {
        noisy.arrive(0, job(nth, SECOND));
    }
    assert_eq!(ends(&mut noisy).last(), Some(&(3, 68 * SECOND)), "1/17, however many we are");
    let by_stream = Interference { by_stream: true, ..by_job };
    let mut noisy = target(Discipline::ProcessorSharing, by_stream);
    for nth in 0..4 {
        noisy.arrive(0, job(nth, SECOND));
    }
    assert_eq!(ends(&mut noisy).last(), Some(&(3, 20 * SECOND)), "4 of 20");
}

#[test]
fn limits_stops_and_slowness_change_the_rate_in_the_middle() {
    let mut target = target(Discipline::ProcessorSharing, Interference::none());
    target.arrive(0, job(7, 10 * SECOND));
    target.set_limit(SECOND, 0.5);
    target.set_stopped(3 * SECOND, true);
    assert_eq!(target.next_end_ns(), None);
    target.set_stopped(5 * SECOND, false);
    target.set_limit(5 * SECOND, f64::INFINITY);
    target.set_interference(5 * SECOND, Interference { slowdown: 4.0, ..Interference::none() });
    // 1 s at 1, 2 s at 1/2: 8 are left at 1/4.
    assert_eq!(ends(&mut target), [(7, 37 * SECOND)]);
}

#[test]
fn the_head_of_a_queue_is_limited_stopped_and_slowed_too() {
    let mut queue = target(Discipline::Fifo, Interference::none());
    queue.arrive(0, job(7, 10 * SECOND));
    queue.arrive(0, job(8, 10 * SECOND));
    queue.set_limit(SECOND, 0.5);
    queue.set_stopped(3 * SECOND, true);
    assert_eq!((queue.next_end_ns(), queue.own_rate(2)), (None, 0.0));
    queue.set_stopped(5 * SECOND, false);
    queue.set_limit(5 * SECOND, f64::INFINITY);
    queue.set_interference(5 * SECOND, Interference { slowdown: 4.0, ..Interference::none() });
    assert_eq!(ends(&mut queue), [(7, 37 * SECOND), (8, 77 * SECOND)]);
    assert_eq!((queue.busy_ns(), queue.jobs()), (77 * SECOND, 0), "it had work all the time");
}

#[test]
fn the_rate_is_that_of_the_curve_and_each_stream_has_its_cap() {
    let kind = |discipline, stream_cap| TargetKind {
        discipline,
        bytes_per_ns: 2.0,
        curve: Rc::new(ServiceCurve::flat()),
        stream_cap,
        request_bytes: 0.0,
        is_by_node: false,
    };
    let new = |discipline, cap| Target::new(kind(discipline, cap), Interference::none());
    let mut shared = new(Discipline::ProcessorSharing, 0.75);
    let rates = [0, 1, 2, 3].map(|streams| shared.own_rate(streams));
    assert_eq!(rates, [0.0, 0.75, 1.5, 2.0], "three are more than the target gives");
    shared.set_limit(0, 1.0);
    assert_eq!(shared.own_rate(3), 1.0);
    shared.arrive(0, job(1, 3 * SECOND));
    shared.arrive(0, job(2, 3 * SECOND));
    assert_eq!(ends(&mut shared), [(1, 6 * SECOND), (2, 6 * SECOND)]);
    let mut queue = new(Discipline::Fifo, 0.75);
    queue.arrive(0, job(1, 3 * SECOND));
    assert_eq!(ends(&mut queue), [(1, 4 * SECOND)]);
    let curve = Rc::new(ServiceCurve::from_shares(&[0.5, 0.75]).unwrap());
    let curved = |discipline| {
        let kind = TargetKind { curve: curve.clone(), ..kind(discipline, f64::INFINITY) };
        Target::new(kind, Interference::none())
    };
    let shared = curved(Discipline::ProcessorSharing);
    assert_eq!([1, 2, 9].map(|streams| shared.own_rate(streams)), [1.0, 1.5, 1.5]);
    let mut queue = curved(Discipline::Fifo);
    queue.arrive(0, job(1, 3 * SECOND));
    assert_eq!(ends(&mut queue), [(1, 3 * SECOND)], "one at a time");
    let mut free = new(Discipline::Fifo, f64::INFINITY);
    free.arrive(0, job(1, 3 * SECOND));
    assert_eq!(ends(&mut free), [(1, 3 * SECOND / 2)]);
}

#[test]
fn time_without_work_is_not_busy_and_what_is_taken_away_was_served_in_part() {
    for discipline in [Discipline::ProcessorSharing, Discipline::Fifo] {
        let mut target = target(discipline, Interference::none());
        target.arrive(5 * SECOND, job(1, 4 * SECOND));
        target.arrive(5 * SECOND, job(2, 4 * SECOND));
        assert_eq!((target.jobs(), target.busy_ns()), (2, 0));
        let mut taken = Vec::new();
        target.take_all(8 * SECOND, &mut taken);
        assert_eq!(taken.iter().map(|job| job.actor).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((target.jobs(), target.busy_ns()), (0, 3 * SECOND));
        assert_eq!(target.served_bytes(), 3e9);
        target.arrive(20 * SECOND, job(3, SECOND));
        assert_eq!(ends(&mut target), [(3, 21 * SECOND)], "nothing is left of those");
        assert_eq!(target.busy_ns(), 4 * SECOND);
    }
}

#[test]
fn an_end_is_never_now() {
    let mut shared = target(Discipline::ProcessorSharing, Interference::none());
    shared.arrive(7, job(1, 0));
    assert_eq!(shared.next_end_ns(), Some(8));
    shared.set_limit(7, 0.3);
    shared.arrive(7, job(2, 1));
    let mut done = Vec::new();
    shared.take_done(8, &mut done);
    assert_eq!(done.len(), 1);
    // 0.85 bytes are left, at 0.3 a nanosecond.
    assert_eq!(shared.next_end_ns(), Some(8 + 3));
}

/// Ends of jobs that came at some time and take some work, by small steps of time: each gets an equal part of
/// the target as long as it is there.
fn ends_in_small_steps(jobs: &[(u64, f64)], step_ns: u64) -> Vec<u64> {
    let mut left: Vec<f64> = jobs.iter().map(|(_, work)| *work).collect();
    let (mut now_ns, mut ends) = (0, vec![0; jobs.len()]);
    while left.iter().any(|left| *left > 0.0) {
        let here = |nth: usize, left: &[f64]| jobs[nth].0 <= now_ns && left[nth] > 0.0;
        let sharing: Vec<usize> = (0..jobs.len()).filter(|nth| here(*nth, &left)).collect();
        now_ns += step_ns;
        for nth in &sharing {
            left[*nth] -= step_ns as f64 / sharing.len() as f64;
            ends[*nth] = now_ns;
        }
    }
    ends
}

#[test]
fn requests_of_different_lengths_share_a_target_by_bytes_and_cost() {
    let kind = TargetKind {
        discipline: Discipline::ProcessorSharing,
        bytes_per_ns: 1.0,
        curve: Rc::new(ServiceCurve::flat()),
        stream_cap: f64::INFINITY,
        request_bytes: 400_000.0,
        is_by_node: false,
    };
    let mut target = Target::new(kind, Interference::none());
    let jobs = [(0, 3_000_000), (0, 1_000_000), (500_000, 200_000), (2_000_000, 1), (9_000_000, 7)];
    let expected = ends_in_small_steps(&jobs.map(|(at, bytes)| (at, bytes as f64 + 4e5)), 100);
    let (mut found, mut done) = (vec![0; jobs.len()], Vec::new());
    for (nth, (at_ns, bytes)) in jobs.into_iter().enumerate() {
        while let Some(end_ns) = target.next_end_ns().filter(|end_ns| *end_ns <= at_ns) {
            target.take_done(end_ns, &mut done);
            done.drain(..).for_each(|job: Job| found[job.actor as usize] = end_ns);
        }
        target.arrive(at_ns, job(nth as u32, bytes));
    }
    for (nth, end_ns) in ends(&mut target) {
        found[nth as usize] = end_ns;
    }
    let is_close = |(found, expected): (&u64, &u64)| found.abs_diff(*expected) < 1000;
    assert!(found.iter().zip(&expected).all(is_close), "{found:?} against {expected:?}");
    let bytes: u64 = jobs.iter().map(|(_, bytes)| bytes).sum();
    assert!((target.served_bytes() - bytes as f64).abs() < 10.0, "bytes, without what they cost");
}

#[test]
fn requests_of_others_in_a_queue_cost_as_ours_do() {
    let kind = TargetKind {
        discipline: Discipline::Fifo,
        bytes_per_ns: 1.0,
        curve: Rc::new(ServiceCurve::flat()),
        stream_cap: f64::INFINITY,
        request_bytes: 0.5e9,
        is_by_node: false,
    };
    let noise = Interference { streams: 2, block_bytes: 1e9, ..Interference::none() };
    let mut noisy = Target::new(kind.clone(), noise);
    noisy.arrive(0, job(1, SECOND));
    noisy.arrive(0, job(2, SECOND));
    // Two blocks of noise of 1.5 s are before us, and we take as long each.
    assert_eq!(ends(&mut noisy), [(1, 4_500_000_000), (2, 6 * SECOND)]);
    assert!((noisy.served_bytes() - 2e9).abs() < 10.0);
    // Of the work of a head two thirds are bytes: a limit of a half lets three quarters through.
    let mut limited = Target::new(kind, Interference::none());
    limited.set_limit(0, 0.5);
    limited.arrive(0, job(1, SECOND));
    assert_eq!(ends(&mut limited), [(1, 2 * SECOND)]);
}
