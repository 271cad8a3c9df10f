//! How windows and what is aimed at follow the delays.

use plimsoll_route::WindowSettings;
use plimsoll_route::placement::{Placement, Waiting};

use super::{Bed, KIB, MUCH, SETTINGS, last};

#[test]
fn a_window_changes_by_how_much_sooner_or_later_a_write_ends() {
    let mut bed = Bed::new(SETTINGS, 1, 1);
    assert_eq!((bed.windows(), bed.window.aim_ns()), (vec![64], 1000));
    bed.end(0, 64, 500);
    assert_eq!(bed.windows(), [128], "twice as quick: twice the write");
    bed.end(0, 64, 500);
    assert_eq!(bed.windows(), [128], "half of it is not used");
    bed.lanes[0].in_flight_bytes = 1;
    bed.end(0, 64, 500);
    assert_eq!(bed.windows(), [192]);
    bed.end(0, 64, 2000);
    assert_eq!(bed.windows(), [160], "twice as slow: half of the write");
    bed.end(0, 64, 100_000);
    assert_eq!(bed.windows(), [112], "at least a quarter of the write");
    bed.end(0, 64, 10);
    assert_eq!(bed.windows(), [176], "at most twice the write");
    bed.end(0, 64, 1000);
    assert_eq!(bed.windows(), [176], "as it should be");
    bed.end_between(0, 64 * KIB, 1000, 1001);
    bed.end_between(0, 64 * KIB, 10, 100_000);
    assert_eq!(bed.windows(), [176], "who looks late does not know");
    bed.end(0, 176, 4000);
    assert_eq!(bed.windows(), [44]);
    bed.end(0, 64, 4000);
    assert_eq!(bed.windows(), [11], "no more than by its own size");
    bed.end(0, 64, 4000);
    assert_eq!(bed.windows(), [4], "at least a sixteenth of a lease");
}

#[test]
fn windows_have_a_largest_size() {
    let mut bed = Bed::with_windows(&[4096]);
    bed.end(0, 4096, 500);
    assert_eq!(bed.windows(), [4096]);
    let mut bed = Bed::new(WindowSettings { window_bytes_max: u64::MAX, ..SETTINGS }, 1, 1);
    for doublings in 0..20 {
        let now = bed.windows()[0];
        bed.lanes[0].in_flight_bytes = now * KIB;
        assert_eq!(now, (64 << doublings).min(u64::from(u32::MAX) / KIB));
        bed.end(0, now + 1, 500);
    }
    assert_eq!(bed.window.window_bytes(0), u64::from(u32::MAX));
}

#[test]
fn the_delay_of_a_lane_moves_by_a_quarter() {
    let mut bed = Bed::new(SETTINGS, 2, 1);
    assert_eq!(bed.window.delay_ns(0), None);
    for (delay_ns, smoothed_ns) in [(400, 400), (800, 500), (0, 375), (8000, 2282)] {
        bed.end(0, 64, delay_ns);
        assert_eq!(bed.window.delay_ns(0), Some(smoothed_ns));
    }
    bed.end(1, 64, 0);
    assert_eq!(bed.window.delay_ns(1), Some(1), "something ended");
}

/// Two writers with a share of 1024 each, on four lanes with 64 each.
fn sharing() -> Bed {
    Bed::new(WindowSettings { share_bytes_per_writer: 1024 * KIB, ..SETTINGS }, 4, 2)
}

