"""What every executor promises, as a class of tests: inherit from it in a test file, and pytest runs them all."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evalharness.contracts.budget import Budget
from evalharness.contracts.executor import Executor, RunSpec, WorkUnit
from evalharness.domain.case import Case
from evalharness.domain.grade import Grade
from evalharness.domain.run import RunOptions
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import Suite, SuiteConfig
from evalharness.domain.transcript import Transcript
from evalharness.domain.trial import Attempt, Trial
from evalharness.engine.running.budget import RunBudget
from evalharness.errors import StoreError, TargetUnavailable, UsageError

CASES = 6
LIMIT_S = 60
"""For what should take no time at all."""
AGENT = """
import asyncio

from evalharness import Answer, TargetUnavailable


def right(question):
    return "yes"


def wrong(question):
    return "no"


def raises(question):
    raise ValueError("a fault of the target")


def is_down(question):
    raise TargetUnavailable("it is down")


def costs(question):
    return Answer(output="yes", cost_usd=1.0)


async def waits(question):
    await asyncio.sleep(600)


def breaks(context):
    raise ValueError("a fault of the grader")
"""


class Done(NamedTuple):
    """What came of a session."""

    trials: list[Trial]
    pulled: int
    ran_out: bool

    @property
    def states(self) -> set[str]:
        return {trial.state for trial in self.trials}


class Pulled:
    """Units that are handed out one by one; counts how many were."""

    def __init__(self, units: Iterable[WorkUnit]) -> None:
        self._left = iter(units)
        self.count = 0

    def __aiter__(self) -> AsyncIterator[WorkUnit]:
        return self

    async def __anext__(self) -> WorkUnit:
        unit = next(self._left, None)
        if unit is None:
            raise StopAsyncIteration
        self.count += 1
        return unit


def every_unit(*earlier: Attempt) -> list[WorkUnit]:
    return [WorkUnit(f"c{index}", 0, index, earlier) for index in range(CASES)]


class ExecutorContract(ABC):
    @abstractmethod
    def build(self) -> Executor:
        """The executor under test, a new one each time."""

    def spec(self, folder: Path, target: str | None = "right", grader: Any = "yes", at_once: int = 2) -> RunSpec:
        """A run that any executor can do: everything that takes part in it is named, and lies in this folder."""
        (folder / "agent.py").write_text(AGENT)
        expected = {"graders": (grader,)} if ".py:" in str(grader) else {"expected": grader}
        cases = tuple(Case(id=f"c{number}", input="?", **expected) for number in range(CASES))
        suite = Suite(name="s", cases=cases, config=SuiteConfig(retries=0))
        named = None if target is None else TargetSpec.model_validate(f"agent.py:{target}")
        return RunSpec(suite, named, folder, RunOptions(max_concurrency=at_once))

    def done(
        self,
        spec: RunSpec,
        units: Iterable[WorkUnit] | None = None,
        budget: Budget | None = None,
        cancel_after: int | None = None,
    ) -> Done:
        """The trials of these units, of every one by default; cancelled after so many of them."""

        async def run() -> Done:
            pulled, found = Pulled(every_unit() if units is None else units), list[Trial]()
            async with (
                asyncio.timeout(LIMIT_S),
                self.build().open(spec, budget or RunBudget()) as session,
                aclosing(session.run("run", pulled)) as trials,
            ):
                async for trial in trials:
                    found.append(trial)
                    if len(found) == cancel_after:
                        session.cancel()
                assert isinstance(session.notes(), tuple)
                return Done(found, pulled.count, session.ran_out)

        return asyncio.run(run())

    def test_every_unit_comes_back_once_as_its_trial(self, tmp_path: Path) -> None:
        done = self.done(self.spec(tmp_path))
        assert sorted((trial.case_id, trial.index, trial.seed) for trial in done.trials) == [
            (f"c{index}", 0, index) for index in range(CASES)
        ]
        assert (done.states, done.ran_out) == ({"passed"}, False)
        assert {trial.output for trial in done.trials} == {"yes"}

    def test_no_units_no_trials(self, tmp_path: Path) -> None:
        assert self.done(self.spec(tmp_path), []) == ([], 0, False)

    def test_answers_are_graded(self, tmp_path: Path) -> None:
        done = self.done(self.spec(tmp_path, "wrong"))
        assert done.states == {"failed"}
        assert {grade.kind for trial in done.trials for grade in trial.grades} == {"exact"}

    def test_units_are_pulled_when_there_is_room(self, tmp_path: Path) -> None:
        async def first() -> int:
            units = Pulled(every_unit())
            async with (
                self.build().open(self.spec(tmp_path, at_once=1), RunBudget()) as session,
                aclosing(session.run("run", units)) as trials,
            ):
                await anext(trials)
                return units.count

        assert asyncio.run(first()) < CASES

    def test_after_a_cancel_the_iteration_ends_and_nothing_more_is_begun(self, tmp_path: Path) -> None:
        done = self.done(self.spec(tmp_path, at_once=1), cancel_after=1)
        assert 1 <= len(done.trials) <= done.pulled < CASES

    def test_after_a_cancel_what_is_unfinished_is_not_returned(self, tmp_path: Path) -> None:
        async def cancelled() -> list[Trial]:
            async with (
                asyncio.timeout(LIMIT_S),
                self.build().open(self.spec(tmp_path, "waits"), RunBudget()) as session,
                aclosing(session.run("run", Pulled(every_unit()))) as trials,
            ):
                asyncio.get_running_loop().call_later(0.2, session.cancel)
                return [trial async for trial in trials]

        assert asyncio.run(cancelled()) == []

    @pytest.mark.parametrize(
        ("target", "grader", "state", "reason"),
        [
            ("raises", "yes", "failed", "a fault of the target"),
            ("is_down", "yes", "error", "it is down"),
            ("right", "agent.py:breaks", "error", "a fault of the grader"),
        ],
    )
    def test_faults_of_others_are_trials(
        self, tmp_path: Path, target: str, grader: str, state: str, reason: str
    ) -> None:
        done = self.done(self.spec(tmp_path, target, grader))
        assert (len(done.trials), done.states) == (CASES, {state})
        assert all(reason in trial.reason for trial in done.trials)

    def test_a_fault_of_its_own_raises(self, tmp_path: Path) -> None:
        """A unit of a case that the run does not have; units that cannot be pulled any more."""

        def broken() -> Iterable[WorkUnit]:
            yield WorkUnit("c0", 0, 0)
            raise StoreError("the disk is full")

        with pytest.raises(LookupError):
            self.done(self.spec(tmp_path), [WorkUnit("nobody's", 0, 0)])
        with pytest.raises(StoreError, match="the disk is full"):
            self.done(self.spec(tmp_path), broken())

    def test_what_cannot_be_started_is_refused_before_anything_is_pulled(self, tmp_path: Path) -> None:
        units = Pulled(every_unit())

        async def open_it() -> None:
            async with self.build().open(self.spec(tmp_path, "no_such_function"), RunBudget()) as session:
                _ = [trial async for trial in session.run("run", units)]

        with pytest.raises((UsageError, TargetUnavailable)):
            asyncio.run(open_it())
        assert units.count == 0

    def test_earlier_attempts_are_kept(self, tmp_path: Path) -> None:
        earlier = Attempt(state="error", reason="it was down")
        done = self.done(self.spec(tmp_path), every_unit(earlier))
        assert [trial.attempts[:-1] for trial in done.trials] == [(earlier,)] * CASES
        assert done.states == {"passed"}

    def test_without_a_target_stored_answers_are_graded(self, tmp_path: Path) -> None:
        grade = Grade(state="fail", reason="graded by others", score=0.0)
        stored = Attempt(state="failed", grades=(grade,), transcript=Transcript(output="yes"))
        done = self.done(self.spec(tmp_path, target=None), every_unit(stored))
        assert (len(done.trials), done.states) == (CASES, {"passed"})
        assert [len(trial.attempts) for trial in done.trials] == [1] * CASES

    def test_what_cannot_be_paid_for_is_not_returned(self, tmp_path: Path) -> None:
        budget = RunBudget(max_cost_usd=2.0)
        done = self.done(self.spec(tmp_path, "costs"), budget=budget)
        assert done.ran_out
        assert 2 <= len(done.trials) < CASES
        assert budget.cost_usd == len(done.trials), "every answer was charged"
        assert done.pulled < CASES, "no more are pulled"
        assert done.states == {"passed"}
