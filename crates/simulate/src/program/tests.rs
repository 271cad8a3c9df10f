use super::*;
use crate::scenario::{Submit, embedded};
use plimsoll_domain::Bytes;

fn program(submit: Submit, outstanding: u64) -> Program {
    let mut application = embedded("quiet").unwrap().application;
    (application.processes, application.blocks, application.block) = (1, 3, Bytes::new(10));
    (application.submit, application.outstanding) = (submit, Bytes::new(outstanding));
    let mut program = Program::new(&application, 1);
    program.begin_burst(0);
    program
}

fn calls(program: &mut Program) -> Vec<Call> {
    let mut all = Vec::new();
    while let Some(process) = program.take_ready() {
        all.extend(std::iter::from_fn(|| program.next_call(process)));
    }
    all
}

#[test]
fn at_once_is_everything_and_the_close() {
    let submit = Call::Submit(10);
    let mut program = program(Submit::AtOnce, 0);
    assert_eq!(calls(&mut program), [submit, submit, submit, Call::Close]);
    assert_eq!(program.submitted_bytes(), 30);
}

#[test]
fn a_paced_process_is_held_back_and_closes_late() {
    let submit = Call::Submit(10);
    let mut program = program(Submit::Paced, 5);
    assert_eq!(calls(&mut program), [submit]);
    program.committed(1, 0, 4);
    assert_eq!(calls(&mut program), [], "6 are outstanding");
    program.committed(2, 0, 1);
    assert_eq!(calls(&mut program), [submit]);
    program.committed(3, 0, 15);
    assert_eq!(calls(&mut program), [submit]);
    program.committed(4, 0, 4);
    assert_eq!(calls(&mut program), []);
    program.committed(5, 0, 1);
    assert_eq!(calls(&mut program), [Call::Close]);
    program.committed(6, 0, 5);
    program.closed(6, 0, 30, 0);
    assert_eq!((program.open(), program.kept_bytes(), &program.broken), (0, 0, &None));
}

#[test]
fn what_a_process_never_handed_over_is_counted() {
    let mut dies = program(Submit::Paced, 0);
    calls(&mut dies);
    dies.die(1, 0);
    assert_eq!((dies.submitted_bytes(), dies.kept_bytes()), (10, 20));
    let mut gives_up = program(Submit::Paced, 0);
    calls(&mut gives_up);
    assert!(gives_up.give_up());
    assert_eq!(calls(&mut gives_up), [Call::Close]);
    assert_eq!(gives_up.kept_bytes(), 20);
    assert!(!gives_up.give_up(), "once");
}

/// Two processes with two blocks of 10 in each of two bursts, and a cache.
fn two_bursts(cache: u64) -> Program {
    let mut application = embedded("quiet").unwrap().application;
    (application.processes, application.blocks, application.bursts) = (2, 2, 2);
    (application.block, application.cache) = (Bytes::new(10), Bytes::new(cache));
    Program::new(&application, 1)
}

#[test]
fn a_burst_is_waited_for_until_its_rest_fits_the_cache() {
    let mut program = two_bursts(5);
    assert!(!program.is_waiting(), "all compute");
    program.begin_burst(100);
    calls(&mut program);
    assert!(program.is_waiting());
    for (now_ns, process, bytes) in [(110, 0, 15), (120, 1, 14)] {
        program.committed(now_ns, process, bytes);
        assert!(program.is_waiting() && !program.bursts.take_release());
    }
    program.committed(130, 1, 1);
    assert!(program.bursts.take_release() && !program.bursts.take_release(), "once");
    assert!(!program.is_waiting(), "all compute");
    assert_eq!((&program.bursts.stalls_ns[..], program.bursts.released_ns), (&[30][..], 130));
    program.begin_burst(200);
    assert!(program.is_waiting());
    assert_eq!(calls(&mut program).len(), 2 * 3);
    for process in 0..2 {
        program.committed(250, process, 25);
        program.closed(250 + u64::from(process), process, 40, 0);
        assert_eq!((program.open(), program.is_waiting()), (1 - process, process == 0));
    }
    assert_eq!((&program.bursts.stalls_ns[..], &program.broken), (&[30, 50][..], &None));
    assert_eq!(program.ends_ns().collect::<Vec<_>>(), [250, 250]);

    let mut fits = two_bursts(20);
    fits.begin_burst(100);
    assert!(fits.bursts.take_release() && !fits.is_waiting(), "all of it fits");
    assert_eq!(fits.bursts.stalls_ns, [0]);
}

#[test]
fn what_is_reported_must_be_what_was_seen() {
    let reported = |committed_bytes, lost_bytes, times| {
        let mut program = program(Submit::AtOnce, 0);
        calls(&mut program);
        program.committed(1, 0, 20);
        for _ in 0..times {
            program.closed(2, 0, committed_bytes, lost_bytes);
        }
        (program.broken.is_some(), program.open())
    };
    assert_eq!(reported(20, 10, 1), (false, 0));
    assert_eq!(reported(19, 10, 1), (true, 1));
    assert_eq!(reported(20, 9, 1), (true, 1));
    assert!(reported(20, 10, 2).0, "it closes once");
    let mut program = program(Submit::AtOnce, 0);
    calls(&mut program);
    program.committed(1, 0, 31);
    assert!(program.broken.is_some(), "more than it submitted");
}

#[test]
fn nobody_waits_for_the_dead_or_for_what_is_lost() {
    let mut program = two_bursts(0);
    program.begin_burst(100);
    calls(&mut program);
    assert!(program.is_alive(0) && program.die(110, 0) && !program.is_alive(0));
    assert!(!program.die(120, 0), "once");
    assert_eq!((program.open(), program.bursts.take_release()), (1, false));
    program.committed(130, 1, 20);
    assert!(program.bursts.take_release());
    assert_eq!(program.bursts.stalls_ns, [30]);
    program.begin_burst(200);
    assert_eq!(calls(&mut program).len(), 3, "of the one that lives");
    program.closed(210, 1, 20, 20);
    assert_eq!((program.open(), &program.broken), (0, &None));
    assert!(
        program.bursts.take_release() && !program.is_waiting(),
        "what is lost is not waited for"
    );
    assert_eq!(program.bursts.stalls_ns, [30, 10]);
    assert!(program.die(220, 1));
    assert_eq!(program.open(), 0, "it had closed");

    let mut last = two_bursts(0);
    last.begin_burst(100);
    calls(&mut last);
    last.committed(110, 1, 20);
    last.die(120, 0);
    assert!(last.bursts.take_release(), "the other has all it needs");
    assert_eq!(last.bursts.stalls_ns, [20]);
}
