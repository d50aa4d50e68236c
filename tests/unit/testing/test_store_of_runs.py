"""A fake store supports whole runs: run, resume, regrade and compare, like a database."""

from __future__ import annotations

from pathlib import Path

from evalharness import Harness, Settings
from evalharness.actions.regrade_run import RegradeRequest, regrade_runs
from evalharness.actions.resume_run import ResumeRequest, resume_runs
from evalharness.actions.run_suite import RunRequest, run_suites
from evalharness.contracts.context import Context
from evalharness.domain.case import Case
from evalharness.domain.run import RunOptions
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.domain.suite import LoadedFile, Suite
from evalharness.testing.store import FakeStore

SECRET = "correct-horse-battery"


def suite() -> Suite:
    answers = (("right", "Paris"), ("wrong", "Rome"), ("telling", f"Paris, says {SECRET}"))
    return Suite(
        name="capitals",
        trials=2,
        target=TargetSpec(kind="echo"),
        graders=(GraderSpec(kind="contains", options="Paris"),),
        cases=tuple(Case(id=id_, input=text) for id_, text in answers),
    )


def test_a_run_and_what_is_done_with_it_afterwards(tmp_path: Path) -> None:
    store = FakeStore()
    harness = Harness(Context(store, Settings()))
    file = LoadedFile(tmp_path / "suite.yaml", suite())
    options = RunOptions(max_failures=1, max_concurrency=1)
    [stopped] = harness.call(run_suites, RunRequest(suites=(file,), options=options))
    assert stopped.report is not None
    assert stopped.report.summary.trials.pending > 0
    assert [run.id for run in store.newest_runs("capitals", 5)] == [stopped.id]

    [resumed] = harness.call(resume_runs, ResumeRequest(variables={"API_KEY": SECRET}))
    assert resumed.report is not None
    assert (resumed.report.summary.passed, resumed.report.summary.failed) == (2, 1)
    outputs = [trial.output for trial in store.trials(resumed.id, "telling")]
    assert "Paris, says [redacted:API_KEY]" in outputs
    assert store.progress(resumed.id)[0] == ""

    [regraded] = harness.call(regrade_runs, RegradeRequest(resumed.name))
    assert regraded.report is not None
    assert regraded.report.verdict == resumed.report.verdict
    assert [line.name for line in store.list_runs(5)] == [regraded.name, resumed.name]

    assert harness.baseline(resumed.name).name == "default"
    comparison = harness.compare("default", regraded.name)
    assert (comparison.old.run_name, comparison.new.run_name) == (resumed.name, regraded.name)
    assert comparison.n_cases == 3
