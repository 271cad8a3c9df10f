/// How to analyse. The defaults are what `plimsoll report` uses.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Threads that read processes side by side; results are the same for any number.
    pub threads: usize,
    /// Bytes of a stripe, for the share of requests that do not fit stripes.
    pub stripe_bytes: u64,
    /// Gaps between data calls that are shorter than this part of the span do not end a phase.
    pub phase_gap_share: f64,
    /// Files, by time spent on them, that get histograms, samples and perceived bandwidths.
    pub detailed_files: usize,
    /// Slowest MPI calls that are kept with what happened inside them.
    pub slow_calls: usize,
    /// Files of the runtime (MPI's shared memory, libraries, byte code, locale) count as the
    /// program's own.
    pub include_runtime: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            threads: 2,
            // Lustre's default stripe, and what most parallel file systems move at once.
            stripe_bytes: 1 << 20,
            phase_gap_share: 0.01,
            detailed_files: 256,
            slow_calls: 16,
            include_runtime: false,
        }
    }
}
