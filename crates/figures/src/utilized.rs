//! How busy storage was, from a history: tables II and III and figures 8 to 12 of Uselton and Wright for anybody's storage.

mod sharing;

use plimsoll_report::html::{Axis, Bars, Lines, Page, Section};
use plimsoll_report::{Record, Unit, numbers, words};
use plimsoll_utilization::{
    Bucket, By, CLASSES, FSU_BIN_PERCENT, FSU_BINS, OfClass, Options, Sharing, Summary, Survey,
};

numbers! {
    TARGETS = "target_count", "targets", Count, "Targets of the group.", "GLOSSARY.md";
    TIME = "time", "time", Seconds, "Time that is known: windows of 5 s of which at least four seconds are.", "Uselton and Wright, section V";
    FSU_MEAN = "fsu_mean", "FSU", Percent, "Mean over all windows of the file system utilization: the time that transactions take, in percent of the window, the mean over targets; 100 is fully busy, larger values are possible and kept.", "Uselton and Wright, eq. 7";
    FSU_MAX = "fsu_max", "highest FSU", Percent, "File system utilization of the busiest window.", "Uselton and Wright, eq. 7";
    IDLE = "idle", "idle", Share, "Share of time with an FSU under 2 (--moderate-from), nothing at all included.", "Uselton and Wright, table II";
    MODERATE = "moderate", "moderate", Share, "Share of time with an FSU from 2 to under 30 (--busy-from).", "Uselton and Wright, table II";
    BUSY = "busy", "busy", Share, "Share of time with an FSU of 30 or more.", "Uselton and Wright, table II";
    BANDWIDTH = "bandwidth", "bandwidth", BytesPerSec, "Bytes read and written over the time, of all targets of the group together.", "Uselton and Wright, fig. 10";
    BANDWIDTH_MAX = "bandwidth_max", "highest bandwidth", BytesPerSec, "The same of the window that moved most.", "Uselton and Wright, fig. 10";
    ACHIEVABLE = "achievable", "achievable", BytesPerSec, "Bandwidth of one target that is fully busy with what was done: bytes over the time that the transactions take.", "Uselton and Wright, eq. 6";
    UNDERSTATED = "understated", "busier than bandwidth says", Ratio, "Sum of FSU over the sum of what it would be if only bytes cost anything; missing where no bytes were moved.", "Uselton and Wright, section VI: a factor of four";
    BUSY_UNSEEN = "busy_unseen", "busy, unseen by bandwidth", Share, "Share of busy windows in which bytes alone would have said that it was not busy.", "Uselton and Wright, section V";
    READ = "read_bytes", "read", Bytes, "Bytes read, as requests count them.", "the history";
    WRITTEN = "written_bytes", "written", Bytes, "Bytes written, as requests count them.", "the history";
    DISK = "disk_bytes", "between server and disk", Bytes, "Bytes between servers and disks, by operations and the size that each had at most; missing where sizes are not known.", "Uselton and Wright, fig. 6";
    OBSERVED = "share", "share of time", Share, "Share of the group's windows.", "Uselton and Wright, tables II and III";
    OPERATIONS = "operations", "operations", Count, "Operations between server and disk in these windows.", "Uselton and Wright, tables II and III";
    OPTIMAL = "optimal", "optimal", Share, "Share of them of at least 1 MiB (--optimal); missing where sizes are not known.", "Uselton and Wright, tables II and III";
    SUBOPTIMAL = "suboptimal", "sub-optimal", Share, "Share of them of less.", "Uselton and Wright, tables II and III";
    WINDOWS = "windows", "windows", Count, "Windows of 5 s by FSU, in bins of 2 %; the last one has all from 200 on.", "Uselton and Wright, figs 8 and 11";
    SIZE = "size", "size", ExactBytes, "Size that an operation between server and disk had at most.", "Lustre, brw_stats";
    READS = "reads", "reads", Count, "Reads of that size.", "Uselton and Wright, fig. 12";
    WRITES = "writes", "writes", Count, "Writes of that size.", "Uselton and Wright, fig. 12";
    JOBS = "jobs", "jobs", Count, "Jobs that read or wrote anything, by Lustre's job statistics (--jobs of the monitor).", "Lustre, job_stats";
    ACTIVE_JOBS = "jobs_at_a_time", "jobs at a time", Ratio, "Jobs that read or wrote in a minute, the mean over minutes with any: n.", "Wright, section 6.1";
    TARGETS_PER_JOB = "targets_per_job", "targets per job", Ratio, "Targets that a job read or wrote in a minute, the mean over jobs and minutes: R.", "Wright, section 6.1";
    IN_USE = "targets_in_use", "targets in use", Ratio, "Targets that at least one job read or wrote in a minute, the mean over minutes with any: D_inuse as measured.", "Wright, eq. 6.2";
    LOAD = "jobs_per_target", "jobs per target", Ratio, "Jobs of a target that is in use, in a minute: requested over in use, as measured.", "Wright, eq. 6.4";
    EXPECTED_LOAD = "expected_load", "D_load", Ratio, "What that would be had each job of each minute taken as many targets at random.", "Wright, eqs 6.1 and 6.4";
    JOBS_MOST = "jobs_most", "most jobs", Count, "Jobs of the target in the minute that had most.", "Lustre, job_stats";
    UNPLACED = "unplaced_bytes", "unplaced", Bytes, "Bytes that were counted over gaps of more than a minute: nobody knows when they were moved, and they are in no window.", "the history";
}

