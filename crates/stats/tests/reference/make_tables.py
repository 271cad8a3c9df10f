#!/usr/bin/env python3
"""Writes the reference tables the tests of this crate compare with.

Run from this folder: python3 make_tables.py
Needs numpy and scipy (made with numpy 2.4.6, scipy 1.17.1). Expected values come
from those libraries, or where they have no such function from a direct, unoptimised
transcription of the definition. Floats are written so that they read back exactly.
"""

import itertools
import json
import math
from pathlib import Path

import numpy as np
from scipy import stats

RNG = np.random.default_rng(20130501)


def rounded(values, digits=4):
    return [float(np.round(v, digits)) for v in np.atleast_1d(values)]


def write(name, table):
    # One case a line, so that a change shows as a change of its lines.
    lines = []
    for key, cases in table.items():
        body = ",\n".join("    " + json.dumps(case) for case in cases)
        lines.append(f'  "{key}": [\n{body}\n  ]')
    Path(__file__).with_name(name).write_text("{\n" + ",\n".join(lines) + "\n}\n")


# Descriptive statistics ------------------------------------------------------------


def descriptive():
    probabilities = [0, 0.001, 0.01, 0.05, 0.1, 0.25, 1 / 3, 0.5, 0.6, 0.75, 0.9, 0.95, 0.99, 1]
    cases = []
    for n in list(range(1, 31)) + [101]:
        values = rounded(RNG.lognormal(1, 1, n), 3 if n < 31 else 2)
        if n % 5 == 0:
            values = [float(round(v)) for v in values]  # ties
        x = np.array(values)
        q1, median, q3 = np.quantile(x, [0.25, 0.5, 0.75])
        reach = 1.5 * (q3 - q1)
        inside = x[(x >= q1 - reach) & (x <= q3 + reach)]
        ecdf = stats.ecdf(x).cdf
        cases.append(
            {
                "values": values,
                "p": probabilities,
                "quantiles": [float(np.quantile(x, p)) for p in probabilities],
                "mean": math.fsum(values) / n,
                "sd": float(np.std(x, ddof=1)) if n > 1 else None,
                "cov": float(stats.variation(x, ddof=1)) if n > 1 else None,
                "mad": float(stats.median_abs_deviation(x)),
                "fences": [float(q1 - reach), float(q3 + reach)],
                "whiskers": [float(inside.min()), float(inside.max())],
                "outliers": sorted(float(v) for v in x if v < q1 - reach or v > q3 + reach),
                "ecdf_x": [float(v) for v in ecdf.quantiles],
                "ecdf_f": [float(v) for v in ecdf.probabilities],
            }
        )
    histograms = []
    for bins in (1, 3, 7, 16):
        values = rounded(RNG.normal(5, 3, 60))
        counts, edges = np.histogram(values, bins=bins, range=(0, 10))
        histograms.append(
            {
                "values": values,
                "low": 0.0,
                "high": 10.0,
                "bins": bins,
                "edges": edges.tolist(),
                "counts": counts.tolist(),
                "underflow": int(np.sum(np.array(values) < 0)),
                "overflow": int(np.sum(np.array(values) > 10)),
            }
        )
    log2 = []
    for first, last in ((-3, 3), (0, 0), (-1, 2)):
        values = rounded(RNG.lognormal(0, 2, 50)) + [0.0, -1.0, 1.0, 2.0, 0.125]
        exponents = [math.floor(math.log2(v)) if v > 0 else None for v in values]
        log2.append(
            {
                "values": values,
                "first": first,
                "last": last,
                "counts": [exponents.count(k) for k in range(first, last + 1)],
                "underflow": sum(e is None or e < first for e in exponents),
                "overflow": sum(e is not None and e > last for e in exponents),
            }
        )
    write("descriptive.json", {"samples": cases, "histograms": histograms, "log2": log2})


# Distributions and intervals -------------------------------------------------------


def distributions():
    binomial = []
    for n in (1, 2, 6, 10, 100, 1000, 10**5, 10**6, 10**7):
        for p in (0.5, 0.1, 0.99):
            for z in (-5, -1.96, -0.5, 0, 1.3, 4):
                k = int(min(max(round(n * p + z * math.sqrt(n * p * (1 - p))), 0), n))
                binomial.append([k, n, p, stats.binom.cdf(k, n, p), stats.binom.sf(k - 1, n, p)])
    student = [
        [t, df, 2 * stats.t.sf(t, df)]
        for df in (1, 2.5, 7, 30.3, 300, 1e4, 1e6, 2e7)
        for t in (0.01, 0.5, 1, 1.96, 3, 6, 15)
    ]
    normal = [[x, stats.norm.cdf(x)] for x in (-20, -8, -3.3, -1, -0.2, 0, 0.4, 1.7, 3, 6)]
    quantiles = [
        [p, stats.norm.ppf(p)]
        for p in (1e-100, 1e-20, 1e-12, 1e-6, 0.001, 0.025, 0.07, 0.3, 0.5, 0.6, 0.93, 0.975, 0.9999)
    ]
    write(
        "distributions.json",
        {
            "binomial": [[float(v) for v in row] for row in binomial],
            "student": [[float(v) for v in row] for row in student],
            "normal": [[float(v) for v in row] for row in normal],
            "normal_quantile": [[float(v) for v in row] for row in quantiles],
        },
    )


