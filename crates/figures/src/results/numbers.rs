//! The numbers of a report on results.

use plimsoll_report::numbers;

numbers! {
    INSTANCES = "instances", "instances", Count, "Complete instances: barrier-synchronized bursts in which all processes did their part.", "Xie, section 3";
    FAILED = "failed", "failed", Count, "Instances in which some process could not do its part. They are not part of any other number.", "results";
    PAIRS = "pairs", "pairs", Count, "Measures of one client with one of its targets, in all instances.", "Xie, section 5";
    CLIENTS = "clients", "clients", Count, "Clients that took part.", "results";
    TARGETS = "targets", "targets", Count, "Targets that were used.", "results";
    SPAN = "span_seconds", "duration", Seconds, "From the start of the first instance to the end of the last.", "results";
    BURST = "burst_bytes", "burst", Bytes, "Bytes that each process moves in an instance.", "results";
    MEDIAN = "aggregate_median", "aggregate, median", BytesPerSec, "Median over instances of the aggregate bandwidth: all bytes over the time from the release of the barrier to the last completion, fsync included.", "Xie, section 3";
    LOW = "aggregate_median_low", "from", BytesPerSec, "Lower end of the 95 % interval of the median, wider where instances are correlated; missing below twenty instances, which are too few to know their correlation.", "docs/benchmarking.md";
    HIGH = "aggregate_median_high", "to", BytesPerSec, "Upper end of that interval.", "order statistics";
    LEAST = "aggregate_min", "least", BytesPerSec, "Smallest aggregate bandwidth of an instance.", "results";
    GREATEST = "aggregate_max", "greatest", BytesPerSec, "Largest aggregate bandwidth of an instance.", "results";
    EFFECTIVE = "effective_aggregate_median", "of all peaks (EAB), median", Ratio, "Median of the effective aggregate bandwidth: aggregate bandwidth over the peak of all targets written; missing where a peak is missing.", "Xie, section 3";
    BURST_SECONDS = "seconds_median", "time, median", Seconds, "Median time from the release to the last completion of an instance.", "results";
    OUTLIERS = "outliers", "stood out", Count, "Instances whose aggregate bandwidth lies more than 1.5 interquartile ranges outside the quartiles of its setting. Marked, never dropped.", "Tukey";
    TIMES = "times", "times", Count, "How often it happened.", "results";
    GAIN = "gain_median", "gain, median", Ratio, "Median over instances of the time to the last completion over that without the slowest pair, whose bytes still count.", "Xie, fig. 21";
    LEB_MEDIAN = "leb_median", "of the fastest pair in the burst (LEB), median", Ratio, "Median of a component's local effective bandwidth: a pair's bandwidth over that of the fastest pair of its instance; missing where instances have one pair.", "Xie, section 5.1";
    LEB_MEAN = "leb_mean", "LEB, mean", Ratio, "Mean of the same.", "Xie, section 5.1";
    LEB_MIN = "leb_min", "LEB, least", Ratio, "Least of the same.", "Xie, section 5.1";
    PEB_MEDIAN = "peb_median", "of the fastest pair ever (PEB), median", Ratio, "Median of a component's effective bandwidth against the fastest pair of all instances with equal settings.", "Xie, section 5.1";
    PEB_MEAN = "peb_mean", "PEB, mean", Ratio, "Mean of the same.", "Xie, section 5.1";
    PEB_MIN = "peb_min", "PEB, least", Ratio, "Least of the same.", "Xie, section 5.1";
    MEASURES = "measures", "measures", Count, "Pairs of complete, unstriped and unshared instances that the component was part of.", "results";
}
