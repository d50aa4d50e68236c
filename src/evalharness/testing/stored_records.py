"""Small runs, trials and reports for tests of stores, and how they get into one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeAlias

import pytest

from evalharness.contracts.store import Store
from evalharness.domain.case import Case
from evalharness.domain.grade import Grade
from evalharness.domain.report import Failure, Report, RunMetadata, RunSummary, TrialCounts
from evalharness.domain.run import CaseLock, Run, RunLock
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.domain.suite import Suite
from evalharness.domain.trial import Attempt, Trial, TrialState
from evalharness.redaction import Redactor


def make_run(suite_name: str = "capitals", *, trials: int = 2, created_at: str = "2026-01-02T03:04:05Z") -> Run:
    cases = tuple(Case(id=id_, input={"prompt": f"what is {id_}?"}, expected="x") for id_ in ("a", "b"))
    return Run(
        id="",
        name="",
        matrix_id="",
        variant="quick",
        root="/somewhere",
        created_at=created_at,
        suite=Suite(name=suite_name, trials=trials, cases=cases, graders=(GraderSpec(kind="contains", options="x"),)),
        target=TargetSpec(kind="oracle"),
        lock=RunLock(
            harness_version="1",
            python_version="3",
            platform="any",
            target="t",
            seed=0,
            trials=trials,
            cases={case.id: CaseLock(case="c", graders="g") for case in cases},
        ),
    )


def make_trial(
    case_id: str = "a", index: int = 0, state: TrialState = "passed", reason: str = "", grades: tuple[Grade, ...] = ()
) -> Trial:
    attempt = Attempt(state=state, reason=reason, grades=grades)
    return Trial(case_id=case_id, index=index, seed=5, attempts=(attempt,))


def sample_report(run: Run, *, pending: int = 0, why: str = "") -> Report:
    return Report(
        metadata=RunMetadata(suite_name=run.suite.name, run_id=run.id, run_name=run.name, timestamp=run.created_at),
        verdict="FAILED",
        exit_code=1,
        why=why,
        summary=RunSummary(total_evals=2, trials=TrialCounts(planned=4, pending=pending)),
        failures=(Failure(eval_id="a", name="a", state="failed", reason=why),),
    )


def added(store: Store, *runs: Run) -> Run:
    """The first of these, as it is stored."""
    return store.add_runs(runs or [make_run()])[0]


def put(store: Store, run: Run, *trials: Trial) -> None:
    """Trials of a run, committed."""
    for trial in trials:
        store.put(run.id, trial)
    store.flush()


SECRET = 'pa"ss\\wörd-ключ-7\n☃'
OpenStore: TypeAlias = Callable[[Redactor], Store]


class StoreFixtures(ABC):
    @abstractmethod
    def build(self, folder: Path, redactor: Redactor) -> Store:
        """The store under test, new and empty. `folder` is its own, whether it needs one or not."""

    @pytest.fixture
    def open_store(self, tmp_path: Path) -> Iterator[OpenStore]:
        with ExitStack() as closing:

            def opened(redactor: Redactor) -> Store:
                store = self.build(tmp_path, redactor)
                closing.callback(store.close)
                return store

            yield opened

    @pytest.fixture
    def store(self, open_store: OpenStore) -> Store:
        """One that knows a secret."""
        return open_store(Redactor({"API_KEY": SECRET}))
