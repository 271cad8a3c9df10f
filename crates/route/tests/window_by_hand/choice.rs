//! How large the next lease is, where it goes, and what is tried a second time.

use plimsoll_route::{Failure, WindowSettings};

use super::{Bed, KIB, MUCH, SETTINGS, last};
use plimsoll_route::placement::Waiting;

#[test]
fn a_lease_is_a_quarter_of_the_window() {
    for (window, lease) in [(64, 64), (640, 128), (1024, 256), (2048, 256)] {
        assert_eq!(Bed::with_windows(&[window]).place(MUCH), Some((0, lease)), "{window}");
    }
    let small = Waiting { length_bytes: 10 * KIB, ..MUCH };
    assert_eq!(Bed::with_windows(&[1024]).place(small), Some((0, 10)), "no more than there is");
    let again = Waiting { length_bytes: 300 * KIB, is_retry: true, ..MUCH };
    assert_eq!(Bed::with_windows(&[1024]).place(again), Some((0, 300)), "a part stays whole");
    assert_eq!(Bed::with_windows(&[1024]).in_flight(&[768]).place(MUCH), Some((0, 256)));
    assert_eq!(Bed::with_windows(&[1024]).in_flight(&[769]).place(MUCH), None, "it is full");
}

#[test]
fn the_least_full_lane_is_taken_and_of_equal_ones_the_next_in_turn() {
    let mut bed = Bed::with_windows(&[256, 256, 256]).in_flight(&[128, 64, 0]);
    assert_eq!(bed.place(MUCH), Some((2, 64)));
    bed.set_in_flight(&[128, 0, 64]);
    assert_eq!(bed.place(MUCH), Some((1, 64)));
    bed.set_in_flight(&[64, 64, 64]);
    let turns: Vec<_> = (0..4).map(|_| bed.place(MUCH).unwrap().0).collect();
    assert_eq!(turns, [2, 0, 1, 2]);
    // Quarters of a window count, not bytes.
    let small = Waiting { length_bytes: 10 * KIB, ..MUCH };
    bed.set_in_flight(&[40, 20, 0]);
    let turns: Vec<_> = (0..4).map(|_| bed.place(small).unwrap().0).collect();
    assert_eq!(turns, [0, 1, 2, 0]);
    bed.set_in_flight(&[60, 40, 60]);
    assert_eq!(bed.place(small), Some((1, 10)), "the others would have more than a quarter");
    bed.lanes[1].failure = Some(Failure::Full);
    assert_eq!(bed.place(small), Some((2, 10)), "that takes nothing");

    // In proportion to their windows: 128 of 512 is as much as 64 of 256.
    let mut bed = Bed::with_windows(&[512, 256]).in_flight(&[256, 0]);
    assert_eq!(bed.place(MUCH), Some((1, 64)), "128 more of 512 are three quarters");
    bed.set_in_flight(&[0, 64]);
    assert_eq!(bed.place(MUCH), Some((0, 128)));
}

#[test]
fn half_a_lease_of_window_counts_as_a_whole_one() {
    let mut bed = Bed::new(SETTINGS, 2, 1);
    for lane in 0..2 {
        bed.end(lane, 64, 2000);
    }
    assert_eq!(bed.windows(), [32, 32]);
    bed.set_in_flight(&[0, 64]);
    assert_eq!(bed.place(MUCH), Some((0, 64)));
    bed.set_in_flight(&[64, 1]);
    assert_eq!(bed.place(MUCH), None, "it must be empty");
    // Fuller than full is no fuller: it is the turn of the lane after the last.
    let mut bed = Bed::with_windows(&[256, 64, 64]);
    bed.end(1, 64, 2000);
    bed.end(2, 64, 2000);
    assert_eq!(bed.windows(), [256, 32, 32]);
    bed.set_in_flight(&[192, 0, 0]);
    let turns: Vec<_> = (0..3).map(|_| bed.place(MUCH).unwrap()).collect();
    assert_eq!(turns, [(1, 64), (2, 64), (0, 64)]);
}

#[test]
fn only_the_lane_that_got_room_is_looked_at_while_the_end_is_far() {
    let bed = || Bed::with_windows(&[256, 256]).in_flight(&[64, 0]);
    let only = |waiting: Waiting| Waiting { only_lane: Some(0), ..waiting };
    assert_eq!(bed().place(MUCH), Some((1, 64)));
    assert_eq!(bed().place(only(MUCH)), Some((0, 64)));
    assert_eq!(bed().place(only(last(1026))), Some((0, 64)), "more than twice what they hold");
    assert_eq!(bed().place(only(last(1024))), Some((1, 64)));
}

