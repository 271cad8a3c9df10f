//! The numbers that `plimsoll simulate` prints.

use plimsoll_report::{Number, Unit};

const fn number(
    key: &'static str,
    label: &'static str,
    unit: Unit,
    meaning: &'static str,
    source: &'static str,
) -> Number {
    Number::new(key, label, unit, meaning, source)
}

pub const MAKESPAN: Number = number(
    "makespan",
    "makespan",
    Unit::Seconds,
    "Time until everything of every process is durable: the median over the seeds. Null, as all that follows \
     from it, where a seed lost something.",
    "simulated",
);
pub const MAKESPAN_LOW: Number = number(
    "makespan_low",
    "lower quartile",
    Unit::Seconds,
    "Lower quartile of the makespan over the seeds.",
    "simulated",
);
pub const MAKESPAN_HIGH: Number = number(
    "makespan_high",
    "upper quartile",
    Unit::Seconds,
    "Upper quartile of the makespan over the seeds.",
    "simulated",
);
pub const MAKESPAN_MEAN: Number = number(
    "makespan_mean",
    "mean",
    Unit::Seconds,
    "Mean of the makespan over the seeds.",
    "Huang, section 4: mu",
);
pub const MAKESPAN_DEVIATION: Number = number(
    "makespan_deviation",
    "deviation",
    Unit::Seconds,
    "Standard deviation of the makespan over the seeds (n - 1); null for one seed.",
    "Huang, section 4: sigma",
);
pub const MAKESPAN_CV: Number = number(
    "makespan_cv",
    "c_v over seeds",
    Unit::Ratio,
    "Deviation of the makespan over the seeds over its mean; null for one seed.",
    "Huang, section 4: c_v",
);
pub const FLUID_BOUND: Number = number(
    "fluid_bound",
    "fluid bound",
    Unit::Seconds,
    "All data over all bandwidth that noise leaves, integrated over time with the noise of the seed, \
     each burst after its compute: no placement is faster. The median over the seeds. Where our \
     share grows with what is in flight (sharing = \"stream\", or first in, first out), noise streams count as \
     none. Null with faults.",
    "sum of D_i over sum of B_i",
);
pub const OF_BOUND: Number = number(
    "of_bound",
    "of the bound",
    Unit::Ratio,
    "Makespan over the fluid bound of the same seed: the median over the seeds.",
    "simulated",
);
pub const STATIC_MAKESPAN: Number = number(
    "static_makespan",
    "static makespan",
    Unit::Seconds,
    "Makespan when every process writes to its own targets, same seeds: the median.",
    "simulated",
);
pub const SPEEDUP: Number = number(
    "speedup",
    "static over it",
    Unit::Ratio,
    "Static makespan over the makespan of the same seed: the median over the seeds.",
    "simulated",
);
pub const CV: Number = number(
    "cv",
    "c_v of processes",
    Unit::Ratio,
    "Deviation over mean of the completion times of the processes of a run: the median over the seeds.",
    "Huang, section 4",
);
pub const PROCESS_MEAN: Number = number(
    "process_mean",
    "process, mean",
    Unit::Seconds,
    "Mean completion time of the processes: the median over the seeds.",
    "simulated",
);
pub const PROCESS_P95: Number = number(
    "process_p95",
    "95 % of processes",
    Unit::Seconds,
    "Time by which 95 % of the processes are done: the median over the seeds.",
    "Xie, figure 19",
);
pub const STRAGGLER_GAIN: Number = number(
    "straggler_gain",
    "without the slowest",
    Unit::Ratio,
    "Completion of the last process over that of the one before: what the run would gain if the \
     slowest kept up. The median over the seeds.",
    "Xie, figure 21",
);
pub const STRAGGLER_GAIN_ALL: Number = number(
    "straggler_gain_all",
    "without stragglers",
    Unit::Ratio,
    "Completion of the last process over that of the first. The median over the seeds.",
    "Xie, figure 21",
);
pub const MOVED: Number = number(
    "moved_bytes",
    "moved",
    Unit::Bytes,
    "Bytes on targets beyond what they would hold without routing: the median over the seeds.",
    "Huang, section 3.3",
);
pub const WASTED: Number = number(
    "wasted_bytes",
    "written twice",
    Unit::Bytes,
    "Bytes of second attempts that were not needed in the end: the median over the seeds.",
    "simulated",
);
pub const LOST: Number = number(
    "lost_bytes",
    "lost",
    Unit::Bytes,
    "Bytes that never got durable, lost with a process or a target, or never written because their process \
     had died: the most that a seed lost.",
    "simulated",
);
pub const MESSAGES: Number = number(
    "messages",
    "messages",
    Unit::Count,
    "Messages between the machines of the router: the median over the seeds.",
    "Huang, section 5.4",
);
pub const COORDINATOR: Number = number(
    "coordinator_messages",
    "at the coordinator",
    Unit::Count,
    "Messages that the coordinator sends or receives; 0 for a router without one.",
    "Huang, figure 13",
);
pub const BUSIEST: Number = number(
    "busiest_messages",
    "at the busiest",
    Unit::Count,
    "Messages that the busiest machine sends or receives.",
    "Huang, section 5.4",
);
pub const MESSAGE_RATE: Number = number(
    "busiest_message_rate",
    "at the busiest, per s",
    Unit::Count,
    "Messages that the busiest machine sends or receives, over the makespan.",
    "Huang, figure 13",
);
pub const MESSAGE_COUNT: Number = number(
    "count",
    "messages",
    Unit::Count,
    "Messages of one type, sent in the run with the first seed.",
    "Huang, figure 5",
);
pub const READ: Number = number(
    "read_makespan",
    "read-back",
    Unit::Seconds,
    "Time to read everything back from where it lies with all targets quiet: the fullest target \
     for its rate. The median over the seeds.",
    "Huang, section 3.3",
);
pub const IMBALANCE: Number = number(
    "imbalance",
    "imbalance",
    Unit::Ratio,
    "Bytes on the fullest target over the mean of all targets.",
    "simulated",
);
pub const EAB: Number = number(
    "eab",
    "EAB",
    Unit::Ratio,
    "Effective aggregate bandwidth: all bytes over the makespan and over the rate of all targets.",
    "Xie, section 3",
);
pub const BANDWIDTH: Number = number(
    "bandwidth",
    "bandwidth",
    Unit::BytesPerSec,
    "All bytes over the makespan: the median over the seeds.",
    "simulated",
);
pub const STALL: Number = number(
    "stall",
    "wait a burst",
    Unit::Seconds,
    "Time that the program waits in its last burst until what is left fits its caches.",
    "Xie, section 2.1",
);
pub const EFFICIENCY: Number = number(
    "efficiency",
    "efficiency",
    Unit::Ratio,
    "Compute time over the time until the program could go on after its last burst.",
    "Xie, section 2.1",
);
pub const EVENTS: Number = number(
    "events",
    "events",
    Unit::Count,
    "Inputs that the router's machines handled in one run: the median over the seeds.",
    "simulated",
);
pub const SEED: Number = number(
    "seed",
    "first seed",
    Unit::Count,
    "Seed of the first run; the others follow it.",
    "given",
);
pub const SEEDS: Number = number("seeds", "seeds", Unit::Count, "Number of runs, n.", "given");
pub const PROCESSES: Number =
    number("processes", "processes", Unit::Count, "Processes that write.", "given");
