//! What a measure of a component is called in metrics.
//!
//! Lustre's have the names that dashboards know from other exporters. Where such a name would break the rules of
//! OpenMetrics (a gauge that ends in `_total`, one family in another's name), ours differs; docs/monitoring.md lists them. All
//! others are called after the component's kind and the measure.

use std::borrow::Cow;

use plimsoll_history::{Component, ComponentKind, Form, Measure};

use crate::operations::lustre_name;

/// How a family of metrics is called, and what its samples are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    /// Its name, for counters without `_total`.
    pub name: Cow<'static, str>,
    /// Whether it only grows.
    pub is_counter: bool,
    /// What it says.
    pub help: &'static str,
    /// The label `operation` of this measure's samples.
    pub operation: Option<&'static str>,
    /// Whether the bin is a label.
    pub has_size: bool,
    /// What values are divided by.
    pub divisor: u64,
}

/// Returns what a measure of that component is called; `None` for those that are not shown.
pub fn family(component: &Component, measure: Measure) -> Option<Family> {
    let is_lustre = match component.kind {
        ComponentKind::Ost | ComponentKind::Mdt | ComponentKind::Mgt | ComponentKind::Router => {
            true
        }
        ComponentKind::SeenTarget => true,
        ComponentKind::Mount => !component.file_system.is_empty(),
        ComponentKind::Server => {
            let of_lustre = [
                Measure::IsHealthy,
                Measure::LustreMemoryBytes,
                Measure::LnetMemoryBytes,
                Measure::Requests,
                Measure::RequestWaitTime,
            ];
            of_lustre.contains(&measure)
        }
        ComponentKind::BlockDevice => false,
    };
    Some(if is_lustre { of_lustre(component, measure)? } else { ours(component.kind, measure) })
}

/// "plimsoll_block_device_read_bytes".
fn ours(kind: ComponentKind, measure: Measure) -> Family {
    let (name, divisor) = match measure.unit() {
        "milliseconds" => (with_seconds(measure.name()), 1000),
        "microseconds" => (with_seconds(measure.name()), 1_000_000),
        _ => (measure.name().to_owned(), 1),
    };
    Family {
        name: format!("plimsoll_{}_{name}", kind.name()).into(),
        is_counter: measure.form() == Form::Increment,
        help: measure.meaning(),
        operation: None,
        has_size: false,
        divisor,
    }
}

fn with_seconds(name: &str) -> String {
    format!("{}_seconds", name.strip_suffix("_time").unwrap_or(name))
}

fn of_lustre(component: &Component, measure: Measure) -> Option<Family> {
    let is_counter = measure.form() == Form::Increment;
    let (name, operation, has_size, divisor) = if let Some(name) = lustre_name(measure) {
        ("stats", Some(name), false, 1)
    } else {
        conventional(measure)?
    };
    let is_job = !component.job.is_empty();
    let prefix = match component.kind {
        _ if is_job => "lustre_job_",
        ComponentKind::SeenTarget | ComponentKind::Mount => "lustre_client_",
        _ => "lustre_",
    };
    let (help, name) = (measure.meaning(), format!("{prefix}{name}").into());
    // One family has all operations, and one help.
    let help = if operation.is_some() { operations_help(measure) } else { help };
    Some(Family { name, is_counter, help, operation, has_size, divisor })
}

fn operations_help(measure: Measure) -> &'static str {
    match measure {
        _ if lustre_name(measure).is_some() => "Operations, by name.",
        Measure::ReadSizes | Measure::WriteSizes => "Disk I/O, by its size in bytes at most.",
        _ => "Requests or disk I/O, by what the label size counts.",
    }
}

/// The name, the operation, whether there are sizes, and what values are divided by.
fn conventional(measure: Measure) -> Option<(&'static str, Option<&'static str>, bool, u64)> {
    let of_size = |name, operation| (name, Some(operation), true, 1);
    let plain = |name| (name, None, false, 1);
    let kib = |name| (name, None, false, 1024);
    Some(match measure {
        Measure::ReadBytes => plain("read_bytes"),
        Measure::WrittenBytes => plain("write_bytes"),
        Measure::ReadOperations => plain("read_samples"),
        Measure::WriteOperations => plain("write_samples"),
        Measure::ReadSizes => of_size("disk_io", "read"),
        Measure::WriteSizes => of_size("disk_io", "write"),
        Measure::ReadPages => of_size("pages_per_bulk_rw", "read"),
        Measure::WritePages => of_size("pages_per_bulk_rw", "write"),
        Measure::ReadPageGaps => of_size("discontiguous_pages", "read"),
        Measure::WritePageGaps => of_size("discontiguous_pages", "write"),
        Measure::ReadBlockGaps => of_size("discontiguous_blocks", "read"),
        Measure::WriteBlockGaps => of_size("discontiguous_blocks", "write"),
        Measure::ReadFragments => of_size("dio_frags", "read"),
        Measure::WriteFragments => of_size("dio_frags", "write"),
        Measure::ReadsInFlight => of_size("disk_io_in_flight", "read"),
        Measure::WritesInFlight => of_size("disk_io_in_flight", "write"),
        Measure::ReadMilliseconds => of_size("io_time_milliseconds", "read"),
        Measure::WriteMilliseconds => of_size("io_time_milliseconds", "write"),
        Measure::ReadMapMilliseconds => of_size("block_maps_milliseconds", "read"),
        Measure::WriteMapMilliseconds => of_size("block_maps_milliseconds", "write"),
        Measure::CapacityBytes => kib("capacity_kilobytes"),
        Measure::FreeBytes => kib("free_kilobytes"),
        Measure::AvailableBytes => kib("available_kilobytes"),
        Measure::Inodes => plain("inodes_maximum"),
        Measure::FreeInodes => plain("inodes_free"),
        Measure::Exports => plain("exports"),
        Measure::ClientDirtyBytes => plain("exports_dirty_bytes"),
        Measure::GrantedBytes => plain("exports_granted_bytes"),
        Measure::PendingBytes => plain("exports_pending_bytes"),
        Measure::Evictions => plain("evictions"),
        Measure::CacheAccesses => plain("cache_access"),
        Measure::CacheHits => plain("cache_hit"),
        Measure::CacheMisses => plain("cache_miss"),
        Measure::IsPresent => plain("target_present"),
        Measure::IsDegraded => plain("degraded"),
        Measure::IsRecovering => plain("recovering"),
        Measure::IsConnected => plain("connected"),
        Measure::InFlight => plain("requests_in_flight"),
        Measure::IsHealthy => plain("health_healthy"),
        Measure::LustreMemoryBytes => plain("mem_used"),
        Measure::LnetMemoryBytes => plain("lnet_mem_used"),
        Measure::Requests => plain("service_requests"),
        Measure::RequestWaitTime => ("service_request_wait_seconds", None, false, 1_000_000),
        Measure::SentMessages => plain("send_count"),
        Measure::ReceivedMessages => plain("receive_count"),
        Measure::RoutedMessages => plain("route_count"),
        Measure::DroppedMessages => plain("drop_count"),
        Measure::SentBytes => plain("send_bytes"),
        Measure::ReceivedBytes => plain("receive_bytes"),
        Measure::RoutedBytes => plain("route_bytes"),
        Measure::DroppedBytes => plain("drop_bytes"),
        Measure::NetworkErrors => plain("lnet_errors"),
        Measure::MessagesAllocated => plain("lnet_messages"),
        _ => return None,
    })
}
