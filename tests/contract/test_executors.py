"""What every executor promises."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from evalharness import registry
from evalharness.contracts.executor import Executor, WorkUnit
from evalharness.domain.trial import Trial
from evalharness.engine.running.budget import RunBudget
from evalharness.errors import SpendCapReached
from evalharness.testing.executor import FakeExecutor
from evalharness.testing.executor_contract import ExecutorContract, Pulled, spec_of_echo


@pytest.mark.parametrize("name", sorted(registry.BUILT_IN["executor"]))
class TestEveryExecutor(ExecutorContract):
    @pytest.fixture(autouse=True)
    def named(self, name: str) -> None:
        self.name = name

    def build(self) -> Executor:
        built: Executor = registry.load("executor", self.name)()
        return built


class TestFakeExecutor(ExecutorContract):
    def build(self) -> Executor:
        return FakeExecutor()

    def test_a_unit_that_cannot_be_paid_for_ends_the_session(self, tmp_path: Path) -> None:
        def broke(unit: WorkUnit) -> Trial:
            raise SpendCapReached("nothing is left")

        async def run() -> tuple[list[Trial], bool, int]:
            units = Pulled()
            async with FakeExecutor(broke).open(spec_of_echo(tmp_path), RunBudget()) as session:
                return [trial async for trial in session.run("run", units)], session.ran_out, units.count

        assert asyncio.run(run()) == ([], True, 1), "no more are pulled"
