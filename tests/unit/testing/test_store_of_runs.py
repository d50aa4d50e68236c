"""A fake store carries whole runs: run, resume, regrade and compare, as a database does."""

from __future__ import annotations

from pathlib import Path

from evalharness.actions.execute_runs import NoWatcher
from evalharness.actions.find_reports import find_reports
from evalharness.actions.regrade_run import RegradeRequest, regrade_runs, runs_to_regrade
from evalharness.actions.resume_run import ResumeRequest, resume_runs, runs_to_resume
from evalharness.actions.run_suite import RunRequest, run_suites
from evalharness.actions.set_baseline import set_baseline
from evalharness.domain.case import Case
from evalharness.domain.run import RunOptions
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.domain.suite import Suite
from evalharness.formats.loading import LoadedFile
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
    file = LoadedFile(tmp_path / "suite.yaml", suite())
    request = RunRequest(options=RunOptions(max_failures=1, max_concurrency=1))
    [stopped] = run_suites([file], request, store, NoWatcher())
    assert stopped.report is not None
    assert stopped.report.summary.trials.pending > 0
    assert [run.id for run in store.newest_runs("capitals", 5)] == [stopped.id]

    resume = ResumeRequest(variables={"API_KEY": SECRET})
    runs, view = runs_to_resume(resume, store)
    [resumed] = resume_runs(runs, resume, view, NoWatcher())
    assert resumed.report is not None
    assert (resumed.report.summary.passed, resumed.report.summary.failed) == (2, 1)
    outputs = [trial.output for trial in store.trials(resumed.id, "telling")]
    assert "Paris, says [redacted:API_KEY]" in outputs
    assert store.progress(resumed.id)[0] == ""

    regrade = RegradeRequest(resumed.name)
    olds, view = runs_to_regrade(regrade, store)
    [regraded] = regrade_runs(olds, regrade, view, NoWatcher())
    assert regraded.run.report is not None
    assert regraded.run.report.verdict == resumed.report.verdict
    assert [line.name for line in store.list_runs(5)] == [regraded.run.name, resumed.name]

    set_baseline(resumed.name, "default", store)
    old, new = find_reports(["default", regraded.run.name], store)
    assert (old.label, new.label) == ("baseline default", regraded.run.name)
    assert {case.case_id for case in new.report.cases} == {"right", "wrong", "telling"}
