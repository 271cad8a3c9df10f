//! What is measured of components: one table of names, units and forms.

/// What kind of number a measure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// A counter. The store keeps by how much it grew, so that sums are right at every resolution.
    Increment,
    /// A state at a moment. At a coarser resolution, the mean.
    Level,
}

/// How finely a measure is kept once it is old.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Aging {
    /// In windows of 5 s: what utilization is worked out from (Uselton, 240 days at five seconds), so that its
    /// distribution does not change with age.
    Windows,
    /// In minutes.
    Minutes,
}

macro_rules! measures {
    ($($variant:ident $name:literal $unit:literal $form:ident $aging:ident $says:literal,)*) => {
        /// A measure of a component. Histograms are a measure whose samples also have a bin.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Measure { $(#[doc = $says] $variant,)* }

        impl Measure {
            /// All of them, in the order of the store.
            pub const ALL: &[Measure] = &[$(Measure::$variant,)*];

            fn facts(self) -> (&'static str, &'static str, Form, Aging, &'static str) {
                match self {
                    $(Measure::$variant => ($name, $unit, Form::$form, Aging::$aging, $says),)*
                }
            }
        }
    };
}

// The names are those of the store: a name never changes its meaning, and new ones may be added at any place.
measures! {
    // Data, of targets and block devices.
    ReadBytes "read_bytes" "bytes" Increment Windows "Bytes read.",
    WrittenBytes "written_bytes" "bytes" Increment Windows "Bytes written.",
    ReadOperations "read_operations" "" Increment Windows "Operations that read.",
    WriteOperations "write_operations" "" Increment Windows "Operations that write.",
    ReadSizes "read_sizes" "" Increment Windows "Reads between server and disk, by size: the bin is the size in bytes that a read has at most.",
    WriteSizes "write_sizes" "" Increment Windows "Writes between server and disk, by size: the bin is the size in bytes that a write has at most.",
    // Further histograms of a Lustre target (brw_stats); bins as printed there.
    ReadPages "read_pages" "" Increment Minutes "Reads by pages of a bulk request.",
    WritePages "write_pages" "" Increment Minutes "Writes by pages of a bulk request.",
    ReadPageGaps "read_page_gaps" "" Increment Minutes "Reads by pages that do not follow each other in the file.",
    WritePageGaps "write_page_gaps" "" Increment Minutes "Writes by pages that do not follow each other in the file.",
    ReadBlockGaps "read_block_gaps" "" Increment Minutes "Reads by blocks that do not follow each other on disk.",
    WriteBlockGaps "write_block_gaps" "" Increment Minutes "Writes by blocks that do not follow each other on disk.",
    ReadFragments "read_fragments" "" Increment Minutes "Reads by the number of disk operations that they became.",
    WriteFragments "write_fragments" "" Increment Minutes "Writes by the number of disk operations that they became.",
    ReadsInFlight "reads_in_flight" "" Increment Minutes "Reads by how many were in flight when they began.",
    WritesInFlight "writes_in_flight" "" Increment Minutes "Writes by how many were in flight when they began.",
    ReadMilliseconds "read_milliseconds" "" Increment Minutes "Reads by the milliseconds that they took at most.",
    WriteMilliseconds "write_milliseconds" "" Increment Minutes "Writes by the milliseconds that they took at most.",
    ReadMapMilliseconds "read_map_milliseconds" "" Increment Minutes "Reads by the milliseconds that mapping their blocks took at most.",
    WriteMapMilliseconds "write_map_milliseconds" "" Increment Minutes "Writes by the milliseconds that mapping their blocks took at most.",
    // The cache and the clients of a Lustre target.
    CacheAccesses "cache_accesses" "pages" Increment Minutes "Pages looked for in the cache of a server.",
    CacheHits "cache_hits" "pages" Increment Minutes "Pages found there.",
    CacheMisses "cache_misses" "pages" Increment Minutes "Pages not found there.",
    ClientDirtyBytes "client_dirty_bytes" "bytes" Level Minutes "Bytes that clients hold and have not written yet.",
    GrantedBytes "granted_bytes" "bytes" Level Minutes "Bytes that clients may hold.",
    PendingBytes "pending_bytes" "bytes" Level Minutes "Bytes of those that are being written.",
    Evictions "evictions" "" Increment Minutes "Clients that were thrown out.",
    // Further counters of block devices (Documentation/admin-guide/iostats.rst of Linux).
    ReadMerges "read_merges" "" Increment Minutes "Reads that were merged into others.",
    WriteMerges "write_merges" "" Increment Minutes "Writes that were merged into others.",
    ReadTime "read_time" "milliseconds" Increment Minutes "Time that reads took, added up over reads.",
    WriteTime "write_time" "milliseconds" Increment Minutes "Time that writes took, added up over writes.",
    BusyTime "busy_time" "milliseconds" Increment Minutes "Time during which anything was in flight.",
    QueueTime "queue_time" "milliseconds" Increment Minutes "Time added up over all that was in flight.",
    DiscardOperations "discard_operations" "" Increment Minutes "Operations that discard.",
    DiscardedBytes "discarded_bytes" "bytes" Increment Minutes "Bytes discarded.",
    FlushOperations "flush_operations" "" Increment Minutes "Operations that flush.",
    FlushTime "flush_time" "milliseconds" Increment Minutes "Time that flushes took.",
    InFlight "in_flight" "" Level Minutes "Operations in flight.",
    // Metadata operations, by name (md_stats, and mdt stats of newer releases).
    Opens "opens" "" Increment Minutes "Files opened.",
    Closes "closes" "" Increment Minutes "Files closed.",
    Creates "creates" "" Increment Minutes "Files made.",
    Mknods "mknods" "" Increment Minutes "Nodes made.",
    Links "links" "" Increment Minutes "Names added.",
    Unlinks "unlinks" "" Increment Minutes "Names removed.",
    Mkdirs "mkdirs" "" Increment Minutes "Directories made.",
    Rmdirs "rmdirs" "" Increment Minutes "Directories removed.",
    Renames "renames" "" Increment Minutes "Names changed.",
    RenamesSameDirectory "renames_same_directory" "" Increment Minutes "Names changed within a directory.",
    RenamesCrossDirectory "renames_cross_directory" "" Increment Minutes "Names moved to another directory.",
    RenamesParallel "renames_parallel" "" Increment Minutes "Names changed without the lock of the file system.",
    Migrations "migrations" "" Increment Minutes "Directories moved to another target.",
    GetAttributes "get_attributes" "" Increment Minutes "Attributes asked for.",
    SetAttributes "set_attributes" "" Increment Minutes "Attributes set.",
    GetExtendedAttributes "get_extended_attributes" "" Increment Minutes "Extended attributes asked for.",
    SetExtendedAttributes "set_extended_attributes" "" Increment Minutes "Extended attributes set.",
    StatFileSystems "stat_file_systems" "" Increment Minutes "Sizes of file systems asked for.",
    Syncs "syncs" "" Increment Minutes "Requests to make durable.",
    Destroys "destroys" "" Increment Minutes "Objects removed.",
    Punches "punches" "" Increment Minutes "Ranges cut out or off.",
    Prealloc "preallocations" "" Increment Minutes "Ranges allocated.",
    Pings "pings" "" Increment Minutes "Questions whether somebody is there.",
    ReadDirectories "read_directories" "" Increment Minutes "Directories read.",
    CrossReads "cross_directory_reads" "" Increment Minutes "Requests that needed another metadata target.",
    OtherOperations "other_operations" "" Increment Minutes "Operations without a name of their own here.",
    // Fullness.
    CapacityBytes "capacity_bytes" "bytes" Level Minutes "Size.",
    FreeBytes "free_bytes" "bytes" Level Minutes "Free.",
    AvailableBytes "available_bytes" "bytes" Level Minutes "Free for users without privileges.",
    Inodes "inodes" "" Level Minutes "Files that fit.",
    FreeInodes "free_inodes" "" Level Minutes "Files that still fit.",
    // Machines.
    CpuBusyTime "cpu_busy_time" "milliseconds" Increment Minutes "Time that processors worked, added up over them; waiting for I/O is not work.",
    CpuTime "cpu_time" "milliseconds" Increment Minutes "Time of all processors, busy or not.",
    CpuWaitTime "cpu_wait_time" "milliseconds" Increment Minutes "Time that processors had nothing to do but wait for I/O.",
    CpuLoad "cpu_load" "millionths" Level Minutes "Share of its processors' time that a machine worked, where only this is known.",
    MemoryBytes "memory_bytes" "bytes" Level Minutes "Memory.",
    MemoryAvailableBytes "memory_available_bytes" "bytes" Level Minutes "Memory that programs can have.",
    DirtyBytes "dirty_bytes" "bytes" Level Minutes "Memory that waits to be written to storage.",
    WritebackBytes "writeback_bytes" "bytes" Level Minutes "Memory that is being written to storage.",
    LustreMemoryBytes "lustre_memory_bytes" "bytes" Level Minutes "Memory that Lustre uses.",
    LnetMemoryBytes "lnet_memory_bytes" "bytes" Level Minutes "Memory that LNet uses.",
    Requests "requests" "" Increment Minutes "Requests that the services of a server took up.",
    RequestWaitTime "request_wait_time" "microseconds" Increment Minutes "Time that requests waited until a service took them up, added up over requests.",
    IoPressureSome "io_pressure_some" "microseconds" Increment Minutes "Time during which something waited for I/O.",
    IoPressureFull "io_pressure_full" "microseconds" Increment Minutes "Time during which everything waited for I/O.",
    CpuPressureSome "cpu_pressure_some" "microseconds" Increment Minutes "Time during which something waited for a processor.",
    MemoryPressureSome "memory_pressure_some" "microseconds" Increment Minutes "Time during which something waited for memory.",
    MemoryPressureFull "memory_pressure_full" "microseconds" Increment Minutes "Time during which everything waited for memory.",
    // States.
    IsPresent "is_present" "" Level Minutes "1 where it is there, 0 where it is absent: known, and not mounted.",
    IsHealthy "is_healthy" "" Level Minutes "1 where it calls itself healthy.",
    IsDegraded "is_degraded" "" Level Minutes "1 where it calls itself degraded.",
    IsRecovering "is_recovering" "" Level Minutes "1 during recovery.",
    IsConnected "is_connected" "" Level Minutes "1 where a client is connected to it.",
    Exports "exports" "" Level Minutes "Clients that are connected.",
    Threads "threads" "" Level Minutes "Service threads that run.",
    // Networks.
    SentBytes "sent_bytes" "bytes" Increment Minutes "Bytes sent.",
    ReceivedBytes "received_bytes" "bytes" Increment Minutes "Bytes received.",
    RoutedBytes "routed_bytes" "bytes" Increment Minutes "Bytes passed on.",
    DroppedBytes "dropped_bytes" "bytes" Increment Minutes "Bytes dropped.",
    SentMessages "sent_messages" "" Increment Minutes "Messages sent.",
    ReceivedMessages "received_messages" "" Increment Minutes "Messages received.",
    RoutedMessages "routed_messages" "" Increment Minutes "Messages passed on.",
    DroppedMessages "dropped_messages" "" Increment Minutes "Messages dropped.",
    NetworkErrors "network_errors" "" Increment Minutes "Errors of the network.",
    MessagesAllocated "messages_allocated" "" Level Minutes "Messages in memory.",
}

