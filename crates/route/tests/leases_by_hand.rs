//! The table of leases with the law of `window`, step by step, and with words that are anything.

use std::sync::atomic::AtomicU64;

use plimsoll_route::lease::{
    Holder, Leases, Need, Place, Seen, TableShape, Word, begin_fill, filled, publish,
};
use plimsoll_route::{Factor, Failure, Window, WindowSettings};
use plimsoll_stats::Random;

const MIB: u64 = 1 << 20;
const MS: u64 = 1_000_000;

struct Table {
    shape: TableShape,
    words: Vec<AtomicU64>,
    leases: Leases<Window>,
}

impl Table {
    fn new(lanes: usize, leases: usize) -> Self {
        Table::for_writers(4, lanes, leases)
    }

    fn for_writers(writers: u32, lanes: usize, leases: usize) -> Self {
        Table::throttled(Factor::NONE, writers, lanes, leases)
    }

    fn throttled(factor: Factor, writers: u32, lanes: usize, leases: usize) -> Self {
        let shape = TableShape::new(lanes, 4, leases).unwrap();
        let words: Vec<AtomicU64> = (0..shape.words()).map(|_| AtomicU64::new(0)).collect();
        let policy = Window::new(WindowSettings::default(), lanes, writers);
        let leases = Leases::new(shape, factor, policy);
        leases.begin(&words);
        Table { shape, words, leases }
    }

    fn join(&mut self, place: usize) -> Holder {
        self.leases.join(&self.words, 0, place)
    }

    fn reserve(&mut self, now_ns: u64, holder: Holder) -> Option<plimsoll_route::lease::Reserved> {
        let need = Need { holder, length_bytes: u64::MAX, waiting_bytes: 4096 };
        self.leases.reserve(&self.words, now_ns, need)
    }

    fn write(&self, id: plimsoll_route::lease::LeaseId, to: u32) -> bool {
        begin_fill(&self.shape, &self.words, id) && publish(&self.shape, &self.words, id, to)
    }

    fn on_their_way(&self, now_ns: u64) -> Vec<(usize, u32)> {
        let mut all = Vec::new();
        let each = |lease: plimsoll_route::lease::SealedLease| {
            all.push((lease.lane, lease.length_bytes));
        };
        self.leases.on_their_way(&self.words, now_ns, each);
        all
    }
}

#[test]
fn small_writes_are_gathered_into_a_lease_and_its_delay_is_learnt() {
    let mut table = Table::new(2, 8);
    let holder = table.join(0);
    let first = table.reserve(0, holder).unwrap();
    assert_eq!(u64::from(first.length_bytes), MIB / 2, "a share of 1 MiB for two targets");
    assert!(table.write(first.id, 4096) && table.write(first.id, 8192));
    assert!(!table.write(first.id, 4096), "what is published stays published");
    assert!(begin_fill(&table.shape, &table.words, first.id));
    assert!(!publish(&table.shape, &table.words, first.id, first.length_bytes + 1));
    assert!(publish(&table.shape, &table.words, first.id, first.length_bytes));
    let place = Place { log: 7, offset_bytes: 65536 };
    assert!(table.leases.set_place(&table.words, first.id, place));
    let sealed = table.leases.seal(&table.words, MS, first.id).unwrap();
    assert_eq!((sealed.place, sealed.length_bytes), (place, first.length_bytes));
    assert!(table.leases.seal(&table.words, MS, first.id).is_none(), "sealed once");
    assert_eq!(table.leases.next_look_ns(&table.words), Some(MS));
    let ended = table.leases.durable(&table.words, 6 * MS, first.id).unwrap();
    assert_eq!((ended.id, ended.lease), (first.id, sealed));
    assert!(table.leases.durable(&table.words, 6 * MS, first.id).is_none(), "ended once");
    let policy = table.leases.policy();
    assert_eq!(policy.delay_ns(first.lane), Some(5 * MS), "from the seal on");
    assert_eq!(table.leases.next_look_ns(&table.words), None);
    assert!(table.leases.is_flushed(&table.words, holder));
}

#[test]
fn writers_who_come_before_anything_has_ended_do_not_wait_for_the_first_lease() {
    // As a node's memory is made: by the first writer, who knows of no others.
    let mut table = Table::for_writers(1, 4, 8);
    let holders: Vec<Holder> = (0..4).map(|place| table.join(place)).collect();
    let leases: Vec<_> = holders.iter().map(|it| table.reserve(0, *it).unwrap()).collect();
    let mut lanes: Vec<usize> = leases.iter().map(|it| it.lane).collect();
    lanes.sort();
    assert_eq!(lanes, [0, 1, 2, 3], "none of them is idle");
    assert!(leases.iter().all(|it| u64::from(it.length_bytes) == MIB));
}

