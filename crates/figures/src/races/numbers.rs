//! Every number that `plimsoll route bench` prints.

use plimsoll_report::numbers;

numbers! {
    WRITERS = "writers", "writers", Count, "Processes that write.", "--writers";
    BLOCKS = "blocks", "blocks of each", Count, "Blocks of each writer.", "--blocks";
    BLOCK = "block_bytes", "block", Bytes, "Size of a block.", "--block-size";
    PART = "part_bytes", "part", Bytes, "Size of the parts that coordinators grant instead of blocks, where all have the same.", "--split, or split of the policy";
    ROUNDS = "rounds", "rounds", Count, "Races planned for each policy.", "--rounds";
    TOTAL = "total_bytes", "data", Bytes, "Bytes that all writers of one race have: writers times blocks times block size.", "exact";
    BOUND = "fluid_bound", "least possible time", Seconds, "The least time in which the targets can take all data: the integral of the sum of their rates reaches it. With constant rates the sum of data over the sum of rates. In the summary with the planned moment of a drop, for each race with the real one.", "Huang equation 1 in its general form";
    OPTIMAL = "optimal_factor", "best throttling factor", Ratio, "TF*: the largest share of its own data that a target takes in when all end together at the fluid bound.", "Huang equation 1 in its general form";
    RATE = "rate", "rate", BytesPerSec, "Rate at which the target takes data: its limit, or the median of three bursts to all targets at once.", "the test bed's limit, or measured before the races";
    STREAMS = "noise_streams", "noise", Count, "Processes that write to the target meanwhile, one write of 1 MiB at a time.", "--noise";
    RATE_LEFT = "rate_left", "left for us", BytesPerSec, "The rate that the fluid bound assumes: the rate over one plus the streams of noise.", "Huang section 3.4, one stream of ours on each target";
    DROPS_TO = "drops_to", "drops to", BytesPerSec, "The target's rate after the change during each race.", "--drop";
    DROPS_AFTER = "drops_after", "after", Seconds, "How long after the beginning of a race the rate changes: as planned for a target, as it happened in a race.", "--drop";
    RACES = "races", "n", Count, "Races of this policy in which everything was committed.", "exact";
    RATIO = "ratio", "times the least possible", Ratio, "Makespan over the least possible time (the fluid bound) of the same race: the median in the summary, its own for each race. Below 1 where a limited target runs ahead of its limit, by up to a tenth of a second.", "the interval beside it";
    LOW = "ratio_low", "from", Ratio, "Lower end of the 95 % interval of the median ratio, without assumptions about the distribution (order statistics); missing below six races.", "assumes independent races";
    HIGH = "ratio_high", "to", Ratio, "Upper end of that interval.", "as the lower end";
    MAKESPAN = "makespan", "makespan", Seconds, "From the first submission until the last file with committed data is durable (fdatasync); files are created before and removed after. The median in the summary.", "the monotonic clock";
    LAST_COMMIT = "last_commit", "last write", Seconds, "From the first submission until the last write was on its device; what is left of the makespan is fdatasync.", "the monotonic clock";
    MOVED = "moved_bytes", "moved", Bytes, "Bytes on another target than the writer's own (writer times targets over writers, rounded down). The median in the summary.", "the index";
    WORST = "worst_latency", "worst write", Seconds, "The longest write, from its start to durable; over all races in the summary.", "the monotonic clock of the coordinator";
    ATTEMPTS = "attempts", "writes", Count, "Writes that were started. The median in the summary.", "exact";
    SUPERSEDED = "superseded", "overtaken", Count, "Writes that were not needed because another write of the same data ended first.", "exact";
    FAILED = "failed_attempts", "failed writes", Count, "Writes that a target did not take.", "exact";
    MESSAGES = "messages", "messages", Count, "Messages between the router's parties; none where nodes decide alone. The median in the summary.", "exact";
    COORDINATOR = "coordinator_messages", "of coordinator", Count, "Messages to or from the coordinator, among them.", "exact";
    LOST = "lost_bytes", "lost", Bytes, "Bytes that were submitted and not committed, because a writer died or no target took them; the sum of all races in the summary.", "the records of the host";
    TARGET_BYTES = "target_bytes", "bytes", Bytes, "Committed bytes on the target. The median in the summary.", "the index";
    TARGET_ENDED = "target_ended", "last write", Seconds, "When the last write to the target was durable, from the first submission.", "the monotonic clock";
    WINDOW = "window", "window", Bytes, "The window of the target at the end of the race; policy window only.", "exact";
    NOISE = "noise_bytes", "noise", Bytes, "Bytes that the noise wrote during the race.", "reported by the processes that make it";
    READ_BACK = "read_back_bytes", "read back", Bytes, "Committed bytes that were read back and compared; missing where that was not asked for.", "every page has its identity";
    WRONG = "wrong_pages", "wrong", Count, "Pieces of up to 1 MiB in which a page read back is not what was written there; 0, or the router or the storage is broken.", "every page has its identity";
    ROUND = "round", "round", Count, "Number of the round, from 1.", "exact";
}