#[test]
fn near_the_end_leases_and_windows_get_smaller() {
    let with = |out: u64| Bed::with_windows(&[1024, 1024]).in_flight(&[out, out]);
    for (left, lease) in [(10_240, 256), (1024, 256), (1023, 192), (512, 128), (500, 64), (100, 64)]
    {
        assert_eq!(with(0).place(last(left)), Some((1, lease)), "{left}");
    }
    let mut three = Bed::with_windows(&[1024, 1024, 1024]);
    assert_eq!(three.place(last(1300)), Some((1, 192)), "a sixth of what waits");
    // 512 are a quarter of what windows hold: half of each is filled.
    assert_eq!(with(384).place(last(512)), Some((1, 128)));
    assert_eq!(with(385).place(last(512)), None);
    // From half of what they hold on, all of each.
    assert_eq!(with(768).place(last(1024)), Some((1, 256)));
    assert_eq!(with(831).place(last(1023)), Some((1, 192)));
    assert_eq!(with(832).place(last(1023)), None);
    assert_eq!(with(768).place(last(2048)), Some((1, 256)));
}

#[test]
fn at_the_end_nothing_goes_where_it_would_be_waited_for() {
    // Lane 1 takes 20000 ns for its window of 256, so 5000 ns for a lease of 64.
    let bed = || {
        let mut bed = Bed::with_windows(&[256, 256]).in_flight(&[128, 0]);
        bed.seen(1, 78_500);
        assert_eq!((bed.windows(), bed.window.delay_ns(1)), (vec![256, 256], Some(20_000)));
        bed
    };
    assert_eq!(bed().place(MUCH), Some((1, 64)), "there is no end");
    // All that waits takes 1000 ns for every 512, and the last 1000 ns.
    assert_eq!(bed().place(last(2048)), Some((1, 64)), "5000 ns");
    assert_eq!(bed().place(last(2047)), Some((0, 64)), "4998 ns");
    assert_eq!(bed().place(last(256)), Some((0, 64)));
    assert_eq!(bed().in_flight(&[256, 0]).place(last(256)), None, "not even in its turn");
    assert_eq!(bed().in_flight(&[128, 64]).place(last(4000)), Some((0, 64)), "behind another");

    // A lane of which nothing is known is not thought to take no time.
    let mut unknown = Bed::new(SETTINGS, 2, 1).in_flight(&[64, 0]);
    assert_eq!(unknown.place(last(64)), Some((1, 64)));
    let again = Waiting { length_bytes: 300 * KIB, is_retry: true, ..last(1) };
    unknown.set_in_flight(&[0, 0]);
    assert_eq!(unknown.place(again), None, "250 ns for 64 are 1171 ns for 300");
}

#[test]
fn lanes_with_small_windows_take_turns_as_often_as_their_windows_say() {
    // A quarter of a lease each, and at first credits of 0, 16, 32 and 48, so that nodes differ.
    let mut bed = Bed::new(SETTINGS, 4, 1);
    for lane in 0..4 {
        bed.end(lane, 64, 4000);
    }
    assert_eq!(bed.windows(), [16; 4]);
    let turns: Vec<_> = (0..6).map(|_| bed.place(MUCH).unwrap()).collect();
    assert_eq!(turns, [(3, 64), (2, 64), (1, 64), (0, 64), (3, 64), (1, 64)]);
    bed.set_in_flight(&[0, 64, 0, 0]);
    assert_eq!(bed.place(MUCH), None, "all windows together hold no more");
    bed.set_in_flight(&[0, 63, 0, 0]);
    let skipped: Vec<_> = (0..6).map(|_| bed.place(MUCH).unwrap().0).collect();
    assert!(!skipped.contains(&1), "{skipped:?}");
    bed.set_in_flight(&[0; 4]);
    bed.lanes[2].failure = Some(Failure::Stopped);
    let skipped: Vec<_> = (0..8).map(|_| bed.place(MUCH).unwrap().0).collect();
    assert!(!skipped.contains(&2), "{skipped:?}");

    // A window that is twice as large has twice as many turns.
    let mut bed = Bed::new(SETTINGS, 3, 1);
    for (lane, delay_ns) in [(0, 4000), (1, 4000), (2, 4000), (0, 2000), (1, 2000)] {
        bed.end(lane, 64, delay_ns);
    }
    assert_eq!(bed.windows(), [8, 8, 16]);
    let turns: Vec<_> = (0..400).map(|_| bed.place(MUCH).unwrap().0).collect();
    let count = |lane| turns.iter().filter(|turn| **turn == lane).count();
    assert!((99..=101).contains(&count(0)) && (199..=201).contains(&count(2)), "{}", count(2));
}

