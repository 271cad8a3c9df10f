//! How windows and what is aimed at follow the delays.

use plimsoll_route::WindowSettings;
use plimsoll_route::placement::Placement;

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
    bed.end(0, 1024, 100);
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
fn of_the_last_that_is_left_an_eighth_is_share_enough() {
    for (waiting, share) in [(last(8192), 1024), (last(512), 256), (last(100_000), 2048)] {
        let mut bed = sharing();
        bed.place(waiting);
        bed.end(0, 64, 3000);
        assert_eq!(bed.window.aim_ns(), 3000 * share / 256, "{waiting:?}");
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
