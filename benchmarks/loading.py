"""Loading a suite of 10,000 cases, compared with PyYAML's C loader on the same file, which checks nothing."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from benchmarks.options import BenchmarkOptions
from benchmarks.table import Row
from benchmarks.timing import cost_of, typical
from evalharness.steps.find_suites import load_suite

CASES = 10_000
BUDGET_S = 2.0
HEAD = "name: large\ntarget: agent.py:answer\ntest_cases:\n"
CASE = """\
  - id: case-{number}
    input: What is {number} plus one?
    tags: [sums, "{number}"]
    expected: {{contains: "{next}"}}
"""


def measure(options: BenchmarkOptions) -> Iterator[Row]:
    cases = options.scaled(CASES)
    with TemporaryDirectory() as folder:
        path = Path(folder, "suite.yaml")
        written = "".join(CASE.format(number=number, next=number + 1) for number in range(cases))
        path.write_text(HEAD + written, encoding="utf-8")
        ours, bare = [], []
        for _ in range(options.rounds):
            gc.disable()  # it doubles the cost of the C loader, which would be in our favour
            bare.append(cost_of(lambda: yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)))
            gc.enable()
            ours.append(cost_of(lambda: load_suite(path)))
    taken, bare_s = typical(ours), typical(bare).cpu_s
    budget_s = BUDGET_S * cases / CASES
    yield Row(
        f"loading {cases:,} cases of YAML",
        f"{taken.cpu_s:.2f} s CPU, {taken.wall_s:.2f} s wall",
        f"{taken.cpu_s / bare_s:.1f} × yaml.CSafeLoader ({bare_s:.2f} s)",
        f"≤ {budget_s:g} s",
        taken.cpu_s <= budget_s,
    )
