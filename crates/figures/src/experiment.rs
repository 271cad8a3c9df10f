//! What an experiment will cost, and what came of it when it ended.
//!
//! Of results that are there already, [`results`](crate::results) shows more.

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_bench::describe;
use plimsoll_bench::estimate::Estimate;
use plimsoll_bench::measuring::CacheUse;
use plimsoll_bench::plan::{Parameter, Plan};
use plimsoll_bench::runner::{Ending, Spent};
use plimsoll_domain::burst::{Setting, Sharing};
use plimsoll_measures::{MeasuresError, Outcome, Results};
use plimsoll_report::{Record, numbers};
use plimsoll_stats::{FiveNumberSummary, Sample, series_median_interval};

const CONFIDENCE: f64 = 0.95;

numbers! {
    INSTANCES = "instances", "instances", Count, "Instances that were measured, failed ones included; with --dry-run, the least number that will be measured.", "the plan and its precision";
    INSTANCES_MOST = "instances_most", "at most", Count, "Instances that will be measured if the precision is never reached and the budget lasts.", "the plan";
    BYTES_MOVED = "bytes_moved", "bytes to move", Bytes, "Least number of bytes that the experiment writes or reads, including those written before a read.", "the plan";
    BYTES_MOST = "bytes_most", "at most", Bytes, "Bytes that it moves if the precision is never reached; the budget limits it.", "the plan";
    SPACE_NEEDED = "space_needed", "space on one target", Bytes, "The most space that the files of one instance take on one target; they are removed after it.", "the plan";
    PROCESSES = "processes", "processes", Count, "Processes of all clients, also of those that an instance does not use.", "the plan";
    MEMORY = "memory_of_process", "memory of a process", Bytes, "The most memory that one process takes for its transfers: those in flight, and one more.", "the plan";
    SECONDS = "seconds", "time", Seconds, "Least time, with targets at their peak (from a site file, given or measured with bursts that outlast caches) or at the limit of a test bed. Targets for which neither is known add no time; missing if this holds for all of them.", "the peaks, which others' load lowers";
    SECONDS_MOST = "seconds_most", "at most", Seconds, "The same if the precision is never reached; the budget limits it. Missing where a target's rate is not known and no budget limits it.", "the peaks, which others' load lowers";
    FAILED = "failed", "failed", Count, "Instances in which a process could not do its part.", "exact";
    BURSTS = "bursts", "bursts", Count, "Bursts of single processes that this session did.", "exact";
    CACHED = "cached_bursts", "of them cached", Count, "Bursts that measured memory at least in part: pages of the file were in the page cache when none should have been (cachestat), or the target is a file system in memory.", "pages cached and dropped within the burst are not noticed";
    NOT_TOLD = "unknown_bursts", "unknown", Count, "Bursts for which the kernel does not report whether pages were cached. Writes that go through the cache are not among them: they end with fsync.", "exact";
    BUSY = "busy_instances", "on a busy machine", Count, "Instances during which more than 90 % of the time of this machine's processors was taken (/proc/stat): bursts waited for a processor.", "of an MPI job, only the machine of its first process is watched";
    MEASURES = "measures", "n", Count, "Complete instances with one setting.", "exact";
    MEDIAN = "median_bandwidth", "median", BytesPerSec, "Median of the aggregate bandwidth of these instances: all bytes over the time from the release to the last fsync.", "the interval beside it";
    LOW = "median_low", "from", BytesPerSec, "Lower end of the 95 % interval of the median, wider where measures are correlated; missing below twenty measures, which are too few to know their correlation.", "covers in 89 to 100 % of simulated series, 92 % or more from 25 measures on: docs/benchmarking.md";
    HIGH = "median_high", "to", BytesPerSec, "Upper end of that interval.", "as the lower end";
    MINIMUM = "minimum", "min", BytesPerSec, "Slowest of these instances.", "one measure";
    MAXIMUM = "maximum", "max", BytesPerSec, "Fastest of these instances.", "one measure";
    OUTLIERS = "outliers", "outliers", Count, "Instances beyond 1.5 interquartile ranges of the box (Tukey). Marked, never dropped.", "exact";
}

