"""What every target promises, as a class of tests: inherit from it in a test file, and pytest runs them all."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from evalharness.contracts.services import Services
from evalharness.contracts.target import Target, Task
from evalharness.domain.case import Case
from evalharness.domain.suite import Suite
from evalharness.domain.transcript import Transcript
from evalharness.engine.planning.planned_cases import PlannedCases
from evalharness.engine.running.trial_task import TrialTask
from evalharness.testing.services import fake_services
from evalharness.values.json_value import Json

QUESTION = "What is 2+2?"


@asynccontextmanager
async def task_of(case: Case, services: Services) -> AsyncIterator[Task]:
    """One trial of a case, as the engine would make it; its workspace and its sandbox sessions end with it."""
    [planned] = PlannedCases(Suite(name="s", cases=(case,)), {}, services).in_turn()
    task = TrialTask(planned, index=0, seed=1, root=services.root)
    try:
        yield task
    finally:
        await task.end()


class TargetContract(ABC):
    output: Json
    """What the target answers to "What is 2+2?"."""

    @abstractmethod
    def build(self, services: Services) -> Target:
        """The target under test, a new one each time."""

    @abstractmethod
    def build_other(self, services: Services) -> Target:
        """One of the same kind with other options, which may answer differently."""

    @asynccontextmanager
    async def services(self, root: Path) -> AsyncIterator[Services]:
        """Fakes, unless a target needs a real sandbox or a real model."""
        yield fake_services(root)

    def with_services(self, root: Path, use: Callable[[Services], Awaitable[Any]]) -> None:
        async def run() -> None:
            async with self.services(root) as services:
                await use(services)

        asyncio.run(run())

    async def answer(self, target: Target, services: Services) -> Transcript:
        async with task_of(Case(id="a", input=QUESTION, expected="4"), services) as task:
            return await target.answer(task)

    def test_it_answers_a_case_with_a_transcript(self, tmp_path: Path) -> None:
        async def use(services: Services) -> None:
            for build in (self.build, self.build_other):
                target = build(services)
                await target.open()
                try:
                    transcript = await self.answer(target, services)
                finally:
                    await target.close()
                assert isinstance(transcript, Transcript)
                if build == self.build:
                    assert transcript.output == self.output

        self.with_services(tmp_path, use)

    def test_it_answers_several_cases_at_once(self, tmp_path: Path) -> None:
        async def use(services: Services) -> None:
            target = self.build(services)
            await target.open()
            try:
                answers = await asyncio.gather(*(self.answer(target, services) for _ in range(3)))
            finally:
                await target.close()
            assert [answer.output for answer in answers] == [self.output] * 3

        self.with_services(tmp_path, use)

    def test_its_digest_is_stable_and_follows_its_options(self, tmp_path: Path) -> None:
        async def use(services: Services) -> None:
            target = self.build(services)
            before = target.digest()
            assert before == self.build(services).digest()
            assert before != self.build_other(services).digest()
            await target.open()
            assert target.digest() == before, "opening changes nothing that decides an answer"
            await target.close()

        self.with_services(tmp_path, use)

    def test_closing_may_be_repeated_and_needs_no_opening(self, tmp_path: Path) -> None:
        async def use(services: Services) -> None:
            for opens in (False, True):
                target = self.build(services)
                if opens:
                    await target.open()
                await target.close()
                await target.close()

        self.with_services(tmp_path, use)

    def test_it_declares_what_it_does_and_needs(self, tmp_path: Path) -> None:
        async def use(services: Services) -> None:
            target = self.build(services)
            assert isinstance(target, Target)
            assert isinstance(target.keeps_time_limit, bool)
            assert isinstance(target.reads_input, bool)
            assert isinstance(target.is_metered, bool)
            assert all("/" in name for name in target.models())
            tools = target.declared_tools(target.options, target.spec)
            assert tools is None or all(isinstance(name, str) for name in tools)
            assert isinstance(target.Options.model_json_schema(), dict)
            await target.close()

        self.with_services(tmp_path, use)
