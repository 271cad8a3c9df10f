//! What targets do lately, for people and programs. `notes` are what the reader needs to know of costs.

use plimsoll_report::{Record, numbers};
use plimsoll_utilization::{CLASSES, Lately, Latest, Options};

numbers! {
    FSU = "fsu", "FSU", Percent, "File system utilization over the last 5 s: the time that transactions take, in percent, the mean over targets; 100 is fully busy, larger values are possible and kept; missing where less than 4 s are known.", "Uselton and Wright, eq. 7";
    READ = "read_rate", "read", BytesPerSec, "Bytes read a second over the last 5 s, as requests count them, of all known targets together.", "the counters";
    WRITTEN = "write_rate", "written", BytesPerSec, "The same of bytes written.", "the counters";
    SIZE = "operation_size", "operation size", Bytes, "Mean size of an operation; missing where there was none.", "the counters";
    READS = "read_operation_rate", "reads a second", Count, "Operations that read, a second.", "the counters";
    WRITES = "write_operation_rate", "writes a second", Count, "Operations that write, a second.", "the counters";
    READ_SIZE = "read_size", "read size", Bytes, "Mean size of a read.", "the counters";
    WRITE_SIZE = "write_size", "write size", Bytes, "Mean size of a write.", "the counters";
    BY_BANDWIDTH = "fsu_by_bandwidth", "by bandwidth", Percent, "What FSU would be if only bytes cost anything: what a look at bandwidth says.", "Uselton and Wright, section VI";
    TARGETS = "target_count", "targets", Count, "Targets of it; of a job, those that it uses.", "GLOSSARY.md";
    METADATA = "metadata_operation_rate", "operations a second", Count, "Operations of metadata a second over the last 5 s, of all names; what is counted under two names counts once. Missing where it is not known.", "the counters";
    NAMED = "operation_rate", "a second", Count, "Operations of that name a second.", "the counters";
    KNOWN = "known_count", "known", Count, "Targets whose rates are known: the numbers are of these.", "the counters";
}

/// Returns the targets alone, for people.
pub fn table(latest: &Latest, notes: &[String]) -> Record {
    with_notes(metadata(Record::new().rows("targets", "", targets(latest)), latest), notes)
}

/// Adds targets of metadata and their operations by name, where there are any.
fn metadata(record: Record, latest: &Latest) -> Record {
    if latest.metadata.is_empty() {
        return record;
    }
    let named = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let target = |of: &Lately| {
        Record::new()
            .text("name", "name", &of.name)
            .number(&METADATA, of.operations())
            .optional_text("file_system", "file system", named(&of.file_system))
            .optional_text("server", "server", named(&of.server))
    };
    let operations = latest.metadata.iter().flat_map(|of| {
        let rates = of.metadata.iter().flatten();
        rates.map(|(measure, rate)| {
            Record::new()
                .text("target", "target", &of.name)
                .text("operation", "operation", measure.name())
                .number(&NAMED, *rate)
        })
    });
    record.rows("metadata", "metadata", latest.metadata.iter().map(target).collect()).rows(
        "metadata_operations",
        "metadata operations",
        operations.collect(),
    )
}

/// Returns everything, for programs.
pub fn record(latest: &Latest, notes: &[String]) -> Record {
    let groups = |all: &[Lately]| busiest_first(all).into_iter().map(group).collect();
    let record = Record::new()
        .rows("targets", "", targets(latest))
        .rows("servers", "servers", groups(&latest.servers))
        .rows("file_systems", "file systems", groups(&latest.file_systems));
    let jobs = latest.jobs.as_deref().map(|jobs| busiest_first(jobs).into_iter().map(job));
    let record = match jobs {
        Some(jobs) => record.rows("jobs", "jobs", jobs.collect()),
        None => record,
    };
    with_notes(metadata(record, latest), notes)
}

fn with_notes(record: Record, notes: &[String]) -> Record {
    notes.iter().fold(record, |record, note| record.note(note))
}

fn targets(latest: &Latest) -> Vec<Record> {
    busiest_first(&latest.targets).into_iter().map(target).collect()
}

/// What is not known comes last.
fn busiest_first(all: &[Lately]) -> Vec<&Lately> {
    let mut all: Vec<&Lately> = all.iter().collect();
    let key = |it: &Lately| (it.fsu.unwrap_or(-1.0), it.bytes().unwrap_or(-1.0));
    all.sort_by(|one, other| {
        let ((fsu, bytes), (other_fsu, other_bytes)) = (key(one), key(other));
        let order = other_fsu.total_cmp(&fsu).then(other_bytes.total_cmp(&bytes));
        order.then_with(|| one.name.cmp(&other.name))
    });
    all
}

fn target(of: &Lately) -> Record {
    let named = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let record = Record::new().text("name", "name", &of.name);
    let record = rates(utilization(record, of), of).number(&BY_BANDWIDTH, of.bandwidth_only);
    record
        .optional_text("kind", "kind", of.kind.map(|kind| kind.name().to_owned()))
        .optional_text("file_system", "file system", named(&of.file_system))
        .optional_text("server", "server", named(&of.server))
}

fn group(of: &Lately) -> Record {
    let record = utilization(Record::new().text("name", "name", &of.name), of);
    let record = record.number(&TARGETS, of.targets as u64).number(&KNOWN, of.known as u64);
    rates(record, of).number(&BY_BANDWIDTH, of.bandwidth_only)
}

fn job(of: &Lately) -> Record {
    rates(Record::new().text("name", "name", &of.name), of).number(&TARGETS, of.targets as u64)
}

fn utilization(record: Record, of: &Lately) -> Record {
    let class = of.fsu.map(|fsu| CLASSES[Options::default().class(fsu)].to_owned());
    let class = if of.is_present { class } else { Some("absent".to_owned()) };
    record.number(&FSU, of.fsu).optional_text("class", "class", class)
}

fn rates(record: Record, of: &Lately) -> Record {
    record
        .number(&READ, of.read_bytes)
        .number(&WRITTEN, of.written_bytes)
        .number(&SIZE, of.operation_size())
        .number(&READS, of.read_operations)
        .number(&WRITES, of.write_operations)
        .number(&READ_SIZE, of.read_size())
        .number(&WRITE_SIZE, of.write_size())
}
