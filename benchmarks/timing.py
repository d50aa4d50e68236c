"""Clocks: wall time and CPU time of all threads together, and the median of several rounds."""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Cost:
    wall_s: float
    cpu_s: float

    def per_trial(self, trials: int) -> str:
        return f"{microseconds(self.cpu_s, trials)} CPU, {microseconds(self.wall_s, trials)} wall"


def cost_of(work: Callable[[], object]) -> Cost:
    """Garbage of earlier code is not charged to `work`."""
    gc.collect()
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    work()
    return Cost(time.perf_counter() - wall_s, time.process_time() - cpu_s)


def cost_of_command(words: Sequence[str]) -> Cost:
    """The time of a separate process, from its start to its end."""
    wall_s, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "evalharness", *words], check=True, stdout=subprocess.DEVNULL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(time.perf_counter() - wall_s, used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime)


def typical(costs: Iterable[Cost]) -> Cost:
    taken = list(costs)
    return Cost(median(cost.wall_s for cost in taken), median(cost.cpu_s for cost in taken))


def microseconds(seconds: float, trials: int) -> str:
    return f"{seconds / trials * 1e6:.0f} µs"