pub const TARGETS: Number = number("targets", "targets", Unit::Count, "Targets.", "given");
pub const DATA: Number =
    number("data", "data", Unit::Bytes, "Bytes that all processes write in all bursts.", "given");
pub const TF_OPTIMUM: Number = number(
    "throttling_factor",
    "optimal TF",
    Unit::Ratio,
    "Throttling factor at which all targets finish together; null where equation 1 does not apply.",
    "Huang, eq. 1",
);
pub const VALUE: Number = number(
    "value",
    "value",
    Unit::Count,
    "Value of the parameter that the sweep changes, in its base unit.",
    "given",
);
pub const ACROSS: Number = number(
    "across",
    "across",
    Unit::Count,
    "Value of the second parameter that the sweep changes, in its base unit.",
    "given",
);
pub const TARGET: Number =
    number("target", "target", Unit::Count, "Number of the target, from 0.", "given");
pub const TARGET_BYTES: Number = number(
    "bytes",
    "holds",
    Unit::Bytes,
    "Bytes on the target at the end of the run with the first seed.",
    "simulated",
);
pub const TARGET_END: Number = number(
    "end",
    "last commit",
    Unit::Seconds,
    "When something was last committed on the target; null if nothing was.",
    "simulated",
);
pub const TARGET_BUSY: Number = number(
    "busy",
    "busy",
    Unit::Seconds,
    "Time during which the target had writes of ours.",
    "simulated",
);
pub const FUZZ_RUNS: Number = number(
    "runs",
    "runs",
    Unit::Count,
    "Random scenarios that were run; each checks bytes, time integrals and that it ends.",
    "given",
);
pub const FUZZ_FAILED: Number = number(
    "failed",
    "failed",
    Unit::Count,
    "Runs in which something did not add up or did not end.",
    "simulated",
);

/// Everything that this command prints.
pub static NUMBERS: &[&Number] = &[
    &MAKESPAN,
    &MAKESPAN_LOW,
    &MAKESPAN_HIGH,
    &MAKESPAN_MEAN,
    &MAKESPAN_DEVIATION,
    &MAKESPAN_CV,
    &FLUID_BOUND,
    &OF_BOUND,
    &STATIC_MAKESPAN,
    &SPEEDUP,
    &CV,
    &PROCESS_MEAN,
    &PROCESS_P95,
    &STRAGGLER_GAIN,
    &STRAGGLER_GAIN_ALL,
    &MOVED,
    &WASTED,
    &LOST,
    &MESSAGES,
    &COORDINATOR,
    &BUSIEST,
    &MESSAGE_RATE,
    &MESSAGE_COUNT,
    &READ,
    &IMBALANCE,
    &EAB,
    &BANDWIDTH,
    &STALL,
    &EFFICIENCY,
    &EVENTS,
    &SEED,
    &SEEDS,
    &PROCESSES,
    &TARGETS,
    &DATA,
    &TF_OPTIMUM,
    &VALUE,
    &ACROSS,
    &TARGET,
    &TARGET_BYTES,
    &TARGET_END,
    &TARGET_BUSY,
    &FUZZ_RUNS,
    &FUZZ_FAILED,
];