#[test]
fn what_nobody_writes_to_is_sealed_and_its_holder_finds_out() {
    let mut table = Table::new(2, 8);
    let (one, other) = (table.join(0), table.join(1));
    let lease = table.reserve(0, one).unwrap();
    let empty = table.reserve(0, other).unwrap();
    assert!(table.write(lease.id, 4096));
    table.leases.seal_old(&table.words, 49 * MS);
    assert_eq!(table.on_their_way(49 * MS), []);
    assert_eq!(table.leases.next_look_ns(&table.words), Some(50 * MS));
    table.leases.seal_old(&table.words, 50 * MS);
    assert_eq!(table.on_their_way(50 * MS), [(lease.lane, 4096)]);
    assert!(!table.write(lease.id, 8192) && !table.write(empty.id, 1));
    let busy = table.reserve(50 * MS, one).unwrap();
    assert!(begin_fill(&table.shape, &table.words, busy.id));
    table.leases.seal_old(&table.words, 1000 * MS);
    assert!(publish(&table.shape, &table.words, busy.id, 4096), "not in the middle of a write");
}

#[test]
fn the_lease_of_the_dead_ends_where_published_data_ends() {
    let mut table = Table::new(2, 8);
    let holder = table.join(2);
    let lease = table.reserve(0, holder).unwrap();
    assert!(table.write(lease.id, 12_288));
    assert!(begin_fill(&table.shape, &table.words, lease.id));
    let next = table.join(2);
    assert_eq!(table.on_their_way(0), [(lease.lane, 12_288)]);
    assert!(!publish(&table.shape, &table.words, lease.id, 16_384));
    assert_eq!(filled(&table.shape, &table.words, lease.id), Some(12_288));
    assert!(!table.shape.is_member(&table.words, holder));
    assert!(table.reserve(0, holder).is_none(), "the dead get nothing");
    assert!(table.reserve(0, next).is_some());
}

#[test]
fn a_lease_that_takes_long_is_copied_and_the_first_that_ends_counts() {
    let mut table = Table::new(2, 8);
    let holder = table.join(0);
    let slow = table.reserve(0, holder).unwrap();
    assert!(table.write(slow.id, 65_536));
    table.leases.flush(&table.words, 0, holder);
    assert!(!table.leases.is_flushed(&table.words, holder));
    assert!(table.leases.second_attempt(&table.words, MS, holder).is_none(), "not late yet");
    table.leases.saw(&table.words, 400 * MS, slow.id, Seen::Pending);
    let (lease, copy) = table.leases.second_attempt(&table.words, 400 * MS, holder).unwrap();
    assert_eq!((lease.id, copy.length_bytes), (slow.id, 65_536));
    assert_ne!(copy.lane, slow.lane);
    assert!(table.leases.second_attempt(&table.words, 400 * MS, holder).is_none(), "once");
    assert!(table.write(copy.id, 65_536));
    table.leases.seal(&table.words, 401 * MS, copy.id).unwrap();
    let ended = table.leases.durable(&table.words, 410 * MS, copy.id).unwrap();
    assert_eq!((ended.id, ended.lease.id), (slow.id, copy.id));
    assert!(table.leases.is_flushed(&table.words, holder));
    assert!(table.leases.durable(&table.words, 900 * MS, slow.id).is_none(), "it ended before");
    assert_eq!(table.on_their_way(900 * MS), []);
}

/// Records that do not fit leave a part of each lease. Nothing lies there, so it makes no share larger.
#[test]
fn what_leases_did_not_take_makes_no_share_larger() {
    let mut table = Table::throttled(Factor::from_millionths(100_000), 1, 2, 8);
    let holder = table.join(0);
    let (mut held, mut slow, mut now) = ([0; 2], Vec::new(), 0);
    while held.iter().sum::<u64>() < 200 * MIB {
        now += MS;
        let Some(lease) = table.reserve(now, holder) else {
            // Only when nothing else has room is anything durable on the second target.
            let id = slow.pop().unwrap();
            table.leases.durable(&table.words, now, id).unwrap();
            continue;
        };
        let filled = lease.length_bytes / 4 * 3;
        assert!(table.write(lease.id, filled));
        table.leases.seal(&table.words, now, lease.id).unwrap();
        held[lease.lane] += u64::from(filled);
        match lease.lane {
            0 => drop(table.leases.durable(&table.words, now + 1, lease.id)),
            _ => slow.push(lease.id),
        }
    }
    let most = 110 * MIB + 2 * MIB;
    assert!(held[0] > 100 * MIB && held[0] <= most, "{held:?}");
}

