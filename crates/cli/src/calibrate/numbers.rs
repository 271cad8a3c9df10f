//! The numbers that `plimsoll calibrate` prints.

use plimsoll_report::{Number, Unit};

pub const SIZE: Number =
    Number::new("size", "size", Unit::Bytes, "Bytes of one transfer.", "--sizes");
pub const N: Number = Number::new(
    "n",
    "n",
    Unit::Count,
    "Measures of this size: repetitions of the ladder.",
    "--repetitions",
);
pub const TRANSFERS: Number = Number::new(
    "transfers",
    "transfers",
    Unit::Count,
    "Transfers that were asked for, in all measures of this size together.",
    "plimsoll calibrate",
);
pub const TRANSACTIONS: Number = Number::new(
    "transactions",
    "transactions",
    Unit::Count,
    "Transactions that the target did for them, by its counters, in all measures of this size; the \
     transfers themselves where there are no counters.",
    "Uselton and Wright, section IV",
);
pub const TRANSACTION_SIZE: Number = Number::new(
    "transaction_size",
    "of size",
    Unit::Bytes,
    "Mean bytes of a transaction at the target: bytes over transactions, the median of the measures.",
    "Uselton and Wright, section IV",
);
pub const BANDWIDTH: Number = Number::new(
    "bandwidth",
    "bandwidth",
    Unit::BytesPerSec,
    "Bytes asked for over the time of all transfers, fsync included; the median of the measures.",
    "Uselton and Wright, fig. 7",
);
pub const SPREAD: Number = Number::new(
    "spread",
    "spread",
    Unit::Percent,
    "Interquartile range of the measures' bandwidths, in percent of their median; missing with one \
     measure.",
    "plimsoll calibrate",
);
pub const PREDICTED: Number = Number::new(
    "predicted",
    "predicted",
    Unit::BytesPerSec,
    "Bandwidth by the fitted costs and the transactions that the target did.",
    "Uselton and Wright, eq. 6, fig. 7",
);
pub const RESIDUAL: Number = Number::new(
    "residual",
    "residual",
    Unit::Percent,
    "Time measured less time predicted, in percent of the time measured: positive where the target \
     was slower than the model.",
    "Uselton and Wright, eq. 4",
);
pub const PER_OPERATION: Number = Number::new(
    "seconds_per_operation",
    "per operation",
    Unit::Seconds,
    "Fixed cost of a transaction, w_0 or r_0.",
    "Uselton and Wright, eq. 4, table I",
);
pub const PER_OPERATION_LOW: Number = Number::new(
    "seconds_per_operation_low",
    "    from",
    Unit::Seconds,
    "Lower end of the 95 % interval of the cost of an operation, from resampling the repetitions; \
     missing with one.",
    "bootstrap of whole repetitions, 2000 resamples",
);
pub const PER_OPERATION_HIGH: Number = Number::new(
    "seconds_per_operation_high",
    "    to",
    Unit::Seconds,
    "Upper end of that interval.",
    "bootstrap of whole repetitions, 2000 resamples",
);
pub const OPERATIONS: Number = Number::new(
    "operations_per_second",
    "operations/s",
    Unit::Count,
    "1 / w_0: transactions per second as their size goes to nothing; missing when an operation costs \
     nothing.",
    "Uselton and Wright, eq. 2",
);
pub const PER_BYTE: Number = Number::new(
    "seconds_per_byte",
    "per byte",
    Unit::SecondsPerByte,
    "Cost of a transaction's byte, w_1 or r_1.",
    "Uselton and Wright, eq. 4, table I",
);
pub const RATE: Number = Number::new(
    "rate",
    "rate of bytes",
    Unit::BytesPerSec,
    "1 / w_1: bandwidth as transactions grow without bound; missing when a byte costs nothing.",
    "Uselton and Wright, eq. 2, table I",
);
pub const RATE_LOW: Number = Number::new(
    "rate_low",
    "    from",
    Unit::BytesPerSec,
    "Lower end of the 95 % interval of the rate, from resampling the repetitions.",
    "bootstrap of whole repetitions, 2000 resamples",
);
pub const RATE_HIGH: Number = Number::new(
    "rate_high",
    "    to",
    Unit::BytesPerSec,
    "Upper end of that interval; missing when a byte may cost nothing.",
    "bootstrap of whole repetitions, 2000 resamples",
);
pub const MEDIAN_RESIDUAL: Number = Number::new(
    "median_residual",
    "median residual",
    Unit::Percent,
    "Median magnitude of the residuals of all sizes.",
    "plimsoll calibrate",
);
pub const MAX_RESIDUAL: Number = Number::new(
    "max_residual",
    "largest residual",
    Unit::Percent,
    "Largest magnitude of a residual.",
    "plimsoll calibrate",
);
pub const DISTURBED: Number = Number::new(
    "disturbed",
    "disturbed",
    Unit::Count,
    "Measures during which the target moved over 5 % and over 1 MiB more than was asked for.",
    "plimsoll calibrate",
);
pub const DEPTH: Number =
    Number::new("depth", "queue depth", Unit::Count, "Transfers in flight.", "--depth");
pub const SPAN: Number = Number::new(
    "span",
    "span",
    Unit::Bytes,
    "Size of the file in which transfers seek, written in full before.",
    "--span",
);
pub const SECONDS: Number = Number::new(
    "seconds",
    "each measure",
    Unit::Seconds,
    "Time that one measure shall take; it takes less where 1 GiB takes less.",
    "--seconds",
);
pub const REPETITIONS: Number = Number::new(
    "repetitions",
    "repetitions",
    Unit::Count,
    "Measures of each size and direction, each repetition of the ladder in a random order.",
    "--repetitions",
);
pub const FILL: Number = Number::new(
    "fill",
    "fill",
    Unit::Ratio,
    "Share of the target's space that was used before, from 0 to 1.",
    "statvfs",
);
pub const WRITTEN: Number = Number::new(
    "written",
    "written",
    Unit::Bytes,
    "Bytes written to the target, the file itself and probes included.",
    "plimsoll calibrate",
);
pub const EXPECTED: Number = Number::new(
    "expected_seconds",
    "takes about",
    Unit::Seconds,
    "Time of all measures; writing the file comes on top, and slow targets take longer, since each \
     measure has at least two transfers for each place in the queue.",
    "plimsoll calibrate --dry-run",
);
pub const WRITTEN_MAX: Number = Number::new(
    "written_max",
    "writes at most",
    Unit::Bytes,
    "Most bytes that are written to the target; slow targets get less.",
    "plimsoll calibrate --dry-run",
);

/// Everything that this command prints.
pub const NUMBERS: &[&Number] = &[
    &SIZE,
    &N,
    &TRANSFERS,
    &TRANSACTIONS,
    &TRANSACTION_SIZE,
    &BANDWIDTH,
    &SPREAD,
    &PREDICTED,
    &RESIDUAL,
    &PER_OPERATION,
    &PER_OPERATION_LOW,
    &PER_OPERATION_HIGH,
    &OPERATIONS,
    &PER_BYTE,
    &RATE,
    &RATE_LOW,
    &RATE_HIGH,
    &MEDIAN_RESIDUAL,
    &MAX_RESIDUAL,
    &DISTURBED,
    &DEPTH,
    &SPAN,
    &SECONDS,
    &REPETITIONS,
    &FILL,
    &WRITTEN,
    &EXPECTED,
    &WRITTEN_MAX,
];
