"""The contract of every executor."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalharness import registry
from evalharness.contracts.executor import Executor, WorkUnit
from evalharness.domain.trial import Attempt, Trial
from evalharness.errors import SpendCapReached
from evalharness.testing.executor import FakeExecutor
from evalharness.testing.executor_contract import ExecutorContract


@pytest.mark.parametrize("name", sorted(registry.BUILT_IN["executor"]))
class TestEveryExecutor(ExecutorContract):
    @pytest.fixture(autouse=True)
    def named(self, name: str) -> None:
        self.name = name

    def build(self) -> Executor:
        return registry.build_executor(self.name)


class TestFakeExecutor(ExecutorContract):
    def build(self) -> Executor:
        return FakeExecutor()


def test_a_fake_executor_may_make_its_trials_of_a_function(tmp_path: Path) -> None:
    def third_is_too_dear(unit: WorkUnit) -> Trial:
        if unit.case_id == "c2":
            raise SpendCapReached("nothing is left")
        attempt = Attempt(state="skipped", reason="made up")
        return Trial(case_id=unit.case_id, index=unit.trial_index, seed=unit.seed, attempts=(attempt,))

    class Making(TestFakeExecutor):
        def build(self) -> Executor:
            return FakeExecutor(third_is_too_dear)

    contract = Making()
    done = contract.done(contract.spec(tmp_path, "raises"))
    assert ([trial.reason for trial in done.trials], done.pulled, done.ran_out) == (["made up"] * 2, 3, True)
