//! Streaming the events of processes, on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};

use plimsoll_trace::{Event, ThreadDecoder, TraceError};

use crate::process::Process;

/// Takes the events of one process: those of a thread in the order of their ends, thread by
/// thread.
pub(crate) trait Visitor {
    /// Events of another thread follow.
    fn thread(&mut self, thread: u32);
    /// A call.
    fn event(&mut self, event: &Event);
    /// True when no more events are needed.
    fn is_done(&self) -> bool {
        false
    }
}

/// Hands all events of a process to a visitor. Returns how many bytes could not be decoded.
pub(crate) fn visit_events(
    process: &Process,
    buffer: &mut Vec<u8>,
    visitor: &mut impl Visitor,
) -> Result<u64, TraceError> {
    let file = process.open()?;
    let (mut decoder, mut thread, mut lost) = (ThreadDecoder::new(), None, 0u64);
    for chunk in &process.chunks {
        if visitor.is_done() {
            break;
        }
        if thread.replace(chunk.thread) != Some(chunk.thread) {
            decoder = ThreadDecoder::new();
            visitor.thread(chunk.thread);
        }
        let payload = file.payload(chunk, buffer)?;
        lost += decoder.decode(chunk.base_ticks, payload, |event| visitor.event(&event)) as u64;
    }
    Ok(lost)
}

/// Runs `work` once for every index below `count`, on at most `threads` threads, each with a
/// state of its own. Returns the states.
pub(crate) fn in_parallel<S: Send>(
    threads: usize,
    count: usize,
    new_state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) + Sync,
) -> Vec<S> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut state = new_state();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return state;
            }
            work(&mut state, index);
        }
    };
    if threads <= 1 || count <= 1 {
        return vec![run()];
    }
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(count)).map(|_| scope.spawn(run)).collect();
        let mut states = vec![run()];
        for other in others {
            match other.join() {
                Ok(state) => states.push(state),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        states
    })
}
