#!/usr/bin/env python3
"""Writes the synthetic results and the scores that the tests of this crate compare with.

Run from this folder: python3 make_tables.py
Needs numpy and scipy (made with numpy 2.4.6, scipy 1.17.1). Every score is a direct, unoptimised
transcription of its definition in Xie et al., sections 3 to 5.6.
"""

import json
from collections import defaultdict
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
from scipy import stats

RNG = np.random.default_rng(20170601)
MIB = 1 << 20
SECOND = 10**9


def setting(pairs, burst, stripes=1, sharing="independent"):
    return {
        "operation": "write", "clients": pairs, "processes": 1, "targets": pairs,
        "burst": f"{burst}MiB", "transfer": "1MiB", "pattern": "sequential", "sharing": sharing,
        "stripe_count": stripes, "stripe_size": "1MiB", "caching": "direct",
        "engine": "synchronous", "depth": 1,
    }


def make():
    """Two experiments in two runs, with ties, a failed, a striped and a shared instance."""
    instances = []
    start = 1_497_000_000 * SECOND
    for experiment, pairs, bursts in [("many-pairs", 4, [16, 64]), ("target", 1, [4, 16])]:
        number = 0
        for run in range(2):
            start += 7 * 3600 * SECOND
            for round in range(12):
                for burst in bursts:
                    start += int(RNG.integers(15, 40)) * SECOND
                    count = pairs if round != 5 else min(pairs, 2)
                    targets = RNG.permutation(4)[:count]
                    clients = RNG.permutation(5)[:count]
                    # Small and large bursts on one target have the same rate: they outlast caches.
                    scatter = 0.3 if pairs > 1 else 0.02
                    rates = np.exp(scatter * RNG.normal(size=count)) * 100 * MIB
                    if round == 3:
                        rates[:] = 100 * MIB
                    nanos = [int(burst * MIB / rate * SECOND) for rate in rates]
                    outcome = "complete" if round != 7 else {"failed": "a disk was full"}
                    stripes = 4 if round == 8 else 1
                    sharing = "shared" if round == 9 else "independent"
                    instances.append((experiment, {
                        "run": run, "group": 0, "round": round, "instance": number,
                        "setting": setting(count, burst, stripes, sharing),
                        "varied": str(burst), "outcome": outcome,
                        "pairs": [{
                            "client": f"c{client}", "target": f"t{target}",
                            "server": f"s{target % 2}", "processes": 1, "bytes": burst * MIB,
                            "start": start, "end": start + nano,
                        } for client, target, nano in zip(clients, targets, nanos)],
                    }))
                    number += 1
    return instances


def seconds(pair):
    return (pair["end"] - pair["start"]) / 1e9


def bandwidth(pair):
    return pair["bytes"] / seconds(pair)


def scored(instance):
    it = instance["setting"]
    unstriped = it["stripe_count"] == 1 and it["sharing"] == "independent"
    return instance["outcome"] == "complete" and unstriped


def distribution(values):
    values = np.array(values)
    q1, median, q3 = np.percentile(values, [25, 50, 75])
    return {
        "n": len(values), "min": values.min(), "q1": q1, "median": median, "mean": values.mean(),
        "q3": q3, "max": values.max(),
        "outliers_low": int((values < q1 - 1.5 * (q3 - q1)).sum()),
        "outliers_high": int((values > q3 + 1.5 * (q3 - q1)).sum()),
    }


