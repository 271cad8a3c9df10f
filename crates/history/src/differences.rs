//! What happened between two readings: increments of counters, levels as they are.

use std::collections::HashMap;

use plimsoll_domain::Counter;

use crate::{Component, Form, Measure, Reading, Value};

/// The latest reading of each component, to which the next one is compared.
///
/// Nothing is made up: where a counter was reset, is new or came back, where another server reports, or where a clock
/// was put back, nothing is known of the time in between, and nothing is given. What follows is compared again.
#[derive(Debug, Default)]
pub struct Differences {
    latest: HashMap<Component, Latest>,
}

#[derive(Debug)]
struct Latest {
    server: String,
    epoch: u64,
    millis: u64,
    /// Ordered by measure and bin.
    values: Vec<Value>,
}

/// What is known of one series since the reading before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// What was measured.
    pub measure: Measure,
    /// The bin of a histogram; 0 where there is none.
    pub bin: u64,
    /// By how much a counter grew, or a level.
    pub value: u64,
}

/// What a reading added to what is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Since {
    /// Milliseconds since 1970: the end of the time that the differences are of.
    pub end_millis: u64,
    /// How long that time is; 0 where there was no reading before it.
    pub length_millis: u64,
    /// The differences that are known, in the order of the reading.
    pub known: Vec<Difference>,
    /// Counters of which nothing is known, because they are new, were reset or cannot be compared.
    pub unknown: usize,
    /// Whether the reading is of the same moment as the one before it, and was therefore left out.
    pub is_not_later: bool,
}

impl Differences {
    /// Compares a reading to the one before it of the same component, and keeps it for the next.
    ///
    /// Times are in whole milliseconds from here on.
    pub fn take(&mut self, reading: &Reading) -> Since {
        let millis = reading.time / 1_000_000;
        let mut since = Since { end_millis: millis, ..Since::default() };
        let before = self.latest.get_mut(&reading.component);
        if before.as_ref().is_some_and(|before| millis == before.millis) {
            since.is_not_later = true;
            since.unknown = reading.values.len();
            return since;
        }
        let is_comparable = |it: &&Latest| {
            it.server == reading.server && it.epoch == reading.epoch && it.millis < millis
        };
        let comparable = before.as_deref().filter(is_comparable);
        since.length_millis = comparable.map_or(0, |before| millis - before.millis);
        let old = comparable.map_or(&[][..], |before| &before.values);
        compare(old, reading, &mut since);
        self.keep(reading, millis);
        since
    }

    /// Returns whether a reading is earlier than the one before it of the same component: a clock was put back.
    pub fn goes_back(&self, reading: &Reading) -> bool {
        let before = self.latest.get(&reading.component);
        before.is_some_and(|before| reading.time / 1_000_000 < before.millis)
    }

    /// Forgets everything: what comes next is compared to nothing before it.
    pub fn begin_anew(&mut self) {
        self.latest.clear();
    }

    /// Forgets jobs that were not read since a moment, in milliseconds since 1970: users think of new ones all the time. One that
    /// comes back begins anew, as its counters do.
    pub fn forget_jobs(&mut self, since_millis: u64) {
        self.latest.retain(|component, it| !component.is_job() || it.millis >= since_millis);
    }

    fn keep(&mut self, reading: &Reading, millis: u64) {
        match self.latest.get_mut(&reading.component) {
            Some(latest) => {
                latest.server.clone_from(&reading.server);
                (latest.epoch, latest.millis) = (reading.epoch, millis);
                latest.values.clone_from(&reading.values);
                latest.values.sort_unstable_by_key(|it| (it.measure, it.bin));
            }
            None => {
                let mut values = reading.values.clone();
                values.sort_unstable_by_key(|it| (it.measure, it.bin));
                let (server, epoch) = (reading.server.clone(), reading.epoch);
                self.latest
                    .insert(reading.component.clone(), Latest { server, epoch, millis, values });
            }
        }
    }
}

fn compare(old: &[Value], reading: &Reading, since: &mut Since) {
    for value in &reading.values {
        let difference = match value.measure.form() {
            Form::Level => Some(value.value),
            Form::Increment => {
                let place = old
                    .binary_search_by_key(&(value.measure, value.bin), |it| (it.measure, it.bin));
                let has_histogram = || {
                    let place = old.partition_point(|it| it.measure < value.measure);
                    old.get(place).is_some_and(|it| it.measure == value.measure)
                };
                let before = match place {
                    Ok(place) => Some(old[place].value),
                    // A histogram shows a bin from its first count on.
                    Err(_) if value.measure.is_histogram() && has_histogram() => Some(0),
                    Err(_) => None,
                };
                counter(value.measure).change(before, Some(value.value)).grown()
            }
        };
        let &Value { measure, bin, .. } = value;
        match difference {
            Some(value) => since.known.push(Difference { measure, bin, value }),
            None => since.unknown += 1,
        }
    }
}

