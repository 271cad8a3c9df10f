//! Working out a day once all its samples are there.

use std::collections::BTreeMap;

use plimsoll_history::Day;

use crate::clusters::{Degrees, MinuteDegrees, clusters};
use crate::component_sums::{HourSums, ServerDay, ServerSums, TargetSums};
use crate::day_summary::{DaySummary, SystemMinute};
use crate::edges::{Edge, Edges};
use crate::lane::{DAY_MINUTES, IMPOSSIBLE, Lane, MINUTE_MILLIS};
use crate::lane_key::Counted;
use crate::minutes::Minutes;
use crate::open_day::{BOTH, OpenDay};
use crate::outage::outages;
use crate::pairs::LagSums;
use crate::stretch::Stretch;
use crate::{Frame, Zone};

/// A day counts what is known if this much of it is: as of a minute, ten parts of twelve.
pub const LEAST_SHARE: (u64, u64) = (5, 6);

/// Percent within which targets are of one cluster, and windows in minutes (Patel, section 6).
pub const CLUSTERINGS: [(u64, usize); 3] = [(5, 1), (10, 1), (5, 5)];

/// Returns whether enough of something is known.
pub fn is_enough(known: u64, of: u64) -> bool {
    known > 0 && known * LEAST_SHARE.1 >= of * LEAST_SHARE.0
}

/// Reads and writes of the targets that have samples.
type Targets = BTreeMap<u32, [Minutes; BOTH]>;

/// A day that is being worked out.
struct Closing {
    summary: DaySummary,
    /// 1440 of them.
    minutes: Vec<SystemMinute>,
}

/// Works out a day.
pub fn close(open: &OpenDay, frame: &Frame) -> Stretch {
    let summary =
        DaySummary { day: open.day, targets: 0, minutes: Vec::new(), partial: 0, over_limit: 0 };
    let mut day = Closing { summary, minutes: vec![SystemMinute::default(); DAY_MINUTES] };
    let limit = frame.options.limit.map_or(IMPOSSIBLE, |rate| rate.saturating_mul(60));
    let (mut targets, dropped) = target_minutes(open, limit.min(IMPOSSIBLE), &mut day);
    add_metadata(open, &mut day);
    let quiet: Vec<bool> = day.minutes.iter().map(SystemMinute::is_quiet).collect();
    outages(&quiet, |range| {
        for minutes in targets.values_mut().flatten() {
            minutes.forget(range.clone());
        }
    });
    let degrees = find_clusters(&targets, &mut day);
    let servers = server_minutes(open);
    let first_minute = open.day.start() / MINUTE_MILLIS;
    let hours = hour_numbers(frame.zone(), first_minute);
    let quiet_first = quiet.iter().take_while(|it| **it).count();
    let quiet_last = quiet.iter().rev().take_while(|it| **it).count();
    let target = |((number, minutes), dropped): ((&u32, &[Minutes; BOTH]), [u128; BOTH])| {
        (*number, TargetSums { dropped, ..target_sums(minutes, first_minute, &hours) })
    };
    let server = |(number, minutes): (&u32, &Minutes)| (*number, server_sums(minutes, open.day));
    Stretch {
        targets: targets.iter().zip(dropped).map(target).collect(),
        servers: servers.iter().map(server).collect(),
        degrees,
        edges: Some(Box::new(Edges {
            first: Edge::first(open.day, quiet_first, &targets, &servers),
            last: Edge::last(open.day, quiet_last, &targets, &servers),
        })),
        days: vec![day.summary()],
    }
}

impl Closing {
    /// Returns the day, with the minutes that anything is known of.
    fn summary(mut self) -> DaySummary {
        let nothing = SystemMinute::default();
        let known = (0..).zip(self.minutes).filter(|(_, minute)| *minute != nothing);
        self.summary.minutes = known.collect();
        self.summary
    }
}

/// Returns the minutes of each target and what was dropped of it, and adds minutes up.
fn target_minutes(open: &OpenDay, limit: u64, day: &mut Closing) -> (Targets, Vec<[u128; BOTH]>) {
    let of = [Counted::Read, Counted::Written];
    let (mut targets, mut all_dropped) = (Targets::new(), Vec::new());
    for number in open.numbers(&of) {
        day.summary.targets += 1;
        let (mut direction, mut dropped) = (0, [0; BOTH]);
        let minutes = of.map(|counted| {
            let dropped = &mut dropped[direction];
            let known = open
                .lane(counted, number)
                .map(|lane| direction_minutes(lane, limit, direction, day, dropped));
            direction += 1;
            known.unwrap_or_else(|| Minutes::unknown(DAY_MINUTES))
        });
        targets.insert(number, minutes);
        all_dropped.push(dropped);
    }
    (targets, all_dropped)
}

fn direction_minutes(
    lane: &Lane,
    limit: u64,
    direction: usize,
    day: &mut Closing,
    dropped: &mut u128,
) -> Minutes {
    Minutes::new((0..DAY_MINUTES).map(|minute| {
        day.summary.partial += u64::from(lane.is_partial(minute));
        // Of a minute of which little is known the rest is not made up, but what is there must be possible, too.
        if lane.counted(minute) > limit || lane.minute(minute).is_some_and(|it| it > limit) {
            day.summary.over_limit += 1;
            *dropped += u128::from(lane.counted(minute));
            return None;
        }
        let value = lane.minute(minute)?;
        let system = &mut day.minutes[minute];
        system.bytes[direction] = system.bytes[direction].saturating_add(value);
        system.known[direction] += 1;
        Some(value)
    }))
}