#[test]
fn others_do_not_wait_for_what_is_stuck() {
    let bed = |is_late: bool| {
        let mut bed = Bed::new(SETTINGS, 2, 1);
        bed.end(0, 64, 4000);
        bed.end(1, 64, 4000);
        if is_late {
            bed.end(1, 16, 500);
            bed.look(1, 100_000, 0);
        }
        assert_eq!(bed.windows(), [16, 16]);
        bed
    };
    assert_eq!(bed(false).in_flight(&[0, 128]).place(MUCH), None, "32 are all that they hold");
    assert_eq!(bed(true).in_flight(&[0, 128]).place(MUCH), Some((0, 64)), "112 do not count");
    let mut over = bed(true).in_flight(&[0, 64]);
    assert_eq!(over.place(MUCH), None, "one lease is not too much");
    over.set_in_flight(&[0, 128]);
    assert_eq!(over.place(MUCH), None, "it was over, and nothing is late since");
    let mut both = bed(true).in_flight(&[1, 128]);
    assert_eq!(both.place(MUCH), None, "none is idle");
    let mut three = Bed::new(SETTINGS, 3, 1);
    for lane in 0..3 {
        three.end(lane, 64, 4000);
    }
    three.end(2, 16, 500);
    three.look(2, 100_000, 0);
    assert_eq!(three.windows(), [16; 3]);
    three.set_in_flight(&[0, 32, 128]);
    assert_eq!(three.place(MUCH), None, "32 and what the late lane may hold are all");
    three.set_in_flight(&[0, 31, 128]);
    assert_eq!(three.place(MUCH), Some((0, 64)));
}

#[test]
fn a_second_attempt_must_be_worth_its_bytes() {
    let mut bed = Bed::new(SETTINGS, 3, 1);
    assert_eq!(bed.rescue(0, 1500), None, "as late as that it may be");
    assert_eq!(bed.rescue(0, 1501), Some(1));
    assert_eq!(bed.rescue(1, 1501), Some(0), "not where it is");
    bed.lanes[1].failure = Some(Failure::Full);
    assert_eq!(bed.rescue(0, 1501), Some(2), "not where nothing is taken");
    bed.lanes[1].failure = None;
    bed.seen(1, 100);
    assert_eq!(bed.rescue(0, 1501), Some(1), "a quarter of the aim is as quick as any lane is");
    bed.seen(1, 900);
    assert_eq!(bed.window.delay_ns(1), Some(300));
    assert_eq!(bed.rescue(0, 1501), Some(2), "250 ns, of which nothing is known");
    bed.seen(2, 400);
    assert_eq!(bed.rescue(0, 1501), Some(1), "the quickest");
    bed.set_in_flight(&[64, 64, 0]);
    assert_eq!(bed.rescue(0, 1501), Some(2), "the other's window is full");
    bed.grow(1, 128);
    bed.set_in_flight(&[64, 64, 64]);
    assert_eq!(bed.rescue(0, 1501), Some(1), "where it has room");
    bed.set_in_flight(&[64, 65, 64]);
    assert_eq!(bed.rescue(0, 1501), None);

    // It must take less than half of what is left.
    let slow = || {
        let mut bed = Bed::new(SETTINGS, 2, 1);
        bed.seen(1, 1000);
        bed
    };
    assert_eq!((slow().rescue(0, 2000), slow().rescue(0, 2001)), (None, Some(1)));
    // A lane that is known to be slow: what is left is the rest of its delay.
    let mut known = slow();
    known.seen(0, 10_000);
    assert_eq!(known.rescue(0, 7999), Some(1), "2001 are left");
    assert_eq!(known.rescue(0, 8000), None, "2000 are left");
    assert_eq!(known.rescue(0, 10_000), Some(1), "as much again");
    // In proportion to what would be in flight there.
    let mut half = slow();
    half.grow(1, 128);
    half.seen(1, 2500);
    assert_eq!((half.windows(), half.window.delay_ns(1)), (vec![64, 128], Some(1282)));
    assert_eq!(half.rescue(0, 1501), Some(1), "641 ns, for half of its window");

    // Who has tried much a second time waits until something is stuck.
    let mut much = Bed::new(SETTINGS, 2, 1);
    assert_eq!(much.rescue_more(0, 64_000), None, "nothing has ended: nobody knows what is usual");
    much.end_between(1, 1, 100, 100);
    assert_eq!((much.rescue_more(0, 63_999), much.rescue_more(0, 64_000)), (None, Some(1)));

    let never = WindowSettings { rescue: false, ..SETTINGS };
    assert_eq!(Bed::new(never, 2, 1).rescue(0, 100_000), None);
}