def relative(instances):
    fastest = defaultdict(float)
    for experiment, it in instances:
        key = (experiment, json.dumps(it["setting"], sort_keys=True))
        for pair in it["pairs"] if scored(it) else []:
            fastest[key] = max(fastest[key], bandwidth(pair))
    sets = defaultdict(lambda: {"leb": [], "peb": []})
    hours = defaultdict(list)
    days = defaultdict(list)
    for experiment, it in instances:
        if not scored(it):
            continue
        best = max(bandwidth(pair) for pair in it["pairs"])
        for pair in it["pairs"]:
            peb = bandwidth(pair) / fastest[experiment, json.dumps(it["setting"], sort_keys=True)]
            for kind in ["client", "target", "server", "pair"]:
                of = (lambda it: it[kind]) if kind != "pair" else \
                    (lambda it: it["client"] + "-" + it["target"])
                # What is alone in an instance is compared with nobody.
                if len({of(other) for other in it["pairs"]}) > 1:
                    sets[of(pair)]["leb"].append(bandwidth(pair) / best)
                sets[of(pair)]["peb"].append(peb)
            moment = datetime.fromtimestamp(pair["start"] // SECOND, timezone.utc)
            hours[moment.hour].append(peb)
            days[moment.weekday()].append(peb)
    table = {
        name: {kind: distribution(values) if values else None for kind, values in both.items()}
        for name, both in sorted(sets.items())
    }
    return table, {str(k): distribution(v) for k, v in sorted(hours.items())}, \
        {str(k): distribution(v) for k, v in sorted(days.items())}


def gains(instances):
    found = {"slowest": [], "two slowest": [], "all stragglers": []}
    for _, it in instances:
        if not scored(it):
            continue
        times = sorted((seconds(pair) for pair in it["pairs"]), reverse=True)
        if len(times) > 1:
            found["slowest"].append(times[0] / times[1])
            found["all stragglers"].append(times[0] / times[-1])
        if len(times) > 2:
            found["two slowest"].append(times[0] / times[2])
    return {
        name: {"n": len(it), "exceeded_by_60": np.quantile(it, 0.4), "median": np.median(it),
               "exceeded_by_1": np.quantile(it, 0.99), "max": max(it)}
        for name, it in found.items()
    }


def peaks(instances):
    """Of the largest bursts that a target had to itself."""
    rates = defaultdict(list)
    for experiment, it in instances:
        if experiment == "target" and scored(it) and it["varied"] == "16":
            rates[it["pairs"][0]["target"]].append(bandwidth(it["pairs"][0]))
    return {target: np.quantile(values, 0.973) for target, values in sorted(rates.items())}


def sequences(instances, threshold, peaks):
    """Series of a target in a run; low under the quantile of all measures."""
    values = []
    series = defaultdict(list)
    for experiment, it in instances:
        for pair in it["pairs"] if scored(it) else []:
            value = bandwidth(pair) / peaks[pair["target"]]
            values.append(value)
            series[experiment, it["run"], pair["target"]].append((pair["start"], value))
    limit = np.quantile(values, threshold)
    found = {True: [], False: []}
    low_measures = 0
    for measures in series.values():
        labelled = [(start, value < limit) for start, value in sorted(measures)]
        low_measures += sum(low for _, low in labelled)
        first = 0
        for index in range(1, len(labelled) + 1):
            if index == len(labelled):
                span = labelled[-1][0] - labelled[first][0]
                found[labelled[first][1]].append((span / 1e9, False))
            elif labelled[index][1] != labelled[first][1]:
                span = labelled[index][0] - labelled[first][0]
                found[labelled[first][1]].append((span / 1e9, True))
                first = index

    def survival(durations):
        if not durations:
            return None
        data = stats.CensoredData(
            uncensored=[it for it, ended in durations if ended],
            right=[it for it, ended in durations if not ended],
        )
        sf = stats.ecdf(data).sf
        below = np.flatnonzero(sf.probabilities <= 0.5 + 1e-12)
        median = float(sf.quantiles[below[0]]) if len(below) else None
        return {"n": len(durations), "ended": sum(e for _, e in durations), "median": median,
                "within_60": 1 - float(sf.evaluate(60.0))}

    return {"threshold": threshold, "low_measures": low_measures, "series": len(series),
            "low": survival(found[True]), "normal": survival(found[False])}


def aggregates(instances, peaks):
    groups = defaultdict(lambda: {"aggregate": [], "eab": [], "eb": []})
    for experiment, it in instances:
        if it["outcome"] != "complete" or not scored(it):
            continue
        key = f"{experiment} {it['varied']} {len(it['pairs'])}"
        total = sum(pair["bytes"] for pair in it["pairs"])
        rate = total / max(seconds(pair) for pair in it["pairs"])
        groups[key]["aggregate"].append(rate)
        groups[key]["eab"].append(rate / sum(peaks[p["target"]] for p in it["pairs"]))
        groups[key]["eb"] += [bandwidth(p) / peaks[p["target"]] for p in it["pairs"]]
    return {key: {name: distribution(v) for name, v in it.items()} for key, it in groups.items()}


def plain(value):
    return float(value) if isinstance(value, np.floating) else int(value)


def main():
    instances = make()
    peak = peaks(instances)
    components, hours, weekdays = relative(instances)
    table = {
        "components": components, "hours": hours, "weekdays": weekdays,
        "gains": gains(instances), "peaks": peak, "points": aggregates(instances, peak),
        "sequences": [sequences(instances, it, peak) for it in (0.05, 0.1, 0.2)],
    }
    lines = ",\n".join("    " + json.dumps(it, default=plain) for it in instances)
    rest = ",\n".join(f'  "{k}": ' + json.dumps(v, default=plain) for k, v in table.items())
    text = '{\n  "instances": [\n' + lines + "\n  ],\n" + rest + "\n}\n"
    Path(__file__).with_name("scores.json").write_text(text)


main()
