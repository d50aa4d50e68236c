"""function: a Python function is the target, sync or async, by reference or handed in.

Sync functions run on threads the harness can abandon but not kill; `isolate: process` gives each trial a process of
its own (`isolated.py`), which is killed at the time limit.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

from evalharness.contracts.sandbox import ProcessRequest, ProcessResult
from evalharness.contracts.services import Services
from evalharness.contracts.target import Target, Task
from evalharness.domain.options import Options
from evalharness.domain.specification import TargetSpec
from evalharness.domain.transcript import Transcript
from evalharness.errors import CannotResume, TargetFailed, TargetUnavailable, TrialSkipped, UnknownName, UsageError
from evalharness.references import call_function, code_of, import_reference, only_its_program_has
from evalharness.targets.answers import limit_passed, transcript_of
from evalharness.values.digest import digest

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


class FunctionTarget(Target):
    Options: ClassVar[type[Options]] = FunctionOptions
    may_use_gateway = True
    options: FunctionOptions

    def __init__(self, options: FunctionOptions, spec: TargetSpec, services: Services) -> None:
        super().__init__(options, spec, services)
        self.keeps_time_limit = options.isolate == "process"
        self._function: Callable[..., Any] | None = spec.function
        self._wants_context = False

    def digest(self) -> str:
        code = code_of(self.spec.function, self.options.function, self.services.root)
        return digest([super().digest(), code])

    async def open(self) -> None:
        if self.options.isolate == "process" and self.spec.function is not None:
            raise TargetUnavailable("isolate: process needs a target named as module:attr or file.py:attr")
        if self._function is None:
            self._function = self._imported()
        if not callable(self._function):
            raise TargetUnavailable(f"the target {self.spec.label} is not callable")
        self._wants_context = wants_context(self._function)

    def _imported(self) -> Callable[..., Any]:
        reference = self.options.function
        if not reference:
            raise CannotResume(
                only_its_program_has("target", self.options.live),
                hint="continue from Python: evaluate(…, resume=RUN)",
            )
        try:
            return import_reference(reference, self.services.root, self.services.modules)  # type: ignore[no-any-return]
        except UsageError as error:
            message = f"the target {self.spec.label} cannot be imported: {error.message}"
            kind = UsageError if isinstance(error, UnknownName) else TargetUnavailable
            raise kind(message, hint=error.hint) from error

    async def answer(self, task: Task) -> Transcript:
        if self.options.isolate == "process":
            return await self._answer_in_process(task)
        function = self._function
        assert function is not None, "call open() first"
        arguments = (task.content, task) if self._wants_context else (task.content,)
        return await call_function(self.services.in_thread, transcript_of, function, *arguments)

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
            "variant": dict(task.variant),
            "gateway": None if task.gateway is None else [task.gateway.url, task.gateway.key],
        }
        session = await task.session(self.services.sandbox)
        result = await session.run(
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
    return evidence.model_copy(update=Transcript.model_validate(said["answer"]).given())


def _raised_again(raised: dict[str, Any], evidence: Transcript) -> Exception:
    """An exception with the same class names: by them the harness tells what is not the target's fault."""
    kind: type[Exception] = Exception
    for module, qualified in reversed(raised["classes"]):
        name = qualified.rpartition(".")[2]
        meaning = OWN_ERRORS.get(name) if module == OWN_ERRORS_MODULE else None
        kind = meaning or type(name, (kind,), {"__module__": module, "__qualname__": qualified})
    error = kind(raised["text"])
    error.raised_at, error.trace = raised["place"], raised["trace"]  # type: ignore[attr-defined]
    error.evidence = evidence  # type: ignore[attr-defined]
    return error


def wants_context(function: Callable[..., Any]) -> bool:
    """True for a parameter called `context`, or a second one without a default."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(positional) > 1 and (positional[1].name == "context" or positional[1].default is inspect.Parameter.empty)
