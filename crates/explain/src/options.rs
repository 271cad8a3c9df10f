//! Choices that an analysis has.

use plimsoll_stored::{Malformed, Reader, Stored};

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

/// All but the number of threads, which changes nothing.
impl Stored for Options {
    fn put(&self, out: &mut Vec<u8>) {
        self.stripe_bytes.put(out);
        self.phase_gap_share.put(out);
        self.detailed_files.put(out);
        self.slow_calls.put(out);
        self.include_runtime.put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Options {
            threads: Options::default().threads,
            stripe_bytes: Stored::get(from)?,
            phase_gap_share: Stored::get(from)?,
            detailed_files: Stored::get(from)?,
            slow_calls: Stored::get(from)?,
            include_runtime: Stored::get(from)?,
        })
    }
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
