"""The other end of `isolate: process`: a program that answers one case and exits.

Reads the question as JSON on stdin, calls the function, writes an answer as JSON on stdout. Everything the function
prints goes to stderr.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from evalharness import registry
from evalharness.domain.case import Case
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import Answer
from evalharness.errors import TargetFailed
from evalharness.targets.function import wants_context
from evalharness.targets.part import transcript_of


@dataclass
class IsolatedTask:
    case: Case
    index: int
    seed: int
    workspace: Path
    graders: tuple[GraderSpec, ...] = ()
    timeout_s: float = 0.0


def main() -> None:
    question = json.load(sys.stdin)
    answer_to = os.dup(1)
    os.dup2(2, 1)
    root = Path(question["root"])
    registry.make_importable(root)
    task = IsolatedTask(
        Case.model_validate(question["case"]), question["index"], question["seed"], Path(question["workspace"])
    )
    function = registry.import_reference(question["function"], root)
    returned: Any = function(task.case.content, task) if wants_context(function) else function(task.case.content)
    if inspect.isawaitable(returned):
        returned = asyncio.run(_awaited(returned))
    try:
        transcript = transcript_of(returned)
    except TargetFailed as failure:
        sys.exit(str(failure))
    with os.fdopen(answer_to, "wb") as stdout:
        stdout.write(to_json({name: getattr(transcript, name) for name in Answer.model_fields}))


async def _awaited(returned: Any) -> Any:
    return await returned


if __name__ == "__main__":
    main()
