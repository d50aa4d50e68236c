"""The smallest eval there is: a target that answers at once, one grader, persisted like a run of the command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.question import ANSWER, QUESTION, WANTED
from evalharness import settings
from evalharness.actions.execute_runs import NoWatcher
from evalharness.actions.open_store import open_store
from evalharness.actions.run_suite import RunRequest, run_suites
from evalharness.domain.case import Case
from evalharness.domain.run import RunOptions
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.domain.suite import Suite
from evalharness.formats.loading import LoadedFile
from evalharness.redaction import Redactor

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
    request = RunRequest(options=RunOptions(max_concurrency=max_concurrency))
    with TemporaryDirectory() as folder, open_store(f"{folder}/store.db", Redactor(settings.secrets())) as store:
        [run] = run_suites([LoadedFile(Path(folder, "suite.yaml"), suite)], request, store, NoWatcher())
    if not run.passed:
        raise SystemExit(f"the benchmark's own run did not pass: {run.report and run.report.why}")
