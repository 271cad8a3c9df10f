//! The numbers of a report.

use plimsoll_report::numbers;

numbers! {
    RANKS = "mpi_ranks", "ranks", Count, "Processes that have a rank in MPI_COMM_WORLD; missing without MPI.", "recording";
    PROCESSES = "processes", "processes", Count, "Processes that made a call, or that used a file, ran on a node or ran a program; a process that replaced itself with another program counts once.", "recording";
    SPAN = "span_seconds", "wall time", Seconds, "From the start of the first process to the last known moment of any process.", "recording";
    KNOWN_PROCESSES = "known_processes", "processes known", Count, "Processes that are known to have run, recorded or not. A process that becomes another program counts once.", "recording";
    UNSEEN_PROCESSES = "unseen_processes", "processes not recorded", Count, "Processes that could not be recorded for at least a part of their lifetime.", "programs that recorded processes started";
    FOLDED_FILES = "folded_files", "files added up", Count, "Files beyond those that are shown separately: their calls are added up as one file. Counted up to 1,048,576.", "recording";
    GATHERED_PROCESSES = "gathered_processes", "processes read", Count, "Processes whose calls are in a summary of a part.", "recording";
    EVENTS = "events", "calls recorded", Count, "Calls that were recorded.", "recording";
    LOST = "lost_events", "calls lost", Count, "Calls that the recorder could not record and counted.", "recording";
    CLOCK_ERROR = "clock_error_seconds", "clock error", Seconds, "Largest possible difference between the clocks of different nodes after alignment: 0 on one node, missing when it cannot be known.", "spread of barrier exits";
    IO_PROCESSES = "io_processes", "processes that take part", Count, "Ranks, and other processes with at least a tenth of the I/O time of the busiest one; without ranks, processes with at least a hundredth of that time, or of their own lifetime, in I/O. Launchers and waiting shells have less.", "recording";
    IO_SHARE = "share_of_run_time", "share of run time", Share, "Time inside I/O calls of the program itself over wall time, added up over the processes that take part, each from its start to its end. Threads of a process that are inside calls at the same time count once. Calls on files of the runtime do not count.", "ours";
    MEDIAN_SHARE = "median_share", "median process", Share, "Median of the processes' shares of I/O in their run time.", "ours";
    SLOWEST_SHARE = "slowest_share", "its share", Share, "Share of I/O in the run time of the process with the most I/O time.", "ours";
    CALLS = "calls", "calls", Count, "Calls, failed ones included.", "recording";
    ERRORS = "errors", "errors", Count, "Calls that failed.", "recording";
    BYTES = "bytes", "bytes", Bytes, "Bytes that were moved.", "recording";
    SECONDS = "seconds", "time in calls", Seconds, "Sum of the durations of calls over all processes and threads.", "recording";
    IO_SECONDS = "io_seconds", "I/O time", Seconds, "Time in calls of the program itself: those inside MPI-IO calls count once.", "recording";
    LOGS = "logs", "logs", Count, "Logs of containers on a target that were read or written.", "recording";
    LOG_WRITTEN_BYTES = "log_written_bytes", "written", Bytes, "Bytes written to the logs of a target: what the program wrote, and what says where it lies.", "recording";
    LOG_READ_BYTES = "log_read_bytes", "read", Bytes, "Bytes read from the logs of a target.", "recording";
    LOG_WRITES = "log_writes", "writes", Count, "Writes to the logs of a target, with those that say what a log holds.", "recording";
    LOG_WRITE_SECONDS = "log_write_seconds", "writing", Seconds, "Time of writing to the logs of a target, over all processes. It is a part of the calls of the program, as are waiting, syncing and reading.", "recording";
    LOG_WAIT_SECONDS = "log_wait_seconds", "waiting", Seconds, "Time in which writers waited until the storage took more, by the target that their next bytes went to then.", "recording";
    LOG_SYNC_SECONDS = "log_sync_seconds", "syncing", Seconds, "Time of making logs of a target durable, over all processes.", "recording";
    LOG_READ_SECONDS = "log_read_seconds", "reading", Seconds, "Time of reading the logs of a target, over all processes.", "recording";
    COST = "cost_seconds", "cost", Seconds, "Estimated run time that the change would save: the time that all processes spent on the fault over the number of processes that share it, weighted by their parts so that helpers with almost none of it do not count.", "finding";
    PERCEIVED = "perceived", "perceived", BytesPerSec, "Bytes over the wall time during which at least one process reads; or writes, makes what it wrote durable (fsync and similar calls, fflush) or closes a file that it wrote. Calls that the program makes itself, on the layer that moved most bytes of the direction.", "ours; Wright, section 4.2.1";
    DATA_ONLY = "data_only", "data only", BytesPerSec, "The same without the calls that make writes durable: what a cache takes.", "ours";
    FIRST_TO_LAST = "first_to_last", "first to last", BytesPerSec, "Bytes over the wall time from the first start to the last end of the calls of the perceived bandwidth, without the files that begin first and those that end last, as long as they have at most a thousandth of the bytes (logs).", "ours";
    EFFECTIVE_MPI = "effective_mpi", "effective, MPI-IO", BytesPerSec, "Bytes over the sum of durations of MPI-IO data calls over all ranks; missing when they moved less than half of the bytes.", "Wright, section 4.2.1";
    EFFECTIVE_POSIX = "effective_posix", "effective, POSIX", BytesPerSec, "The same for POSIX data calls, those inside MPI-IO included.", "Wright, section 4.2.1";
    MOVED = "moved_bytes", "bytes", Bytes, "Bytes that were moved by calls of the program itself on the layer that moved most.", "recording";
    READERS = "readers", "readers", Count, "Processes that read a file.", "recording";
    WRITERS = "writers", "writers", Count, "Processes that wrote a file.", "recording";
    READ_BYTES = "read_bytes", "read", Bytes, "Bytes read by the program itself.", "recording";
    WRITTEN_BYTES = "written_bytes", "written", Bytes, "Bytes written by the program itself.", "recording";
    READ_RATE = "read_perceived", "reading", BytesPerSec, "Perceived bandwidth of reading a file; missing for files without details.", "ours";
    WRITE_RATE = "write_perceived", "writing", BytesPerSec, "Perceived bandwidth of writing a file until it is durable; missing for files without details.", "ours";
    FILES = "files", "files", Count, "Files of a kind.", "recording";
    SHARE = "share", "share", Share, "Part of the whole.", "recording";
    SIZE = "request_bytes", "size", ExactBytes, "Exact size of requests.", "recording";
    MISSED = "missed_at_most", "missed at most", Count, "Requests of any one size that may be missing from its count, because a process used more sizes than are counted; 0 when counts are exact.", "recording";
    SIZE_FROM = "from_bytes", "from", Bytes, "Smallest request of a class; the next class begins at twice as much.", "recording";
    SEQUENTIAL = "sequential", "sequential", Share, "Share of requests that begin where the process's last one on the file ended.", "recording";
    STRIDED = "strided", "strided", Share, "Share of requests at a constant distance from the last one.", "recording";
    RANDOM = "random", "random", Share, "Share of all other requests.", "recording";
    UNALIGNED = "unaligned", "unaligned to pages", Share, "Share of POSIX requests that do not begin and end on page boundaries.", "recording";
    REPEATED = "repeated", "touched again", Share, "Share of bytes that the same process had touched before in the same file.", "recording";
    START = "start_seconds", "from", Seconds, "When it begins, since the beginning of the recording.", "recording";
    END = "end_seconds", "to", Seconds, "When it ends.", "recording";
    SCORE = "score", "modified Z", Ratio, "Modified Z score of a rank's I/O time.", "Iglewicz and Hoaglin";
}