/// As [`SETTINGS`] on targets of its own, with usual leases of 192 and a share of 256 for each writer.
const USUAL: WindowSettings = WindowSettings {
    lease_bytes_usual: 192 * KIB,
    share_bytes_per_writer: 256 * KIB,
    nodes_per_target: 1,
    ..SETTINGS
};

#[test]
fn the_least_lease_is_the_share_over_all_lanes_or_a_usual_one() {
    for (writers, lease) in [(1, 64), (2, 128), (3, 192), (100, 192)] {
        let mut bed = Bed::new(USUAL, 4, writers);
        assert_eq!((bed.windows(), bed.place(MUCH)), (vec![lease; 4], Some((1, lease))));
        assert_eq!(bed.place(last(2 * 4 * 64)), Some((2, 64)), "less near the end");
    }
    let crowded = WindowSettings { nodes_per_target: 17, ..USUAL };
    assert_eq!(Bed::new(crowded, 4, 100).place(MUCH), Some((1, 64)), "very many have leases there");
}

#[test]
fn a_lease_is_smaller_on_a_lane_that_is_slower_than_others() {
    // A window of 192, and three of these.
    for (others, lease) in [(256, 192), (320, 96), (512, 64)] {
        let mut bed = Bed::new(USUAL, 4, 4);
        (1..4).for_each(|lane| bed.grow(lane, others));
        assert_eq!(bed.windows(), [192, others, others, others]);
        bed.set_in_flight(&[0, others, others, others]);
        assert_eq!(bed.place(MUCH), Some((0, lease)), "{others}");
    }
}

#[test]
fn where_requests_cost_leases_are_sixteen_times_that() {
    let with = |request: u64| WindowSettings { request_bytes: request * KIB, ..SETTINGS };
    for (request, lease) in [(1, 64), (10, 160), (100, 256)] {
        let mut bed = Bed::new(with(request), 2, 1);
        assert_eq!(bed.place(MUCH), Some((1, lease)), "{request}");
    }
    // An idle lane takes one, unless its window is less than an eighth of it.
    let mut bed = Bed::new(with(10), 2, 1).in_flight(&[200, 0]);
    for _ in 0..2 {
        bed.end(1, 160, 4000);
    }
    bed.end(1, 160, 2000);
    assert_eq!(bed.windows(), [160, 5]);
    assert_eq!(bed.place(MUCH), None, "64 are more than 8 times 5");
    bed.grow(1, 8);
    assert_eq!(bed.place(MUCH), Some((1, 64)));
}

