"""A language model for tests of targets, and one trial of a target that uses it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from evalharness import registry
from evalharness.contracts.model import ChatReply, ToolRequest
from evalharness.contracts.sandbox import Sandbox
from evalharness.contracts.services import Services
from evalharness.domain.case import Case
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import Suite
from evalharness.domain.transcript import Transcript, Usage
from evalharness.engine.planning.planned_cases import PlannedCases
from evalharness.engine.running.trial_task import TrialTask
from evalharness.engine.running.worker_threads import Offloader
from evalharness.errors import TargetFailed
from evalharness.sandboxes.bubblewrap import Bubblewrap
from evalharness.sandboxes.none import NoSandbox
from evalharness.testing.model import FakeLlm, FakeModels


class Talking(FakeLlm):
    @property
    def told(self) -> list[str]:
        """The results of the tools in the model's last request."""
        return [message.content for message in self.requests[-1].messages if message.role == "tool"]


def said(text: str = "", **more: Any) -> ChatReply:
    usage = Usage(input_tokens=10, output_tokens=len(text.split()))
    return ChatReply(text=text, **{"usage": usage, "model": "model-2024", "cost_usd": 0.25, **more})


def called(name: str, /, **arguments: Any) -> ChatReply:
    return said(finish_reason="tool_calls", tool_requests=(requested(name, json.dumps(arguments)),))


def requested(name: str, arguments: str, id_: str = "call_1") -> ToolRequest:
    return ToolRequest(id=id_, name=name, arguments=arguments)


class Asked(NamedTuple):
    """The result of a trial: a transcript, or the reason why there is none with what was kept; and its files."""

    transcript: Transcript
    failure: str
    files: dict[str, str]


def ask(
    root: Path,
    llm: Talking,
    target: Any,
    case: Case | str = "What is 2+2?",
    *,
    sandbox: Callable[[], Sandbox] = Bubblewrap,
    timeout_s: float = 60.0,
) -> Asked:
    """One trial, from opening its target to removing its workspace."""
    asked = case if isinstance(case, Case) else Case(id="a", input=case, expected="4")

    async def run() -> Asked:
        offloader, isolation = Offloader(2), sandbox()
        environment = {"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "sk-canary-0123456789"}
        services = Services(root, NoSandbox(), offloader, environment, isolation, FakeModels(llm))
        spec = TargetSpec.model_validate(target)
        built = registry.build_target(spec, services)
        [planned] = PlannedCases(Suite(name="s", cases=(asked,)), {}, services, target=spec).in_turn()
        task = TrialTask(planned, index=0, seed=7, root=root)
        task.timeout_s = timeout_s
        try:
            await built.open()
            try:
                transcript, failure = await built.answer(task), ""
            except TargetFailed as error:
                transcript, failure = error.evidence, str(error)
            files, _ = await task.changes()
            return Asked(transcript, failure, files)
        finally:
            await task.end()
            await built.close()
            await isolation.close()
            await services.sandbox.close()
            offloader.close()

    return asyncio.run(run())
