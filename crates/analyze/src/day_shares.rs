//! Days shared out among threads.

use std::thread;

use plimsoll_history::Day;

/// Works on days with so many threads, each of which gets some that follow each other. Returns what they gave, in the order of days.
pub(crate) fn on_threads<T: Send>(
    days: &[Day],
    threads: usize,
    work: impl Fn(&[Day]) -> T + Sync,
) -> Vec<T> {
    let threads = threads.clamp(1, days.len().max(1));
    let bound = |thread: usize| days.len() * thread / threads;
    thread::scope(|scope| {
        let begin = |number: usize| {
            let (some, work) = (&days[bound(number)..bound(number + 1)], &work);
            scope.spawn(move || work(some))
        };
        let running: Vec<_> = (0..threads).map(begin).collect();
        let joined = running.into_iter().map(|it| match it.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.collect()
    })
}