/// Says which costs were assumed; nothing where none was.
pub fn assumed_costs(names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| {
        format!(
            "costs of {} are not measured and were assumed (0.1 ms an operation, 0.5 ns a byte, faster than disks): slower storage is busier than shown, \
             faster storage less; hint: plimsoll calibrate writes them into the site file",
            words::some_of(names, 5)
        )
    })
}

/// Returns the key of a list of groups.
fn key(by: By) -> &'static str {
    match by {
        By::Target => "targets",
        By::Server => "servers",
        By::FileSystem => "file_systems",
    }
}

fn title(by: By) -> &'static str {
    match by {
        By::Target => "target",
        By::Server => "server",
        By::FileSystem => "file system",
    }
}

/// Returns all that a survey says, and how jobs shared targets. `rows` groups are shown, the busiest first; `notes` are what the reader needs to know of costs.
pub fn record(
    survey: &Survey,
    shared: &[Sharing],
    options: &Options,
    rows: usize,
    notes: &[String],
) -> Record {
    let groups = busiest_first(survey);
    let shown = groups.iter().take(rows);
    let mut record = Record::new().rows(key(options.by), "", shown.map(|it| group(it)).collect());
    if options.by == By::FileSystem && groups.len() > 1 {
        let known = groups.iter().take(rows).filter(|it| it.windows > 0);
        let rows = known.flat_map(|it| side_by_side(it)).collect();
        record = record.rows("side_by_side", "file systems side by side", rows);
    }
    record = sharing::add(record, shared, rows);
    if let Some(busiest) = groups.first().filter(|it| it.windows > 0) {
        let title = format!("{} {}, the busiest", title(options.by), busiest.name);
        record = record.section("busiest", title, detail(busiest));
    }
    if survey.unplaced_bytes > 0 {
        record = record.number(&UNPLACED, survey.unplaced_bytes as f64);
    }
    let left_out = groups.len().saturating_sub(rows);
    if left_out > 0 {
        record = record.note(format!("{left_out} less busy ones are not shown; hint: --top"));
    }
    if !survey.without_operations.is_empty() {
        let names = words::some_of(&survey.without_operations, 5);
        record = record.note(format!("no operations are known, so no utilization: {names}"));
    }
    notes.iter().fold(record, |record, note| record.note(note))
}

fn busiest_first(survey: &Survey) -> Vec<&Summary> {
    let mut groups: Vec<&Summary> = survey.groups.iter().collect();
    let busy = |it: &Summary| it.fsu_mean().unwrap_or(-1.0);
    let rate = |it: &Summary| it.bytes_per_second().unwrap_or(-1.0);
    groups.sort_by(|one, other| {
        busy(other).total_cmp(&busy(one)).then(rate(other).total_cmp(&rate(one)))
    });
    groups
}

