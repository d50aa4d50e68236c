"""What every target promises, whoever wrote it: each built-in one goes through the same class."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from loop_server import serving
from talking import OneModel, Talking, said

from evalharness import registry
from evalharness.contracts import Services, Target
from evalharness.domain.case import Case
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import Suite
from evalharness.domain.transcript import Transcript
from evalharness.engine.offloading import Offloader
from evalharness.engine.planning import plan_cases
from evalharness.engine.preparing import TrialTask
from evalharness.sandboxes.none import NoSandbox


@dataclass(frozen=True)
class Entry:
    """How a target is written, how the same kind is written so that it may answer differently, and its answer."""

    written: Any
    otherwise: Any
    output: Any
    files: dict[str, str] = field(default_factory=dict)


ENTRIES = {
    "function": Entry(
        {"function": "agent.py:answer"},
        {"function": {"function": "agent.py:answer", "isolate": "process"}},
        "4",
        {"agent.py": "def answer(question):\n    return '4'\n"},
    ),
    "command": Entry({"command": ["echo", "-n", "4"]}, {"command": ["echo", "-n", "5"]}, "4"),
    "http": Entry({"http": "{base}/"}, {"http": {"url": "{base}/", "method": "PUT"}}, "4"),
    "artifact": Entry(
        {"artifact": "run.json"},
        {"artifact": {"file": "run.json", "case": "a"}},
        "4",
        {"run.json": '{"runId": "r", "snapshot": {"outputs": {"primaryOutput": "4"}}, "events": []}'},
    ),
    "oracle": Entry({"type": "oracle"}, {"type": "oracle", "tools": ["search"]}, "4"),
    "null": Entry({"type": "null"}, {"type": "null", "tools": ["search"]}, ""),
    "empty": Entry({"type": "empty"}, {"type": "empty", "tools": ["search"]}, ""),
    "chat": Entry({"chat": "test/model"}, {"chat": {"model": "test/model", "system": "Be brief."}}, "4"),
    "agent": Entry(
        {"agent": {"model": "test/model", "tools": ["read_file"]}},
        {"agent": {"model": "test/model", "tools": ["read_file", "search"]}},
        "4",
    ),
    "echo": Entry({"type": "echo"}, {"type": "echo", "tools": ["search"]}, "What is 2+2?"),
}


async def four(request: web.Request) -> web.Response:
    return web.Response(text="4")


ANSWERING = sorted(set(registry.BUILT_IN["target"]) - {"skill"})
"""`skill` answers nothing itself: it stands for an entry of the suite's `targets:`."""


@pytest.mark.parametrize("name", ANSWERING)
class TestEveryTarget:
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, import_path: None) -> None:
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        self.root = tmp_path

    def with_target(
        self, name: str, use: Callable[[Target, Services], Coroutine[Any, Any, None]], *, otherwise: bool = False
    ) -> None:
        assert name in ENTRIES, f"the target {name} has no entry in the contract test: add one"
        entry = ENTRIES[name]
        for file, text in entry.files.items():
            (self.root / file).write_text(text)

        async def run() -> None:
            async with serving(four) as base:
                offloader = Offloader(1)
                models = OneModel(Talking(said("4")))
                services = Services(self.root, NoSandbox(), offloader, {"PATH": "/usr/bin:/bin"}, models=models)
                target = build(entry.otherwise if otherwise else entry.written, services, base)
                try:
                    await use(target, services)
                finally:
                    await target.close()
                    await services.sandbox.close()
                    offloader.close()

        asyncio.run(run())

    def test_it_answers_a_case_with_a_transcript(self, name: str) -> None:
        for otherwise in (False, True):
            seen: list[Transcript] = []

            async def use(target: Target, services: Services, seen: list[Transcript] = seen) -> None:
                await target.open()
                task = one_task(services)
                try:
                    seen.append(await target.answer(task))
                finally:
                    await task.end()

            self.with_target(name, use, otherwise=otherwise)
            assert isinstance(seen[0], Transcript)
            if not otherwise:
                assert seen[0].output == ENTRIES[name].output

    def test_its_digest_is_stable_and_changes_with_its_options(self, name: str) -> None:
        async def use(target: Target, services: Services) -> None:
            base = "http://127.0.0.1:1"
            entry = ENTRIES[name]
            first, again = (build(entry.written, services, base).digest() for _ in range(2))
            assert first == again
            assert first != build(entry.otherwise, services, base).digest()
            before = target.digest()
            await target.open()
            assert target.digest() == before, "opening changes nothing that decides an answer"

        self.with_target(name, use)

    def test_closing_is_idempotent_and_needs_no_opening(self, name: str) -> None:
        async def never_opened(target: Target, services: Services) -> None:
            await target.close()
            await target.close()

        async def opened(target: Target, services: Services) -> None:
            await target.open()
            await target.close()
            await target.close()

        self.with_target(name, never_opened)
        self.with_target(name, opened)

    def test_it_answers_several_cases_at_once(self, name: str) -> None:
        async def use(target: Target, services: Services) -> None:
            await target.open()
            tasks = [one_task(services) for _ in range(3)]
            try:
                answers = await asyncio.gather(*(target.answer(task) for task in tasks))
            finally:
                for task in tasks:
                    await task.end()
            assert [answer.output for answer in answers] == [ENTRIES[name].output] * 3

        self.with_target(name, use)

    def test_it_says_whether_it_keeps_its_time_limit_and_which_options_it_has(self, name: str) -> None:
        part = registry.load("target", name)
        assert isinstance(part.Options.model_json_schema(), dict)

        async def use(target: Target, services: Services) -> None:
            assert isinstance(target.keeps_time_limit, bool)

        self.with_target(name, use)


def build(written: Any, services: Services, base: str) -> Target:
    return registry.build_target(TargetSpec.model_validate(filled(written, base)), services)


def filled(written: Any, base: str) -> Any:
    if isinstance(written, dict):
        return {key: filled(value, base) for key, value in written.items()}
    return written.replace("{base}", base) if isinstance(written, str) else written


def one_task(services: Services) -> TrialTask:
    case = Case(id="a", input="What is 2+2?", expected="4")
    [planned] = plan_cases(Suite(name="s", cases=(case,)), {}, services)
    return TrialTask(planned, index=0, seed=1, root=services.root)


def test_no_entry_is_left_over() -> None:
    assert set(ENTRIES) == set(ANSWERING)
