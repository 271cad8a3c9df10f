//! Every number that `plimsoll route bench` prints.

use plimsoll_report::{Number, Unit};

pub const WRITERS: Number =
    Number::new("writers", "writers", Unit::Count, "Processes that write.", "--writers");
pub const BLOCKS: Number =
    Number::new("blocks", "blocks of each", Unit::Count, "Blocks of each writer.", "--blocks");
pub const BLOCK: Number =
    Number::new("block_bytes", "block", Unit::Bytes, "Size of a block.", "--block-size");
pub const PART: Number = Number::new(
    "part_bytes",
    "part of paper-split",
    Unit::Bytes,
    "Size of the parts that paper-split grants.",
    "--part-size",
);
pub const ROUNDS: Number =
    Number::new("rounds", "rounds", Unit::Count, "Races planned for each policy.", "--rounds");
pub const TOTAL: Number = Number::new(
    "total_bytes",
    "data",
    Unit::Bytes,
    "Bytes that all writers of one race have: writers times blocks times block size.",
    "exact",
);
pub const BOUND: Number = Number::new(
    "fluid_bound",
    "fluid bound",
    Unit::Seconds,
    "The least time in which the targets can take all data: the integral of the sum of their rates reaches it. With constant rates the sum of data over the sum of rates. In the summary with the planned moment of a drop, for each race with the real one.",
    "Huang equation 1 in its general form",
);
pub const OPTIMAL: Number = Number::new(
    "optimal_factor",
    "best throttling factor",
    Unit::Ratio,
    "TF*: the largest share of its own data that a target takes in when all end together at the fluid bound.",
    "Huang equation 1 in its general form",
);
pub const RATE: Number = Number::new(
    "rate",
    "rate",
    Unit::BytesPerSec,
    "What the target takes: its limit, or the median of three bursts to all targets at once.",
    "the test bed's limit, or measured before the races",
);
pub const STREAMS: Number = Number::new(
    "noise_streams",
    "noise",
    Unit::Count,
    "Processes that write to the target meanwhile, one write of 1 MiB at a time.",
    "--noise",
);
pub const RATE_LEFT: Number = Number::new(
    "rate_left",
    "left for us",
    Unit::BytesPerSec,
    "The rate that the fluid bound counts with: the rate over one plus the streams of noise.",
    "Huang section 3.4, one stream of ours on each target",
);
pub const DROPS_TO: Number = Number::new(
    "drops_to",
    "drops to",
    Unit::BytesPerSec,
    "The target's rate after the change during each race.",
    "--drop",
);
pub const DROPS_AFTER: Number = Number::new(
    "drops_after",
    "after",
    Unit::Seconds,
    "How long after the beginning of a race the rate changes: as planned for a target, as it happened in a race.",
    "--drop",
);
pub const RACES: Number = Number::new(
    "races",
    "n",
    Unit::Count,
    "Races of this policy in which everything was committed.",
    "exact",
);
pub const RATIO: Number = Number::new(
    "ratio",
    "over bound",
    Unit::Ratio,
    "Makespan over the fluid bound of the same race: the median in the summary, its own for each race. Below 1 where a limited target runs ahead of its limit, by up to a tenth of a second.",
    "the interval beside it",
);
pub const LOW: Number = Number::new(
    "ratio_low",
    "from",
    Unit::Ratio,
    "Lower end of the 95 % interval of the median ratio, free of any distribution (order statistics); missing below six races.",
    "assumes independent races",
);
pub const HIGH: Number =
    Number::new("ratio_high", "to", Unit::Ratio, "Upper end of that interval.", "as the lower end");
