"""The contract of every reporter."""

from __future__ import annotations

import pytest

from evalharness import registry
from evalharness.contracts.reporter import Reporter
from evalharness.testing.reporter import FakeReporter
from evalharness.testing.reporter_contract import ReporterContract


@pytest.mark.parametrize("name", sorted(registry.BUILT_IN["reporter"]))
class TestEveryReporter(ReporterContract):
    @pytest.fixture(autouse=True)
    def named(self, name: str) -> None:
        self.name = name

    def build(self) -> Reporter:
        return registry.build_reporter(self.name)

    def test_it_is_registered_by_its_own_name(self) -> None:
        assert self.build().name == self.name


class TestTheFake(ReporterContract):
    def build(self) -> Reporter:
        return FakeReporter()


def test_no_two_reporters_write_files_of_the_same_ending() -> None:
    endings = [ending for reporter in registry.reporters() for ending in reporter.endings]
    assert len(endings) == len(set(endings))
