"""What every executor promises: inherit, and say how yours is built."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

from evalharness.contracts.executor import Executor, RunSpec, WorkUnit
from evalharness.domain.case import Case
from evalharness.domain.run import RunOptions
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import Suite
from evalharness.domain.trial import Trial
from evalharness.engine.running.budget import RunBudget

CASES = 6


def spec_of_echo(root: Path, at_once: int = 2) -> RunSpec:
    """A run that any executor can do: the target says what it is asked."""
    cases = tuple(Case(id=f"c{number}", input="yes", expected="yes") for number in range(CASES))
    options = RunOptions(max_concurrency=at_once)
    return RunSpec(Suite(name="s", cases=cases), TargetSpec(kind="echo"), root, options)


class Pulled:
    """Units that are handed out one by one; counts how many were."""

    def __init__(self, number: int = CASES) -> None:
        self._left = iter([WorkUnit(f"c{index}", 0, index) for index in range(number)])
        self.count = 0

    def __aiter__(self) -> AsyncIterator[WorkUnit]:
        return self

    async def __anext__(self) -> WorkUnit:
        unit = next(self._left, None)
        if unit is None:
            raise StopAsyncIteration
        self.count += 1
        return unit


class ExecutorContract(ABC):
    @abstractmethod
    def build(self) -> Executor: ...

    def test_every_unit_comes_back_once_as_its_trial(self, tmp_path: Path) -> None:
        trials = asyncio.run(self._all(tmp_path, Pulled()))
        assert sorted((trial.case_id, trial.index, trial.seed) for trial in trials) == [
            (f"c{index}", 0, index) for index in range(CASES)
        ]
        assert {trial.state for trial in trials} == {"passed"}

    def test_units_are_pulled_when_there_is_room(self, tmp_path: Path) -> None:
        async def first() -> int:
            units = Pulled()
            executor = self.build()
            async with (
                executor.open(spec_of_echo(tmp_path, at_once=1), RunBudget()) as session,
                aclosing(session.run("run", units)) as trials,
            ):
                await anext(trials)
                return units.count

        assert asyncio.run(first()) < CASES

    def test_after_a_cancel_the_iteration_ends_and_nothing_more_is_begun(self, tmp_path: Path) -> None:
        async def cancelled() -> tuple[list[Trial], int]:
            units, found = Pulled(), []
            executor = self.build()
            async with (
                executor.open(spec_of_echo(tmp_path, at_once=1), RunBudget()) as session,
                aclosing(session.run("run", units)) as trials,
            ):
                async for trial in trials:
                    found.append(trial)
                    session.cancel()
            return found, units.count

        found, pulled = asyncio.run(cancelled())
        assert 1 <= len(found) <= pulled < CASES

    def test_no_units_no_trials(self, tmp_path: Path) -> None:
        assert asyncio.run(self._all(tmp_path, Pulled(0))) == []

    async def _all(self, root: Path, units: Pulled) -> list[Trial]:
        async with self.build().open(spec_of_echo(root), RunBudget()) as session:
            trials = [trial async for trial in session.run("run", units)]
            assert not session.ran_out
            return trials
