//! What a parameter of Lustre's adds to a reading.

use plimsoll_history::Measure;
use plimsoll_lustre::{
    BrwLine, Content, Health, Histogram, Import, LnetCounters, Parameter, Recovery, RecoveryState,
    StatsLine, Tally, Time, brw_stats, number, stats,
};

use crate::draft::Draft;
use crate::operations::Operations;

/// Adds what the text of a parameter says. Jobs and tables are rows of their own and not taken here.
pub fn take(parameter: &Parameter, text: &[u8], draft: &mut Draft<'_>) {
    match parameter.content {
        Content::Stats => take_stats(parameter, text, draft),
        Content::Histograms => take_histograms(parameter, text, draft),
        Content::Recovery => {
            let recovery = Recovery::of(text, |line| draft.unknown(parameter.leaf, line));
            draft.put_known(Measure::IsRecovering, recovery.map(is_recovering));
        }
        Content::Health => match Health::of(text) {
            Some(health) => draft.put(Measure::IsHealthy, health.is_healthy.into()),
            None => draft.unknown(parameter.leaf, text),
        },
        Content::Import => {
            if let Some(import) = Import::of(text, |line| draft.unknown(parameter.leaf, line)) {
                draft.put(Measure::IsConnected, import.is_connected().into());
                draft.put_known(Measure::InFlight, import.in_flight);
            }
        }
        Content::Number => take_number(parameter, text, draft),
        Content::Lnet => match LnetCounters::of(text) {
            Some(counters) => take_lnet(&counters, draft),
            None => draft.unknown(parameter.leaf, text),
        },
        Content::Jobs | Content::LnetTable => {}
    }
}

fn is_recovering(recovery: Recovery) -> u64 {
    !matches!(recovery.state, RecoveryState::Complete | RecoveryState::Inactive) as u64
}

fn take_time(time: Time, draft: &mut Draft<'_>) {
    match time {
        Time::Snapshot(nanoseconds) => draft.snapshot(nanoseconds),
        Time::Start(nanoseconds) => draft.started(nanoseconds),
        Time::Elapsed(_) => {}
    }
}

fn take_stats(parameter: &Parameter, text: &[u8], draft: &mut Draft<'_>) {
    let operations = match parameter.component {
        "obdfilter" => Some(Operations::Data),
        "mdt" => Some(Operations::Metadata),
        "llite" => Some(Operations::Client),
        "osc" | "mdc" => Some(Operations::Requests),
        _ => None,
    };
    for measure in operations.map_or(&[][..], Operations::measures) {
        draft.add(*measure, 0);
    }
    for line in stats(text) {
        match line {
            StatsLine::Time(time) => take_time(time, draft),
            StatsLine::Operation(name, tally) => match operations {
                Some(operations) => take_operation(operations, name, &tally, draft),
                None => take_service(name, &tally, draft),
            },
            StatsLine::Unknown(line) => draft.unknown(parameter.leaf, line),
        }
    }
}

/// Adds what an operation of a target, client or job has counted.
pub fn take_operation(
    operations: Operations,
    name: &str,
    tally: &Tally<'_>,
    draft: &mut Draft<'_>,
) {
    if let Some(measure) = operations.measure(name) {
        draft.add(measure, tally.samples);
    }
    if let (Some(measure), Some(bytes)) = (Operations::bytes(name), tally.bytes()) {
        draft.add(measure, bytes);
    }
}

/// Adds what a service or a cache has counted.
fn take_service(name: &str, tally: &Tally<'_>, draft: &mut Draft<'_>) {
    let sum = tally.amounts.map_or(0, |amounts| amounts.sum);
    match name {
        "req_waittime" => {
            draft.add(Measure::Requests, tally.samples);
            draft.add(Measure::RequestWaitTime, sum);
        }
        "cache_access" => draft.add(Measure::CacheAccesses, sum),
        "cache_hit" => draft.add(Measure::CacheHits, sum),
        "cache_miss" => draft.add(Measure::CacheMisses, sum),
        _ => {}
    }
}

fn take_histograms(parameter: &Parameter, text: &[u8], draft: &mut Draft<'_>) {
    // Older releases have the histograms of a target in two places; a client that mounted a file system twice has two of each.
    let is_second = draft.has(Measure::ReadPages);
    let adds_up = is_second && parameter.component == "osc";
    let mut empty = None;
    for line in brw_stats(text) {
        match line {
            BrwLine::Time(time) => take_time(time, draft),
            BrwLine::Unknown(line) => draft.unknown(parameter.leaf, line),
            BrwLine::Head(_) | BrwLine::Bin(..) if is_second && !adds_up => {}
            BrwLine::Head(histogram) => put_empty(empty.replace(histogram), draft),
            BrwLine::Bin(histogram, bin) => {
                empty = None;
                let Some((reads, writes)) = measures(histogram) else { continue };
                if adds_up {
                    draft.add_to_bin(reads, bin.upper, bin.reads);
                    draft.add_to_bin(writes, bin.upper, bin.writes);
                } else {
                    draft.put_bin(reads, bin.upper, bin.reads);
                    draft.put_bin(writes, bin.upper, bin.writes);
                }
            }
        }
    }
    put_empty(empty, draft);
}

