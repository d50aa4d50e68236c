"""function: a Python function is the target, sync or async, by reference or handed in.

Sync functions run on threads the harness can abandon but not kill; `isolate: process` gives each trial a process of
its own (`isolated.py`), which is killed at the time limit.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from evalharness import registry
from evalharness.contracts import Services, Task
from evalharness.domain.digest import digest, digest_file
from evalharness.domain.options import Options
from evalharness.domain.process import ProcessRequest, ProcessResult
from evalharness.domain.specification import TargetSpec, function_source
from evalharness.domain.transcript import Answer, Transcript
from evalharness.errors import CannotResume, TargetFailed, TargetUnavailable, TrialSkipped
from evalharness.targets.part import TargetPart, limit_passed, transcript_of

MAX_ANSWER_BYTES = 134_217_728
OWN_ERRORS: Mapping[str, type[Exception]] = {
    error.__name__: error for error in (TargetFailed, TargetUnavailable, TrialSkipped)
}
OWN_ERRORS_MODULE = TargetFailed.__module__


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
        return module_file(registry.split_reference(self.options.function)[0])

    async def open(self) -> None:
        if self.options.isolate == "process" and self.spec.function is not None:
            raise TargetUnavailable("isolate: process needs a target named as module:attr or file.py:attr")
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
        question = {
            "function": self.options.function,
            "root": str(self.services.root),
            "path": sys.path,
            "case": task.case.model_dump(mode="json"),
            "index": task.index,
            "seed": task.seed,
            "workspace": str(task.workspace),
            "timeout_s": task.timeout_s,
        }
        result = await self.services.sandbox.run(
            ProcessRequest(
                # -P: files of the workspace must not stand in for modules
                argv=(sys.executable, "-P", "-m", "evalharness.targets.isolated"),
                cwd=str(task.workspace),
                env=self.services.environment,
                stdin=json.dumps(question).encode(),
                timeout_s=task.timeout_s,
                keep_bytes=MAX_ANSWER_BYTES,
            )
        )
        return _read_reply(result, task.timeout_s)


def _read_reply(result: ProcessResult, timeout_s: float) -> Transcript:
    """What `isolated.py` said: an answer, why there is none, what was raised; or nothing, if its process was ended."""
    evidence = Transcript(stderr=result.stderr.decode(errors="replace"), truncated=result.truncated)
    reply = result.stdout.decode(errors="replace")
    problem = limit_passed(result, timeout_s)
    if not problem and not reply:
        last = evidence.stderr.strip().splitlines()[-1:]
        problem = f"the function ended its process (exit code {result.exit_code}){': ' if last else ''}{''.join(last)}"
    if problem:
        raise TargetFailed(problem, evidence=evidence)
    said = json.loads(reply)
    if "failed" in said:
        raise TargetFailed(said["failed"], evidence=evidence)
    if "raised" in said:
        raise _raised_again(said["raised"], evidence)
    answer = Answer.model_validate(said["answer"])
    return evidence.model_copy(update={name: getattr(answer, name) for name in Answer.model_fields})


def _raised_again(raised: dict[str, Any], evidence: Transcript) -> Exception:
    """An exception with the same class names: by them the harness tells what is not the target's fault."""
    kind: type[Exception] = Exception
    for module, qualified in reversed(raised["classes"]):
        name = qualified.rpartition(".")[2]
        meaning = OWN_ERRORS.get(name) if module == OWN_ERRORS_MODULE else None
        kind = meaning or type(name, (kind,), {"__module__": module, "__qualname__": qualified})
    error = kind(raised["text"])
    error.raised_at, error.evidence = raised["place"], evidence  # type: ignore[attr-defined]
    return error


def module_file(name: str) -> Path | None:
    """The file of a module, found without importing the packages it is in: their code is not run for a digest."""
    top, *rest = name.split(".")
    try:
        found = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    if found is None or not rest:
        return Path(found.origin) if found and found.origin else None
    places = [Path(folder, *rest) for folder in found.submodule_search_locations or ()]
    candidates = [file for place in places for file in (place.with_suffix(".py"), place / "__init__.py")]
    return next((file for file in candidates if file.is_file()), None)


def wants_context(function: Callable[..., Any]) -> bool:
    """True for a parameter called `context`, or a second one without a default."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(positional) > 1 and (positional[1].name == "context" or positional[1].default is inspect.Parameter.empty)
