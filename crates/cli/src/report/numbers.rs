//! The numbers of a report.

use plimsoll_report::{Number, Unit};

macro_rules! numbers {
    ($($name:ident = $key:literal, $label:literal, $unit:ident, $meaning:literal, $source:literal;)*) => {
        $(pub const $name: Number = Number::new($key, $label, Unit::$unit, $meaning, $source);)*
        /// Everything that this command prints.
        pub const NUMBERS: &[&Number] = &[$(&$name,)*];
    };
}

numbers! {
    SPAN = "span_seconds", "wall time", Seconds, "From the first process's start to the last known moment of any.", "recording";
    PROCESSES = "processes", "processes", Count, "Processes that made a call, or that used a file, ran on a node or ran a program.", "recording";
    KNOWN_PROCESSES = "known_processes", "processes known", Count, "Processes that are known to have run, recorded or not. A process that becomes another program counts once.", "recording";
    UNSEEN_PROCESSES = "unseen_processes", "processes not recorded", Count, "Processes that could not be recorded, for a part of their life at least.", "programs that recorded processes started";
    FOLDED_FILES = "folded_files", "files added up", Count, "Files beyond those that are told apart: their calls are added up as one file. Counted up to 1,048,576.", "recording";
    EVENTS = "events", "calls recorded", Count, "Calls that were recorded.", "recording";
    LOST = "lost_events", "calls lost", Count, "Calls that the recorder could not record and counted.", "recording";
    CLOCK_ERROR = "clock_error_seconds", "clock error", Seconds, "How far clocks of different nodes may be apart after alignment: 0 on one node, missing when it cannot be known.", "spread of barrier exits";
    CALLS = "calls", "calls", Count, "Calls, failed ones included.", "recording";
    ERRORS = "errors", "errors", Count, "Calls that failed.", "recording";
    BYTES = "bytes", "bytes", Bytes, "Bytes that were moved.", "recording";
    SECONDS = "seconds", "time in calls", Seconds, "Sum of the durations of calls over all processes and threads.", "recording";
    IO_SECONDS = "io_seconds", "I/O time", Seconds, "Time in calls of the program itself: those inside MPI-IO calls count once.", "recording";
    COST = "cost_seconds", "cost", Seconds, "Estimated time that the finding costs; how is said in its evidence.", "finding";
    PERCEIVED = "perceived", "perceived", BytesPerSec, "Bytes over the wall time during which at least one process is inside a data call, on the uppermost layer that moves data.", "ours; Wright, section 4.2.1";
    PERCEIVED_MPI = "perceived_mpi", "perceived, MPI-IO", BytesPerSec, "The same for MPI-IO calls.", "ours";
    PERCEIVED_POSIX = "perceived_posix", "perceived, POSIX", BytesPerSec, "The same for POSIX calls.", "ours";
    EFFECTIVE_MPI = "effective_mpi", "effective, MPI-IO", BytesPerSec, "Bytes over the sum of durations of MPI-IO data calls over all ranks; missing without any.", "Wright, section 4.2.1";
    EFFECTIVE_STDIO = "effective_stdio", "effective, stdio", BytesPerSec, "The same for stdio calls.", "Wright, section 4.2.1";
    EFFECTIVE_POSIX = "effective_posix", "effective, POSIX", BytesPerSec, "The same for POSIX calls.", "Wright, section 4.2.1";
    FIRST_TO_LAST = "first_to_last", "first to last", BytesPerSec, "Bytes over the wall time from the first start to the last end of a data call, on the uppermost layer that moves data.", "ours";
    READERS = "readers", "readers", Count, "Processes that read a file.", "recording";
    WRITERS = "writers", "writers", Count, "Processes that wrote a file.", "recording";
    READ_BYTES = "read_bytes", "read", Bytes, "Bytes read by the program itself.", "recording";
    WRITTEN_BYTES = "written_bytes", "written", Bytes, "Bytes written by the program itself.", "recording";
    SHARE = "share", "share", Ratio, "Part of the whole.", "recording";
    SIZE_FROM = "from_bytes", "from", Bytes, "Smallest request of a class; the next class begins at twice as much.", "recording";
    SEQUENTIAL = "sequential", "sequential", Ratio, "Share of requests that begin where the process's last one on the file ended.", "recording";
    STRIDED = "strided", "strided", Ratio, "Share of requests at a constant distance from the last one.", "recording";
    RANDOM = "random", "random", Ratio, "Share of all other requests.", "recording";
    UNALIGNED = "unaligned", "unaligned to pages", Ratio, "Share of POSIX requests that do not begin and end on page boundaries.", "recording";
    REPEATED = "repeated", "touched again", Ratio, "Share of bytes that the same process had touched before in the same file.", "recording";
    START = "start_seconds", "from", Seconds, "When it begins, since the beginning of the recording.", "recording";
    END = "end_seconds", "to", Seconds, "When it ends.", "recording";
    SCORE = "score", "modified Z", Ratio, "Modified Z score of a rank's I/O time.", "Iglewicz and Hoaglin";
}