def intervals():
    sizes = list(range(1, 41)) + [50, 73, 100, 299, 1000, 10**4, 10**5, 10**6, 10**7]
    cases = []
    for n, p, confidence in itertools.product(sizes, (0.5, 0.1, 0.95, 0.99), (0.9, 0.95, 0.99)):
        tail = (1 - confidence) / 2
        # Largest l with P(B < l) <= tail, smallest u with P(B >= u) <= tail.
        low = int(stats.binom.ppf(tail, n, p))
        while low >= 1 and stats.binom.cdf(low - 1, n, p) > tail:
            low -= 1
        while stats.binom.cdf(low, n, p) <= tail:
            low += 1
        high = int(stats.binom.ppf(1 - tail, n, p))
        while stats.binom.sf(high - 1, n, p) > tail:
            high += 1
        while high >= 1 and stats.binom.sf(high - 2, n, p) <= tail:
            high -= 1
        found = low >= 1 and high <= n
        if n > 40 or p == 0.5 or n % 13 == 0:
            coverage = stats.binom.cdf(high - 1, n, p) - stats.binom.cdf(low - 1, n, p)
            cases.append([n, p, confidence, low, high, float(coverage)] if found else [n, p, confidence])
    write("intervals.json", {"cases": cases})


# Correlation -----------------------------------------------------------------------


def pairs_of(x, y, lag):
    n = len(x)
    pairs = [(x[t], y[t + lag]) for t in range(n) if 0 <= t + lag < n]
    return [(a, b) for a, b in pairs if a is not None and b is not None]


def correlation_of(pairs):
    if len(pairs) < 3:
        return None
    a, b = map(np.array, zip(*pairs))
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(stats.pearsonr(a, b).statistic)


def with_gaps(values, share):
    return [None if RNG.random() < share else v for v in rounded(values)]


def effective_size(x):
    x = np.asarray(x, dtype=float)
    n = len(x)
    d = x - x.mean()
    rho = np.correlate(d, d, "full")[n - 1 :] / np.dot(d, d)
    tau, lags = -1.0, 0
    while lags + 1 < n and rho[lags] + rho[lags + 1] > 0:
        tau += 2 * (rho[lags] + rho[lags + 1])
        lags += 2
    return max(tau, 1.0), lags


def correlation():
    cases = []
    for n, share in ((3, 0), (5, 0.3), (12, 0), (40, 0.2), (40, 0.6)):
        x = with_gaps(np.cumsum(RNG.normal(0, 1, n)) + 100, share)
        y = with_gaps(np.cumsum(RNG.normal(0, 1, n)), share)
        for lag in (-9, -3, -1, 0, 1, 2, 5):
            pairs = pairs_of(x, y, lag)
            auto = pairs_of(x, x, abs(lag))
            cases.append(
                {
                    "x": x,
                    "y": y,
                    "lag": lag,
                    "pairs": len(pairs),
                    "r": correlation_of(pairs),
                    "auto_pairs": len(auto),
                    "auto_r": correlation_of(auto),
                }
            )
    effective = []
    for n, phi in ((4, 0), (9, 0.5), (60, 0), (61, 0.3), (120, 0.9), (80, -0.7)):
        x = [0.0]
        for shock in RNG.normal(0, 1, n):
            x.append(phi * x[-1] + shock)
        series = rounded(x[1:], 3)
        tau, lags = effective_size(series)
        effective.append({"series": series, "tau": tau, "ess": n / tau, "lags": lags})
    write("correlation.json", {"cases": cases, "effective": effective})


# Fits ------------------------------------------------------------------------------


