"""The smallest possible eval: a target that answers at once, one grader, stored like a run of the command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.question import ANSWER, QUESTION, WANTED
from evalharness import Harness
from evalharness.actions.run_suite import RunRequest, run_suites
from evalharness.cli.process import signals_handled
from evalharness.contracts.execution import StopSignal
from evalharness.domain.case import Case
from evalharness.domain.run import RunOptions
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.domain.suite import LoadedFile, Suite
from evalharness.reports.words.say import say

CASES = 100


async def answer_async(question: str) -> str:  # noqa: ARG001
    return ANSWER


def answer_sync(question: str) -> str:  # noqa: ARG001
    return ANSWER


def suite_of(target: Callable[..., Any] | str, cases: int, trials: int) -> Suite:
    expected = GraderSpec.model_validate({"contains": WANTED})
    return Suite(
        name="benchmark",
        target=TargetSpec.model_validate(target),
        trials=trials,
        cases=tuple(Case(id=f"case-{number}", input=QUESTION, expected=expected) for number in range(cases)),
    )


def run_persisted(suite: Suite, max_concurrency: int) -> None:
    """The path of `eval-harness run` from the loaded suite to the stored report, in a new SQLite file."""
    options = RunOptions(max_concurrency=max_concurrency)
    with TemporaryDirectory() as folder, Harness.open(f"{folder}/store.db") as harness, signals_handled(StopSignal()):
        file = LoadedFile(Path(folder, "suite.yaml"), suite)
        [run] = harness.call(run_suites, RunRequest(suites=(file,), options=options))
    if not run.passed:
        raise SystemExit(f"the benchmark's own run did not pass: {say(run.report and run.report.why)}")
