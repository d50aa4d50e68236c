"""The other end of `isolate: process`: a program that answers one case and exits.

Reads the question as JSON on stdin, calls the function, and writes one JSON object on stdout: its answer, why that is
none, or what was raised. Everything the function prints goes to stderr.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

from pydantic_core import to_json

from evalharness.contracts.gateway import sdk_variables
from evalharness.contracts.sandbox import NO_OWNER, Owner
from evalharness.domain.case import Case
from evalharness.domain.specification import GraderSpec
from evalharness.errors import TargetFailed, raised_at, trace_of
from evalharness.references import import_reference
from evalharness.settings import Settings
from evalharness.targets.answers import transcript_of
from evalharness.targets.function import wants_context
from evalharness.user_modules import UserModules
from evalharness.values.json_value import Json


@dataclass
class IsolatedGateway:
    url: str
    key: str

    @property
    def environment(self) -> Mapping[str, str]:
        return sdk_variables(self.url, self.key)


@dataclass
class IsolatedTask:
    case: Case
    index: int
    seed: int
    workspace: Path
    timeout_s: float
    variant: Mapping[str, Json]
    environment: Mapping[str, str]
    graders: tuple[GraderSpec, ...] = ()
    gateway: IsolatedGateway | None = None
    owner: Owner = NO_OWNER


@dataclass
class ReplyChannel:
    """Where the one reply goes. Sending it ends the process: threads that the function left behind cannot keep it."""

    descriptor: int

    def send(self, reply: dict[str, Any]) -> NoReturn:
        with os.fdopen(self.descriptor, "wb") as stdout:
            stdout.write(to_json(reply))
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

    def send_raised(self, kind: type[BaseException], error: BaseException, place: TracebackType | None) -> NoReturn:
        """As `sys.excepthook`: what the function raised, by the names of its classes."""
        traceback.print_exception(kind, error, place)
        classes = [each for each in kind.__mro__ if each not in (Exception, BaseException, object)]
        raised = {
            "classes": [(each.__module__, each.__qualname__) for each in classes],
            "text": str(traceback.TracebackException(kind, error, None, compact=True)),
            "place": raised_at(error),
            "trace": trace_of(error),
        }
        self.send({"raised": raised})


def main() -> None:
    question = json.load(sys.stdin)
    reply = ReplyChannel(os.dup(1))
    os.dup2(2, 1)
    sys.excepthook = reply.send_raised
    sys.path[:] = question["path"]
    case = Case.model_validate(question["case"])
    workspace = Path(question["workspace"])
    environment = Settings.read().environment
    task = IsolatedTask(
        case, question["index"], question["seed"], workspace, question["timeout_s"], question["variant"], environment
    )
    if question["gateway"]:
        task.gateway = IsolatedGateway(*question["gateway"])
    function = import_reference(question["function"], Path(question["root"]), UserModules())
    returned: Any = function(case.content, task) if wants_context(function) else function(case.content)
    if inspect.isawaitable(returned):
        returned = asyncio.run(_awaited(returned))
    try:
        transcript = transcript_of(returned)
    except TargetFailed as failure:
        reply.send({"failed": str(failure)})
    reply.send({"answer": transcript})


async def _awaited(returned: Any) -> Any:
    return await returned


if __name__ == "__main__":
    main()
