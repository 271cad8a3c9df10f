//! What is said of a group of targets over a time.

use std::collections::BTreeMap;

use plimsoll_stored::stored;

use crate::costs::UNITS_PER_SECOND;
use crate::window::{WINDOW_MILLIS, Window};
use crate::{Bucket, ExactSum, Options};

/// Bins of 2 % up to 200 %, as figure 11 has them, and one for all above.
pub const FSU_BINS: usize = 101;
/// Percent of utilization of a bin.
pub const FSU_BIN_PERCENT: f64 = 2.0;

/// Windows of one class (tables II and III).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OfClass {
    /// How many.
    pub windows: u64,
    /// Operations in them whose size is known.
    pub operations: u64,
    /// Those of at least the optimal size.
    pub optimal: u64,
}

/// How busy a target, or a group of targets, was.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// The target, server or file system.
    pub name: String,
    /// Targets of it.
    pub targets: usize,
    /// Windows of 5 s of which enough is known.
    pub windows: u64,
    /// The same without operations: bytes are known, and no utilization.
    pub windows_of_bytes: u64,
    /// Windows of which something, but not enough, is known.
    pub partial_windows: u64,
    /// Sum of the utilization of all windows, in percent.
    pub fsu_sum: ExactSum,
    /// The greatest one.
    pub fsu_max: f64,
    /// Sum of the utilization by bytes alone.
    pub bandwidth_only_sum: ExactSum,
    /// Windows by utilization.
    pub histogram: [u64; FSU_BINS],
    /// Idle, moderate and busy windows.
    pub classes: [OfClass; 3],
    /// Busy windows that bytes alone would not have shown as busy.
    pub busy_unseen: u64,
    /// Bytes in windows, as the counters of requests have them.
    pub read_bytes: u128,
    /// Bytes written.
    pub written_bytes: u128,
    /// Bytes of the greatest window, per second.
    pub bytes_per_second_max: f64,
    /// Time that the transactions of all windows take, in attoseconds, and the bytes that they moved.
    cost: u128,
    costed_bytes: u128,
    covered: u128,
    /// Reads and writes between server and disk by size in bytes, as far as known.
    pub sizes: BTreeMap<u64, (u64, u64)>,
    /// Over time.
    pub over_time: BTreeMap<u64, Bucket>,
}

stored! {
    OfClass { windows, operations, optimal }
    Summary {
        name, targets, windows, windows_of_bytes, partial_windows, fsu_sum, fsu_max, bandwidth_only_sum, histogram, classes, busy_unseen, read_bytes,
        written_bytes, bytes_per_second_max, cost, costed_bytes, covered, sizes, over_time,
    }
}

impl Summary {
    pub(crate) fn new(name: &str) -> Self {
        Summary {
            name: name.to_string(),
            targets: 0,
            windows: 0,
            windows_of_bytes: 0,
            partial_windows: 0,
            fsu_sum: ExactSum::default(),
            fsu_max: 0.0,
            bandwidth_only_sum: ExactSum::default(),
            histogram: [0; FSU_BINS],
            classes: Default::default(),
            busy_unseen: 0,
            read_bytes: 0,
            written_bytes: 0,
            bytes_per_second_max: 0.0,
            cost: 0,
            costed_bytes: 0,
            covered: 0,
            sizes: BTreeMap::new(),
            over_time: BTreeMap::new(),
        }
    }

    /// Adds windows that nothing more comes to, with their numbers and in their order.
    pub(crate) fn add_all<'a>(
        &mut self,
        windows: impl Iterator<Item = (u64, &'a Window)>,
        options: &Options,
    ) {
        let bucket_of = |number: u64| {
            let start = number.saturating_mul(WINDOW_MILLIS);
            start - start % options.bucket_millis
        };
        // The bucket of the last window is at hand.
        let mut latest: Option<(u64, Bucket)> = None;
        for (number, window) in windows {
            if !window.is_known() {
                self.partial_windows += u64::from(window.targets > 0);
                continue;
            }
            let start = bucket_of(number);
            if latest.is_none_or(|(of, _)| of != start) {
                self.over_time.extend(latest);
                latest = Some((start, self.over_time.get(&start).copied().unwrap_or_default()));
            }
            let bucket = latest.as_mut().map(|(_, bucket)| bucket);
            bucket.into_iter().for_each(|bucket| self.add(window, bucket, options));
        }
        self.over_time.extend(latest);
    }

    /// Adds a window of which enough is known.
    fn add(&mut self, window: &Window, bucket: &mut Bucket, options: &Options) {
        self.read_bytes += u128::from(window.read_bytes);
        self.written_bytes += u128::from(window.written_bytes);
        let seconds = window.covered as f64 / 1000.0 / f64::from(window.targets);
        let rate = (window.read_bytes as f64 + window.written_bytes as f64) / seconds;
        self.bytes_per_second_max = self.bytes_per_second_max.max(rate);
        bucket.known += 1;
        bucket.bytes_per_second.add(rate);
        if window.is_bytes_only {
            self.windows_of_bytes += 1;
        } else {
            self.add_utilization(window, bucket, options);
        }
    }