fn group(summary: &Summary) -> Record {
    let shares = summary.shares();
    let share = |class: usize| shares.map(|it| it[class]);
    Record::new()
        .text("name", "name", &summary.name)
        .number(&TARGETS, summary.targets as u64)
        .number(&TIME, summary.seconds())
        .number(&FSU_MEAN, summary.fsu_mean())
        .number(&FSU_MAX, (summary.windows > 0).then_some(summary.fsu_max))
        .number(&IDLE, share(0))
        .number(&MODERATE, share(1))
        .number(&BUSY, share(2))
        .number(&BANDWIDTH, summary.bytes_per_second())
        .number(&BANDWIDTH_MAX, (summary.seconds() > 0.0).then_some(summary.bytes_per_second_max))
        .number(&ACHIEVABLE, summary.achievable())
        .number(&UNDERSTATED, summary.understated())
        .number(&BUSY_UNSEEN, summary.busy_unseen_share())
        .number(&READ, summary.read_bytes as f64)
        .number(&WRITTEN, summary.written_bytes as f64)
        .number(&DISK, summary.disk_bytes())
}

fn detail(summary: &Summary) -> Record {
    let record = Record::new().named_rows("classes", "", "class", classes(summary));
    let bins = summary.histogram.iter().enumerate().filter(|it| *it.1 > 0);
    let bins = bins.map(|(bin, windows)| (bin as u64 * FSU_BIN_PERCENT as u64, *windows as f64));
    let record = record.spectrum(&WINDOWS, "windows by FSU in percent", bins.collect());
    let sizes: Vec<Record> = summary
        .sizes
        .iter()
        .map(|(size, (reads, writes))| {
            Record::new().number(&SIZE, *size).number(&READS, *reads).number(&WRITES, *writes)
        })
        .collect();
    if sizes.is_empty() {
        return record.note(
            "no sizes of operations: they are not counted here, or there were no operations",
        );
    }
    record.rows("sizes", "operations between server and disk", sizes)
}

/// A row for each class of a group, so that those of several stand below each other.
fn side_by_side(summary: &Summary) -> Vec<Record> {
    let row = |(name, class): (&'static str, &OfClass)| {
        let record = Record::new().text("name", "name", &summary.name);
        of_class(record.text("class", "class", name), summary, class)
    };
    CLASSES.into_iter().zip(&summary.classes).map(row).collect()
}

/// Table II.
fn classes(summary: &Summary) -> Vec<(&'static str, Record)> {
    let row = |(name, class)| (name, of_class(Record::new(), summary, class));
    CLASSES.into_iter().zip(&summary.classes).map(row).collect()
}

fn of_class(record: Record, summary: &Summary, class: &OfClass) -> Record {
    let of_all = (summary.windows > 0).then(|| class.windows as f64 / summary.windows as f64);
    let optimal = (class.operations > 0).then(|| class.optimal as f64 / class.operations as f64);
    record
        .number(&OBSERVED, of_all)
        .number(&OPERATIONS, (!summary.sizes.is_empty()).then_some(class.operations as f64))
        .number(&OPTIMAL, optimal)
        .number(&SUBOPTIMAL, optimal.map(|share| 1.0 - share))
}

/// Returns the page as one file.
pub fn page(
    name: &str,
    survey: &Survey,
    shared: &[Sharing],
    options: &Options,
    notes: &[String],
) -> String {
    let groups = busiest_first(survey);
    let subtitle = format!(
        "{}, utilization in windows of 5 s",
        words::count(groups.len() as u64, title(options.by))
    );
    let all = record(survey, shared, options, usize::MAX, notes);
    let page = Page::new(format!("Utilization of {name}"), subtitle);
    let shown: Vec<&&Summary> = groups.iter().take(CHARTED).collect();
    let first = shown.iter().flat_map(|it| it.over_time.keys().next()).min().copied();
    let mut page = page.section(over_time(&shown, first.unwrap_or(0), options.bucket_millis));
    page = page.section(distributions(&shown));
    page.section(Section::new("Numbers").record(&all))
        .footer(format!("Made by plimsoll utilization --store {name}."))
        .to_html()
}

/// Lines of one chart that a reader can tell apart.
const CHARTED: usize = 8;

/// Groups whose sizes are drawn side by side.
const SIDE_BY_SIDE: usize = 4;