pub const MAKESPAN: Number = Number::new(
    "makespan",
    "makespan",
    Unit::Seconds,
    "From the first submission until the last file with committed data is durable (fdatasync); files are created before and removed after. The median in the summary.",
    "the monotonic clock",
);
pub const LAST_COMMIT: Number = Number::new(
    "last_commit",
    "last write",
    Unit::Seconds,
    "From the first submission until the last write was on its device; what is left of the makespan is fdatasync.",
    "the monotonic clock",
);
pub const MOVED: Number = Number::new(
    "moved_bytes",
    "moved",
    Unit::Bytes,
    "Bytes on another target than the writer's own (writer times targets over writers, rounded down). The median in the summary.",
    "the index",
);
pub const WORST: Number = Number::new(
    "worst_latency",
    "worst write",
    Unit::Seconds,
    "The longest write, from its start to durable; over all races in the summary.",
    "the monotonic clock of the coordinator",
);
pub const ATTEMPTS: Number = Number::new(
    "attempts",
    "writes",
    Unit::Count,
    "Writes that were started. The median in the summary.",
    "exact",
);
pub const SUPERSEDED: Number = Number::new(
    "superseded",
    "overtaken",
    Unit::Count,
    "Writes that were of no use because another one of the same data ended first.",
    "exact",
);
pub const FAILED: Number = Number::new(
    "failed_attempts",
    "failed writes",
    Unit::Count,
    "Writes that a target did not take.",
    "exact",
);
pub const MESSAGES: Number = Number::new(
    "messages",
    "messages",
    Unit::Count,
    "Messages between the router's parties; none where nodes decide alone. The median in the summary.",
    "exact",
);
pub const COORDINATOR: Number = Number::new(
    "coordinator_messages",
    "of coordinator",
    Unit::Count,
    "Of them, those to or from the one coordinator.",
    "exact",
);
pub const LOST: Number = Number::new(
    "lost_bytes",
    "lost",
    Unit::Bytes,
    "Bytes that were submitted and not committed, because a writer died or no target took them; the sum of all races in the summary.",
    "the books of the host",
);
pub const TARGET_BYTES: Number = Number::new(
    "target_bytes",
    "bytes",
    Unit::Bytes,
    "Committed bytes on the target. The median in the summary.",
    "the index",
);
pub const TARGET_ENDED: Number = Number::new(
    "target_ended",
    "last write",
    Unit::Seconds,
    "When the last write to the target was durable, from the first submission.",
    "the monotonic clock",
);
pub const WINDOW: Number = Number::new(
    "window",
    "window",
    Unit::Bytes,
    "The window of the target at the end of the race; policy window only.",
    "exact",
);
pub const NOISE: Number = Number::new(
    "noise_bytes",
    "noise",
    Unit::Bytes,
    "Bytes that the noise wrote during the race.",
    "told by the processes that make it",
);
pub const READ_BACK: Number = Number::new(
    "read_back_bytes",
    "read back",
    Unit::Bytes,
    "Committed bytes that were read back and compared; missing where that was not asked for.",
    "every page has its identity",
);
pub const WRONG: Number = Number::new(
    "wrong_pages",
    "wrong",
    Unit::Count,
    "Pieces of up to 1 MiB in which a page read back is not what was written there; 0, or the router or the storage is broken.",
    "every page has its identity",
);
pub const ROUND: Number =
    Number::new("round", "round", Unit::Count, "Which round, from 1.", "exact");

/// All of them.
pub const NUMBERS: &[&Number] = &[
    &WRITERS,
    &BLOCKS,
    &BLOCK,
    &PART,
    &ROUNDS,
    &TOTAL,
    &BOUND,
    &OPTIMAL,
    &RATE,
    &STREAMS,
    &RATE_LEFT,
    &DROPS_TO,
    &DROPS_AFTER,
    &RACES,
    &RATIO,
    &LOW,
    &HIGH,
    &MAKESPAN,
    &LAST_COMMIT,
    &MOVED,
    &WORST,
    &ATTEMPTS,
    &SUPERSEDED,
    &FAILED,
    &MESSAGES,
    &COORDINATOR,
    &LOST,
    &TARGET_BYTES,
    &TARGET_ENDED,
    &WINDOW,
    &NOISE,
    &READ_BACK,
    &WRONG,
    &ROUND,
];
