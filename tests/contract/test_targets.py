"""The contract of every target; each built-in target goes through the same class."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from loop_server import serving

from evalharness import registry
from evalharness.contracts.services import Services
from evalharness.contracts.target import Target
from evalharness.domain.specification import TargetSpec
from evalharness.domain.transcript import Transcript
from evalharness.engine.running.worker_threads import Offloader
from evalharness.errors import TargetFailed
from evalharness.sandboxes.none import NoSandbox
from evalharness.testing.containers import FakeContainers
from evalharness.testing.model import FakeLlm, FakeModels
from evalharness.testing.sandbox import finished
from evalharness.testing.target import FakeTarget
from evalharness.testing.target_contract import TargetContract


@dataclass(frozen=True)
class Entry:
    """How a target is written, how a variant of it that may answer differently is written, and its answer."""

    written: Any
    otherwise: Any
    output: Any
    files: dict[str, str] = field(default_factory=dict)
    printed: bytes = b"4"
    """By a container."""


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
    "container": Entry({"container": "some/image"}, {"container": {"image": "some/image", "network": "open"}}, "4"),
    "docker-agent": Entry(
        {"docker-agent": "agent.yaml"},
        {"docker-agent": {"agent": "agent.yaml", "base_image": "some/image"}},
        "4",
        {"agent.yaml": "agents: {}"},
        b'{"type": "agent_choice", "content": "4"}',
    ),
    "echo": Entry({"type": "echo"}, {"type": "echo", "tools": ["search"]}, "What is 2+2?"),
}


async def four(request: web.Request) -> web.Response:
    return web.Response(text="4")


ANSWERING = sorted(set(registry.BUILT_IN["target"]) - {"skill"})
"""`skill` answers nothing itself: it stands for an entry of the suite's `targets:`."""


@pytest.mark.parametrize("name", ANSWERING)
class TestEveryTarget(TargetContract):
    @pytest.fixture(autouse=True)
    def place(self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, import_path: None) -> None:
        assert name in ENTRIES, f"the target {name} has no entry in the contract test: add one"
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        self.entry = ENTRIES[name]
        self.output = self.entry.output
        for file, text in self.entry.files.items():
            (tmp_path / file).write_text(text)

    @asynccontextmanager
    async def services(self, root: Path) -> AsyncIterator[Services]:
        async with serving(four) as self.base:
            offloader = Offloader(1)
            models = FakeModels(FakeLlm("4"))
            containers = FakeContainers(finished(self.entry.printed))
            lent = {"models": models, "containers": containers}
            services = Services(root, NoSandbox(), offloader, {"PATH": "/usr/bin:/bin"}, **lent)
            try:
                yield services
                assert containers.left == set()
            finally:
                await services.sandbox.close()
                offloader.close()

    def build(self, services: Services) -> Target:
        return registry.build_target(TargetSpec.model_validate(filled(self.entry.written, self.base)), services)

    def build_other(self, services: Services) -> Target:
        return registry.build_target(TargetSpec.model_validate(filled(self.entry.otherwise, self.base)), services)


class TestTheFake(TargetContract):
    output = "4"

    def build(self, services: Services) -> Target:
        return FakeTarget("4", services=services)

    def build_other(self, services: Services) -> Target:
        return FakeTarget("5", services=services)

    def test_it_gives_its_answers_in_order_and_records_its_tasks(self, tmp_path: Path) -> None:
        target = FakeTarget("1", Transcript(output="2"), TargetFailed("three"))

        async def use(services: Services) -> None:
            outputs = [(await self.answer(target, services)).output for _ in range(2)]
            assert outputs == ["1", "2"]
            for _ in range(2):
                with pytest.raises(TargetFailed, match="three"):
                    await self.answer(target, services)
            assert [task.case.id for task in target.tasks] == ["a"] * 4

        self.with_services(tmp_path, use)


def filled(written: Any, base: str) -> Any:
    if isinstance(written, dict):
        return {key: filled(value, base) for key, value in written.items()}
    return written.replace("{base}", base) if isinstance(written, str) else written


def test_no_entry_is_left_over() -> None:
    assert set(ENTRIES) == set(ANSWERING)
