"""How often the 90 % range for the false alarms of strict flips contains the true chance.

Each draw makes true pass rates, a baseline, and the history of each case (the baseline's trials and earlier ones).
The truth is the chance that one more run of the unchanged agent fails a case that always passed in this baseline.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from benchmarks.detectable_drops import TRUTHS
from benchmarks.findings import Finding, simulated
from benchmarks.options import BenchmarkOptions
from evalharness.stats.flip_rate import flip_alarm_range

DRAWS = 300
SEED = 29
SIZES = (10, 20, 50)
KNOWN = ((4, 4), (8, 8), (1, 5), (1, 10))
"""Trials of the baseline, and with earlier runs."""
ON_THE_EDGE = 1e-9


def measure(options: BenchmarkOptions) -> Iterator[Finding]:
    draws = options.scaled(DRAWS)
    for cases in SIZES:
        for trials, known in KNOWN:
            for name in TRUTHS:
                held, number, width = coverage(name, cases, trials, known, draws)
                where = f"{cases} cases, baseline × {trials}, {known} trials known, {name}"
                yield simulated(f"{where} (mean width {width:.2f})", held, number)


def coverage(name: str, cases: int, trials: int, known: int, draws: int) -> tuple[float, int, float]:
    """The share of ranges that contain the true chance, the number of ranges, and their average width."""
    random = np.random.default_rng([SEED, cases, trials, known, *map(ord, name)])
    held = number = 0
    width = 0.0
    for _ in range(draws):
        rates = TRUTHS[name](random, cases)
        baseline, earlier = random.binomial(trials, rates), random.binomial(known - trials, rates)
        watched = (baseline == trials).tolist()
        found = flip_alarm_range([(known, int(passed)) for passed in baseline + earlier], watched, trials)
        assert found is not None
        truth = 1 - prod(rate**trials for rate, is_watched in zip(rates.tolist(), watched, strict=True) if is_watched)
        number += 1
        held += found[0] - ON_THE_EDGE <= truth <= found[1] + ON_THE_EDGE
        width += found[1] - found[0]
    return held / number, number, width / number