fn add_metadata(open: &OpenDay, day: &mut Closing) {
    for (direction, counted) in [Counted::Opened, Counted::Closed].into_iter().enumerate() {
        let numbers = open.numbers(&[counted]);
        let lanes: Vec<&Lane> = numbers.iter().filter_map(|it| open.lane(counted, *it)).collect();
        if lanes.is_empty() {
            continue;
        }
        for (number, minute) in day.minutes.iter_mut().enumerate() {
            let known = lanes.iter().filter_map(|lane| lane.minute(number));
            let known = known.filter(|it| *it <= IMPOSSIBLE);
            let (count, sum) =
                known.fold((0, 0u64), |(count, sum), it| (count + 1, sum.saturating_add(it)));
            let is_known = is_enough(count, lanes.len() as u64);
            minute.metadata[direction] = is_known.then_some(sum);
        }
    }
}

/// Returns clusters by size, and sets those of each minute.
fn find_clusters(targets: &Targets, day: &mut Closing) -> [[Degrees; 3]; BOTH] {
    let mut all: [[Degrees; 3]; BOTH] = Default::default();
    let mut active: Vec<u64> = Vec::with_capacity(targets.len());
    for (direction, degrees) in all.iter_mut().enumerate() {
        for minute in 0..DAY_MINUTES {
            active.clear();
            let known = targets.values().filter_map(|it| it[direction].get(minute));
            active.extend(known.filter(|it| *it > 0));
            active.sort_unstable();
            let mut here = MinuteDegrees::default();
            clusters(&active, CLUSTERINGS[0].0, |size| {
                degrees[0].add(size);
                here.add(size);
            });
            clusters(&active, CLUSTERINGS[1].0, |size| degrees[1].add(size));
            day.minutes[minute].degrees[direction] = here;
        }
        let width = CLUSTERINGS[2].1;
        for window in 0..DAY_MINUTES / width {
            active.clear();
            let sum = |it: &[Minutes; BOTH]| {
                let minutes = window * width..(window + 1) * width;
                minutes.map(|minute| it[direction].get(minute)).sum::<Option<u64>>()
            };
            active.extend(targets.values().filter_map(sum).filter(|it| *it > 0));
            active.sort_unstable();
            clusters(&active, CLUSTERINGS[2].0, |size| degrees[2].add(size));
        }
    }
    all
}

/// Minutes after which clocks may be put forward or back, or an hour begin.
const QUARTER: usize = 15;

/// Returns the number of the hour of each minute of a day.
fn hour_numbers(zone: &Zone, first_minute: u64) -> Vec<u32> {
    let quarters = (first_minute..).step_by(QUARTER).take(DAY_MINUTES / QUARTER);
    quarters.flat_map(|minute| [zone.hour_number(minute); QUARTER]).collect()
}

fn target_sums(minutes: &[Minutes; BOTH], first_minute: u64, hours: &[u32]) -> TargetSums {
    let mut sums = TargetSums::default();
    if minutes.iter().all(Minutes::is_unknown) {
        return sums;
    }
    sums.known = minutes.each_ref().map(|it| it.known().count() as u64);
    sums.most = minutes.each_ref().map(|it| it.known().max().unwrap_or(0));
    sums.lags = LagSums::of_both(&minutes[0], &minutes[1], first_minute);
    let mut start = 0;
    for run in hours.chunk_by(|one, next| one == next) {
        let mut hour = HourSums::default();
        for minute in start..start + run.len() {
            for (direction, minutes) in minutes.iter().enumerate() {
                if let Some(value) = minutes.get(minute) {
                    hour.bytes[direction] = hour.bytes[direction].saturating_add(value);
                    hour.known[direction] = hour.known[direction].saturating_add(1);
                }
            }
        }
        if hour.known != [0; BOTH] {
            sums.hours.push((run[0], hour));
        }
        start += run.len();
    }
    sums
}

/// Returns the share of processors' time in each minute, in millionths.
fn server_minutes(open: &OpenDay) -> BTreeMap<u32, Minutes> {
    let of_server = |number: u32| {
        let busy = open.lane(Counted::Busy, number).zip(open.lane(Counted::Processors, number));
        let load = open.lane(Counted::Load, number);
        let share = |minute: usize| {
            if let Some((busy, all)) = busy {
                let (busy, all) = (busy.minute(minute)?, all.minute(minute)?);
                let share = u128::from(busy) * 1_000_000 / u128::from(all.max(1));
                return (all > 0).then(|| u64::try_from(share).unwrap_or(u64::MAX).min(IMPOSSIBLE));
            }
            Some(load?.level(minute)?.min(IMPOSSIBLE))
        };
        (number, Minutes::new((0..DAY_MINUTES).map(share)))
    };
    let numbers = open.numbers(&[Counted::Busy, Counted::Processors, Counted::Load]);
    numbers.into_iter().map(of_server).collect()
}

fn server_sums(minutes: &Minutes, day: Day) -> ServerSums {
    if minutes.is_unknown() {
        return ServerSums::default();
    }
    let (known, sum) = (minutes.known().count() as u64, minutes.known().sum());
    ServerSums {
        known,
        sum: u128::from(sum),
        most: minutes.known().max().unwrap_or(0),
        lags: LagSums::of(minutes, day.start() / MINUTE_MILLIS),
        days: vec![ServerDay { day, known, sum }],
    }
}
