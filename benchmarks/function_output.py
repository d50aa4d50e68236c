"""Grading generated code: isolated, one sandbox per trial, compared with one bare process per test case; its pass@k."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from math import comb
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.options import BenchmarkOptions
from benchmarks.problem import Problem
from benchmarks.problems import PROBLEMS
from benchmarks.table import Row
from benchmarks.timing import cost_of, typical
from evalharness import Harness
from evalharness.actions.run_suite import RunRequest, run_suites
from evalharness.contracts.target import Task
from evalharness.domain.case import Case
from evalharness.domain.report import Report
from evalharness.domain.run import RunOptions
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.domain.suite import LoadedFile, Suite

SAMPLES = 10
AT_ONCE = 2
BUDGET = 1.0
LEAN = ("-s", "-S")
"""The flags that our own runner is started with."""


def measure(options: BenchmarkOptions) -> Iterator[Row]:
    problems = PROBLEMS[: max(3, options.scaled(len(PROBLEMS)))]
    ours, plain, lean, reports = [], [], [], []
    for _ in range(options.rounds):
        plain.append(cost_of(lambda: grade_bare(problems, ())))
        lean.append(cost_of(lambda: grade_bare(problems, LEAN)))
        ours.append(cost_of(lambda: reports.append(grade_isolated(problems))))
    taken_s, plain_s, lean_s = typical(ours).wall_s, typical(plain).wall_s, typical(lean).wall_s
    calls = SAMPLES * sum(len(problem.calls) for problem in problems)
    what = f"{len(problems)} problems × {SAMPLES} samples of code, {calls:,} calls, {AT_ONCE} at once, isolated"
    for name, bare_s in (
        ("`python file.py` per call", plain_s),
        (f"`python {' '.join(LEAN)} file.py` per call", lean_s),
    ):
        yield Row(
            what,
            f"{taken_s:.2f} s wall, {taken_s / len(problems) / SAMPLES * 1000:.1f} ms a trial",
            f"{taken_s / bare_s:.2f} × {name}, not isolated ({bare_s:.2f} s)",
            f"< {BUDGET:g} ×",
            taken_s / bare_s < BUDGET,
        )
    yield _pass_at_k(problems, reports[-1])


def samples_of(number: int, problem: Problem) -> list[str]:
    """From none to all are right, so that every problem has a different share."""
    right = rights(number)
    return [problem.right] * right + list(islice(cycle(problem.wrong), SAMPLES - right))


def rights(number: int) -> int:
    return number % (SAMPLES + 1)


def grade_isolated(problems: Sequence[Problem]) -> Report:
    answers = {problem.name: samples_of(number, problem) for number, problem in enumerate(problems)}

    async def answer(question: str, context: Task) -> str:  # noqa: ARG001
        return f"```python\n{answers[context.case.id][context.index]}```"

    suite = Suite(
        name="code", target=TargetSpec.model_validate(answer), trials=SAMPLES, cases=tuple(map(_case, problems))
    )
    with TemporaryDirectory() as folder, Harness.open(f"{folder}/store.db") as harness:
        file = LoadedFile(Path(folder, "suite.yaml"), suite)
        request = RunRequest(suites=(file,), options=RunOptions(max_concurrency=AT_ONCE))
        [run] = harness.call(run_suites, request)
    if run.report is None:
        raise SystemExit("the benchmark's own run has no report")
    return run.report


def _case(problem: Problem) -> Case:
    grader = {"function_output": {"function_name": problem.name, "test_cases": problem.cases}}
    return Case(id=problem.name, input=f"Write {problem.name}.", expected=GraderSpec.model_validate(grader))


def grade_bare(problems: Sequence[Problem], flags: Sequence[str]) -> None:
    """What people would write without a harness: a file per call, a process per file, the result on stdout."""
    with TemporaryDirectory() as folder, ThreadPoolExecutor(AT_ONCE) as pool:
        work = [
            (Path(folder, f"{problem.name}-{place}-{index}.py"), flags, problem.name, code, case)
            for number, problem in enumerate(problems)
            for place, code in enumerate(samples_of(number, problem))
            for index, case in enumerate(problem.cases)
        ]
        passed = list(pool.map(lambda given: _passes_bare(*given), work))
    right = sum(rights(number) * len(problem.calls) for number, problem in enumerate(problems))
    if not right <= sum(passed) < len(passed):
        raise SystemExit(f"the bare processes saw {sum(passed)} right calls, at least {right} are")


def _passes_bare(path: Path, flags: Sequence[str], name: str, code: str, case: dict[str, Any]) -> bool:
    call = f"{name}(*json.loads({json.dumps(json.dumps(case['args']))}))"
    path.write_text(f"import json\n{code}\nprint(json.dumps({call}))\n", encoding="utf-8")
    command = [sys.executable, *flags, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    return done.returncode == 0 and json.loads(done.stdout) == json.loads(json.dumps(case["expected"]))


def _pass_at_k(problems: Sequence[Problem], report: Report) -> Row:
    """The estimate over the known numbers of right samples, by its textbook formula."""
    names = [name for name in report.measurements if name.startswith("pass_at_")]
    rates = {int(name.removeprefix("pass_at_")): report.measurements[name].value for name in names}
    expected = {
        k: sum(1 - comb(SAMPLES - rights(n), k) / comb(SAMPLES, k) for n in range(len(problems))) / len(problems)
        for k in rates
    }
    wrong = {k: rates[k] for k in rates if abs(rates[k] - expected[k]) > 1e-9}
    if wrong or not rates:
        raise SystemExit(f"pass@k is wrong: {rates}, expected {expected}")
    said = ", ".join(f"pass@{k} {value:.3f}" for k, value in sorted(rates.items()))
    return Row("pass@k of these samples", said, "", "as known", True)