impl Measure {
    /// Returns its name in the store.
    pub fn name(self) -> &'static str {
        self.facts().0
    }

    /// Returns the unit of its values; empty for what is only counted.
    pub fn unit(self) -> &'static str {
        self.facts().1
    }

    /// Returns what kind of number it is.
    pub fn form(self) -> Form {
        self.facts().2
    }

    /// Returns how finely it is kept once it is old.
    pub fn aging(self) -> Aging {
        self.facts().3
    }

    /// Returns whether its samples have bins.
    pub fn is_histogram(self) -> bool {
        (Measure::ReadSizes..=Measure::WriteMapMilliseconds).contains(&self)
    }

    /// Returns whether it counts operations of metadata by name.
    pub fn is_metadata(self) -> bool {
        (Measure::Opens..=Measure::OtherOperations).contains(&self)
    }

    /// Returns what it is, in a sentence.
    pub fn meaning(self) -> &'static str {
        self.facts().4
    }

    /// Returns the measure of that name in the store.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|measure| measure.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_measures() {
        for measure in Measure::ALL {
            assert_eq!(Measure::named(measure.name()), Some(*measure), "{}", measure.name());
            let is_plain = |it: u8| it.is_ascii_lowercase() || it == b'_';
            assert!(measure.name().bytes().all(is_plain), "{}", measure.name());
        }
        assert_eq!(Measure::named("bytes"), None);
    }
}
