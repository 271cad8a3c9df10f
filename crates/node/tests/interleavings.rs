//! The lock, and a lease's word, in every interleaving that the memory model allows (up to a number of preemptions), where a process may
//! be killed before any of its stores.

use std::cell::Cell;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use loom::thread;
use plimsoll_node::{Lock, LockHolder, Patience, Stuck};
use plimsoll_route::Factor;
use plimsoll_route::lease::{
    KeptPlacement, Leases, Need, POLICY_LANE_WORDS, POLICY_NODE_WORDS, TableShape, Word,
    begin_fill, publish,
};
use plimsoll_route::placement::{Advice, Lanes, Placement, Waiting};

loom::thread_local! {
    /// Stores that the process at work may still do. Each thread plays a process.
    static LEFT: Cell<u32> = Cell::new(u32::MAX);
}

fn allow(stores: u32) {
    LEFT.with(|left| left.set(stores));
}

fn may_store() -> bool {
    LEFT.with(|left| {
        let before = left.get();
        if before != u32::MAX && before > 0 {
            left.set(before - 1);
        }
        before > 0
    })
}

fn is_killed() -> bool {
    LEFT.with(Cell::get) == 0
}

struct Shared(AtomicU64);

impl Shared {
    fn new(value: u64) -> Self {
        Shared(AtomicU64::new(value))
    }
}

impl Word for Shared {
    fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    fn set(&self, value: u64) {
        if may_store() {
            self.0.store(value, Ordering::Release);
        }
    }

    fn replace(&self, known: u64, new: u64) -> bool {
        // Who is dead goes on in vain.
        if !may_store() {
            return self.get() == known;
        }
        self.0.compare_exchange(known, new, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// Two processes, and whether each is dead.
struct Processes {
    lock: Shared,
    dead: [AtomicBool; 2],
    /// What only the holder of the lock may touch: loom complains if both do.
    inside: UnsafeCell<u32>,
}

struct Watch<'a>(&'a Processes);

impl Patience<Shared> for Watch<'_> {
    const SPINS: u32 = 1;

    fn wait(&mut self, _word: &Shared, _known: u64) -> Result<(), Stuck> {
        thread::yield_now();
        if is_killed() { Err(Stuck) } else { Ok(()) }
    }

    fn wake(&mut self, _word: &Shared) {}

    fn is_dead(&mut self, holder: LockHolder) -> bool {
        self.0.dead[holder.place].load(Ordering::Acquire)
    }
}

/// Goes in and out `times` times, or is killed after so many stores.
fn go_in(processes: &Processes, place: usize, times: u32, stores: u32) {
    allow(stores);
    let me = LockHolder { place, generation: 1 };
    let lock = Lock::new(&processes.lock);
    for _ in 0..times {
        if lock.close(me, &mut Watch(processes)).is_err() || is_killed() {
            break;
        }
        // SAFETY: this is what is checked: nobody else is here.
        processes.inside.with_mut(|count| unsafe { *count += 1 });
        lock.open(me, &mut Watch(processes));
    }
    if is_killed() {
        processes.dead[place].store(true, Ordering::Release);
    }
    allow(u32::MAX);
}

fn explore(preemptions: usize, check: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.max_branches = 100_000;
    model.check(check);
}

#[test]
fn one_at_a_time_is_inside_and_the_lock_of_the_dead_is_taken_over() {
    // Stores of the one that is killed: to say that it waits, to take the lock, to give it back.
    for stores in [0, 1, 2, 3, u32::MAX] {
        explore(2, move || {
            let processes = Arc::new(Processes {
                lock: Shared::new(0),
                dead: [AtomicBool::new(false), AtomicBool::new(false)],
                inside: UnsafeCell::new(0),
            });
            let other = processes.clone();
            let mortal = thread::spawn(move || go_in(&other, 0, 1, stores));
            go_in(&processes, 1, 2, u32::MAX);
            mortal.join().unwrap();
            // SAFETY: the other thread has ended.
            let entered = processes.inside.with(|count| unsafe { *count });
            let least = if stores == u32::MAX { 3 } else { 2 };
            assert!((least..=3).contains(&entered), "{entered}");
            go_in(&processes, 1, 1, u32::MAX);
            assert_eq!(processes.lock.get(), 0, "it is open");
        });
    }
}

/// The first target that takes data.
#[derive(Debug, Clone)]
struct First;

impl Placement for First {
    fn place(&mut self, _waiting: Waiting, _lanes: Lanes<'_>) -> Option<Advice> {
        Some(Advice { lane: 0, length_bytes: 2 })
    }
}

impl KeptPlacement for First {
    fn node_words(&self) -> [u64; POLICY_NODE_WORDS] {
        [0; POLICY_NODE_WORDS]
    }

