//! The numbers of scores.

use plimsoll_report::{Number, Unit};

macro_rules! numbers {
    ($($name:ident = $key:literal, $label:literal, $unit:ident, $meaning:literal, $source:literal;)*) => {
        $(pub const $name: Number = Number::new($key, $label, Unit::$unit, $meaning, $source);)*
        /// Everything that this command prints.
        pub const NUMBERS: &[&Number] = &[$(&$name,)*];
    };
}

numbers! {
    INSTANCES = "instances", "instances", Count, "Instances that all processes completed.", "results";
    FAILED = "failed", "failed", Count, "Instances that failed; they count nowhere else.", "results";
    PAIRS = "pairs", "pairs", Count, "Measures of a client with a target.", "results";
    RUNS = "runs_total", "runs", Count, "Runs of all results.", "results";
    CHANGED = "runs_changed", "runs left out", Count, "Runs that scores leave out because conditions changed in them.", "see change_p";
    N = "n", "n", Count, "Values that a distribution has.", "results";
    MIN = "min", "min", Ratio, "Smallest value of a distribution: bytes per second for bandwidths, seconds for times, otherwise a ratio.", "results";
    Q1 = "q1", "q1", Ratio, "Lower quartile.", "type 7";
    MEDIAN = "median", "median", Ratio, "Median.", "results";
    MEAN = "mean", "mean", Ratio, "Arithmetic mean.", "results";
    Q3 = "q3", "q3", Ratio, "Upper quartile.", "type 7";
    MAX = "max", "max", Ratio, "Largest value.", "results";
    SD = "sd", "sd", Ratio, "Standard deviation with divisor n - 1; missing for one value.", "results";
    MEDIAN_LOW = "median_low", "95 % from", Ratio, "Lower end of the 95 % interval of the median, wider where values repeat each other; missing below twenty values, which cannot tell how much they do.", "docs/benchmarking.md";
    MEDIAN_HIGH = "median_high", "to", Ratio, "Upper end of that interval.", "docs/benchmarking.md";
    OUTLIERS_LOW = "outliers_low", "low outliers", Count, "Values under the lower quartile by more than 1.5 interquartile ranges. They are counted in everywhere.", "Tukey 1977";
    OUTLIERS_HIGH = "outliers_high", "high outliers", Count, "Values above the upper quartile by more than 1.5 interquartile ranges.", "Tukey 1977";
    OUTLIERS_Z = "outliers_z", "outliers by Z", Count, "Values whose modified Z score exceeds 3.5; missing where more than half are equal.", "Iglewicz and Hoaglin";
    BURST_BYTES = "burst_bytes", "burst", Bytes, "What each process moves in an instance.", "results";
    TRANSFER_BYTES = "transfer_bytes", "transfer", Bytes, "Bytes of one call.", "results";
    BANDWIDTH = "bandwidth_median", "bandwidth", BytesPerSec, "Median over clients in instances: bytes of a client over its own time.", "Xie, section 3";
    AGGREGATE = "aggregate_median", "aggregate", BytesPerSec, "Median over instances: all bytes over the time from release to the last completion, fsync included.", "Xie, section 3";
    EB = "eb_median", "EB", Ratio, "Median of bandwidth over the peak of the client's targets; missing where a peak is not known.", "Xie, section 3";
    EAB = "eab_median", "EAB", Ratio, "Median of aggregate bandwidth over the peak of the instance's targets; missing where a peak is not known.", "Xie, section 3";
    LEB = "leb_median", "LEB", Ratio, "Median of a pair's bandwidth over that of the fastest pair of its instance.", "Xie, section 5.1";
    LEB_MIN = "leb_min", "least LEB", Ratio, "Smallest LEB.", "Xie, section 5.1";
    PEB = "peb_median", "PEB", Ratio, "Median of a pair's bandwidth over that of the fastest pair of all instances with the same experiment and settings.", "Xie, section 5.1";
    RATIO = "ratio", "of the others", Ratio, "Median of a component's bandwidth over the median of the others of the same instance.", "ours: docs/straggler-verdicts.md";
    RATIO_LOW = "ratio_low", "95 % from", Ratio, "Lower end of the 95 % interval of that median, wider where measures repeat each other; missing below twenty.", "docs/benchmarking.md";
    RATIO_HIGH = "ratio_high", "to", Ratio, "Upper end of that interval.", "docs/benchmarking.md";
    LOWEST = "ratio_min", "lowest", Ratio, "The component's slowest measure over the median of the others.", "ours";
    LOW = "low", "low", Count, "Measures that are slower than the others by more than --straggler-below.", "ours";
    MEASURES = "measures", "measures", Count, "Measures that compare a component with others of the same instance; or measures in sequences.", "results";
    EFFECTIVE = "effective_n", "worth", Count, "What the measures are worth when their autocorrelation is taken into account.", "Geyer 1992";
    NEEDED = "needed", "needed", Count, "Measures without which no verdict is possible.", "ours";
    P_PERSISTENT = "p_persistent", "p persistent", Ratio, "p value of a sign test that the median ratio is not low, corrected for the number of components (Holm).", "ours";
    P_DRIFTING = "p_drifting", "p drifting", Ratio, "p value that low measures fall into one stretch of time by chance, corrected likewise; missing where there is no such stretch or another verdict was found before.", "ours: docs/straggler-verdicts.md";
    P_TRANSIENT = "p_transient", "p transient", Ratio, "p value that a component is low no more than others, by exchange within blocks of time, corrected likewise; missing where another verdict was found before.", "ours: docs/straggler-verdicts.md";
    P_NOISIER = "p_noisier", "p noisier", Ratio, "p value that a component scatters no more than others, found in the same way.", "ours: docs/straggler-verdicts.md";
    PEAK = "peak", "peak", BytesPerSec, "Best rate of a target: from the site file, or the 97.3rd percentile of the largest bursts that saturate it alone, if smaller ones tell that they outlast caches (docs/benchmarking.md); otherwise missing.", "Xie, section 4.2";
    GAIN_MEDIAN = "gain_median", "median", Ratio, "Median gain: time to the last completion over the time to the last one that stays.", "Xie, fig. 21";
    GAIN_60 = "gain_60", "60 % exceed", Ratio, "Gain that 60 % of the instances exceed.", "Xie, fig. 21";
    GAIN_90 = "gain_90", "90 % exceed", Ratio, "Gain that 90 % of the instances exceed.", "Xie, fig. 21";
    GAIN_1 = "gain_1", "worst 1 % from", Ratio, "Gain that 1 % of the instances exceed.", "Xie, fig. 21";
    GAIN_MAX = "gain_max", "largest", Ratio, "Largest gain.", "Xie, fig. 21";
    THRESHOLD = "threshold", "low under", Ratio, "Quantile of all measures under which a measure is low.", "Xie, section 5.4";
    SERIES = "series", "series", Count, "Targets in runs.", "Xie, section 5.4";
    SETTINGS = "settings", "settings", Count, "Distinct settings whose measures are pooled.", "results";
    LOW_SEQUENCES = "low_sequences", "low", Count, "Low sequences.", "Xie, section 5.4";
    LOW_CENSORED = "low_censored", "unended", Count, "Low sequences that had not ended with the last measure.", "Xie, section 5.4";
    LOW_MEDIAN = "low_median", "slow for", Seconds, "Median duration of low sequences, unended ones taken into account; missing when fewer than half were seen to end.", "Kaplan and Meier 1958";
    LOW_1MIN = "low_within_1min", "in 1 min", Ratio, "Share of low sequences that end within a minute; missing where none was watched so long. Titan: 0.70.", "Xie, section 5.4";
    LOW_2MIN = "low_within_2min", "in 2 min", Ratio, "Share of low sequences that end within two minutes. Titan: 0.82.", "Xie, section 5.4";
    NORMAL_SEQUENCES = "normal_sequences", "normal", Count, "Normal sequences.", "Xie, section 5.4";
    NORMAL_CENSORED = "normal_censored", "unended", Count, "Normal sequences that had not ended with the last measure.", "Xie, section 5.4";
    NORMAL_MEDIAN = "normal_median", "normal for", Seconds, "Median duration of normal sequences, as above.", "Kaplan and Meier 1958";
    NORMAL_10MIN = "normal_within_10min", "in 10 min", Ratio, "Share of normal sequences that end within ten minutes. Titan: 0.79.", "Xie, section 5.4";
    DEPTH = "low_depth", "low measures", Ratio, "Median of low measures over the median of all measures.", "ours";
    INTERVAL = "interval_seconds", "measured every", Seconds, "Median time between measures of a target: nothing shorter can be seen.", "results";
    CLIENTS = "clients", "clients", Count, "Clients that take part in an instance.", "results";
    NODE_SETS = "node_sets", "sets of nodes", Count, "Distinct sets of nodes. What was measured on one set counts once, by its median.", "results";
    CORRELATION = "correlation", "correlation", Ratio, "Spearman's rank correlation, over sets of nodes, of the bandwidth with the mean distance L over all pairs of nodes, or with the number of distinct I/O routers; missing below 8 sets.", "Xie, section 5.5";
    CORRELATION_LOW = "correlation_low", "95 % from", Ratio, "Lower end of its 95 % interval.", "Bonett and Wright 2000";
    CORRELATION_HIGH = "correlation_high", "to", Ratio, "Upper end of that interval.", "Bonett and Wright 2000";
    CORRELATION_P = "correlation_p", "p", Ratio, "Probability of such a correlation if bandwidths were matched with sets of nodes at random, or where sets share nodes, if these were in each other's places (permutations; the greater of both), corrected for the number of such tests (Holm).", "ours";
    VALUE_FROM = "value_from", "from", Ratio, "Least mean distance between nodes (hops), or number of routers, of a range.", "site file";
    VALUE_TO = "value_to", "to", Ratio, "Greatest of the same.", "site file";
    LOCAL_MEDIAN = "set_median", "median", Ratio, "Median over sets of nodes of the median EAB of a set; where peaks are missing, of its aggregate bandwidth over the median of all sets.", "Xie, section 5.5";
    HOUR = "hour", "hour", Count, "Hour of the day.", "start of the instance, or the column --time";
    RUN = "run", "run", Count, "Number of a run in its results.", "results";
    CHANGE_P = "change_p", "p changed", Ratio, "p value of no change during the run, by a permutation test of ranks on instances normalised by setting and target; missing below 8 instances. A run with p under 0.01 and a change of 10 % or more is set apart.", "ours";
    CHANGE_RATIO = "change_ratio", "after over before", Ratio, "Bandwidth after the most likely change over that before it.", "ours";
    CHANGE_AT = "change_at", "after instance", Count, "Instances before that change.", "ours";
    LAG_ONE = "lag_one", "autocorrelation", Ratio, "Correlation of consecutive instances of a run, normalised by setting and target.", "results";
    FIRST_RATIO = "first_ratio", "first over rest", Ratio, "Bandwidth of the first rounds over that of the rest.", "ours";
    FIRST_P = "first_p", "p", Ratio, "Brunner-Munzel test of equal bandwidths in first rounds and the rest.", "Brunner and Munzel 2000";
    FIRST_N = "first_instances", "in first rounds", Count, "Instances in the first fifth of the rounds of each run, three rounds at most.", "results";
    BURST = "burst_seconds", "time of a burst", Seconds, "Median time of an instance.", "results";
    SKIPPED = "rows_skipped", "rows left out", Count, "Rows of a table that have no number in the value's column.", "table";
}
