//! What each job did on a target, and rows of LNet's tables: components that come and go with every reading.

use plimsoll_history::{Component, ComponentKind, Measure, Value};
use plimsoll_lustre::{Content, JobLine, Parameter, Time, Unknowns, job_stats, lnet_table};

use crate::admission::Admission;
use crate::draft::Draft;
use crate::lustre_input::take_operation;
use crate::operations::Operations;
use crate::readings::Readings;

/// What the readings of a scrape have in common.
pub struct Common<'a> {
    /// Who reports.
    pub server: &'a str,
    /// When.
    pub time: u64,
    /// Jobs of a target that are read at most.
    pub jobs_most: usize,
}

/// Adds a reading for each row of a text. Returns how many rows were too many.
pub fn take_rows(
    parameter: &Parameter,
    owner: &Component,
    text: &[u8],
    common: &Common<'_>,
    admission: &mut Admission,
    readings: &mut Readings,
    unknowns: &mut Unknowns,
) -> u64 {
    match parameter.content {
        Content::Jobs => take_jobs(parameter, owner, text, common, admission, readings, unknowns),
        _ => {
            take_table(owner, text, common, readings);
            0
        }
    }
}

fn take_jobs(
    parameter: &Parameter,
    owner: &Component,
    text: &[u8],
    common: &Common<'_>,
    admission: &mut Admission,
    readings: &mut Readings,
    unknowns: &mut Unknowns,
) -> u64 {
    let operations =
        if parameter.component == "mdt" { Operations::Metadata } else { Operations::Data };
    let (mut jobs, mut left_out) = (0, 0);
    let mut lines = job_stats(text).peekable();
    while let Some(line) = lines.next() {
        let id = match line {
            JobLine::Job(id) => id,
            JobLine::Unknown(line) => {
                unknowns.count(parameter.leaf, line);
                continue;
            }
            _ => continue,
        };
        if jobs == common.jobs_most {
            left_out += 1;
            continue;
        }
        let name = name(&id.name());
        if !admission.admits(&name, common.time, common.jobs_most) {
            left_out += 1;
            continue;
        }
        jobs += 1;
        let job = owner.clone().of_job(name);
        let reading = readings.next(&job, common.server, common.time, 0);
        let mut draft = Draft::new(reading, unknowns);
        for line in std::iter::from_fn(|| lines.next_if(|line| !matches!(line, JobLine::Job(_)))) {
            match line {
                // The snapshot is when the job did something last, not now.
                JobLine::Time(Time::Start(nanoseconds)) => draft.started(nanoseconds),
                JobLine::Time(_) | JobLine::Job(_) => {}
                JobLine::Operation(name, tally) => {
                    take_operation(operations, name, &tally, &mut draft)
                }
                JobLine::Unknown(line) => draft.unknown(parameter.leaf, line),
            }
        }
    }
    left_out
}

/// Returns what a job is called. Bytes that are no text are spelled out: ids that differ have names that do.
fn name(id: &[u8]) -> String {
    match std::str::from_utf8(id) {
        Ok("") => "-".to_owned(),
        Ok(name) => name.to_owned(),
        Err(_) => id.escape_ascii().to_string(),
    }
}

/// Routers and interfaces, which are up or not.
fn take_table(owner: &Component, text: &[u8], common: &Common<'_>, readings: &mut Readings) {
    for row in lnet_table(text) {
        let nid = row.field("nid").or_else(|| row.field("router"));
        if let (Some(nid), Some(is_up)) = (nid, row.is_up()) {
            let component = Component::new(ComponentKind::Router, nid).of_cluster(&owner.cluster);
            let reading = readings.next(&component, common.server, common.time, 0);
            reading.values.push(Value::new(Measure::IsConnected, is_up.into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_lustre::Name;

    #[test]
    fn ids_that_differ_are_different_jobs() {
        assert_eq!((name(b""), name("été".as_bytes())), ("-".to_owned(), "été".to_owned()));
        assert_eq!((name(b"a\xFF"), name(b"a\xFE")), ("a\\xff".to_owned(), "a\\xfe".to_owned()));
    }

    #[test]
    fn jobs_have_an_end_and_any_name() {
        let text = b"job_stats:
- job_id:          \"a\\x0Ab\"
  snapshot_time:   1461772761
  write_bytes:     { samples:          25, unit: bytes, min: 1048576, max:16777216, sum:        26214400 }
- job_id:
  write_bytes:     { samples:          1, unit: bytes, min: 1, max:1, sum:        1 }
  mood: good
- job_id:          third
";
        let parameter = Name::of("obdfilter.fs-OST0000.job_stats").parameter().unwrap();
        let owner = Component::new(ComponentKind::Ost, "fs-OST0000");
        let common = Common { server: "oss1", time: 7, jobs_most: 2 };
        let (mut readings, mut unknowns) = (Readings::default(), Unknowns::default());
        let left_out = take_rows(
            parameter,
            &owner,
            text,
            &common,
            &mut Admission::default(),
            &mut readings,
            &mut unknowns,
        );
        assert_eq!(left_out, 1);
        let jobs: Vec<_> =
            readings.of_scrape().iter().map(|it| it.component.job.as_str()).collect();
        assert_eq!(jobs, ["a\nb", "-"]);
        let first = &readings.of_scrape()[0];
        assert_eq!(first.time, 7, "the last activity of a job is not when it was read");
        assert!(first.values.contains(&Value::new(Measure::WrittenBytes, 26_214_400)));
        assert!(first.values.contains(&Value::new(Measure::WriteOperations, 25)));
        assert_eq!(unknowns.total(), 1);
    }
}
