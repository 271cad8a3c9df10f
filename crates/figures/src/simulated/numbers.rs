//! The numbers that `plimsoll simulate` prints.

use plimsoll_report::numbers;

numbers! {
    MAKESPAN = "makespan", "makespan", Seconds, "Time until everything of every process is durable: the median over the seeds. Null, like everything derived from it, where a seed lost something.", "simulated";
    MAKESPAN_LOW = "makespan_low", "lower quartile", Seconds, "Lower quartile of the makespan over the seeds.", "simulated";
    MAKESPAN_HIGH = "makespan_high", "upper quartile", Seconds, "Upper quartile of the makespan over the seeds.", "simulated";
    MAKESPAN_MEAN = "makespan_mean", "mean", Seconds, "Mean of the makespan over the seeds.", "Huang, section 4: mu";
    MAKESPAN_DEVIATION = "makespan_deviation", "deviation", Seconds, "Standard deviation of the makespan over the seeds (n - 1); null for one seed.", "Huang, section 4: sigma";
    MAKESPAN_CV = "makespan_cv", "c_v over seeds", Ratio, "Deviation of the makespan over the seeds over its mean; null for one seed.", "Huang, section 4: c_v";
    FLUID_BOUND = "fluid_bound", "least possible time", Seconds, "All data over all bandwidth that noise leaves, integrated over time with the noise of the seed, each burst after its compute and each block after what its process computed before it (think): no placement is faster. The median over the seeds. Where our share grows with what is in flight (sharing = \"stream\", or first in, first out), noise streams count as none. Where requests cost something, one of each node and burst counts. Null with faults.", "sum of D_i over sum of B_i";
    OF_BOUND = "of_bound", "times the least possible", Ratio, "Makespan over the least possible time (the fluid bound) of the same seed: the median over the seeds.", "simulated";
    STATIC_MAKESPAN = "static_makespan", "static makespan", Seconds, "Makespan when every process writes to its own targets, same seeds: the median.", "simulated";
    SPEEDUP = "speedup", "times as fast as static", Ratio, "Static makespan over the makespan of the same seed: the median over the seeds.", "simulated";
    CV = "cv", "c_v of processes", Ratio, "Deviation over mean of the completion times of the processes of a run: the median over the seeds.", "Huang, section 4";
    PROCESS_MEAN = "process_mean", "process, mean", Seconds, "Mean completion time of the processes: the median over the seeds.", "simulated";
    PROCESS_P95 = "process_p95", "95 % of processes", Seconds, "Time by which 95 % of the processes are done: the median over the seeds.", "Xie, figure 19";
    STRAGGLER_GAIN = "straggler_gain", "without the slowest", Ratio, "Completion of the last process over that of the one before: what the run would gain if the slowest kept up. The median over the seeds.", "Xie, figure 21";
    STRAGGLER_GAIN_ALL = "straggler_gain_all", "without stragglers", Ratio, "Completion of the last process over that of the first. The median over the seeds.", "Xie, figure 21";
    MOVED = "moved_bytes", "moved", Bytes, "Bytes on targets beyond what they would hold without routing: the median over the seeds.", "Huang, section 3.3";
    WASTED = "wasted_bytes", "written twice", Bytes, "Bytes of second attempts that were not needed in the end: the median over the seeds.", "simulated";
    LOST = "lost_bytes", "lost", Bytes, "Bytes that never became durable, lost with a process or a target, or never written because their process had died: the most that a seed lost.", "simulated";
    MESSAGES = "messages", "messages", Count, "Messages between the machines of the router: the median over the seeds.", "Huang, section 5.4";
    COORDINATOR = "coordinator_messages", "at the coordinator", Count, "Messages that the coordinator sends or receives; 0 for a router without one.", "Huang, figure 13";
    BUSIEST = "busiest_messages", "at the busiest", Count, "Messages that the busiest machine sends or receives.", "Huang, section 5.4";
    MESSAGE_RATE = "busiest_message_rate", "at the busiest, per s", Count, "Messages that the busiest machine sends or receives, over the makespan.", "Huang, figure 13";
    MESSAGE_COUNT = "count", "messages", Count, "Messages of one type, sent in the run with the first seed.", "Huang, figure 5";
    READ = "read_makespan", "read-back", Seconds, "Time to read everything back from where it lies with all targets quiet: the fullest target for its rate. The median over the seeds.", "Huang, section 3.3";
    IMBALANCE = "imbalance", "imbalance", Ratio, "Bytes on the fullest target over the mean of all targets.", "simulated";
    EAB = "eab", "EAB", Ratio, "Effective aggregate bandwidth: all bytes over the makespan and over the rate of all targets.", "Xie, section 3";
    BANDWIDTH = "bandwidth", "bandwidth", BytesPerSec, "All bytes over the makespan: the median over the seeds.", "simulated";
    MEAN_DELAY = "mean_delay", "delay, mean", Seconds, "Mean time from handing over a byte until it is durable: the median over the seeds. Only where processes compute between blocks (think).", "M/G/1-PS: S over 1 - rho";
    PROGRAM_TIME = "program_time", "program", Seconds, "Time until every process could continue after the last burst: how long the program takes, with its compute. Data may still be on its way from caches or buffers. The median over the seeds.", "Huang, figure 17";
    STALL_MEAN = "stall_mean", "wait, mean", Seconds, "Mean over the bursts of the time that the program waits: the median over the seeds.", "Huang, figure 18 (a)";
    STALL_MOST = "stall_most", "wait, longest", Seconds, "The longest wait of a burst: the median over the seeds.", "Huang, figure 18 (a)";
    STALL_CV = "stall_cv", "c_v of waits", Ratio, "Deviation over mean of the waits of the bursts of a run: the median over the seeds.", "Huang, figure 18 (b)";
    STALL = "stall", "wait a burst", Seconds, "Time that the program waits in its last burst until what is left fits its caches, or until all is in the buffers.", "Xie, section 2.1";
    EFFICIENCY = "efficiency", "efficiency", Ratio, "Compute time over the time until the program could continue after its last burst.", "Xie, section 2.1";
    EVENTS = "events", "events", Count, "Inputs that the router's machines handled in one run: the median over the seeds.", "simulated";
    SEED = "seed", "first seed", Count, "Seed of the first run; the others follow it.", "given";
    SEEDS = "seeds", "seeds", Count, "Number of runs, n.", "given";
    PROCESSES = "processes", "processes", Count, "Processes that write.", "given";
    TARGETS = "targets", "targets", Count, "Targets.", "given";
    DATA = "data", "data", Bytes, "Bytes that all processes write in all bursts.", "given";
    TF_OPTIMUM = "throttling_factor", "optimal TF", Ratio, "Throttling factor at which all targets finish together; null where equation 1 does not apply.", "Huang, eq. 1";
    VALUE = "value", "value", Count, "Value of the parameter that the sweep changes, in its base unit.", "given";
    ACROSS = "across", "across", Count, "Value of the second parameter that the sweep changes, in its base unit.", "given";
    TARGET = "target", "target", Count, "Number of the target, from 0.", "given";
    TARGET_BYTES = "bytes", "holds", Bytes, "Bytes on the target at the end of the run with the first seed.", "simulated";
    TARGET_END = "end", "last commit", Seconds, "When something was last committed on the target; null if nothing was.", "simulated";
    TARGET_BUSY = "busy", "busy", Seconds, "Time during which the target had at least one of our writes.", "simulated";
    FUZZ_RUNS = "runs", "runs", Count, "Random scenarios that were run; each run checks its bytes and time integrals, and that it ends.", "given";
    FUZZ_FAILED = "failed", "failed", Count, "Runs whose totals were inconsistent or that did not end.", "simulated";
}
