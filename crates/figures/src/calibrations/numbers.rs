//! The numbers that `plimsoll calibrate` prints.

use plimsoll_report::numbers;

numbers! {
    SIZE = "size", "size", Bytes, "Bytes of one transfer.", "--sizes";
    N = "n", "n", Count, "Measures of this size: repetitions of the ladder.", "--repetitions";
    TRANSFERS = "transfers", "transfers", Count, "Transfers that were requested, in all measures of this size together.", "plimsoll calibrate";
    TRANSACTIONS = "transactions", "transactions", Count, "Transactions that the target did for them, by its counters, in all measures of this size; the transfers themselves where there are no counters.", "Uselton and Wright, section IV";
    TRANSACTION_SIZE = "transaction_size", "of size", Bytes, "Mean bytes of a transaction at the target: bytes over transactions, the median of the measures.", "Uselton and Wright, section IV";
    BANDWIDTH = "bandwidth", "bandwidth", BytesPerSec, "Bytes requested over the time of all transfers, fsync included; the median of the measures.", "Uselton and Wright, fig. 7";
    SPREAD = "spread", "spread", Percent, "Interquartile range of the measures' bandwidths, in percent of their median; missing with one measure.", "plimsoll calibrate";
    PREDICTED = "predicted", "predicted", BytesPerSec, "Bandwidth by the fitted costs and the transactions that the target did.", "Uselton and Wright, eq. 6, fig. 7";
    RESIDUAL = "residual", "residual", Percent, "Time measured less time predicted, in percent of the time measured: positive where the target was slower than the model.", "Uselton and Wright, eq. 4";
    PER_OPERATION = "seconds_per_operation", "per operation", Seconds, "Fixed cost of a transaction, w_0 or r_0.", "Uselton and Wright, eq. 4, table I";
    PER_OPERATION_LOW = "seconds_per_operation_low", "    from", Seconds, "Lower end of the 95 % interval of the cost of an operation, from resampling the repetitions; missing with one.", "bootstrap of whole repetitions, 2000 resamples";
    PER_OPERATION_HIGH = "seconds_per_operation_high", "    to", Seconds, "Upper end of that interval.", "bootstrap of whole repetitions, 2000 resamples";
    OPERATIONS = "operations_per_second", "operations/s", Count, "1 / w_0: transactions per second as their size approaches zero; missing when an operation costs nothing.", "Uselton and Wright, eq. 2";
    PER_BYTE = "seconds_per_byte", "per byte", SecondsPerByte, "Cost of a transaction's byte, w_1 or r_1.", "Uselton and Wright, eq. 4, table I";
    RATE = "rate", "rate of bytes", BytesPerSec, "1 / w_1: bandwidth as transactions grow without bound; missing when a byte costs nothing.", "Uselton and Wright, eq. 2, table I";
    RATE_LOW = "rate_low", "    from", BytesPerSec, "Lower end of the 95 % interval of the rate, from resampling the repetitions.", "bootstrap of whole repetitions, 2000 resamples";
    RATE_HIGH = "rate_high", "    to", BytesPerSec, "Upper end of that interval; missing when a byte may cost nothing.", "bootstrap of whole repetitions, 2000 resamples";
    MEDIAN_RESIDUAL = "median_residual", "median residual", Percent, "Median magnitude of the residuals of all sizes.", "plimsoll calibrate";
    MAX_RESIDUAL = "max_residual", "largest residual", Percent, "Largest magnitude of a residual.", "plimsoll calibrate";
    DISTURBED = "disturbed", "disturbed", Count, "Measures during which the target moved over 5 % and over 1 MiB more than was requested.", "plimsoll calibrate";
    DEPTH = "depth", "queue depth", Count, "Transfers in flight.", "--depth";
    SPAN = "span", "span", Bytes, "Size of the file in which transfers seek; it is written in full beforehand.", "--span";
    SECONDS = "seconds", "each measure", Seconds, "Time that one measure should take; it takes less where 1 GiB takes less.", "--seconds";
    REPETITIONS = "repetitions", "repetitions", Count, "Measures of each size and direction, each repetition of the ladder in a random order.", "--repetitions";
    FILL = "fill", "fill", Ratio, "Share of the target's space that was in use before, from 0 to 1.", "statvfs";
    WRITTEN = "written", "written", Bytes, "Bytes written to the target, the file itself and probes included.", "plimsoll calibrate";
    EXPECTED = "expected_seconds", "takes about", Seconds, "Time of all measures; writing the file takes additional time, and slow targets take longer, since each measure has at least two transfers for each place in the queue.", "plimsoll calibrate --dry-run";
    WRITTEN_MAX = "written_max", "writes at most", Bytes, "Most bytes that are written to the target; slow targets get fewer.", "plimsoll calibrate --dry-run";
}