def fits():
    general = []
    for rows, columns in ((3, 1), (5, 2), (8, 3), (30, 4)):
        x = np.round(RNG.normal(0, 1, (rows, columns)) * 10.0 ** np.arange(columns), 4)
        y = np.round(x @ RNG.normal(0, 1, columns) + RNG.normal(0, 1, rows), 4)
        solution, *_ = np.linalg.lstsq(x, y, rcond=None)
        residuals = y - x @ solution
        sigma2 = residuals @ residuals / (rows - columns)
        errors = np.sqrt(sigma2 * np.diag(np.linalg.inv(x.T @ x)))
        general.append(
            {
                "columns": x.T.tolist(),
                "y": y.tolist(),
                "coefficients": solution.tolist(),
                "residuals": residuals.tolist(),
                "standard_errors": errors.tolist(),
            }
        )
    cost = []
    for count in (2, 4, 11):
        sizes = 2.0 ** np.round(RNG.uniform(9, 24, count))
        operations = np.round(RNG.uniform(100, 1e5, count))
        seconds = np.round((operations * 3e-4 + operations * sizes * 8e-10) * RNG.lognormal(0, 0.2, count), 4)
        rows = np.column_stack([operations / seconds, operations * sizes / seconds])
        # Columns scaled for lstsq, whose default cutoff would drop the smaller.
        scale = np.linalg.norm(rows, axis=0)
        solution = np.linalg.lstsq(rows / scale, np.ones(count), rcond=None)[0] / scale
        residuals = 1 - rows @ solution
        cost.append(
            {
                "operations": operations.tolist(),
                "bytes": (operations * sizes).tolist(),
                "seconds": seconds.tolist(),
                "w": solution.tolist(),
                "residuals": residuals.tolist(),
                "max": float(np.max(np.abs(residuals))),
                "rms": float(np.sqrt(np.mean(residuals**2))),
            }
        )
    write("fits.json", {"general": general, "cost": cost})


# Two samples -----------------------------------------------------------------------


def comparison():
    cases = []
    for n_a, n_b, shift, digits in (
        (2, 3, 0.2, 3),
        (5, 5, 0.5, 3),
        (10, 7, 0, 3),
        (12, 15, 0.7, 0),
        (30, 25, 1, 1),
        (8, 40, -0.6, 0),
    ):
        a = rounded(RNG.lognormal(1, 0.8, n_a), digits)
        b = rounded(RNG.lognormal(1 + shift, 0.5, n_b), digits)
        u = stats.mannwhitneyu(b, a).statistic
        test = stats.brunnermunzel(a, b)
        differences = np.subtract.outer(np.array(b), np.array(a))
        cases.append(
            {
                "a": a,
                "b": b,
                "delta": 2 * float(u) / (n_a * n_b) - 1,
                "shift": float(np.median(differences)),
                "statistic": float(test.statistic),
                "p_value": float(test.pvalue),
            }
        )
    write("comparison.json", {"cases": cases})


def bootstrap():
    cases = []
    named = {"mean": np.mean, "sd": lambda x, axis: np.std(x, axis=axis, ddof=1), "median": np.median}
    for n in (10, 25, 60):
        values = rounded(RNG.lognormal(1, 0.6, n), 3)
        for name, statistic in named.items():
            for method in ("percentile", "BCa"):
                if (name, method) == ("median", "BCa"):
                    continue
                result = stats.bootstrap(
                    (values,),
                    statistic,
                    axis=0,
                    vectorized=True,
                    n_resamples=200_000,
                    batch=20_000,
                    confidence_level=0.95,
                    method=method,
                    rng=np.random.default_rng(n),
                )
                low, high = result.confidence_interval
                cases.append(
                    {
                        "values": values,
                        "statistic": name,
                        "method": method,
                        "low": float(low),
                        "high": float(high),
                        "standard_error": float(result.standard_error),
                    }
                )
    write("bootstrap.json", {"cases": cases})


# Random numbers --------------------------------------------------------------------

MASK64 = (1 << 64) - 1
MASK128 = (1 << 128) - 1


def splitmix(state):
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK64
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
        yield z ^ (z >> 31)


def pcg64_mcg(seed, stream):
    mixed = splitmix(stream ^ next(splitmix(seed)))
    state = (next(mixed) << 64 | next(mixed)) | 1
    while True:
        state = state * 0x2360ED051FC65DA44385DF649FCCF645 & MASK128
        folded = (state >> 64 ^ state) & MASK64
        turn = state >> 122
        yield (folded >> turn | folded << (-turn & 63)) & MASK64


def below(bits, bound):
    while True:
        product = next(bits) * bound
        if product & MASK64 >= (1 << 64) % bound:
            return product >> 64


def random_numbers():
    cases = []
    for seed, stream in ((0, 0), (42, 0), (42, 1), (MASK64, MASK64)):
        bits = pcg64_mcg(seed, stream)
        case = {"seed": seed, "stream": stream, "bits": [next(bits) for _ in range(4)]}
        case["bounds"] = [1, 6, 1000, 3 * 2**62, MASK64]
        case["below"] = [below(bits, bound) for bound in case["bounds"]]
        case["unit"] = (next(bits) >> 11) * 2.0**-53
        items = list(range(12))
        for i in range(12):
            j = i + below(bits, 12 - i)
            items[i], items[j] = items[j], items[i]
        case["shuffled"] = items[:]
        for i in range(4):
            j = i + below(bits, 12 - i)
            items[i], items[j] = items[j], items[i]
        case["chosen"] = items[:4]
        cases.append(case)
    write("random.json", {"cases": cases})


if __name__ == "__main__":
    descriptive()
    distributions()
    intervals()
    correlation()
    fits()
    comparison()
    bootstrap()
    random_numbers()