/// Returns what a plan will cost, with the instances of its first round in words.
pub fn planned(plan: &Plan, cost: &Estimate, first_round: Vec<String>) -> Record {
    let targets = plan.targets.iter().map(|it| format!("{} {}", it.name, it.path.display()));
    Record::new()
        .text("plan", "plan", plan.name.clone())
        .text("seed", "seed", plan.seed.to_string())
        .texts("targets", "targets", targets.collect())
        .number(&INSTANCES, cost.instances.least)
        .number(&INSTANCES_MOST, cost.instances.most)
        .number(&BYTES_MOVED, cost.bytes.least.get())
        .number(&BYTES_MOST, cost.bytes.most.get())
        .number(&SPACE_NEEDED, cost.bytes_at_once_per_target.get())
        .number(&PROCESSES, u64::from(plan.clients.count) * u64::from(cost.processes_per_client))
        .number(&MEMORY, cost.memory_of_process.get())
        .number(&SECONDS, cost.seconds.least)
        .number(&SECONDS_MOST, cost.seconds.most)
        .texts("first_round", "first round", first_round)
}

/// Returns what came of an experiment with these results, which people find in this directory.
///
/// # Errors
/// When the results cannot be read.
pub fn ended(
    plan: &Plan,
    results: &Results,
    directory: &Path,
    ending: &Ending,
    spent: &Spent,
) -> Result<Record, MeasuresError> {
    let by_setting = BySetting::of(results, plan)?;
    Ok(Record::new()
        .text("results", "results", directory.display().to_string())
        .text("ending", "ending", describe::ending(ending, plan))
        .text("seed", "seed", plan.seed.to_string())
        .number(&INSTANCES, by_setting.instances)
        .number(&FAILED, by_setting.failed)
        .number(&BURSTS, spent.cache.bursts)
        .number(&CACHED, known(spent.cache.cached, spent.cache))
        .number(&NOT_TOLD, spent.cache.unknown)
        .number(&BUSY, (spent.load.instances > 0).then_some(spent.load.busy))
        .rows("settings", "aggregate bandwidth by setting", by_setting.rows()))
}

/// Returns nothing when the kernel reported on no burst.
fn known(cached: u64, cache: CacheUse) -> Option<u64> {
    (cache.unknown < cache.bursts || cache.bursts == 0).then_some(cached)
}

/// What tells rows apart: the setting and, where groups are servers, the server.
type Key = (Setting, Option<String>);

/// Aggregate bandwidths by setting.
#[derive(Default)]
struct BySetting {
    order: Vec<(Key, String)>,
    bandwidths: BTreeMap<Key, Vec<f64>>,
    instances: u64,
    failed: u64,
}

impl BySetting {
    fn of(results: &Results, plan: &Plan) -> Result<Self, MeasuresError> {
        let by_server = plan.groups.parameter == Parameter::Server;
        let mut by = Self::default();
        for instance in results.instances()? {
            let instance = instance?;
            by.instances += 1;
            match (&instance.outcome, instance.aggregate_bandwidth()) {
                (Outcome::Complete, Some(bandwidth)) => {
                    let server = instance.pairs.first().and_then(|pair| pair.server.clone());
                    let key = (instance.setting, server.filter(|_| by_server));
                    let known = by.bandwidths.entry(key.clone()).or_default();
                    if known.is_empty() {
                        by.order.push((key, instance.varied));
                    }
                    known.push(bandwidth);
                }
                _ => by.failed += 1,
            }
        }
        by.order.sort();
        Ok(by)
    }

    fn rows(&self) -> Vec<Record> {
        let rows = self.order.iter().filter_map(|(key, varied)| {
            let (setting, server) = key;
            let series = self.bandwidths.get(key)?;
            let interval = series_median_interval(series, CONFIDENCE).ok();
            let sample = Sample::new(series.clone()).ok()?;
            let box_plot = FiveNumberSummary::new(&sample);
            let outliers = sample.values().iter().filter(|value| box_plot.is_outlier(**value));
            Some(
                Record::new()
                    .text("varied", "varied", varied.clone())
                    .text("burst", "burst", setting.burst.to_string())
                    .text("who", "clients x processes -> targets", who(setting, server.as_deref()))
                    .number(&MEASURES, sample.n() as u64)
                    .number(&MEDIAN, sample.median())
                    .number(&LOW, interval.as_ref().map(|interval| interval.low))
                    .number(&HIGH, interval.as_ref().map(|interval| interval.high))
                    .number(&MINIMUM, sample.min())
                    .number(&MAXIMUM, sample.max())
                    .number(&OUTLIERS, outliers.count() as u64),
            )
        });
        rows.collect()
    }
}

/// Returns how many do it, and what else may differ between settings.
fn who(setting: &Setting, server: Option<&str>) -> String {
    let mut text = format!("{} x {} -> {}", setting.clients, setting.processes, setting.targets);
    if let Some(server) = server {
        text += &format!(" of {server}");
    }
    if setting.striped() {
        text += &format!(", {} stripes of {}", setting.stripe_count, setting.stripe_size);
    }
    if setting.sharing == Sharing::Shared {
        text += ", shared";
    }
    text
}
