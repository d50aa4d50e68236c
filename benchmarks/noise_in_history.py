"""How often `plan` says that runs differ by more than their trials explain: where they do not, and where they do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.between_runs import Setting, drawn
from benchmarks.findings import Finding, simulated
from benchmarks.options import BenchmarkOptions
from evalharness.stats.between_runs import noise_between_runs

DRAWS = 4_000
SEED = 31
SHOCKS = (0.0, 0.3)
"""On the scale of log-odds; .3 is about 6 points at a pass rate of 70 %."""
RUNS = (5, 10)


def measure(options: BenchmarkOptions) -> Iterator[Finding]:
    draws = options.scaled(DRAWS)
    for shock in SHOCKS:
        for runs in RUNS:
            setting = Setting(shock, runs)
            histories, _ = drawn(np.random.default_rng([SEED, runs, round(100 * shock)]), setting, draws)
            shown = sum(is_shown(history.tolist(), setting.trials) for history in histories)
            shared = f"shock {shock:g}" if shock else "no shock"
            what = f"{shared}, {runs} runs of {setting.cases} × {setting.trials} at {setting.rate:g}, {draws:,} draws"
            yield simulated(f"{what}: plan names the noise", shown / draws, draws)


def is_shown(history: list[list[int]], trials: int) -> bool:
    """`history` has the passes by run and case."""
    found = noise_between_runs([{case: (trials, passes) for case, passes in enumerate(run)} for run in history])
    return found is not None and found.is_shown