#[test]
fn the_aim_is_the_delay_at_which_the_share_would_be_in_flight() {
    let mut bed = sharing();
    bed.end(0, 64, 3000);
    assert_eq!(bed.window.aim_ns(), 3000 * 2048 / 256);
    assert_eq!(bed.windows(), [128, 64, 64, 64], "3000 is quick");
    assert_eq!(bed.window.look_every_ns(), Some(2 * 24_000));
    // The mean moves by the part of all windows that ended: 64 of 320, then 64 of 384.
    bed.end(1, 64, 3640);
    assert_eq!(bed.window.aim_ns(), 3128 * 2048 / 320);
    bed.end(2, 64, 2528);
    assert_eq!(bed.window.aim_ns(), 3028 * 2048 / 384);
    bed.end(3, 1024, 5000);
    assert_eq!(bed.window.aim_ns(), 5000 * 2048 / 448, "all of it, if more ended than they hold");
    assert_eq!(bed.windows(), [128; 4]);
    bed.end(0, 1024, 10_000_000);
    assert_eq!(bed.window.aim_ns(), 1000 * 1024, "it has an end");
    assert_eq!(bed.windows(), [32, 128, 128, 128]);
    for lane in [0, 0, 0, 1] {
        bed.end(lane, 1024, 1);
    }
    assert_eq!(bed.window.aim_ns(), 1000, "and is never less than the setting");

    let mut quick = sharing();
    quick.end(0, 64, 500);
    assert_eq!(quick.window.aim_ns(), 500 * 2048 / 256, "windows are too small, not slow");
    let small = WindowSettings { share_bytes_per_writer: 64 * KIB, ..SETTINGS };
    let mut enough = Bed::new(small, 4, 2);
    enough.end(0, 64, 4000);
    assert_eq!(enough.window.aim_ns(), 4000 * 128 / 256, "half of what they hold is its share");
    let mut enough = Bed::new(small, 4, 2);
    enough.end(0, 64, 1000);
    assert_eq!(enough.window.aim_ns(), 1000);
}

#[test]
fn of_the_last_that_is_left_a_part_is_share_enough() {
    let aim = |nodes_per_target: u32, waiting| {
        let share_bytes_per_writer = 1024 * KIB;
        let settings = WindowSettings { share_bytes_per_writer, nodes_per_target, ..SETTINGS };
        let mut bed = Bed::new(settings, 4, 2);
        bed.place(waiting);
        bed.end(0, 64, 3000);
        bed.window.aim_ns()
    };
    for (nodes, part) in [(1, 2), (2, 4), (16, 4), (17, 8)] {
        assert_eq!(aim(nodes, last(1024 * part)), 3000 * 1024 / 256, "{nodes}");
        assert_eq!(aim(nodes, last(512)), 3000 * 256 / 256, "a least lease for each lane");
        assert_eq!(aim(nodes, last(100_000)), 3000 * 2048 / 256);
    }
    let mut bed = sharing();
    bed.place(last(512));
    bed.place(MUCH);
    bed.end(0, 64, 3000);
    assert_eq!(bed.window.aim_ns(), 24_000, "more may come");
}

#[test]
fn what_is_late_halves_its_window_again_and_again() {
    let mut bed = Bed::new(SETTINGS, 2, 1);
    assert_eq!((bed.look(1, 100_000, 0), bed.windows()), (0, vec![64, 64]), "nobody knows yet");
    bed.end(0, 64, 1000);
    assert_eq!((bed.look(1, 1999, 0), bed.windows()), (0, vec![64, 64]));
    assert_eq!((bed.look(1, 2000, 0), bed.windows()), (1, vec![64, 32]));
    assert_eq!(bed.window.delay_ns(1), Some(2000));
    assert_eq!((bed.look(1, 3999, 1), bed.windows()), (1, vec![64, 32]));
    assert_eq!((bed.look(1, 4000, 1), bed.windows()), (2, vec![64, 16]));
    assert_eq!((bed.look(1, 8000, 2), bed.windows()), (3, vec![64, 8]));
    assert_eq!((bed.look(1, 16_000, 3), bed.windows()), (4, vec![64, 4]));
    assert_eq!((bed.look(1, 256_000, 7), bed.windows()), (8, vec![64, 4]));
    assert_eq!(bed.look(1, u64::MAX, 8), 8, "often enough");
    assert_eq!(bed.window.delay_ns(1), Some(256_000));
    bed.look(1, 2000, 0);
    assert_eq!(bed.window.delay_ns(1), Some(256_000), "the longest that was seen");
}

