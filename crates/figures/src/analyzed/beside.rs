//! What is read of the store beside the analysis itself: how busy targets were, and which jobs made the load.

use plimsoll_analyze::{Analysis, Beside, Estimate, Frame, Job, ratio_of_days};
use plimsoll_report::{Record, words};
use plimsoll_utilization::Summary;

use super::figure::figure;
use super::numbers::*;
use super::parts::estimate;
use crate::utilized::{
    BUSY, BUSY_UNSEEN, FSU_MAX, FSU_MEAN, IDLE, MODERATE, UNDERSTATED, assumed_costs,
};

/// File systems, or machines of block devices, whose operations are known.
fn groups(beside: &Beside) -> Vec<&Summary> {
    let all = beside.utilization.iter().flat_map(|it| &it.groups);
    all.filter(|it| it.windows > 0).collect()
}

/// The mean utilization in percent, with its interval.
fn fsu(frame: &Frame, group: &Summary) -> Option<Estimate> {
    let days: Vec<[f64; 2]> =
        group.over_time.values().map(|day| [day.fsu.value(), day.windows as f64]).collect();
    ratio_of_days(&days, frame.options.seed)
}

/// How busy file systems were.
pub fn utilization(frame: &Frame, beside: &Beside) -> Record {
    let groups = groups(beside);
    if groups.is_empty() {
        return Record::new().note("operations of targets are not known");
    }
    let row = |group: &&Summary| {
        let shares = group.shares();
        let record = Record::new().text("name", "file system", &group.name);
        estimate(record, [&FSU_MEAN, &FSU_LOW, &FSU_HIGH], fsu(frame, group))
            .number(&FSU_MAX, group.fsu_max)
            .number(&IDLE, shares.map(|it| it[0]))
            .number(&MODERATE, shares.map(|it| it[1]))
            .number(&BUSY, shares.map(|it| it[2]))
            .number(&UNDERSTATED, group.understated())
            .number(&BUSY_UNSEEN, group.busy_unseen_share())
    };
    let record = Record::new().rows("file_systems", "", groups.iter().map(row).collect());
    let record = match assumed_costs(&beside.assumed) {
        Some(note) => record.note(note),
        None => record,
    };
    record.note("plimsoll utilization has more of it")
}

/// How busy file systems were, in words.
pub fn busy(frame: &Frame, beside: &Beside) -> Option<String> {
    let percent = |value: f64| format!("{} %", words::short(value));
    let told = groups(beside).into_iter().filter_map(|group| {
        let mean = figure(&fsu(frame, group)?, percent);
        let [idle, _, busy] = group.shares()?.map(words::percent);
        Some(format!(
            "Targets of {} are {mean} utilized on average (FSU, which counts the cost of each operation); they are idle {idle} of the time and busy {busy} of it.",
            group.name
        ))
    });
    let mut told: Vec<String> = told.collect();
    if told.is_empty() {
        return None;
    }
    if !beside.assumed.is_empty() {
        told.push(
            "Costs of operations were assumed for some targets: plimsoll calibrate measures them."
                .into(),
        );
    }
    Some(told.join(" "))
}

/// Jobs that made the load.
pub fn jobs(analysis: &Analysis, beside: &Beside, rows: usize) -> Record {
    let Some(jobs) = &beside.jobs else {
        return Record::new().note("targets do not count by job");
    };
    let share = |bytes: u128, direction: usize| {
        let all = analysis.system.directions[direction].bytes;
        (all > 0).then(|| bytes as f64 / all as f64)
    };
    let row = |job: &Job| {
        Record::new()
            .text("name", "job", &job.name)
            .number(&KNOWN_DAYS, u64::from(job.days))
            .number(&READ, job.bytes[0] as f64)
            .number(&SHARE_OF_READS, share(job.bytes[0], 0))
            .number(&WRITTEN, job.bytes[1] as f64)
            .number(&SHARE_OF_WRITES, share(job.bytes[1], 1))
    };
    let all = jobs.bytes();
    let record = Record::new()
        .number(&JOB_COUNT, jobs.jobs.len() as u64)
        .number(&OF_JOBS_READ, share(all[0], 0))
        .number(&OF_JOBS_WRITTEN, share(all[1], 1))
        .rows("jobs", "jobs, those that move most", jobs.jobs.iter().take(rows).map(row).collect());
    if jobs.others == [0; 2] {
        return record;
    }
    record.note("there are more than a million names of jobs; those beyond are not told apart")
}

/// Jobs that made the load, in words: those that read and that wrote most.
pub fn who(analysis: &Analysis, beside: &Beside) -> Option<String> {
    let jobs = beside.jobs.as_ref()?;
    let most = |direction: usize, verb: &str| {
        let all = analysis.system.directions[direction].bytes;
        let job = jobs.jobs.iter().max_by_key(|it| it.bytes[direction])?;
        (all > 0 && job.bytes[direction] > 0).then(|| {
            let share = words::percent(job.bytes[direction] as f64 / all as f64);
            format!("{} {verb} most, {share} of all", job.name)
        })
    };
    let told: Vec<String> = [most(0, "read"), most(1, "wrote")].into_iter().flatten().collect();
    let count = words::count(jobs.jobs.len() as u64, "job");
    (!told.is_empty()).then(|| format!("Of {count} that targets counted, {}.", told.join("; ")))
}