/// Figure 10: utilization, and bandwidth beside it.
fn over_time(groups: &[&&Summary], first: u64, bucket_millis: u64) -> Section {
    let hours = || Axis::new("time since the first sample", Unit::Seconds);
    let mut fsu = Lines::new("FSU", hours(), Axis::new("FSU", Unit::Percent)).steps();
    let mut rate =
        Lines::new("Bandwidth", hours(), Axis::new("bandwidth", Unit::BytesPerSec)).steps();
    for summary in groups {
        // A sum over windows, and how many.
        let points = |of: fn(&Bucket) -> (f64, u64)| {
            let point = |(start, bucket): (&u64, &Bucket)| {
                let (sum, count) = of(bucket);
                (count > 0).then(|| (start - first.min(*start), sum / count as f64))
            };
            stretches(summary.over_time.iter().filter_map(point), bucket_millis)
        };
        if summary.windows > 0 {
            fsu = fsu.broken_line(&summary.name, points(|it| (it.fsu.value(), it.windows)));
        }
        rate =
            rate.broken_line(&summary.name, points(|it| (it.bytes_per_second.value(), it.known)));
    }
    Section::new("Over time").chart(fsu).chart(rate)
}

/// Returns values that hold for so long each as steps in seconds. Where nothing is known a stretch ends, and so does the last one.
fn stretches(values: impl Iterator<Item = (u64, f64)>, holds_millis: u64) -> Vec<Vec<(f64, f64)>> {
    let seconds = |millis: u64| millis as f64 / 1000.0;
    let mut stretches: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut end = None;
    for (start, value) in values {
        if end != Some(start) {
            stretches.push(Vec::new());
        }
        end = Some(start + holds_millis);
        if let Some(stretch) = stretches.last_mut() {
            // The end of the one before is the beginning of this one.
            stretch.pop_if(|last| last.0 >= seconds(start));
            stretch.extend([(seconds(start), value), (seconds(start + holds_millis), value)]);
        }
    }
    stretches
}

/// Figures 11 and 12.
fn distributions(groups: &[&&Summary]) -> Section {
    let last =
        groups.iter().filter_map(|it| it.histogram.iter().rposition(|windows| *windows > 0)).max();
    let bins = (last.unwrap_or(0) + 1).min(FSU_BINS);
    let names = (0..bins).map(|bin| format!("{} %", bin * FSU_BIN_PERCENT as usize)).collect();
    let mut fsu = Bars::columns("Windows by FSU", "FSU", Axis::new("windows", Unit::Count), names);
    for summary in groups.iter().filter(|it| it.windows > 0) {
        let values = summary.histogram[..bins].iter().map(|it| *it as f64).collect();
        fsu = fsu.series(&summary.name, values);
    }
    let section = Section::new("Distributions").chart(fsu);
    let sizes: std::collections::BTreeSet<u64> =
        groups.iter().flat_map(|it| it.sizes.keys().copied()).collect();
    if sizes.is_empty() {
        return section;
    }
    let names = sizes.iter().map(|size| Unit::Bytes.show(*size as f64)).collect();
    let axis = Axis::new("operations", Unit::Count);
    let title = "Operations between server and disk by size";
    let mut bars = Bars::columns(title, "size", axis, names);
    // Few groups stand side by side, many are added up.
    let apart = if groups.len() <= SIDE_BY_SIDE { 1 } else { groups.len() };
    for some in groups.chunks(apart) {
        let of = |count: fn(&(u64, u64)) -> u64| -> Vec<f64> {
            let sum = |size: &u64| {
                some.iter().filter_map(|it| it.sizes.get(size)).map(|it| count(it) as f64).sum()
            };
            sizes.iter().map(sum).collect()
        };
        let name = match some {
            [one] if groups.len() > 1 => format!("{}, ", one.name),
            _ => String::new(),
        };
        bars = bars.series(format!("{name}reads"), of(|it| it.0));
        bars = bars.series(format!("{name}writes"), of(|it| it.1));
    }
    section.chart(bars)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_last_as_long_as_what_they_stand_for_and_nothing_is_drawn_over_gaps() {
        let values = [(0, 1.0), (5000, 2.0), (20_000, 3.0)];
        let expected = [vec![(0.0, 1.0), (5.0, 2.0), (10.0, 2.0)], vec![(20.0, 3.0), (25.0, 3.0)]];
        assert_eq!(stretches(values.into_iter(), 5000), expected);
        assert!(stretches([].into_iter(), 5000).is_empty());
    }
}
