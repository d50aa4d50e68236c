"""An agent in containers: a trial, stored and graded, compared with a bare `run` of the same command.

It needs docker or podman, and in EVALHARNESS_BENCHMARK_IMAGE the name of an image whose `true` is on its PATH.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.options import BenchmarkOptions
from benchmarks.table import Row
from benchmarks.timing import cost_of, typical
from evalharness import Harness
from evalharness.actions.run_suite import RunRequest, run_suites
from evalharness.domain.case import Case
from evalharness.domain.run import RunOptions
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.domain.suite import LoadedFile, Suite

TRIALS = 20
BUDGET = 1.2
IMAGE = "EVALHARNESS_BENCHMARK_IMAGE"


def measure(options: BenchmarkOptions) -> Iterator[Row]:
    image = os.environ.get(IMAGE)
    program = next(filter(None, map(shutil.which, ("docker", "podman"))), None)
    if not image or program is None:
        yield Row("an agent in containers", f"not measured: needs docker or podman, and {IMAGE}")
        return
    trials = options.scaled(TRIALS)
    ours, bare = [], []
    for _ in range(options.rounds):
        bare.append(cost_of(lambda: run_bare(program, image, trials)))
        ours.append(cost_of(lambda: run_trials(image, trials)))
    taken_s, bare_s = typical(ours).wall_s, typical(bare).wall_s
    yield Row(
        f"{trials} trials in {Path(program).name}, one at a time",
        f"{taken_s / trials * 1000:.0f} ms a trial",
        f"{taken_s / bare_s:.2f} × `run --rm` ({bare_s / trials * 1000:.0f} ms)",
        f"≤ {BUDGET:g} ×",
        taken_s / bare_s <= BUDGET,
    )


def run_bare(program: str, image: str, trials: int) -> None:
    words = [program, "run", "--rm", "--init", "--network", "none", "--interactive", image, "true"]
    for _ in range(trials):
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL, capture_output=True)


def run_trials(image: str, trials: int) -> None:
    target = TargetSpec(kind="container", options={"image": image, "command": ["true"]})
    graders = (GraderSpec(kind="exact", options=""),)
    suite = Suite(name="true", target=target, trials=trials, cases=(Case(id="a", input="x", graders=graders),))
    with TemporaryDirectory() as folder, Harness.open(f"{folder}/store.db") as harness:
        file = LoadedFile(Path(folder) / "suite.yaml", suite, ())
        [run] = harness.call(run_suites, RunRequest(suites=(file,), options=RunOptions(max_concurrency=1)))
        assert run.report is not None and run.report.exit_code == 0, run.report