/// The milliseconds of a block device have 32 bits (`unsigned int` of block/genhd.c), all other counters 64.
fn counter(measure: Measure) -> Counter {
    match measure {
        Measure::ReadTime
        | Measure::WriteTime
        | Measure::BusyTime
        | Measure::QueueTime
        | Measure::FlushTime => Counter::NARROW,
        _ => Counter::WIDE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ComponentKind;

    fn reading(second: u64, server: &str, epoch: u64, values: &[(Measure, u64)]) -> Reading {
        Reading {
            component: Component::new(ComponentKind::Ost, "OST0001"),
            server: server.into(),
            time: second * 1_000_000_000,
            epoch,
            values: values.iter().map(|(measure, value)| Value::new(*measure, *value)).collect(),
        }
    }

    fn known(since: &Since) -> Vec<u64> {
        since.known.iter().map(|it| it.value).collect()
    }

    #[test]
    fn counters_grow_wrap_and_begin_anew() {
        use Measure::{BusyTime, InFlight, ReadBytes};
        let mut all = Differences::default();
        let first = all.take(&reading(1, "a", 0, &[(ReadBytes, 100), (InFlight, 3)]));
        assert_eq!((known(&first), first.unknown, first.length_millis), (vec![3], 1, 0));
        let full = u64::from(u32::MAX);
        let next =
            all.take(&reading(3, "a", 0, &[(InFlight, 4), (ReadBytes, 150), (BusyTime, full)]));
        assert_eq!((known(&next), next.unknown, next.length_millis), (vec![4, 50], 1, 2000));
        let wrapped = all.take(&reading(4, "a", 0, &[(ReadBytes, 20), (BusyTime, 9)]));
        assert_eq!((known(&wrapped), wrapped.unknown), (vec![10], 1), "reset, and wrapped");
        let vanished = all.take(&reading(5, "a", 0, &[(ReadBytes, 25)]));
        assert_eq!(known(&vanished), [5]);
        let back = all.take(&reading(6, "a", 0, &[(ReadBytes, 26), (BusyTime, 19)]));
        assert_eq!((known(&back), back.unknown), (vec![1], 1), "came back");
    }

    #[test]
    fn a_bin_that_appears_was_zero_before() {
        let mut all = Differences::default();
        let mut one = reading(1, "a", 0, &[]);
        one.values = vec![Value::of_bin(Measure::ReadSizes, 4096, 7)];
        assert_eq!(all.take(&one).unknown, 1);
        let mut next = reading(2, "a", 0, &[(Measure::ReadBytes, 5)]);
        next.values.push(Value::of_bin(Measure::ReadSizes, 4096, 9));
        next.values.push(Value::of_bin(Measure::ReadSizes, 8192, 3));
        next.values.push(Value::of_bin(Measure::WriteSizes, 8192, 3));
        let since = all.take(&next);
        assert_eq!((known(&since), since.unknown), (vec![2, 3], 2));
    }

    #[test]
    fn another_server_or_epoch_is_not_compared() {
        let mut all = Differences::default();
        let value = [(Measure::ReadBytes, 100)];
        let more = [(Measure::ReadBytes, 900)];
        all.take(&reading(1, "a", 1, &value));
        let moved = all.take(&reading(2, "b", 1, &more));
        assert_eq!((moved.known.len(), moved.length_millis), (0, 0));
        let restarted = all.take(&reading(3, "b", 2, &more));
        assert_eq!(restarted.known.len(), 0);
        assert_eq!(known(&all.take(&reading(4, "b", 2, &more))), [0]);
    }

    #[test]
    fn a_clock_that_was_put_back_costs_one_interval() {
        let mut all = Differences::default();
        let values = |bytes| [(Measure::ReadBytes, bytes), (Measure::InFlight, 3)];
        all.take(&reading(10, "a", 0, &values(100)));
        let early = reading(7, "a", 0, &values(110));
        assert!(all.goes_back(&early));
        let back = all.take(&early);
        assert_eq!((known(&back), back.unknown, back.length_millis), (vec![3], 1, 0));
        assert!(all.take(&reading(7, "a", 0, &values(120))).is_not_later);
        let later = reading(8, "a", 0, &values(130));
        assert!(!all.goes_back(&later));
        let later = all.take(&later);
        assert_eq!((known(&later), later.length_millis), (vec![20, 3], 1000));
    }

    #[test]
    fn what_begins_anew_is_compared_to_nothing_before() {
        let mut all = Differences::default();
        all.take(&reading(10, "a", 0, &[(Measure::ReadBytes, 100)]));
        all.begin_anew();
        let first = all.take(&reading(3600, "a", 0, &[(Measure::ReadBytes, 110)]));
        assert_eq!((first.known.len(), first.length_millis), (0, 0));
        let next = all.take(&reading(3601, "a", 0, &[(Measure::ReadBytes, 115)]));
        assert_eq!((known(&next), next.length_millis), (vec![5], 1000));
    }

    /// Users think of new names of jobs all the time; targets are few, and stay.
    #[test]
    fn jobs_that_are_gone_are_forgotten_and_targets_are_not() {
        let mut all = Differences::default();
        let target = reading(1, "a", 0, &[(Measure::ReadBytes, 100)]);
        let of_job = |second: u64, job: u64| {
            let mut reading = reading(second, "a", 0, &[(Measure::ReadBytes, 10)]);
            reading.component = reading.component.of_job(job.to_string());
            reading
        };
        all.take(&target);
        (1..100).for_each(|second| drop(all.take(&of_job(second, second))));
        all.forget_jobs(95_000);
        assert_eq!(all.latest.len(), 1 + 5);
        let again = all.take(&of_job(100, 99));
        assert_eq!((known(&again), again.length_millis), (vec![0], 1000));
    }
}
