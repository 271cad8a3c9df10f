//! The histograms of `brw_stats` and `rpc_stats`.

/// Which histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Histogram {
    /// Pages of a bulk request.
    PagesPerBulk,
    /// Gaps in a request's file offsets.
    DiscontiguousPages,
    /// Gaps in a request's blocks on the disk.
    DiscontiguousBlocks,
    /// Pieces that a request was cut into.
    DiskFragments,
    /// Disk I/Os under way when another began.
    DiskInFlight,
    /// Milliseconds that a disk I/O took.
    DiskTime,
    /// Bytes of a disk I/O.
    DiskSize,
    /// Milliseconds in which blocks were mapped.
    BlockMapTime,
    /// Pages of a client's request.
    PagesPerRequest,
    /// Requests of a client under way when another began.
    RequestsInFlight,
    /// Offset of a client's request in pages.
    Offset,
}

impl Histogram {
    /// All histograms, with the words at the head of each (brw_props in obdclass, osc_rpc_stats_seq_show in osc).
    const HEADS: [(&'static [u8], Histogram); 11] = [
        (b"pages per bulk r/w", Histogram::PagesPerBulk),
        (b"discontiguous pages", Histogram::DiscontiguousPages),
        (b"discontiguous blocks", Histogram::DiscontiguousBlocks),
        (b"disk fragmented I/Os", Histogram::DiskFragments),
        (b"disk I/Os in flight", Histogram::DiskInFlight),
        (b"I/O time (1/1000s)", Histogram::DiskTime),
        (b"disk I/O size", Histogram::DiskSize),
        (b"block maps msec", Histogram::BlockMapTime),
        (b"pages per rpc", Histogram::PagesPerRequest),
        (b"rpcs in flight", Histogram::RequestsInFlight),
        (b"offset", Histogram::Offset),
    ];

    /// Returns the histogram whose head this line is.
    pub(crate) fn of_head(line: &[u8]) -> Option<Histogram> {
        let head = Self::HEADS.iter().find(|(words, _)| line.starts_with(words));
        head.map(|(_, histogram)| *histogram)
    }
}

/// A bin of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bin {
    /// The largest value that it counts where values double from bin to bin, else the value.
    ///
    /// Lustre counts in the first bin whose value is not less (lprocfs_oh_tally_log2 in obdclass); the last bin
    /// takes what is larger.
    pub upper: u64,
    /// Reads in it.
    pub reads: u64,
    /// Writes in it.
    pub writes: u64,
}
