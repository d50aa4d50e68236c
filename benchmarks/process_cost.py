"""What a command costs as a process of its own: time and peak memory of it and of what it started.

`python -m benchmarks.process_cost WORD...` runs a command and prints its cost. This small process stands between the
command and the benchmarks because a process begins with the peak memory of the one that started it.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
HARNESS = (sys.executable, "-m", "evalharness")
LIMIT_S = 900


@dataclass(frozen=True, slots=True)
class ProcessCost:
    wall_s: float
    cpu_s: float
    peak_mb: float

    def shown(self) -> str:
        return f"{self.wall_s:.2f} s wall, {self.cpu_s:.2f} s CPU, {self.peak_mb:.0f} MB"


def cost_of_process(
    words: Sequence[str], folder: str | Path, environment: Mapping[str, str] | None = None
) -> ProcessCost:
    """Raises if the command does not end with 0, so that a fast failure is never mistaken for speed."""
    command = [sys.executable, "-m", "benchmarks.process_cost", *words]
    given = {**os.environ, **(environment or {}), "PYTHONPATH": str(ROOT)}
    given.pop("PYTHONDONTWRITEBYTECODE", None)  # else every start compiles every module
    ended = subprocess.run(command, cwd=folder, env=given, check=False, capture_output=True, text=True, timeout=LIMIT_S)
    if ended.returncode != 0:
        raise SystemExit(f"{' '.join(words)} ended with {ended.returncode}: {ended.stderr[-1000:]}")
    return ProcessCost(**json.loads(ended.stdout))


def typical_process(costs: Iterable[ProcessCost]) -> ProcessCost:
    taken = list(costs)
    return ProcessCost(*(median(getattr(cost, name) for cost in taken) for name in ("wall_s", "cpu_s", "peak_mb")))


def _main() -> None:
    began = time.perf_counter()
    ended = subprocess.run(sys.argv[1:], check=False, stdout=subprocess.DEVNULL)
    wall_s, used = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    kilobytes = used.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    print(json.dumps({"wall_s": wall_s, "cpu_s": used.ru_utime + used.ru_stime, "peak_mb": kilobytes / 1024}))
    sys.exit(ended.returncode)


if __name__ == "__main__":
    _main()