    fn add_utilization(&mut self, window: &Window, bucket: &mut Bucket, options: &Options) {
        let (fsu, bandwidth_only) = (window.fsu(), window.bandwidth_only());
        self.windows += 1;
        self.fsu_sum.add(fsu);
        self.fsu_max = self.fsu_max.max(fsu);
        self.bandwidth_only_sum.add(bandwidth_only);
        self.histogram[((fsu / FSU_BIN_PERCENT) as usize).min(FSU_BINS - 1)] += 1;
        let class = options.class(fsu);
        let of_class = &mut self.classes[class];
        of_class.windows += 1;
        of_class.operations = of_class.operations.saturating_add(window.sized);
        of_class.optimal = of_class.optimal.saturating_add(window.optimal);
        let is_seen = options.class(bandwidth_only) == BUSY;
        self.busy_unseen += u64::from(class == BUSY && !is_seen);
        self.cost = self.cost.saturating_add(window.cost);
        self.costed_bytes += u128::from(window.read_bytes) + u128::from(window.written_bytes);
        self.covered += u128::from(window.covered);
        bucket.windows += 1;
        bucket.fsu.add(fsu);
    }

    /// Adds what is said of other windows of the same group; its targets are counted elsewhere.
    pub(crate) fn plus(&mut self, other: &Summary) {
        let add = |own: &mut u64, more: u64| *own = own.saturating_add(more);
        let add_wide = |own: &mut u128, more: u128| *own = own.saturating_add(more);
        add(&mut self.windows, other.windows);
        add(&mut self.windows_of_bytes, other.windows_of_bytes);
        add(&mut self.partial_windows, other.partial_windows);
        self.fsu_sum.plus(other.fsu_sum);
        self.fsu_max = self.fsu_max.max(other.fsu_max);
        self.bandwidth_only_sum.plus(other.bandwidth_only_sum);
        self.histogram.iter_mut().zip(other.histogram).for_each(|(own, more)| add(own, more));
        for (own, more) in self.classes.iter_mut().zip(other.classes) {
            add(&mut own.windows, more.windows);
            add(&mut own.operations, more.operations);
            add(&mut own.optimal, more.optimal);
        }
        add(&mut self.busy_unseen, other.busy_unseen);
        add_wide(&mut self.read_bytes, other.read_bytes);
        add_wide(&mut self.written_bytes, other.written_bytes);
        self.bytes_per_second_max = self.bytes_per_second_max.max(other.bytes_per_second_max);
        add_wide(&mut self.cost, other.cost);
        add_wide(&mut self.costed_bytes, other.costed_bytes);
        add_wide(&mut self.covered, other.covered);
        for (size, (reads, writes)) in &other.sizes {
            let own = self.sizes.entry(*size).or_default();
            add(&mut own.0, *reads);
            add(&mut own.1, *writes);
        }
        for (start, bucket) in &other.over_time {
            self.over_time.entry(*start).or_default().plus(bucket);
        }
    }

    /// Returns whether its numbers can be those of a store, so that more can be added.
    pub(crate) fn is_possible(&self) -> bool {
        let buckets = self.over_time.values().flat_map(|it| [it.known, it.windows]);
        let counts = [self.windows, self.windows_of_bytes, self.partial_windows, self.busy_unseen];
        let classes = self.classes.iter().map(|it| it.windows);
        let mut counts = counts.into_iter().chain(classes).chain(self.histogram).chain(buckets);
        let wide = [self.read_bytes, self.written_bytes, self.costed_bytes, self.covered];
        counts.all(|it| it <= 1 << 60) && wide.iter().all(|it| *it <= 1 << 120)
    }

    /// Returns the mean utilization in percent; nothing without windows.
    pub fn fsu_mean(&self) -> Option<f64> {
        (self.windows > 0).then(|| self.fsu_sum.value() / self.windows as f64)
    }

    /// Returns the shares of time of the classes: idle, moderate, busy; nothing without windows.
    pub fn shares(&self) -> Option<[f64; 3]> {
        let share = |class: OfClass| class.windows as f64 / self.windows as f64;
        (self.windows > 0).then(|| self.classes.map(share))
    }

    /// Returns the time that is known.
    pub fn seconds(&self) -> f64 {
        (self.windows + self.windows_of_bytes) as f64 * WINDOW_MILLIS as f64 / 1000.0
    }

    /// Returns the mean bandwidth of the whole group in bytes per second.
    pub fn bytes_per_second(&self) -> Option<f64> {
        let bytes = self.read_bytes as f64 + self.written_bytes as f64;
        let seconds = self.seconds();
        (seconds > 0.0).then(|| bytes / seconds)
    }

    /// Returns the bandwidth of one target that is fully busy with what was done here (equation 6).
    pub fn achievable(&self) -> Option<f64> {
        let seconds = self.cost as f64 / UNITS_PER_SECOND;
        (seconds > 0.0).then(|| self.costed_bytes as f64 / seconds)
    }

    /// Returns how many times as busy it was as bytes alone say; nothing if they say that it was not busy at all.
    pub fn understated(&self) -> Option<f64> {
        let of_bytes = self.bandwidth_only_sum.value();
        (of_bytes > 0.0).then(|| self.fsu_sum.value() / of_bytes)
    }

    /// Returns the share of busy windows that bytes alone would not have shown as busy.
    pub fn busy_unseen_share(&self) -> Option<f64> {
        let busy = self.classes[BUSY].windows;
        (busy > 0).then(|| self.busy_unseen as f64 / busy as f64)
    }

    /// Returns the bytes between servers and disks, by sizes; nothing where sizes are not known.
    pub fn disk_bytes(&self) -> Option<f64> {
        let bytes = |(size, (reads, writes)): (&u64, &(u64, u64))| {
            *size as f64 * (*reads as f64 + *writes as f64)
        };
        (!self.sizes.is_empty()).then(|| self.sizes.iter().map(bytes).sum())
    }
}

pub(crate) const BUSY: usize = 2;
