"""Imported by Python itself before anything else: a stopwatch that does not move, one order of "random" names, and no
plug-ins.

Every trial takes no time, so that figures that depend on time can be compared. An agent may call
`time.perf_counter.advance(seconds)` to simulate some. Names of runs are drawn in the same order in every process;
a name that the store already has is drawn again, so the runs of a store have the same names each time. Plug-ins that
happen to be installed would be listed in the schema and in messages.
"""

import importlib.metadata
import random
import time
from typing import Any


class Stopwatch:
    def __init__(self) -> None:
        self._now = 1000.0

    def __call__(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """By a number that floats represent exactly, so that no digit depends on what was measured before."""
        self._now += round(seconds * 2**16) / 2**16


class SteadyRandom(random.Random):
    def __init__(self, seed: int | float | str | bytes | bytearray = 0) -> None:
        super().__init__(seed)


def entry_points_of_others(**wanted: Any) -> importlib.metadata.EntryPoints:
    group = str(wanted.get("group", ""))
    return importlib.metadata.EntryPoints() if group.startswith("evalharness.") else every_entry_point(**wanted)


every_entry_point = importlib.metadata.entry_points
importlib.metadata.entry_points = entry_points_of_others
time.perf_counter = Stopwatch()  # type: ignore[assignment]
random.Random = SteadyRandom  # type: ignore[misc]