#[test]
fn where_all_lanes_are_slow_a_node_has_a_block_for_each_writer_in_flight() {
    // Windows that hold just the share, 256: with twice as much in flight, twice the delay.
    let aim = |nodes_per_target: u32, slow: usize, delay_ns: u64, waiting| {
        let settings =
            WindowSettings { share_bytes_per_writer: 32 * KIB, nodes_per_target, ..SETTINGS };
        let mut bed = Bed::new(settings, 4, 8);
        (0..slow).for_each(|lane| bed.seen(lane, 2000));
        bed.place(waiting);
        // As many bytes as all windows hold, so that the mean is this.
        bed.end(3, 256, delay_ns);
        bed.window.aim_ns()
    };
    let blocks = Waiting { submission_bytes: 128 * KIB, ..MUCH };
    assert_eq!(aim(16, 4, 1100, blocks), 1100 * 1024 / 256, "eight blocks of 128");
    assert_eq!(aim(16, 2, 1100, blocks), 1100, "one is quick");
    assert_eq!(aim(16, 4, 1100, last(1024)), 1100 * 512 / 256, "a half of what waits");
    let few = Waiting { node_bytes: 1024 * KIB, ..MUCH };
    assert_eq!(aim(16, 4, 1100, few), 1100 * 512 / 256, "also if more may come");
    assert_eq!(aim(1, 4, 1100, blocks), 1100 * 1024 / 256);
    assert_eq!(aim(17, 4, 1100, blocks), 1100, "the program's own nodes make them slow");
    let none = Waiting { node_bytes: KIB, ..blocks };
    assert_eq!(aim(16, 4, 1100, none), 1100, "a lease for each lane in any case");
}

#[test]
fn the_share_holds_a_lease_for_each_lane_unless_nodes_crowd_them() {
    let aim = |nodes_per_target: u32| {
        let settings =
            WindowSettings { share_bytes_per_writer: 64 * KIB, nodes_per_target, ..SETTINGS };
        let mut bed = Bed::new(settings, 4, 1);
        bed.end(0, 256, 3000);
        bed.window.aim_ns()
    };
    assert_eq!((aim(16), aim(17)), (3000, 1000));
}

#[test]
fn a_lane_on_which_all_had_ended_at_a_look_grows() {
    // Looks are 2000 apart, and 1000 are aimed at: nothing is known but that the lane was idle.
    let mut bed = Bed::new(SETTINGS, 2, 1);
    bed.end_at_look(0, 64, 0, 2000, 0);
    assert_eq!(bed.windows(), [256, 64], "four times");
    bed.end_at_look(0, 64, 0, 2000, 192);
    bed.end_at_look(0, 64, 0, 2000, 128);
    assert_eq!(bed.windows(), [256, 64], "something is still under way");
    bed.end_at_look(0, 64, 300, 2000, 0);
    assert_eq!(bed.windows(), [256 + 192, 64], "by what ended since it was idle last");
    bed.end_at_look(0, 64, 300, 2000, 0);
    assert_eq!(bed.windows(), [448, 64], "less than half of it was used");
    bed.end_at_look(0, 448, 2000, 4000, 0);
    assert_eq!(bed.windows(), [896, 64], "less than the aim and the time between looks");
    bed.end_at_look(0, 64, 300, 2000, 64);
    bed.end_at_look(0, 832, 4000, 6000, 0);
    assert!(bed.windows()[0] < 896, "it took longer than that");

    // Those who look often enough know the delay.
    let mut bed = Bed::new(SETTINGS, 1, 1);
    bed.end_at_look(0, 64, 750, 1000, 0);
    assert_eq!(bed.windows(), [64]);
    bed.end_at_look(0, 64, 749, 1000, 0);
    assert_eq!(bed.windows(), [128], "a quarter of the aim is late");
}

#[test]
fn who_looks_late_has_more_in_flight() {
    let mut bed = Bed::with_windows(&[256]);
    for _ in 0..100 {
        bed.end_at_look(0, 256, 900, 2900, 64);
    }
    assert_eq!(bed.windows(), [256], "the delay is unknown");
    // Looks are 2000 apart: until the next one as much is written as in twice the aim.
    bed.end_at_look(0, 64, 2999, 4999, 64);
    assert_eq!(bed.windows(), [256], "aim and notice together are 3000");
    bed.end_at_look(0, 64, 4000, 6000, 64);
    assert_eq!(bed.windows(), [224], "twice as slow");
    assert_eq!((bed.look(0, 5900, 0), bed.windows()), (0, vec![224]));
    assert_eq!((bed.look(0, 6100, 0), bed.windows()), (1, vec![112]));
}
