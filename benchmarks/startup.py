"""Start-up: `--help` and a run of one case, as processes, compared with a Python that does nothing.

And what the plug-in adds to each start of pytest.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.options import BenchmarkOptions
from benchmarks.table import Row

ROUNDS = 9
HELP_BUDGET_S = 0.15
RUN_BUDGET_S = 0.5
PLUGIN_BUDGET_MS = 30
COMMAND = (str(Path(sys.executable).with_name("eval-harness")),)
AGENT = "def answer(question):\n    return 'Hello, Ada!'\n"
SUITE = """\
name: one
target: agent.py:answer
test_cases:
  - {id: polite, input: Say hello to Ada, expected: {contains: Ada}}
"""
ASK_FOR_PYDANTIC = """\
import sys
from evalharness.cli.main import run_command
run_command(["--help"])
print("pydantic" in sys.modules)
"""
LOAD_PLUGIN = """\
import time, pytest
began = time.perf_counter()
import evalharness.testing.pytest_plugin
print((time.perf_counter() - began) * 1000)
"""


def measure(options: BenchmarkOptions) -> Iterator[Row]:
    rounds = 3 if options.quick else ROUNDS
    with TemporaryDirectory() as folder:
        Path(folder, "agent.py").write_text(AGENT, encoding="utf-8")
        Path(folder, "suite.yaml").write_text(SUITE, encoding="utf-8")
        nothing_s = _typical_s([sys.executable, "-c", "pass"], folder, rounds)
        yield Row("`python -c pass`", f"{nothing_s:.3f} s")
        for words, budget_s in ((("--help",), HELP_BUDGET_S), (("run", "suite.yaml"), RUN_BUDGET_S)):
            taken_s = _typical_s([*COMMAND, *words], folder, rounds)
            yield Row(
                f"`eval-harness {' '.join(words)}`" + (", one case" if words[0] == "run" else ""),
                f"{taken_s:.3f} s",
                f"{taken_s / nothing_s:.1f} × `python -c pass`",
                f"≤ {budget_s} s",
                taken_s <= budget_s,
            )
        said = _output([sys.executable, "-c", ASK_FOR_PYDANTIC], folder).splitlines()[-1]
        yield Row("`--help` imports pydantic", "yes" if said == "True" else "no", "", "no", said == "False")
        loads = [float(_output([sys.executable, "-c", LOAD_PLUGIN], folder)) for _ in range(rounds)]
        budget = f"≤ {PLUGIN_BUDGET_MS} ms"
        yield Row(
            "the pytest plug-in, unused", f"{median(loads):.1f} ms", "", budget, median(loads) <= PLUGIN_BUDGET_MS
        )


def _typical_s(command: Sequence[str], folder: str, rounds: int) -> float:
    _output(command, folder)  # the first start compiles modules and creates the store
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        _output(command, folder)
        taken.append(time.perf_counter() - began)
    return median(taken)


def _output(command: Sequence[str], folder: str) -> str:
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