#[test]
fn who_waits_is_counted_and_a_failed_target_takes_nothing() {
    let mut table = Table::new(2, 1);
    let (one, other) = (table.join(0), table.join(1));
    table.leases.set_failure(&table.words, 0, Some(Failure::Full));
    let lease = table.reserve(0, one).unwrap();
    assert_eq!(lease.lane, 1);
    assert!(table.reserve(0, other).is_none(), "the table is full");
    assert!(table.write(lease.id, 1));
    table.leases.flush(&table.words, 0, one);
    assert!(table.leases.second_attempt(&table.words, 900 * MS, one).is_none(), "one waits");
    table.leases.durable(&table.words, MS, lease.id).unwrap();
    table.leases.set_failure(&table.words, 1, Some(Failure::Full));
    assert!(table.reserve(0, other).is_none(), "no target is left");
    table.leases.set_failure(&table.words, 0, None);
    assert_eq!(table.reserve(0, other).unwrap().lane, 0);
}

#[test]
fn nothing_in_the_table_is_believed() {
    let rounds = if cfg!(debug_assertions) { 3_000 } else { 100_000 };
    let mut random = Random::new(15);
    for _ in 0..rounds {
        let mut table = Table::new(3, 4);
        for word in &table.words {
            let bits = random.bits();
            // Also numbers that almost make sense.
            let bits = if bits & 1 == 0 { bits } else { bits >> (bits >> 8 & 63) };
            word.set(bits);
        }
        let holder = table.join(1);
        let now_ns = random.bits() >> 20;
        let lease = table.reserve(now_ns, holder);
        if let Some(lease) = lease {
            assert!(lease.lane < 3 && lease.length_bytes > 0);
            assert!(table.write(lease.id, lease.length_bytes));
            assert!(table.leases.seal(&table.words, now_ns, lease.id).is_some());
        }
        table.leases.seal_old(&table.words, now_ns);
        table.leases.second_attempt(&table.words, now_ns, holder);
        for place in 0..4 {
            table.leases.holder_gone(&table.words, now_ns, place);
        }
        table.leases.next_look_ns(&table.words);
        let mut seen = Vec::new();
        table.leases.on_their_way(&table.words, now_ns, |it| seen.push(it.id));
        for id in seen {
            table.leases.saw(&table.words, now_ns, id, Seen::Pending);
            table.leases.saw(&table.words, now_ns + 1, id, Seen::Durable);
        }
        (0..3).for_each(|lane| table.leases.set_failure(&table.words, lane, None));
        let holder = table.join(1);
        assert!(table.reserve(now_ns, holder).is_some(), "all that was there has ended");
    }
}

/// Whoever looks may have to wait for a processor before it can tell what it saw.
#[test]
fn a_look_that_is_told_late_makes_no_target_slow() {
    let window_after = |told_ns: u64| {
        let mut table = Table::for_writers(1, 2, 8);
        let holder = table.join(0);
        let lease = table.reserve(0, holder).unwrap();
        assert!(table.write(lease.id, lease.length_bytes));
        table.leases.seal(&table.words, 0, lease.id).unwrap();
        let pending = [(lease.id, Seen::Pending)];
        table.leases.saw_all(&table.words, 10 * MS, told_ns, pending, |_| panic!("it is pending"));
        table.leases.saw(&table.words, 500 * MS, lease.id, Seen::Durable).unwrap();
        table.leases.policy().window_bytes(lease.lane)
    };
    assert_eq!(window_after(400 * MS), window_after(10 * MS));
}

#[test]
fn a_table_has_bounds() {
    for (lanes, holders, leases) in [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1025, 1, 1), (1, 1, 8193)] {
        assert!(TableShape::new(lanes, holders, leases).is_err());
    }
    let said = TableShape::new(2000, 1, 1).unwrap_err().to_string();
    assert_eq!(
        said,
        "a table for 2000 targets, 1 processes and 1 leases; hint: 1 to 1024, 4096 and 8192"
    );
}
