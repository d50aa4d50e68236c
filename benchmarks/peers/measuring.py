"""How a peer is measured and reported: CPU and wall time of the evaluation alone, as JSON on the last line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.metadata import version

from benchmarks.timing import cost_of


def wanted_trials() -> int:
    return int(sys.argv[1])


def report(distribution: str, passed: Callable[[int], int]) -> None:
    """`passed(n)` evaluates n trials and returns how many passed. A first small run covers imports and set-up."""
    trials = wanted_trials()
    passed(2)
    counted: list[int] = []
    cost = cost_of(lambda: counted.append(passed(trials)))
    if counted != [trials]:
        raise SystemExit(f"{distribution} passed {counted} of {trials} trials")
    found = {"version": version(distribution), "trials": trials, "cpu_s": cost.cpu_s, "wall_s": cost.wall_s}
    print(json.dumps(found), flush=True)
