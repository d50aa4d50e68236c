"""How often strict flips fails a run of an unchanged agent: exact, from the rule itself.

With one trial per case, a case fails the gate if it passed in the baseline, fails now and failed in no earlier run of
the history. (An earlier failure excuses it: the baseline, which is the newest of those runs, passed again.) With five
trials in both runs, it fails the gate if all passed before and none passes now.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from benchmarks.findings import Finding
from benchmarks.options import BenchmarkOptions

CASES = (50, 100)
RATES = (0.95, 0.98, 0.99, 0.995)
HISTORY = 20
"""Runs that are looked back at, the baseline among them."""
TRIALS = 5
RATES_OF_REPEATED = (0.5, 0.9)
SHAKY, STEADY = 0.8, 0.999
"""One case in ten, and the others."""


def measure(_: BenchmarkOptions) -> Iterator[Finding]:
    for cases in CASES:
        for runs in (1, HISTORY):
            for rate in RATES:
                yield _finding(f"{cases} cases × 1 at {rate:g}, {_named(runs)}", [single(rate, runs)] * cases)
    for runs in (1, HISTORY):
        mixed = [single(SHAKY if case % 10 == 0 else STEADY, runs) for case in range(CASES[0])]
        yield _finding(f"{CASES[0]} cases × 1, a tenth at {SHAKY:g}, the others at {STEADY:g}, {_named(runs)}", mixed)
    for rate in RATES_OF_REPEATED:
        lost = [(rate * (1 - rate)) ** TRIALS] * CASES[0]
        yield _finding(f"{CASES[0]} cases × {TRIALS} at {rate:g}", lost)


def single(rate: float, runs: int) -> float:
    """The chance that one case fails the gate, if `runs` of the history are known."""
    return rate**runs * (1 - rate)


def _named(runs: int) -> str:
    return f"{runs} runs of history" if runs > 1 else "no history"


def _finding(what: str, lost: list[float]) -> Finding:
    return Finding(f"{what}: fails the gate", 1 - prod(1 - chance for chance in lost), None)