    fn lane_words(&self, _lane: usize) -> [u64; POLICY_LANE_WORDS] {
        [0; POLICY_LANE_WORDS]
    }

    fn restore(
        &mut self,
        _writers: u32,
        _node: [u64; POLICY_NODE_WORDS],
        _lanes: impl Iterator<Item = [u64; POLICY_LANE_WORDS]>,
    ) {
    }

    fn seal_after_ns(&self) -> u64 {
        0
    }
}

/// What the holder wrote, as a payload that others read once the lease is sealed.
struct Log {
    shape: TableShape,
    words: Vec<Shared>,
    payload: [AtomicU64; 2],
}

/// The holder writes two bytes, one at a time; somebody else seals the lease meanwhile, because it is old, or because the holder is
/// dead. What is sealed is exactly what the holder published, and all of it can be read.
fn write_while_sealed(stores: u32) {
    explore(2, move || {
        let shape = TableShape::new(1, 1, 1).unwrap();
        let words = (0..shape.words()).map(|_| Shared::new(0)).collect();
        let payload = [AtomicU64::new(0), AtomicU64::new(0)];
        let log = Arc::new(Log { shape, words, payload });
        let mut leases = Leases::new(shape, Factor::NONE, First);
        let holder = leases.join(&log.words, 0, 0);
        let need = Need { holder, length_bytes: 2, waiting_bytes: 2 };
        let id = leases.reserve(&log.words, 0, need).unwrap().id;
        let others = log.clone();
        let writer = thread::spawn(move || {
            allow(stores);
            let mut written = 0;
            for byte in 0..2 {
                if !begin_fill(&others.shape, &others.words, id) || is_killed() {
                    break;
                }
                others.payload[byte].store(1, Ordering::Relaxed);
                if !publish(&others.shape, &others.words, id, byte as u32 + 1) || is_killed() {
                    break;
                }
                written += 1;
            }
            let killed = is_killed();
            allow(u32::MAX);
            (written, killed)
        });
        leases.seal_old(&log.words, 1);
        let sealed_alive = length_on_its_way(&log, &leases);
        let (published, killed) = writer.join().unwrap();
        if killed {
            leases.holder_gone(&log.words, 1, 0);
        } else {
            leases.seal_old(&log.words, 1);
        }
        let sealed = length_on_its_way(&log, &leases);
        // Killed in the very store that published: it counts, though nobody was told.
        assert!(sealed == published || killed && sealed == published + 1, "{sealed} {published}");
        assert!(sealed_alive == 0 || sealed_alive == sealed, "sealed once");
        for byte in 0..sealed {
            assert_eq!(log.payload[byte as usize].load(Ordering::Relaxed), 1);
        }
    });
}

fn length_on_its_way(log: &Log, leases: &Leases<First>) -> u32 {
    let mut length = 0;
    leases.on_their_way(&log.words, 1, |lease| length += lease.length_bytes);
    length
}

#[test]
fn a_lease_is_sealed_where_its_holder_published_last() {
    write_while_sealed(u32::MAX);
}

#[test]
fn a_holder_is_killed_while_others_seal() {
    (0..5).for_each(write_while_sealed);
}
