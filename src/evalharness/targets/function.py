"""function: a Python function is the target, sync or async, by reference or handed in.

Sync functions run on threads the harness can abandon but not kill; `isolate: process` gives each trial a process of
its own, which is killed at the time limit.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Literal

from evalharness import registry
from evalharness.contracts import Services, Task
from evalharness.domain.digest import digest, digest_file
from evalharness.domain.options import Options
from evalharness.domain.process import ProcessRequest
from evalharness.domain.specification import TargetSpec, function_source
from evalharness.domain.transcript import Transcript
from evalharness.errors import CannotResume, TargetFailed, TargetUnavailable
from evalharness.targets.part import TargetPart, read_result, transcript_of


class FunctionOptions(Options):
    main: ClassVar[str] = "function"

    function: str = ""
    live: str = ""
    isolate: Literal["thread", "process"] = "thread"


class FunctionTarget(TargetPart):
    Options: ClassVar[type[Options]] = FunctionOptions
    options: FunctionOptions

    def __init__(self, options: FunctionOptions, spec: TargetSpec, services: Services) -> None:
        super().__init__(options, spec, services)
        self.keeps_time_limit = options.isolate == "process"
        self._function: Callable[..., Any] | None = spec.function
        self._is_async = False
        self._wants_context = False

    def digest(self) -> str:
        if self.spec.function is not None:
            return digest([super().digest(), function_source(self.spec.function)])
        file = self._file() if self.options.function else None
        return digest([super().digest(), digest_file(file) if file and file.is_file() else None])

    def _file(self) -> Path | None:
        file = registry.reference_file(self.options.function, self.services.root)
        if file is not None:
            return file
        registry.make_importable(self.services.root)
        try:
            found = importlib.util.find_spec(registry.split_reference(self.options.function)[0])
        except (ImportError, ValueError):
            return None
        return Path(found.origin) if found and found.origin else None

    async def open(self) -> None:
        if self._function is None:
            self._function = self._imported()
        if not callable(self._function):
            raise TargetUnavailable(f"the target {self.spec.label} is not callable")
        call = self._function if inspect.isroutine(self._function) else type(self._function).__call__
        self._is_async = inspect.iscoroutinefunction(self._function) or inspect.iscoroutinefunction(call)
        self._wants_context = wants_context(self._function)

    def _imported(self) -> Callable[..., Any]:
        reference = self.options.function
        if not reference:
            raise CannotResume(
                f"the target {self.options.live} is a Python function that only its own program has",
                hint="continue from Python: evaluate(…, resume=RUN)",
            )
        registry.make_importable(self.services.root)
        return registry.import_reference(reference, self.services.root)  # type: ignore[no-any-return]

    async def answer(self, task: Task) -> Transcript:
        if self.options.isolate == "process":
            return await self._answer_in_process(task)
        function = self._function
        assert function is not None, "open() comes first"
        arguments = (task.case.content, task) if self._wants_context else (task.case.content,)
        if self._is_async:
            return transcript_of(await function(*arguments))
        returned = await self.services.in_thread(function, *arguments)
        return transcript_of(await returned if inspect.isawaitable(returned) else returned)

    async def _answer_in_process(self, task: Task) -> Transcript:
        if self.spec.function is not None:
            raise TargetUnavailable("isolate: process needs a target named as module:attr or file.py:attr")
        question = {
            "function": self.options.function,
            "root": str(self.services.root),
            "case": task.case.model_dump(mode="json"),
            "index": task.index,
            "seed": task.seed,
            "workspace": str(task.workspace),
        }
        result = await self.services.sandbox.run(
            ProcessRequest(
                argv=(sys.executable, "-m", "evalharness.targets.isolated"),
                cwd=str(task.workspace),
                env=self.services.environment,
                stdin=json.dumps(question).encode(),
                timeout_s=task.timeout_s,
            )
        )
        evidence = Transcript(stderr=result.stderr.decode(errors="replace"), truncated=result.truncated)
        if result.ended == "timeout":
            raise TargetFailed(f"time limit: no answer within {task.timeout_s:g} s", evidence=evidence)
        if result.exit_code != 0:
            last = evidence.stderr.strip().splitlines()[-1:] or [f"its process ended with {result.exit_code}"]
            raise TargetFailed(last[0], evidence=evidence)
        return read_result(result.stdout.decode(errors="replace"), "answer", evidence)


def wants_context(function: Callable[..., Any]) -> bool:
    """True for a parameter called `context`, or a second one without a default."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(positional) > 1 and (positional[1].name == "context" or positional[1].default is inspect.Parameter.empty)
