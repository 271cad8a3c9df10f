"""The figures of an analysis, worked out again from its samples: by the definitions of docs/analyze.md, in plain Python and numpy, with no code of the analysis.

Reads lines "kind name measure end_ms length_ms value" from a file, and prints JSON."""

import json
import sys

import numpy as np

MINUTE = 60_000
LIMIT = 1 << 50
WINDOWS = (1, 5, 25)


def read(path):
    """Samples by series, and the first and last day."""
    series = {}
    for line in open(path):
        kind, name, measure, end, length, value = line.split()
        series.setdefault((kind, name, measure), []).append((int(end), int(length), int(value)))
    days = [(end - 1) // (1440 * MINUTE) for rows in series.values() for end, _, _ in rows]
    return series, min(days), max(days)


def minutes(rows, first, count):
    """What was counted in each minute, and how much of it is known."""
    value, covered = [0] * count, [0] * count
    for end, length, amount in rows:
        if length > MINUTE:
            continue
        start = end - length
        before = start
        while before < end:
            place = before // MINUTE
            until = min((place + 1) * MINUTE, end)
            part = amount * (until - start) // length - amount * (before - start) // length
            if 0 <= place - first < count:
                value[place - first] += part
                covered[place - first] += until - before
            before = until
    return value, covered


def known(value, covered):
    """Minutes of which enough is known, scaled; None otherwise."""
    scaled = (v if c >= MINUTE else v * MINUTE // c if c else 0 for v, c in zip(value, covered))
    return [s if c >= 50_000 else None for s, c in zip(scaled, covered)]


def enough(part, of):
    return part > 0 and part * 6 >= of * 5


def floats(values):
    return np.array([np.nan if v is None else float(v) for v in values])


def windows(x, width, first):
    skipped = -first % width
    x = x[skipped:]
    return x[: len(x) // width * width].reshape(-1, width).sum(axis=1)


def correlation(x, y, lag):
    x, y = x[: len(x) - lag], y[lag:]
    both = ~(np.isnan(x) | np.isnan(y))
    if both.sum() < 3 or x[both].std() == 0 or y[both].std() == 0:
        return None
    return float(np.corrcoef(x[both], y[both])[0, 1])


def clusters(active, percent):
    active = sorted(active)
    while active:
        inside = [v for v in active if v * 100 < active[0] * (100 + percent)] or active[:1]
        yield len(inside)
        active = active[len(inside):]


def sizes(columns, percent, targets):
    counts = [0] * (targets + 1)
    for active in columns:
        for size in clusters([v for v in active if v], percent):
            counts[size] += 1
    return counts


def runs(is_in):
    """First place and length of each run."""
    start = None
    for place, it in enumerate(list(is_in) + [False]):
        if it and start is None:
            start = place
        if not it and start is not None:
            yield start, place - start
            start = None


def main():
    series, first_day, last_day = read(sys.argv[1])
    first, count = first_day * 1440, (last_day - first_day + 1) * 1440
    names = sorted({name for kind, name, _ in series if kind == "ost"})
    per_target, totals = {}, {}
    for name in names:
        for measure in ("read_bytes", "written_bytes"):
            rows = series.get(("ost", name, measure), [])
            value, covered = minutes(rows, first, count)
            good, dropped = known(value, covered), 0
            for place, counted in enumerate(value):
                if counted > LIMIT or (good[place] or 0) > LIMIT:
                    good[place] = None
                    dropped += counted
            per_target[name, measure] = good
            totals[name, measure] = sum(v for _, _, v in rows) - dropped
    meta = {}
    for measure in ("opens", "closes"):
        (rows,) = [rows for (kind, _, m), rows in series.items() if kind == "mdt" and m == measure]
        meta[measure] = known(*minutes(rows, first, count))
    # Targets that have samples on a day.
    on_day = [set() for _ in range(last_day - first_day + 1)]
    for (kind, name, measure), rows in series.items():
        if kind == "ost":
            for end, _, _ in rows:
                on_day[(end - 1) // (1440 * MINUTE) - first_day].add(name)
    whole, any_known = {}, np.zeros(count, bool)
    for measure in ("read_bytes", "written_bytes"):
        whole[measure] = []
        for place in range(count):
            here = [per_target[name, measure][place] for name in names]
            here = [v for v in here if v is not None]
            any_known[place] |= bool(here)
            is_known = enough(len(here), len(on_day[place // 1440]))
            whole[measure].append((sum(here), is_known))
    moves = lambda place: any(whole[m][place][0] for m in whole) or any(meta[m][place] for m in meta)
    quiet = np.array([not moves(place) for place in range(count)])
    bounds = np.flatnonzero(any_known)
    quiet[: bounds[0]] = quiet[bounds[-1] + 1:] = False
    out = np.zeros(count, bool)
    for start, length in runs(quiet):
        if length >= 10:
            out[start: start + length] = True
    result = {"outage_minutes": int(out.sum()), "targets": {}, "system": {}, "metadata": {}}
    clean = {}
    for key, values in per_target.items():
        clean[key] = floats(values)
        clean[key][out] = np.nan
    for name in names:
        reads, writes = clean[name, "read_bytes"], clean[name, "written_bytes"]
        result["targets"][name] = {
            "bytes": [totals[name, "read_bytes"], totals[name, "written_bytes"]],
            "correlations": [
                [[correlation(windows(x, w, first), windows(y, w, first), lag) for lag in range(6)] for w in WINDOWS]
                for x, y in ((reads, reads), (writes, writes), (reads, writes))
            ],
        }
    system = {}
    for measure in whole:
        x = floats([v if is_known else None for v, is_known in whole[measure]])
        x[out] = np.nan
        system[measure] = x
        good = x[~np.isnan(x)]
        per_minute = [[per_target[name, measure][place] for name in names] for place in range(count)]
        per_minute = [[v for v in here if v is not None] for here in per_minute]
        wide = []
        for start in range(0, count, 5):
            sums = [[per_target[name, measure][p] for p in range(start, start + 5)] for name in names]
            sums = [[None if out[start + i] else v for i, v in enumerate(some)] for some in sums]
            wide.append([sum(some) for some in sums if None not in some])
        phases = []
        for level, bound in (("high", np.quantile(good, 0.75)), ("low", np.quantile(good, 0.25))):
            with np.errstate(invalid="ignore"):
                is_in = x >= bound if level == "high" else x <= bound
            phases.append(float(np.mean([length for _, length in runs(is_in)])))
        hours = np.full((count // 60,), np.nan)
        for hour in range(count // 60):
            some = x[hour * 60: hour * 60 + 60]
            some = some[~np.isnan(some)]
            if enough(len(some), 60):
                hours[hour] = some.sum() * 60 / len(some)
        by_hour = [hours[h::24][~np.isnan(hours[h::24])] for h in range(24)]
        over_mean = []
        for day in range(count // 1440):
            loads = [clean[name, measure][day * 1440: day * 1440 + 1440] for name in names]
            lengths = [int((~np.isnan(load)).sum()) for load in loads]
            loads = [np.nansum(load) for load, n in zip(loads, lengths) if enough(n, max(lengths))]
            if len(loads) > 1 and sum(loads) > 0:
                over_mean.append(max(loads) / np.mean(loads))
        result["system"][measure] = {
            "bytes": sum(totals[name, measure] for name in names),
            "minutes": len(good),
            "mean": float(good.mean()),
            "cov": float(good.std(ddof=1) / good.mean()),
            "below_mean": float((good < good.mean()).mean()),
            "quantiles": [float(np.quantile(good, q)) for q in (0.25, 0.5, 0.75, 0.99)],
            "phases": phases,
            "clusters": [sizes(per_minute, 5, len(names)), sizes(per_minute, 10, len(names)), sizes(wide, 5, len(names))],
            "hours": [[len(h), float(h.mean()), float(h.std(ddof=1) / h.mean()) if len(h) > 1 else None] for h in by_hour],
            "over_mean": float(np.median(over_mean)),
        }
    pairs = (("read_bytes", "read_bytes"), ("written_bytes", "written_bytes"), ("read_bytes", "written_bytes"))
    result["correlations"] = [
        [[correlation(windows(system[a], w, first), windows(system[b], w, first), lag) for lag in range(13)] for w in WINDOWS]
        for a, b in pairs
    ]
    opens, closes = floats(meta["opens"]), floats(meta["closes"])
    opens[out] = closes[out] = np.nan
    both = ~(np.isnan(opens) | np.isnan(closes))
    good = opens[~np.isnan(opens)]
    result["metadata"] = [float(good.mean()), float(good.std(ddof=1) / good.mean()), float(closes[both].sum() / opens[both].sum())]
    result["servers"] = {}
    for name in sorted({name for kind, name, _ in series if kind == "server"}):
        busy, all_time = (known(*minutes(series["server", name, m], first, count)) for m in ("cpu_busy_time", "cpu_time"))
        shares = [b * 1_000_000 // a for b, a in zip(busy, all_time) if b is not None and a]
        result["servers"][name] = [len(shares), float(np.mean(shares)), max(shares)]
    print(json.dumps(result))


main()