/// Lustre prints bins from the first that counted anything to the last. A histogram that has counted nothing has a bin of zero here, so
/// that it differs from one that was not read.
fn put_empty(histogram: Option<Histogram>, draft: &mut Draft<'_>) {
    if let Some((reads, writes)) = histogram.and_then(measures) {
        draft.add_to_bin(reads, 1, 0);
        draft.add_to_bin(writes, 1, 0);
    }
}

/// The measures of reads and of writes.
fn measures(histogram: Histogram) -> Option<(Measure, Measure)> {
    Some(match histogram {
        Histogram::PagesPerBulk | Histogram::PagesPerRequest => {
            (Measure::ReadPages, Measure::WritePages)
        }
        Histogram::DiscontiguousPages => (Measure::ReadPageGaps, Measure::WritePageGaps),
        Histogram::DiscontiguousBlocks => (Measure::ReadBlockGaps, Measure::WriteBlockGaps),
        Histogram::DiskFragments => (Measure::ReadFragments, Measure::WriteFragments),
        Histogram::DiskInFlight | Histogram::RequestsInFlight => {
            (Measure::ReadsInFlight, Measure::WritesInFlight)
        }
        Histogram::DiskTime => (Measure::ReadMilliseconds, Measure::WriteMilliseconds),
        Histogram::DiskSize => (Measure::ReadSizes, Measure::WriteSizes),
        Histogram::BlockMapTime => (Measure::ReadMapMilliseconds, Measure::WriteMapMilliseconds),
        Histogram::Offset => return None,
    })
}

fn take_number(parameter: &Parameter, text: &[u8], draft: &mut Draft<'_>) {
    let Some(value) = number(text) else {
        draft.unknown(parameter.leaf, text);
        return;
    };
    let of_kib = |measure| (measure, value.saturating_mul(1024));
    let (measure, value) = match parameter.leaf {
        "kbytestotal" => of_kib(Measure::CapacityBytes),
        "kbytesfree" => of_kib(Measure::FreeBytes),
        "kbytesavail" => of_kib(Measure::AvailableBytes),
        "filestotal" => (Measure::Inodes, value),
        "filesfree" => (Measure::FreeInodes, value),
        "degraded" => (Measure::IsDegraded, (value != 0).into()),
        "num_exports" => (Measure::Exports, value),
        "tot_dirty" => (Measure::ClientDirtyBytes, value),
        "tot_granted" => (Measure::GrantedBytes, value),
        "tot_pending" => (Measure::PendingBytes, value),
        "eviction_count" => (Measure::Evictions, value),
        "memused" => (Measure::LustreMemoryBytes, value),
        "lnet_memused" => (Measure::LnetMemoryBytes, value),
        _ => return,
    };
    draft.put(measure, value);
}

fn take_lnet(counters: &LnetCounters, draft: &mut Draft<'_>) {
    for (measure, value) in [
        (Measure::MessagesAllocated, counters.messages),
        (Measure::NetworkErrors, counters.errors),
        (Measure::SentMessages, counters.sent),
        (Measure::ReceivedMessages, counters.received),
        (Measure::RoutedMessages, counters.routed),
        (Measure::DroppedMessages, counters.dropped),
        (Measure::SentBytes, counters.sent_bytes),
        (Measure::ReceivedBytes, counters.received_bytes),
        (Measure::RoutedBytes, counters.routed_bytes),
        (Measure::DroppedBytes, counters.dropped_bytes),
    ] {
        draft.put(measure, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bin that was not printed before was zero then, which the history knows of histograms only.
    #[test]
    fn every_histogram_is_one_for_the_history() {
        for histogram in [
            Histogram::PagesPerBulk,
            Histogram::DiscontiguousPages,
            Histogram::DiscontiguousBlocks,
            Histogram::DiskFragments,
            Histogram::DiskInFlight,
            Histogram::DiskTime,
            Histogram::DiskSize,
            Histogram::BlockMapTime,
        ] {
            let (reads, writes) = measures(histogram).unwrap();
            assert!(reads.is_histogram() && writes.is_histogram(), "{histogram:?}");
        }
    }
}