#[test]
fn beside_a_flood_windows_hold_leases_to_the_nearest_and_no_lease_is_more_than_a_share() {
    // Two writers with a share of 128 each.
    let bed = |delay_ns: u64| {
        let mut bed =
            Bed::new(WindowSettings { share_bytes_per_writer: 128 * KIB, ..SETTINGS }, 2, 2);
        bed.grow(0, 1024);
        bed.end_between(0, 1 << 20, delay_ns, delay_ns);
        bed.end_between(0, 1, 0, delay_ns);
        bed
    };
    let quiet = bed(1000);
    assert_eq!((quiet.windows()[0], quiet.window.aim_ns()), (1024, 1000));
    assert_eq!(bed(1000).in_flight(&[768, 64]).place(MUCH), Some((0, 256)));
    assert_eq!(bed(1000).in_flight(&[769, 64]).place(MUCH), None);
    let flooded = || {
        let mut bed =
            Bed::new(WindowSettings { share_bytes_per_writer: 512 * KIB, ..SETTINGS }, 1, 2);
        bed.grow(0, 1024);
        bed.end(0, 1024, 5000);
        assert_eq!((bed.windows()[0], bed.window.aim_ns()), (1024, 5000));
        bed
    };
    assert_eq!(flooded().in_flight(&[768]).place(MUCH), Some((0, 256)));
    assert_eq!(flooded().in_flight(&[896]).place(MUCH), Some((0, 256)), "half of it fits");
    assert_eq!(flooded().in_flight(&[897]).place(MUCH), None);
    let mut many = Bed::new(WindowSettings { share_bytes_per_writer: 128 * KIB, ..SETTINGS }, 1, 8);
    many.grow(0, 1024);
    many.end(0, 1024, 5000);
    assert_eq!((many.windows()[0], many.window.aim_ns()), (1024, 5000));
    assert_eq!(many.place(MUCH), Some((0, 128)), "as many leases as writers");
}

#[test]
fn where_ends_are_noticed_late_not_all_begins_at_one_look() {
    let mut bed = Bed::with_windows(&[1024]);
    for _ in 0..100 {
        bed.end_at_look(0, 256, 900, 2900, 256);
    }
    assert_eq!(bed.windows(), [1024]);
    bed.begin(0, 256);
    bed.begin(0, 256);
    assert_eq!(bed.place(MUCH), Some((0, 256)), "three quarters");
    bed.begin(0, 256);
    assert_eq!(bed.place(MUCH), None);
    bed.now_ns += 1000;
    assert_eq!(bed.place(MUCH), Some((0, 256)), "at the next look");
    let mut soon = Bed::with_windows(&[1024]);
    (0..3).for_each(|_| soon.begin(0, 256));
    assert_eq!(soon.place(MUCH), Some((0, 256)), "who looks often may fill it");
}

#[test]
fn at_the_end_only_lanes_that_the_throttle_leaves_open_count() {
    // Lane 1 takes 20000 ns for its window of 256, so 5000 ns for a lease of 64.
    let mut bed = Bed::with_windows(&[256, 256]).in_flight(&[0, 0]);
    bed.seen(1, 78_500);
    assert_eq!(bed.place(last(1024)), Some((0, 64)), "all that waits takes 3000 ns");
    bed.lanes[0].placed_bytes = 1000 * KIB;
    bed.most_placed_bytes = 1000 * KIB;
    assert_eq!(bed.place(last(1024)), Some((1, 64)), "5000 ns, because it has to go there");
}

#[test]
fn little_data_goes_to_all_lanes() {
    let alone = WindowSettings { nodes_per_target: 1, ..SETTINGS };
    let little = |kib: u64| Waiting { length_bytes: kib * KIB, node_bytes: kib * KIB, ..MUCH };
    for (kib, each) in [(256, 64), (255, 64), (250, 64), (160, 40), (18, 8), (4, 4), (3, 3)] {
        assert_eq!(Bed::new(alone, 4, 1).place(little(kib)), Some((1, each)), "{kib}");
        assert_eq!(Bed::new(SETTINGS, 4, 1).place(little(kib)), Some((1, kib.min(64))), "a crowd");
    }
    let mut bed = Bed::new(alone, 4, 1).in_flight(&[0, 40, 40, 0]);
    assert_eq!(bed.place(little(80)), Some((3, 40)), "with what is in flight");
    // Four times what a request costs, if that is known.
    let costly = WindowSettings { request_bytes: 12 * KIB, ..alone };
    assert_eq!(Bed::new(costly, 4, 1).place(little(80)), Some((1, 48)));
}

#[test]
fn settings_follow_what_a_request_costs() {
    let of = |request_bytes: u64| WindowSettings::default().where_requests_cost(request_bytes);
    let sizes = |settings: WindowSettings| {
        [settings.lease_bytes_min, settings.lease_bytes_max, settings.share_bytes_per_writer]
            .map(|bytes| bytes / KIB)
    };
    assert_eq!(of(0), WindowSettings::default());
    assert_eq!(sizes(of(16 * KIB)), [256, 4096, 1024], "as if nobody knew");
    assert_eq!(sizes(of(512 * KIB)), [4096, 8192, 8192]);
    assert_eq!(sizes(of(u64::MAX)), [65_536; 3], "there is an end");
}
