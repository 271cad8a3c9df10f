"""The kernels of an analysis of one day, in numpy or polars: prints the processor time that they take.

usage: analysis.py numpy|polars DAY

numpy gets the samples in memory, as arrays of targets x times; polars reads them from the store's files. Both then do the same with minutes: totals, hours, the greatest minute,
coefficient of variation, clusters of 5 % by sorting the targets of each minute, correlations for windows of 1, 5 and 25 minutes and six lags.
"""

import glob
import sys
import time

import numpy

WINDOWS, LAGS = (1, 5, 25), 6


def kernels(minutes):
    """minutes: directions x targets x minutes."""
    whole = minutes.sum(axis=1)
    results = [whole.sum(), whole.std() / whole.mean(), minutes.max(axis=2)]
    results.append(minutes[:, :, :1440].reshape(2, -1, 24, 60).sum(axis=3))
    for direction in minutes:
        ordered = numpy.sort(direction, axis=0)
        results.append((ordered[1:] >= ordered[:-1] * 1.05).sum(axis=0))
    for width in WINDOWS:
        count = minutes.shape[2] // width
        wide = minutes[:, :, : count * width].reshape(2, -1, count, width).sum(axis=3)
        for x, y in ((0, 0), (1, 1), (0, 1)):
            for lag in range(LAGS):
                first, second = wide[x][:, : count - lag], wide[y][:, lag:]
                a = first - first.mean(axis=1, keepdims=True)
                b = second - second.mean(axis=1, keepdims=True)
                norm = numpy.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
                results.append((a * b).sum(axis=1) / numpy.where(norm > 0, norm, 1))
    return results


def by_numpy(samples):
    before = time.process_time()
    minutes = samples.reshape(2, samples.shape[1], -1, 12).sum(axis=3)
    kernels(minutes)
    return time.process_time() - before


def by_polars(files):
    import polars

    before = time.process_time()
    minute = ((polars.col("time").cast(polars.Int64) - 1) // 60_000).alias("minute")
    table = (
        polars.scan_parquet(files)
        .filter(polars.col("measure").is_in(["read_bytes", "written_bytes"]), polars.col("kind") == "ost")
        .group_by("measure", "target", minute)
        .agg(polars.col("value").sum())
        .sort("measure", "target", "minute")
        .collect()
    )
    targets = table["target"].n_unique()
    values = numpy.zeros((2, targets, 1440))
    flat = table["value"].to_numpy().astype(float)
    values.reshape(-1)[: min(flat.size, values.size)] = flat[: values.size]
    kernels(values)
    return time.process_time() - before


def main():
    which, day = sys.argv[1:]
    if which == "polars":
        print(by_polars(sorted(glob.glob(day + "/*.parquet"))))
    else:
        generator = numpy.random.default_rng(1)
        print(by_numpy(generator.gamma(0.5, 1e9, (2, 248, 17280))))


main()
